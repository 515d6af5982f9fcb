#!/bin/sh
# SPDX-License-Identifier: MIT
# make-fixtures.sh CC SOURCE DIR: builds the objects that the symbol tests read, below DIR.
set -eu
cc=$1 source=$(realpath "$2") dir=$3
rm -rf "$dir"
mkdir -p "$dir/link/.debug" "$dir/crc/.debug" "$dir/stale" "$dir/id/.debug" "$dir/beside"
cd "$dir"
# Equal bodies must stay apart; clang never folds them and does not know the option.
flags="-O1 -g -fPIC -w"
if $cc -fno-ipa-icf -E -x c /dev/null >/dev/null 2>&1; then flags="$flags -fno-ipa-icf"; fi
printf 'FX_1 { global: fx_versioned; };\nFX_2 { global: fx_versioned; } FX_1;\n' >versions.map

$cc $flags -DFX_VERSIONS -shared -Wl,--build-id=sha1,-soname,libplain.so.1,--version-script=versions.map \
    -o libplain.so.1.2 "$source"
$cc $flags -shared -Wl,--build-id=none,--hash-style=sysv -o libsysv.so "$source"
$cc $flags -shared -Wl,--build-id=none,-z,pack-relative-relocs -o librelr.so "$source" 2>/dev/null ||
    $cc $flags -shared -Wl,--build-id=none -o librelr.so "$source"
$cc $flags -shared -Wl,--build-id=sha1,-z,lazy -o liblazy.so "$source"
$cc $flags -DFX_MAIN -pie -Wl,--build-id=sha1 -o pie "$source"
$cc $flags -DFX_MAIN -fno-pie -no-pie -Wl,--build-id=none -o nopie "$source"

# A debug file without a build-id: found by its CRC alone, in .debug/ and beside.
split() { # split OBJECT DEBUGFILE
    objcopy --only-keep-debug "$1" "$2"
    strip --strip-all "$1"
    objcopy --add-gnu-debuglink="$2" "$1"
}
for place in link/.debug beside; do
    object=$(dirname "$place/x")/libsplit.so
    [ "$place" = link/.debug ] && object=link/libsplit.so
    $cc $flags -shared -Wl,--build-id=none -o "$object" "$source"
    split "$object" "$place/libsplit.so.debug"
done
# The same with a debug file that was changed afterwards.
$cc $flags -shared -Wl,--build-id=none -o crc/libsplit.so "$source"
split crc/libsplit.so crc/.debug/libsplit.so.debug
printf x >>crc/.debug/libsplit.so.debug
# With a build-id, which the debug file of another build does not have.
$cc $flags -shared -Wl,--build-id=0x0102030405060708 -o id/libsplit.so "$source"
split id/libsplit.so id/.debug/libsplit.so.debug
$cc $flags -shared -Wl,--build-id=0x0102030405060708 -o stale/libsplit.so "$source"
$cc $flags -shared -Wl,--build-id=0x0807060504030201 -o stale/other.so "$source"
objcopy --only-keep-debug stale/other.so stale/libsplit.so.debug
strip --strip-all stale/libsplit.so
objcopy --add-gnu-debuglink=stale/libsplit.so.debug stale/libsplit.so

# Minidebuginfo as Fedora makes it: the symbols that .dynsym has not, packed by xz.
$cc $flags -shared -Wl,--build-id=none -o libmini.so "$source"
objcopy -S --remove-section .gdb_index --remove-section .comment --keep-symbol=fx_local libmini.so mini.debug
strip --strip-all libmini.so
if command -v xz >/dev/null; then
    xz -f mini.debug
    objcopy --add-section .gnu_debugdata=mini.debug.xz libmini.so
fi
# Stripped of everything.
cp libsysv.so libstripped.so
strip --strip-all libstripped.so
touch made
