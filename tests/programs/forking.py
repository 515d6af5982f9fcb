# SPDX-License-Identifier: MIT
"""Processes made and ended in every way, from within timed calls and beside them: nothing hangs, nothing is counted twice."""
import time

from suite.registry import Suite
from suite.results import expect, expect_equal

SUITE, LONG = Suite('programs'), Suite('programs')  # with --full: LONG too
TIMED = 'work,by_fork,become_daemon,next_image,share_memory,ender'


def counts(report, name):
    return tuple(report.sum(field, name) for field in ('calls', 'recursive', 'abnormal', 'open'))


def storm(t, forks):
    run, report = t.report_of([t.build('forking.c', '-pthread'), 'storm', str(forks), t.folder], TIMED, timeout=1500)
    expect_equal(counts(report, 'work'), (int(run.out), 0, 0, 0), 'work in the parent')
    expect_equal(counts(report, 'by_fork'), (forks, 0, 0, 0), 'by_fork in the parent')
    children = run.children()
    expect_equal(len(children), (forks + 99) // 100, 'profiles of children')
    for child in children:
        expect_equal((counts(child, 'work'), counts(child, 'by_fork')), ((3, 0, 0, 0), (0, 0, 0, 0)), 'work, by_fork in a child')
    return f'{run.out.strip()} calls beside {forks} forks'


@SUITE.test('forks, also by the bare system call, while eight threads are timed')
def _(t):
    return storm(t, 200)


@LONG.test('ten thousand forks while eight threads are timed')
def _(t):
    return storm(t, 10000)


@SUITE.test('daemon() within a timed call: both processes have their own counts')
def _(t):
    run, report = t.report_of([t.build('forking.c', '-pthread'), 'daemon'], TIMED)
    expect_equal((counts(report, 'work'), counts(report, 'become_daemon')), ((10, 0, 0, 0), (1, 0, 0, 1)), 'the first process')
    deadline = time.monotonic() + 30
    while not (run.children() and run.children()[0].sum('calls', 'work') == 20) and time.monotonic() < deadline:
        time.sleep(0.05)
    expect_equal([counts(child, 'work') for child in run.children()], [(20, 0, 0, 0)], 'the daemon')


@SUITE.test('a chain of images, each started from within a timed call: the last one is told')
def _(t):
    run, report = t.report_of([t.build('forking.c', '-pthread'), 'exec', '20'], TIMED)
    expect_equal((run.out, counts(report, 'work'), counts(report, 'next_image')), ('1\n', (1, 0, 0, 0), (0, 0, 0, 0)),
                 'output, work, next_image')


@SUITE.test('children that share the memory (clone with CLONE_VM and CLONE_VFORK) count for their parent')
def _(t):
    run, report = t.report_of([t.build('forking.c', '-pthread'), 'shared'], TIMED)
    expect_equal((run.out, counts(report, 'work'), counts(report, 'share_memory')), ('100\n', (100, 0, 0, 0), (20, 0, 0, 0)),
                 'output, work, share_memory')


@SUITE.test('exit, quick_exit and _exit within a timed call, in the first and in another thread')
def _(t):
    for how in ('exit', 'quick', 'hard', 'thread-exit', 'thread-quick', 'thread-hard'):
        run, report = t.report_of([t.build('forking.c', '-pthread'), how], TIMED, t.sub(how))
        expect_equal(run.out, '10\n', f'{how}: stdout')
        expect_equal(counts(report, 'work'), (10, 0, 0, 0), f'{how}: work')
        calls, recursive, abnormal, still_open = counts(report, 'ender')
        expect((calls, recursive, abnormal + still_open) == (1, 0, 1), f'{how}: ender {counts(report, "ender")}')
