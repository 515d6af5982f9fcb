# SPDX-License-Identifier: MIT
# Packers, with one thread and with two: the packed files must be the same, and so must what comes out again.
tar -C "$1" --sort=name --owner=0 --group=0 --mtime=@0 -cf a.tar docs tests/apps
xz -k -T1 a.tar && xz -dc a.tar.xz | cmp - a.tar
xz -c -T2 a.tar | xz -dc | cmp - a.tar
zstd -q -19 a.tar -o a.zst && zstd -dc a.zst | cmp - a.tar
zstd -q -T2 a.tar -o b.zst && zstd -t b.zst 2>&1
gzip -k -n a.tar && gzip -t a.tar.gz
bzip2 -k a.tar && tar tf a.tar.bz2 | sha256sum
mkdir out && tar -C out -xf a.tar.xz && diff -r out/docs "$1/docs" && rm -r out
