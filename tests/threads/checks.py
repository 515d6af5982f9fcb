# SPDX-License-Identifier: MIT
"""The library's records, cells and profile under ThreadSanitizer; what it cannot see is told in drive.c."""
import os
import re
import subprocess

from suite.compile import COMPILERS
from suite.registry import Suite
from suite.results import Failed, expect, expect_equal
from suite.target import ROOT, need

SUITE = Suite('threads')
FOLDER = os.path.dirname(os.path.abspath(__file__))
UNITS = ('abandoned', 'adopt', 'callers', 'cells', 'clock', 'clock_pairs', 'clocked', 'config', 'cost', 'cpu_perf', 'cpu_rseq', 'cputime',
         'fork', 'guest', 'hot', 'probes', 'profile', 'profile_create', 'profile_file', 'profile_segments', 'records',
         'reuse', 'slow', 'special', 'stacks', 'thread', 'vdso', 'ways')
FLAGS = ('-O1', '-g', '-std=gnu11', '-D_GNU_SOURCE', '-I', ROOT, '-mno-red-zone', '-fno-omit-frame-pointer', '-w',
         '-include', os.path.join(FOLDER, 'handover.h'))


def step(command):
    done = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False, timeout=900)
    if done.returncode:
        raise Failed(f"{' '.join(command)}:\n{done.stdout.decode(errors='replace')[-3000:]}")


def build(t, compiler):
    cc, out = COMPILERS[compiler][0], os.path.join(t.folder, f'drive-{compiler}')
    common = os.path.join(t.tools.build, 'common', 'libwtmcommon.a')
    reader = os.path.join(t.folder, f'reader-{compiler}.o')
    step([cc, *FLAGS, '-c', os.path.join(FOLDER, 'reader.c'), '-o', reader])  # without the sanitizer
    sources = [os.path.join(ROOT, 'preload', f'{unit}.c') for unit in UNITS]
    step([cc, *FLAGS, '-fsanitize=thread', '-pthread', '-o', out, os.path.join(FOLDER, 'drive.c'), *sources, reader, common,
          '-liberty', '-llzma'])
    return out


def drive(t, compiler, *how):
    program = build(t, compiler)
    options = f'suppressions={FOLDER}/suppressions exitcode=66 halt_on_error=0'
    run = t.run([need('setarch'), '-R', program, *how], env={'TSAN_OPTIONS': options}, timeout=900)
    places = re.findall(r'SUMMARY: ThreadSanitizer: .*', run.err)
    expect_equal((run.status, places), (0, []), f'status and races ({run.out}{run.err[:3000]})')
    return run


def race(compiler):
    @SUITE.test(f'calls of many threads at once, library by {compiler}: no race, exact counts')
    def _(t):
        run = drive(t, compiler, '200')
        expect(run.out.startswith('exact'), run.out)
        stray = int(run.out.split()[1])
        expect(stray > 100, f'only {stray} calls were left or ended in another thread')
        return run.out.strip()

    @SUITE.test(f'the same while counts are reset, library by {compiler}: no race')
    def _(t):
        expect(drive(t, compiler, '200', 'reset').out.startswith('resets'), 'it did not come to its end')


for _compiler in COMPILERS:
    race(_compiler)


def tests(tools):
    return SUITE.tests(tools)
