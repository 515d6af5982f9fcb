# SPDX-License-Identifier: MIT
"""SQLite's own tests, run by a testfixture that is built from its source (with Tcl)."""
import os
import re
import subprocess
import threading

from apps import outcomes, source
from suite.registry import Context
from suite.results import Failed, Skipped

# Some hundred thousand checks in a few minutes. Left out: the soak, fuzz and out-of-memory series (hours), and tests that
# measure memory.
FILES = """select1 select2 select3 select4 select6 insert insert2 where where2 where7 join join2 trans wal wal2 walcksum vacuum
    vacuum2 trigger1 trigger2 index index2 pragma attach attach2 backup thread001 thread002 sort sort2 like printf func types types2
    expr window1 window2 json101 json103 date alter autovacuum blob btree01 capi2 capi3 collate1 conflict corrupt delete distinct
    e_expr e_select enc2 exists fts3aa fts3query fkey1 fkey2 hook incrblob in intpkey journal1 lock main memdb misc1 misc2 mmap1
    notnull null pager1 rowid savepoint schema shared shared2 table tclsqlite tempdb temptable unique update upsert1 utf16align
    view vtab1 vtab2 with1 with2 without_rowid1 zeroblob shell1 shell4 rowvalue returning1 nulls1 percentile spellfix zipfile
    malloc3 crash ioerr""".split()


_lock = threading.Lock()


def prepare(tools):
    with _lock:
        return build(tools)


def build(tools):
    root = source.fetch(tools, 'sqlite3')
    folder = os.path.join(root, 'build-wtm')
    fixture = os.path.join(folder, 'testfixture')
    if not os.path.exists(fixture):
        os.makedirs(folder, exist_ok=True)
        for step in ('../configure --enable-all --with-tcl=/usr/lib/tcl8.6 CFLAGS=-O1', 'make testfixture sqlite3'):
            done = subprocess.run(step, shell=True, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
            if done.returncode:
                raise Skipped(f'{step}: {done.stdout.decode(errors="replace")[-300:]} (tcl-dev and zlib1g-dev are needed)')
    return root, fixture


def parse(folder, text):
    found = {}
    for line in text.splitlines():
        match = re.match(r'(\S+)\.\.\. (Ok|Omitted)', line) or re.match(r'! (\S+) (expected|got)', line)
        if match:
            # threads that find a lock taken print dots, and these stand before the next name
            found[match.group(1).lstrip('.')] = {'Ok': 'pass', 'Omitted': 'skip'}.get(match.group(2), 'fail')
    return found


def one(tools, name):
    t = Context(tools, 'apps', f'sqlite {name}')
    root, fixture = prepare(tools)
    path = os.path.join(root, 'test', f'{name}.test')
    if not os.path.exists(path):
        raise Failed(f'{path} does not exist')
    return outcomes.compare(t, [fixture, path], parse)


def tests(tools):
    return [(f'apps: sqlite: {name}.test with everything timed', lambda name=name: one(tools, name)) for name in FILES]
