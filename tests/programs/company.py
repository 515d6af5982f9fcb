# SPDX-License-Identifier: MIT
"""Other tools in the same process: allocators, sanitizers, valgrind, language runtimes. Counts are right, output the same."""
import os
import re
import shutil
import subprocess

from suite.registry import Suite
from suite.results import Skipped, expect, expect_equal
from suite.target import need

SUITE = Suite('programs')
LIBRARIES = '/usr/lib/x86_64-linux-gnu'


def library(name):
    path = os.path.join(LIBRARIES, name)
    if not os.path.exists(path):
        raise Skipped(f'{name} is not installed')
    return path


def allocator(name):
    @SUITE.test(f'{name} preloaded before and behind us, malloc and free timed: exact counts')
    def _(t):
        program, other = t.build('allocate.c', '-pthread', '-fno-builtin'), library(name)
        for number, order in enumerate((f'{other}:{t.tools.lib}', f'{t.tools.lib}:{other}')):
            counts = []
            for calls in (1000, 6000):
                run, report = t.report_of([program, str(calls)], f'main:grab,main:drop,{name}:malloc,{name}:free',
                                          t.sub(f'{number}-{calls}'), env={'LD_PRELOAD': order})
                expect_equal(run.out, '0 bad\n', f'stdout with LD_PRELOAD={order}')
                expect_equal([report.one(name)['calls'] for name in ('grab', 'drop')], [4 * calls, 4 * calls + 64], 'grab, drop')
                counts.append([report.one(name)['calls'] for name in ('malloc', 'free')])
            expect_equal([more - less for less, more in zip(*counts)], [20000, 20000],
                         f'calls of malloc and free for 20000 more pairs: {counts}')


for _name in ('libjemalloc.so.2', 'libtcmalloc_minimal.so.4', 'libtcmalloc_minimal_debug.so.4'):
    allocator(_name)
