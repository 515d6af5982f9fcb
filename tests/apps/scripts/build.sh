# SPDX-License-Identifier: MIT
# meson, ninja, gcc, as, ld and ar build the project at $1, all of it timed. The library, the command and the archives must be
# identical to those of an untimed build in a folder of the same name.
cp -r "$1"/{meson.build,meson_options.txt,common,patcher,preload,report,docs} . || exit 1
meson setup build -Dtests=false -Dstrip=false >log 2>&1 || tail -20 log
ninja -C build -k 0 >log 2>&1; echo ninja $?
grep -c -e warning log
(cd build && find . -name '*.o' -o -name '*.so' -o -name wtm -type f -o -name '*.a' | sort | xargs sha256sum)
build/report/wtm --version
rm -r ./*
