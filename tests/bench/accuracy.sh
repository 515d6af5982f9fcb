#!/bin/sh
# SPDX-License-Identifier: MIT
# Prints how true the means are against a clock around the same loops untimed, for each WTM_ORDER, and what each costs. The
# machine should be quiet. Nothing fails on a number.
#   sh tests/bench/accuracy.sh [BUILD-FOLDER] [ORDER...]
set -eu
cd "$(dirname "$0")/../.."
build=$(cd "${1:-build}" && pwd)
[ $# -eq 0 ] || shift
lib=$build/preload/libwtmtime.so
[ -e "$lib" ] || { echo "tests/bench/accuracy.sh: $lib was not built" >&2; exit 1; }
out=$build/tests-work/bench
mkdir -p "$out"
gcc -O2 -Wall -I. -o "$out/accuracy" tests/bench/accuracy.c -pthread
for order in ${*:-loose exit strict}; do
    echo "WTM_ORDER=$order: ns, medians of 31 interleaved rounds"
    printf '  %-32s %11s %11s %9s %18s %8s %8s\n' "" truth mean error quartiles allowed cost
    WTM_ORDER=$order WTM_TIME='main:timed_*' WTM_TABLE=none LD_PRELOAD=$lib "$out/accuracy" |
        awk -F'|' '{ bad = ($4 > $7 || $4 < -$7); missed += bad
            printf "  %-32s %11.2f %11.2f %+9.2f %18s %8.1f %8.1f%s\n", $1, $2, $3, $4, sprintf("(%+.2f..%+.2f)", $5, $6), $7, $8, bad ? "  missed" : "" }
            END { printf "  %d of %d within what is allowed\n", NR - missed, NR }'
done
