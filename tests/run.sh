#!/bin/sh
# SPDX-License-Identifier: MIT
# All set-up, builds with gcc and clang, and every test. The last line counts single tests; the status is 0 only when some
# ran and none failed.
#   sh tests/run.sh [--full] [--only SUITE[,SUITE]] [--match WORD] [--verbose]
set -eu
cd "$(dirname "$0")/.."
packages=all
case " $* " in *' --full '*) packages=full ;; esac
sh tests/setup.sh $packages || { printf '\nset-up failed\n\n0 passed, 1 failed\n'; exit 1; }
# Debian's own python: another may come first in PATH and lack meson's modules.
PATH=/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin:$PATH exec /usr/bin/python3 tests/suite/main.py "$@"
