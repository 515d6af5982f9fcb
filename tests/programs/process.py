# SPDX-License-Identifier: MIT
"""The process around the timed calls: what the program may notice, and how it may end."""
import os
import re
import shutil
import subprocess

from suite.registry import Suite
from suite.results import expect, expect_equal
from suite.target import need

SUITE = Suite('programs')


def same_output(t, source, time, *flags):
    program = t.build(source, *flags)
    without = t.run([program], folder=t.sub('plain'))
    run = t.run([program], time, t.sub('timed'))
    expect_equal((run.status, run.out, run.err), (without.status, without.out, without.err), 'status, stdout and stderr')
    expect_equal(run.status, 0, 'status')
    return run


@SUITE.test('errno, descriptors, signals, timers, threads and page rights stay as they were')
def _(t):
    run = same_output(t, 'state.c', 'work', '-pthread')
    expect_equal(run.report().one('work')['calls'], 22, 'calls of work')


@SUITE.test('a program that closes all descriptors gets its own files unharmed')
def _(t):
    run = same_output(t, 'closer.c', 'work', '-pthread')
    expect_equal(run.report().one('work')['calls'], 20000, 'calls of work')


@SUITE.test('the same, with the table on stderr')
def _(t):
    program = t.build('closer.c', '-pthread')
    run = t.run([program], 'work', env={'WTM_TABLE': None, 'WTM_OUT': None})
    expect_equal((run.status, run.out), (0, 'files 3 4 are whole\n'), 'status and stdout')
    expect(re.search(r'^ *work +20,000 ', run.err, re.M), f'no table: {run.err!r}')


@SUITE.test('kill -9 loses nothing')
def _(t):
    run = t.run([t.build('steps.c', '-pthread'), 'c1000', 't500', 'k'], 'work')
    expect_equal(run.status, -9, 'status')
    expect_equal(run.report().one('work')['calls'], 1500, 'calls of work')


@SUITE.test('abort keeps its status, and the profile is whole')
def _(t):
    run = t.run([t.build('steps.c', '-pthread'), 'c1000', 'a'], 'work')
    expect_equal(run.status, -6, 'status')
    expect_equal(run.report().one('work')['calls'], 1000, 'calls of work')


@SUITE.test('a profile can be read while the process runs')
def _(t):
    argv = [t.build('steps.c', '-pthread'), 'c1000', 't500', 'h', 'c1']
    env = t.tools.environment(t.tools.settings(t.folder, 'work'))
    with subprocess.Popen(argv, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=t.folder) as child:
        expect_equal(child.stdout.readline(), b'here\n', 'the program is at its stop')
        report = t.tools.report(f'{t.folder}/out.{child.pid}.prof')
        expect_equal(report.one('work')['calls'], 1500, 'calls of work so far')
        child.stdin.write(b'\n')
        child.stdin.close()
        expect_equal(child.wait(30), 0, 'status')
        expect_equal(t.tools.report(f'{t.folder}/out.{child.pid}.prof').one('work')['calls'], 1501, 'calls in the end')


@SUITE.test('a forked child has a profile of its own; the parent does not count for it')
def _(t):
    run, report = t.report_of([t.build('steps.c', '-pthread'), 'c10', 'f20', 'f30', 'c1'], 'work')
    expect_equal(report.one('work')['calls'], 11, 'calls in the parent')
    expect_equal(sorted(child.sum('calls', 'work') for child in run.children()), [20, 30], 'calls in the children')


@SUITE.test('children that time nothing print nothing')
def _(t):
    run = t.run(['/bin/sh', '-c', 'true; ls / >/dev/null; exit 7'], 'no_such_function_here', env={'WTM_TABLE': None,
                                                                                               'WTM_OUT': None})
    expect_equal(run.status, 7, 'status')
    expect(run.err.count('wtm: ') <= 1, f'more than one process speaks: {run.err!r}')


@SUITE.test('exec into the program: one profile, with its counts')
def _(t):
    run, report = t.report_of(['/bin/sh', '-c', f"exec {t.build('plain.c')} 10 0 0"], 'alpha')
    expect_equal(report.one('alpha')['calls'], 10, 'calls of alpha')


