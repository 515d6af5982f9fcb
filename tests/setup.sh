#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs the Debian packages that building and testing need, those that are missing. Root, or sudo, is needed for that
# alone; when nothing is missing nothing is done.
#   sh tests/setup.sh        what the tests need
#   sh tests/setup.sh build  only what building and the demonstration need
#   sh tests/setup.sh full   what the long forms of the tests need, too: more programs, and what their own tests are built with
set -eu

build="build-essential meson ninja-build pkg-config python3 binutils libcapstone-dev uthash-dev libiberty-dev liblzma-dev
    libjson-c-dev zlib1g-dev libunwind-dev sqlite3 libsqlite3-0"
tests="libcriterion-dev libunwind8 libunwind-14 clang libclang-rt-dev gdb valgrind redis-server redis-tools perl bash strace procps
    libjemalloc2 libtcmalloc-minimal4
    libc6-dbg libzydis-dev libssl3 libstdc++6 libpython3.11-testsuite openssl git xz-utils zstd bzip2
    libboost-context-dev libboost-coroutine-dev libboost-fiber-dev ruby3.1 lua5.4 guile-3.0 python3-greenlet python3-gevent"
full="imagemagick nodejs default-jdk-headless php-cli nginx-light curl postgresql tcl-dev dpkg-dev"

wanted=$build
[ "${1:-all}" = build ] || wanted="$build $tests"
[ "${1:-all}" != full ] || wanted="$build $tests $full"

missing=
for package in $wanted; do
    case $(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true) in
    *' ok installed') ;;
    *) missing="$missing $package" ;;
    esac
done
[ -n "$missing" ] || exit 0

echo "installing:$missing"
root=
if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || { echo "tests/setup.sh: not root and no sudo; install by hand:$missing" >&2; exit 1; }
    root="sudo env"
fi

# No service (redis) is to be started by an installation; the tests start their own.
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
    printf '#!/bin/sh\nexit 101\n' | $root tee $policy >/dev/null
    $root chmod 755 $policy
    trap '$root rm -f $policy' EXIT
    trap 'exit 1' INT TERM
fi
$root apt-get update -q || echo "tests/setup.sh: apt-get update failed; trying with the lists at hand" >&2
$root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing
