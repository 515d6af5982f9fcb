# SPDX-License-Identifier: MIT
"""Timed frames must be transparent to every unwinder: libgcc's, LLVM's, nongnu libunwind, gdb's; for exceptions, for
walks, and at each single instruction of the entry and exit code."""
import os
import re
import subprocess

from suite import promise
from suite.registry import Suite
from suite.results import Skipped, expect, expect_equal
from suite.target import need

SUITE, LONG = Suite('unwind'), Suite('unwind')  # with --full: LONG too
LLVM = '/usr/lib/x86_64-linux-gnu/libunwind.so.1'
CHAIN = ['five', 'four', 'three', 'three', 'two', 'one']
TIMED = {'all': 'one,two,three,four,five', 'every second': 'two,four', 'innermost and outermost': 'one,five'}


def llvm():
    if not os.path.exists(LLVM):
        raise Skipped(f'{LLVM} is not installed (libunwind-14)')
    return LLVM


def frames_of(run):
    return re.findall(r'^frame (\S+)', run.out, re.M)


def check_chain(run, how):
    expect_equal(run.status, 0, f'status ({run.err[-400:]})')
    frames = frames_of(run)
    expect('five' in frames, f'the innermost frame is missing: {frames}')
    start = frames.index('five')
    wanted = CHAIN + {'thread': ['thread'], 'coroutine': ['coroutine']}.get(how, ['main'])
    expect_equal(frames[start:start + len(wanted)], wanted, f'frames, walked {how}')


def add_walk(title, walker, libs, preload=None):
    @SUITE.test(f'every frame is seen: {title}')
    def _(t):
        program = t.build('walk.c', f'-DWALKER={walker}', '-rdynamic', '-fno-optimize-sibling-calls', '-pthread', *libs,
                          name=f'walk-{walker}')
        extra = {'LD_PRELOAD': f'{t.tools.lib}:{preload()}'} if preload else {}
        for how in ('direct', 'signal', 'thread', 'coroutine'):
            alone = t.run([program, how], folder=t.sub(f'plain-{how}'), env={'LD_PRELOAD': preload()} if preload else None)
            check_chain(alone, how)  # the walker itself works
            for number, (_, patterns) in enumerate(TIMED.items()):
                run = t.run([program, how], patterns, t.sub(f'{how}-{number}'), env=extra)
                check_chain(run, how)
                expect_equal([frame for frame in frames_of(run) if frame != '?'],
                             [frame for frame in frames_of(alone) if frame != '?'], f'all frames, walked {how}')
                report = run.report()
                expect_equal([report.sum('calls', name) for name in patterns.split(',')],
                             [2 if name == 'three' else 1 for name in patterns.split(',')], f'calls, walked {how}')


add_walk("glibc's backtrace()", 1, [])
add_walk("libgcc's _Unwind_Backtrace", 2, [])
add_walk("LLVM's _Unwind_Backtrace", 2, [], llvm)
add_walk("nongnu libunwind's unw_step", 3, ['-lunwind'])


def add_throw(title, compiler, flags, preload=None, thread=True):
    @SUITE.test(f'exceptions: {title}')
    def _(t):
        program = t.build('throws.cc', '-fno-optimize-sibling-calls', '-pthread', *flags, compiler=compiler,
                          name='throws' + ''.join(flags))
        extra = {'LD_PRELOAD': f'{t.tools.lib}:{preload()}'} if preload else {}
        argv = [program] + (['thread'] if thread else [])
        functions = 'thrower,passer,catcher,rethrower,descender,builder,leaver,waiter'
        run, report = t.report_of(argv, functions, env=extra)
        expect_equal(run.out, ('threads left\n' if thread else '') + 'thrown 35000\n', 'stdout')
        counts = {name: [report.sum(field, name) for field in ('calls', 'recursive', 'abnormal', 'open')]
                  for name in functions.split(',')}
        gone = [50, 0, 50, 0] if thread else [0, 0, 0, 0]
        expect_equal(counts, {'thrower': [30000, 0, 30000, 0], 'passer': [20000, 0, 20000, 0],
                              'catcher': [10000, 0, 0, 0], 'rethrower': [10000, 0, 10000, 0],
                              'descender': [40000, 30000, 10000, 0], 'builder': [10001, 0, 5000, 0],
                              'leaver': gone, 'waiter': gone}, 'calls, recursive, abnormal, open')


add_throw("g++, libgcc's unwinder", 'gcc', [])
add_throw('g++, libgcc and libstdc++ linked in', 'gcc', ['-static-libgcc', '-static-libstdc++'])
add_throw("clang++, libgcc's unwinder", 'clang', [])
add_throw("g++, LLVM's unwinder", 'gcc', [], llvm, thread=False)
add_throw('g++ without optimisation', 'gcc', ['-O0'])


@SUITE.test('gdb: backtrace from inside timed functions')
def _(t):
    program = t.build('walk.c', '-DWALKER=1', '-rdynamic', '-fno-optimize-sibling-calls', '-pthread', name='walk-1')
    for number, (_, patterns) in enumerate(TIMED.items()):
        argv = [need('gdb'), '-q', '-nx', '-batch', '-ex', 'set startup-with-shell off',
                '-ex', f'set environment LD_PRELOAD {t.tools.lib}', '-ex', f'set environment WTM_TIME {patterns}',
                '-ex', 'set environment WTM_TABLE none', '-ex', 'break print_frames', '-ex', 'run', '-ex', 'backtrace',
                '-ex', 'finish', '-ex', 'up 2', '-ex', 'continue', '--args', program]
        run = t.run(argv, folder=t.sub(str(number)))
        frames = re.findall(r'^#\d+ +(?:0x[0-9a-f]+ in )?([\w?]+)', run.out, re.M)
        seen = [frame for frame in frames if frame in {*CHAIN, 'main'}]
        expect_equal(seen[:7], CHAIN + ['main'], f'frames of gdb with {patterns} timed: {run.out[-1500:]}')
        expect('exited normally' in run.out, f'the program did not end well: {run.out[-600:]}')


def symbol_range(path, name):
    listing = subprocess.run(['nm', '-S', path], stdout=subprocess.PIPE, check=True).stdout.decode()
    start, size = re.search(rf'^([0-9a-f]+) ([0-9a-f]+) [tT] {name}$', listing, re.M).groups()
    return f'{int(start, 16):x}', f'{int(start, 16) + int(size, 16):x}'


def add_steps(how, patterns, mode, caller='caller', further=()):
    @SUITE.test(' '.join((f'single steps through entry and exit code: {how}, {mode}', *further)))
    def _(t):
        flags = ['-no-pie', '-fno-pie', '-foptimize-sibling-calls', '-Wl,-z,now', *further]
        program = t.build('stepped.c', *flags, name=''.join(('stepped', *further)))
        stepper = t.build('stepper.c', '-lunwind-ptrace', '-lunwind-generic', '-lunwind')
        argv = [stepper, *symbol_range(program, caller), *symbol_range(program, 'main'), program, how]
        alone = t.run(argv, folder=t.sub('plain'))
        expect(alone.status == 0, f'without the library: {alone.out}{alone.err[-800:]}')
        # the stepper itself is not timed: the library is preloaded into its child alone
        run = t.run(argv, patterns, t.sub('timed'), timeout=400,
                    env={'LD_PRELOAD': None, 'STEPPED_PRELOAD': t.tools.lib, 'WTM_RECURSION': mode})
        expect_equal(run.status, 0, f'status of the stepper ({run.out}{run.err[-1500:]})')
        numbers = {word: int(number) for word, number in re.findall(r'(\w+) (\d+)', run.out)}
        calls = {'plain': 2, 'recursive': 4, 'tail': 2}[how] * 2
        expect(numbers['library'] > 20 * calls, f"only {numbers['library']} instructions in the library")
        expect(numbers['generated'] <= 16 * calls, f"{numbers['generated']} instructions without unwind tables")
        return run.out.strip()


add_steps('plain', 'timed,inner', 'withdraw')
add_steps('recursive', 'timed,inner', 'withdraw')
add_steps('recursive', 'timed,inner', 'nest')
add_steps('tail', 'tail,inner', 'withdraw')
add_steps('plain', 'timed,inner', 'withdraw', 'Builtins_caller', ('-DV8',))


# How calls end, and how often each of these functions is entered and left in a round; `inner` always returns.
ENDS = {'throw': ('thrower', 'middle'), 'uncaught': ('thrower', 'middle'), 'jump': ('jumper', 'middle'),
        'sigjump': ('raiser', 'outer'), 'exit': ('leaver', 'outer'), 'cancel': ('waiter', 'outer'), 'async': ('spinner', 'outer')}
GROWN_PAGES = 64  # by which the second half of the rounds may grow: the C library's caches of stacks and buffers


def ends(t, how, rounds, flags=(), preload=None, folder='timed'):
    program = t.build('ends.cc', '-fno-optimize-sibling-calls', '-pthread', *flags, name='ends' + ''.join(flags))
    extra = {'LD_PRELOAD': f'{t.tools.lib}:{preload()}'} if preload else {}
    names = ('thrower', 'jumper', 'raiser', 'leaver', 'waiter', 'spinner', 'middle', 'outer', 'inner')
    run, report = t.report_of([program, how, str(rounds)], ','.join(names), t.sub(folder), env=extra, timeout=1800)
    unwound = how not in ('jump', 'sigjump')
    expect_equal(run.out, f"rounds {rounds} guards {'ran' if unwound else 'none'}\n", 'stdout')
    told = {word: int(number) for word, number in re.findall(r'(\w+) (-?\d+)', run.err)}
    expect(told['grown'] <= GROWN_PAGES, f"the second half of {rounds} rounds grew by {told['grown']} pages")
    counts = {name: tuple(report.sum(field, name) for field in ('calls', 'recursive', 'abnormal', 'open')) for name in names}
    expect_equal({name: count for name, count in counts.items() if name != 'inner'},
                 {name: (rounds, 0, rounds, 0) if name in ENDS[how] else (0, 0, 0, 0) for name in names[:-1]},
                 'calls, recursive, abnormal, open')
    calls, recursive, abnormal, left_open = counts['inner']
    if how != 'async':
        expect_equal(counts['inner'], (rounds, 0, 0, 0), 'calls, recursive, abnormal, open of inner')
        return
    # a thread that is cancelled in inner's entry or exit has not told of that call itself
    expect(told['inner'] <= calls <= told['inner'] + rounds, f"inner: {calls} calls, the program knows of {told['inner']}")
    expect(abnormal <= rounds and (recursive, left_open) == (0, 0), f'inner: {counts["inner"]}')


@SUITE.test('calls that never return, in seven ways: exact counts, no memory')
def _(t):
    for how in ENDS:
        ends(t, how, 400 if how == 'async' else 1500, folder=how)


def million(how):
    @LONG.test(f'a million calls that never return: {how}')
    def _(t):
        ends(t, how, 1000000)


for _how in ENDS:
    million(_how)


def other_unwinders(t, rounds):
    ends(t, 'throw', rounds, preload=llvm, folder="LLVM's")
    ends(t, 'uncaught', rounds, preload=llvm, folder="LLVM's, in threads")
    for how in ('throw', 'uncaught'):
        ends(t, how, rounds, ('-static-libgcc', '-static-libstdc++'), folder=f'linked in, {how}')


@SUITE.test("exceptions through LLVM's unwinder and one that is linked in: exact counts, no memory")
def _(t):
    other_unwinders(t, 1500)


@LONG.test("a million exceptions through LLVM's unwinder and one that is linked in")
def _(t):
    other_unwinders(t, 1000000)


@SUITE.test('exceptions of other languages, forced, nested, out of destructors and faults; terminate')
def _(t):
    for compiler in ('gcc', 'clang'):
        program = t.build('unusual.cc', '-pthread', '-fnon-call-exceptions', '-fasynchronous-unwind-tables', compiler=compiler)
        for word in ('foreign', 'forced', 'nested', 'ends') + ('faults',) * (compiler == 'gcc'):  # clang 14 knows no such option
            promise.keeps(t, [program, word], every=compiler == 'gcc', folder=f'-{compiler}-{word}')


@SUITE.test('walks by a profiler that interrupts timed calls anywhere')
def _(t):
    program = t.build('unusual.cc', '-pthread', '-fnon-call-exceptions', '-fasynchronous-unwind-tables')
    for number, time in enumerate(('inner,outer,spin', '*')):
        run, report = t.report_of([program, 'sampled'], time, t.sub(str(number)))
        expect_equal(run.out, 'walked 1\n', f'stdout ({run.err})')
        calls = int(re.search(r'calls (\d+)', run.err).group(1))
        expect_equal([report.sum('calls', name) for name in ('inner', 'outer')], [calls, calls], 'calls')


def tests(tools, full=False):
    return SUITE.tests(tools) + (LONG.tests(tools) if full else [])
