# SPDX-License-Identifier: MIT
"""Threads: their names, and what is left of those that ended."""
import json
import struct

from suite.registry import Suite
from suite.results import expect, expect_equal

SUITE = Suite('programs')


def crowd(how, names, most_bytes):
    @SUITE.test(f'many short threads ({how}): exact counts, a profile that does not grow with them')
    def _(t):
        count = 100000 if t.tools.full and how != 'sizes' else 12000
        run = t.run([t.build('crowd.c', '-pthread'), how, str(count)], 'main:work', timeout=600)
        expect_equal((run.status, run.out), (0, 'done\n'), f'status and stdout ({run.err[-300:]})')
        path = run.profile_paths()[run.pid]
        data = json.loads(t.tools.command('report', '--json', '--by', 'thread', path).stdout.decode())
        found = {row['thread']: row['calls'] for row in data['functions']}
        extra = 400 if how == 'pool' else 0
        expect_equal(sum(found.values()), 2 * count + extra, 'calls')
        if names:
            expect_equal(found, names(2 * count), 'calls by name')
        with open(path, 'rb') as file:
            used = struct.unpack_from('<Q', file.read(64), 32)[0]
        expect(used <= most_bytes, f'{used} bytes for {count} threads')


crowd('same', lambda calls: {'crowd-member': calls}, 200000)
crowd('sizes', lambda calls: {'crowd-member': calls}, 400000)
crowd('names', None, 1000000)  # at most so many names are kept apart
crowd('kinds', lambda calls: {f'kind-{c}': calls // 3 for c in 'abc'}, 400000)
crowd('late', None, 400000)
crowd('pool', lambda calls: {'crowd-member': calls, 'pool-a': 200, 'pool-b': 200}, 400000)