@SUITE.test('a set-up by env with another library preloaded before and behind')
def _(t):
    other = t.build('lib.c', '-shared', '-fPIC', '-Wl,-Bsymbolic', name='libwtmlib.so')
    for number, order in enumerate((f'{other}:{t.tools.lib}', f'{t.tools.lib} {other}')):
        _, report = t.report_of([t.build('plain.c'), '10', '0', '0'], 'main:alpha', t.sub(str(number)),
                                env={'LD_PRELOAD': order})
        expect_equal(report.one('alpha')['calls'], 10, f'calls of alpha with LD_PRELOAD={order}')


@SUITE.test('the library twice, as two files: the second stays out and says so')
def _(t):
    copy = shutil.copy(t.tools.lib, t.folder + '/libwtmtime.so')
    run, report = t.report_of([t.build('plain.c'), '10', '0', '0'], 'main:alpha', env={'LD_PRELOAD': f'{t.tools.lib}:{copy}'})
    expect_equal(report.one('alpha')['calls'], 10, 'calls of alpha')
    expect(run.err.count('\n') == 1 and 'times nothing' in run.err and t.tools.lib in run.err, f'not told: {run.err!r}')


@SUITE.test('under valgrind the counts are right and no error is ours')
def _(t):
    valgrind = need('valgrind')
    argv = [valgrind, '-q', '--error-exitcode=9', t.build('plain.c'), '100', '20', '3']
    run = t.run(argv, 'main:alpha,main:alphabet', timeout=300)
    expect_equal((run.status, run.out), (0, f'sum {5050 + 230 + 12}\n'), f'status and stdout ({run.err[-800:]})')
    reports = [report for report in [run.report()] if report.rows('alpha')]
    expect_equal([report.sum('calls', 'alpha') for report in reports], [100], 'calls of alpha')


@SUITE.test('under gdb: a breakpoint on a timed function and a step through it')
def _(t):
    gdb = need('gdb')
    argv = [gdb, '-q', '-nx', '-batch', '-ex', f'set environment LD_PRELOAD {t.tools.lib}',
            '-ex', 'set environment WTM_TIME alpha', '-ex', f'set environment WTM_OUT {t.folder}/out.%p.prof',
            '-ex', 'set environment WTM_TABLE none', '-ex', 'set startup-with-shell off',
            '-ex', 'break beta', '-ex', 'run', '-ex', 'backtrace', '-ex', 'continue',
            '--args', t.build('plain.c'), '10', '0', '1']
    run = t.run(argv)
    expect(re.search(r'#0 .*beta.*\n#1 .*main', run.out), f'no backtrace from beta to main: {run.out[-800:]}')
    expect('exited normally' in run.out, f'the program did not end well: {run.out[-800:]}')
    reports = run.children()
    expect_equal([report.sum('calls', 'alpha') for report in reports if report.rows('alpha')], [10], 'calls of alpha')


@SUITE.test('a coroutine on an array in another frame returns through calls that looked left')
def _(t):
    program = t.build('ownstack.c')
    run, report = t.report_of([program], 'around,pause_here,plain')
    expect_equal(run.out, t.run([program]).out, 'output')
    expect_equal([report.one(name)['calls'] for name in ('around', 'pause_here', 'plain')], [101, 101, 202], 'calls')


@SUITE.test('children that call nothing leave the profile of their parent alone, and say nothing')
def _(t):
    run, report = t.report_of([t.build('quietchild.c')], 'busy')
    expect_equal((run.out, run.err), ('sum 80\n', ''), 'stdout and stderr')
    expect_equal(report.one('busy')['calls'], 13, 'calls')
    expect(report.data['process']['wall_ns'] > 30e6, f"the run of 30 ms has {report.data['process']['wall_ns']} ns")
    expect_equal([name for name in os.listdir(t.folder) if name.endswith('.prof')], [f'out.{report.data["process"]["pid"]}.prof'],
                 'profiles')


@SUITE.test('coroutines that are resumed by one thread after another: every return finds its way, every call is counted')
def _(t):
    program = t.build('wander.c', '-pthread')
    expected = t.run([program]).out
    for round in range(5):
        run, report = t.report_of([program], 'main:leave,main:step,main:between', t.sub(str(round)))
        expect_equal(run.out, expected, 'output')
        rows = [report.one(name) for name in ('leave', 'step')]
        expect_equal([(row['calls'], row['recursive'], row['abnormal'], row['open']) for row in rows], [(800, 0, 0, 0)] * 2,
                     'calls, recursive, abnormal, open')
