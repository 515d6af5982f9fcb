#!/bin/sh
# SPDX-License-Identifier: MIT
# Prints what timing costs here, beside the targets. Nothing fails on a number: machines differ and are loaded.
#   sh tests/bench/run.sh [BUILD-FOLDER]
set -eu
cd "$(dirname "$0")/../.."
build=$(cd "${1:-build}" && pwd)
lib=$build/preload/libwtmtime.so
[ -e "$lib" ] || { echo "tests/bench/run.sh: $lib was not built" >&2; exit 1; }
out=$build/tests-work/bench
mkdir -p "$out"
gcc -O2 -Wall -o "$out/calls" tests/bench/calls.c -pthread
gcc -O2 -Wall -o "$out/startup" tests/bench/startup.c
gcc -O2 -Wall -o "$out/idle" tests/bench/idle.c
echo 'int wtm_bench_empty;' | gcc -x c -shared -fPIC -o "$out/libempty.so" -

functions=timed_leaf,timed_outer,timed_nested,timed_descend,timed_tail,timed_many
for recursion in withdraw nest; do
    WTM_TIME=$functions WTM_TABLE=none WTM_RECURSION=$recursion LD_PRELOAD=$lib "$out/calls" >"$out/calls.$recursion"
done
WTM_TIME=$functions WTM_TABLE=none WTM_START=disarmed LD_PRELOAD=$lib "$out/calls" >"$out/calls.disarmed"

echo "cost of one call beyond an untimed one, median of 41 interleaved rounds, ns (quartiles), x two TSC reads, x two ordered ones"
awk '
    NR == FNR && $1 == "reads" { reads = $2 }
    NR == FNR && $1 == "fenced" { fenced = $2 }
    { median[FILENAME, $1] = $2; low[FILENAME, $1] = $3; high[FILENAME, $1] = $4 }
    function row(file, kind, text, target, calls,    value, note) {
        value = median[file, kind] / calls
        note = sprintf("%.2f x %.2f x", value / reads, value / fenced)
        printf "  %-42s %7.2f  (%.2f..%.2f)  %-24s target %s\n", text, value, low[file, kind] / calls, high[file, kind] / calls, note, target
    }
    END {
        withdraw = ARGV[1]; nest = ARGV[2]; disarmed = ARGV[3]
        row(withdraw, "reads", "two bare TSC reads", "-", 1)
        row(withdraw, "fenced", "two TSC reads, ordered (lfence)", "-", 1)
        row(withdraw, "call", "timed call", "< 1.6 x", 1)
        row(withdraw, "nested", "timed call in a timed call, for each", "< 1.6 x", 2)
        row(withdraw, "tail", "timed tail call to a timed one, for each", "-", 2)
        row(withdraw, "busy", "timed call of a function that works", "< 1.6 x", 1)
        row(withdraw, "beside", "timed call, another thread in it as well", "< 1.6 x", 1)
        row(withdraw, "recursive", "recursive entry, withdrawn", "< 5 ns", 1)
        row(nest, "recursive", "recursive entry, WTM_RECURSION=nest", "< 1.6 x", 1)
        row(disarmed, "call", "disarmed entry", "< 3 ns", 1)
    }' "$out/calls.withdraw" "$out/calls.nest" "$out/calls.disarmed"

start() { # label, patterns, program and arguments
    label=$1 patterns=$2
    shift 2
    # WTM_TIME is there in both runs; the empty library does not look at it
    WTM_TIME=$patterns WTM_TABLE=none "$out/startup" 41 "$out/libempty.so" "$lib" "$@" |
        awk -v label="$label" '{ printf "  %-42s %7.2f  (%.2f..%.2f)  %.2f -> %.2f ms, CPU %+.2f ms  target < 3 ms\n", label, $1, $2, $3, $4, $5, $6 }'
}
echo "start to end of a process beyond that with an empty library preloaded, median of 41 pairs, ms (quartiles)"
ten=idle_0,idle_1,idle_2,idle_3,idle_4,idle_5,idle_6,idle_7,idle_8,idle_9
start "a small program, ten functions named" $ten "$out/idle"
start "a small program, nothing named" "" "$out/idle"
start "a small program, its functions by glob" 'main:idle_*' "$out/idle"
sql=sqlite3_step,sqlite3_prepare_v2,sqlite3_finalize,sqlite3_column_text,sqlite3_free,sqlite3_malloc64,sqlite3_exec
[ ! -x /usr/bin/sqlite3 ] || start "sqlite3, ten functions of its library" \
    $sql,sqlite3_open_v2,sqlite3_close,sqlite3_bind_int /usr/bin/sqlite3 -version
[ ! -x /usr/bin/python3 ] || start "python3, ten exported functions" \
    PyObject_Call,PyDict_SetItem,PyList_Append,PyList_Sort,PyObject_Str,PyLong_FromString,PyObject_GetAttr,PyUnicode_Join,PyObject_Repr,PyNumber_Add \
    /usr/bin/python3 -S -c pass

echo "functions that can be timed in objects that are here, and why others cannot"
"$build/tests/bench/coverage/measure-coverage"
