# SPDX-License-Identifier: MIT
"""Runtimes whose stack walks begin at the return slot of the call that left their generated code (V8, HotSpot)."""
import subprocess

from suite.registry import Suite
from suite.results import expect, expect_equal

SUITE = Suite('programs')
ROUNDS = 1000


def walked(kind, flags, generated):
    """`generated`: pieces of code that call by_call, by_jump and inner, in each round; main calls the first two once more."""
    every = {'by_call': (generated + 1) * ROUNDS, 'by_jump': (generated + 1) * ROUNDS, 'inner': (3 * generated + 2) * ROUNDS,
             'compare': None}
    # inner: called by generated code, and by what jumped to it from a function that generated code had called
    untimed = {'by_call': generated * ROUNDS, 'by_jump': generated * ROUNDS, 'inner': 2 * generated * ROUNDS, 'compare': 0}

    @SUITE.test(f'a runtime like {kind}: its slots are left alone, calls by compiled code are timed, all are counted')
    def _(t):
        program = t.build('walked.cc', *flags, name=f'walked-{kind}')
        plain = t.run([program, str(ROUNDS)], folder=t.sub('plain'))
        expect_equal(plain.status, 0, 'status without the library')
        for number, (time, env) in enumerate((('inner,by_call,by_jump,compare', {}), ('main:*', {}), ('*', {}),
                                              ('main:*', {'WTM_CLOCK': 'monotonic'}),
                                              ('main:*', {'WTM_SAMPLES': '100', 'WTM_NOISE': '1'}))):
            run, report = t.report_of([program, str(ROUNDS)], time, t.sub(str(number)), env=env)
            expect_equal(run.out, plain.out, f'{time} {env}: stdout')
            for name, calls in every.items():
                row = report.one(name)
                expect_equal((row['recursive'], row['abnormal'], row['open'], row['late']), (0, 0, 0, untimed[name]),
                             f'{time} {env}: {name}: recursive, abnormal, open, late')
                expect(row['calls'] == calls or (calls is None and row['calls'] > 15), f"{time}: {name}: {row['calls']} calls")
                expect(row['realtime']['max_ns'] > 0, f"{time} {env}: {name}: {row['realtime']}")


walked('HotSpot', (), 1)
walked('V8', ('-DV8',), 2)


@SUITE.test('a runtime like V8 without symbols of its builtins: none of its C++ functions is timed, and that is told')
def _(t):
    program = t.build('walked.cc', '-DV8', name='walked-stripped')
    stripped = t.folder + '/stripped'
    subprocess.run(['objcopy', '--wildcard', '--strip-symbol=Builtins_*', program, stripped], check=True)
    run, report = t.report_of([stripped, str(ROUNDS)], 'inner,by_call', t.sub('named'))
    expect_equal(sorted(row['code'] for row in report.refusals('inner', 'by_call')), ['STACK_WALKER'] * 2, 'refusals')
    run, report = t.report_of([stripped, str(ROUNDS)], 'main:*', t.sub('all'))
    expect_equal((report.sum('calls', 'main'), report.rows('inner'), report.refusals('inner')), (1, [], []), 'all: main, inner')
    expect('its C++ functions are not timed' in ' '.join(run.tables()[run.pid].split()), 'not told')
