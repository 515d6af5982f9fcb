# SPDX-License-Identifier: MIT
"""Programs whose stacks move: Boost's coroutines and fibers, hand-made switches, the coroutines of scripting languages. Output as
without the library, counts exact."""
import os

from suite import promise
from suite.registry import Suite
from suite.results import Skipped, expect, expect_equal
from suite.target import need

SUITE, LONG = Suite('stacks'), Suite('stacks')  # with --full: LONG too
FOLDER = os.path.dirname(os.path.abspath(__file__))


def counts(report, *names, fields=('calls', 'recursive', 'abnormal', 'open')):
    return {name: tuple(report.sum(field, name) for field in fields) for name in names}


def boost(t, source, *flags):
    if not os.path.exists('/usr/include/boost/fiber/all.hpp'):
        raise Skipped('libboost-context-dev, libboost-coroutine-dev or libboost-fiber-dev is not installed')
    return t.build(source, '-pthread', *flags)


def coroutines(t, rounds):
    """Fifty generators; the last is destroyed half-way, the one before ends by an exception."""
    program = boost(t, 'coroutines.cc', '-lboost_context')
    plain = t.run([program, str(rounds)], folder=t.sub('plain'))
    run, report = t.report_of([program, str(rounds)], 'yield_one,thrower,attempt,produce,take', t.sub('timed'), timeout=600)
    expect_equal((run.out, run.err), (plain.out, plain.err), 'stdout and stderr')
    half = rounds // 2
    yields, attempts = 49 * rounds + half + 1, 49 * ((rounds + 99) // 100) + (half + 99) // 100
    expect_equal(counts(report, 'yield_one', 'take', 'attempt', 'thrower', 'produce'),
                 {'yield_one': (yields, 0, 1, 0), 'take': (yields - 1, 0, 1, 0), 'attempt': (attempts, 0, 0, 0),
                  'thrower': (attempts + 1, 0, attempts + 1, 0), 'produce': (50, 0, 2, 0)}, 'calls, recursive, abnormal, open')
    return f'{2 * yields} switches'


@SUITE.test('Boost.Coroutine2: exact counts, exceptions and unwound stacks included')
def _(t):
    return coroutines(t, 2000)


@LONG.test('Boost.Coroutine2: millions of switches')
def _(t):
    return coroutines(t, 40000)


def fibers(t, rounds):
    program = boost(t, 'fibers.cc', '-lboost_fiber', '-lboost_context')
    plain = t.run([program, str(rounds)], folder=t.sub('plain'))
    run, report = t.report_of([program, str(rounds)], 'step,thrower,attempt,body,where', t.sub('timed'), timeout=900)
    expect_equal(run.out, plain.out, 'stdout')
    attempts = 200 * ((rounds + 49) // 50)
    expect_equal(counts(report, 'step', 'where', 'attempt', 'thrower', 'body'),
                 {'step': (200 * rounds, 0, 0, 0), 'where': (400 * rounds, 0, 0, 0), 'attempt': (attempts, 0, 0, 0),
                  'thrower': (attempts, 0, attempts, 0), 'body': (200, 0, 0, 0)}, 'calls, recursive, abnormal, open')
    moved = int(run.err.split()[1])
    late = report.sum('late', 'step')
    expect(late <= moved, f'{late} calls of step have no time, but only {moved} ended in another thread')
    return moved


@SUITE.test('Boost.Fiber with work stealing: fibers go on in other threads, throw there, and every call is counted')
def _(t):
    moved = sum(fibers(Sub(t, str(number)), 500) for number in range(3))
    expect(moved > 10, f'only {moved} calls ended in another thread')
    return f'{moved} calls ended in another thread'


@LONG.test('Boost.Fiber with work stealing: millions of switches')
def _(t):
    return f'{fibers(t, 20000)} calls ended in another thread'


class Sub:
    """A context whose folders lie in one of another's."""

    def __init__(self, context, name):
        self.context, self.folder = context, context.sub(name)

    def sub(self, name):
        path = os.path.join(self.folder, name)
        os.makedirs(path)
        return path

    def __getattr__(self, name):
        return getattr(self.context, name)


def handmade(t, rounds, stack_bytes):
    program, argv = t.build('handmade.c'), [str(rounds), str(stack_bytes)]
    plain = t.run([program, *argv], folder=t.sub(f'plain-{stack_bytes}'))
    run, report = t.report_of([program, *argv], 'leave,plain,generate,resume', t.sub(f'timed-{stack_bytes}'), timeout=600)
    expect_equal((run.out, run.err), (plain.out, plain.err), f'stdout and stderr, stacks of {stack_bytes} bytes')
    # stacks nearer than 60,000 bytes cannot be told apart: some calls then count as recursive
    fields = ('calls', 'recursive', 'abnormal', 'open') if stack_bytes >= 65536 else ('calls', 'abnormal', 'open')
    wanted = {'leave': 64 * rounds, 'plain': 64 * rounds, 'generate': 64, 'resume': 64 * (rounds + 1)}
    expect_equal(counts(report, *wanted, fields=fields),
                 {name: (number,) + (0,) * (len(fields) - 1) for name, number in wanted.items()}, ', '.join(fields))


@SUITE.test('switches by hand, on stacks from 1 KiB up')
def _(t):
    for stack_bytes in (1024, 2048, 4096, 16384, 65536, 1 << 20):
        handmade(t, 5000 if stack_bytes == 1024 else 300, stack_bytes)  # the smallest: also where a pair of clocks is taken


@SUITE.test('stacks in an array of a frame, in threads too, megabytes by alloca, stacks thrown away; generators; split stacks')
def _(t):
    program = t.build('shared.c', '-pthread')
    for word in ('array', 'threaded', 'megabytes', 'abandoned'):
        promise.keeps(t, [program, word], folder=f'-{word}')
    promise.keeps(t, [t.build('generators.cc', '-std=c++20')], folder='-generators')
    promise.keeps(t, [t.build('split.c', '-pthread', '-fsplit-stack', '-fuse-ld=gold')], folder='-split')


@LONG.test('switches by hand: millions')
def _(t):
    handmade(t, 50000, 65536)


def scripted(t, argv, times, folder=''):
    plain = t.run(argv, folder=t.sub('plain' + folder))
    expect_equal(plain.status, 0, f'status without the library ({plain.err[-300:]})')
    reports = []
    for number, time in enumerate(times):
        run, report = t.report_of(argv, time, t.sub(f'{number}{folder}'), timeout=600)
        expect_equal((run.out, run.err), (plain.out, plain.err), f'stdout and stderr when timing {time}')
        expect(report.sum('calls', '*') > 100, f'nothing was counted when timing {time}')
        reports.append(report)
    return reports


def language(title, program, source, *options):
    @SUITE.test(f'{title}: its own functions timed, then everything')
    def _(t):
        scripted(t, [need(program), *options, os.path.join(FOLDER, source)], ('malloc,free,memcpy', '*'))


language('Ruby: fibers, enumerators, fibers in threads', 'ruby3.1', 'fibers.rb')
language('Lua: coroutines', 'lua5.4', 'coroutines.lua')
language('Guile: delimited continuations', 'guile', 'prompts.scm', '--no-auto-compile')


def need_module(name):
    if not os.path.exists(f'/usr/lib/python3/dist-packages/{name}'):
        raise Skipped(f'python3-{name} is not installed')


EVAL = '_PyEval_EvalFrameDefault,PyObject_Call,PyList_Sort,_PyObject_GenericGetAttrWithDict'


@SUITE.test('greenlet, which copies stacks away and back: the same output, the same counts each time')
def _(t):
    need_module('greenlet')
    argv = ['/usr/bin/python3', os.path.join(FOLDER, 'greenlets.py'), '20', '200']
    few = [scripted(t, argv, (EVAL,), f'-{number}')[0] for number in range(2)]
    names = EVAL.split(',')
    expect_equal(counts(few[0], *names, fields=('calls', 'abnormal', 'open')),
                 counts(few[1], *names, fields=('calls', 'abnormal', 'open')), 'two runs')
    expect_equal([few[0].sum(field, '_PyEval_EvalFrameDefault') for field in ('abnormal', 'open')], [0, 0], 'abnormal, open')
    expect(few[0].sum('late', '_PyEval_EvalFrameDefault') > 1000, 'calls that were open at a switch are told as of unknown length')
    every = scripted(t, argv, ('main:*', '*'), '-all')
    expect_equal({report.sum('calls', '_PyEval_EvalFrameDefault') for report in every + few},
                 {few[0].sum('calls', '_PyEval_EvalFrameDefault')}, 'calls, whatever else is timed')


@SUITE.test('gevent: queues, exceptions, everything timed')
def _(t):
    need_module('gevent')
    scripted(t, ['/usr/bin/python3', os.path.join(FOLDER, 'events.py')], (EVAL, 'main:*', '*'))


def tests(tools, full=False):
    return SUITE.tests(tools) + (LONG.tests(tools) if full else [])
