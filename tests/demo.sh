#!/bin/sh
# SPDX-License-Identifier: MIT
# All set-up, a build, and the main job on a real program: functions of SQLite are timed while the sqlite3 shell runs a
# script that fills, indexes, joins and sorts tables. Prints the table.
#   sh tests/demo.sh [PATTERNS]
set -eu
cd "$(dirname "$0")/.."
sh tests/setup.sh build
[ -e build/build.ninja ] || CC=gcc meson setup build -Dtests=false
ninja -C build
functions=${1:-sqlite3_step,sqlite3_prepare_v2,sqlite3_finalize,sqlite3_column_text,sqlite3_malloc64,sqlite3_free}
echo
echo "WTM_TIME=$functions LD_PRELOAD=build/preload/libwtmtime.so sqlite3 :memory: <tests/apps/demo.sql"
echo
WTM_TIME=$functions LD_PRELOAD=$PWD/build/preload/libwtmtime.so /usr/bin/sqlite3 :memory: <tests/apps/demo.sql
