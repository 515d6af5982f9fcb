# SPDX-License-Identifier: MIT
"""Programs that do with their return addresses, stacks, registers and recursion what few do, and say what the report must be."""
from suite import promise
from suite.registry import Suite
from suite.results import expect_equal, expect_time, unless_disturbed

SUITE = Suite('programs')
ASYNC = ('-pthread', '-fnon-call-exceptions', '-fasynchronous-unwind-tables')


def kinds(title, source, flags, words, by_clang=True):
    @SUITE.test(f"{title}: {', '.join(words)}")
    def _(t):
        for compiler in ('gcc', 'clang')[:1 + by_clang]:
            program = t.build(source, *flags, compiler=compiler)
            for word in words:
                promise.keeps(t, [program, word], every=compiler == 'gcc', folder=f'-{compiler}-{word}')


kinds('return addresses', 'slots.c', (), ('ret_n', 'late', 'data', 'place', 'callers'))
kinds('ways out that are no returns', 'jumps.cc', ASYNC, ('alternate', 'levels', 'within'))
# clang takes raise() for a function that nothing is thrown through
kinds('exceptions out of handlers on stacks of their own', 'jumps.cc', ASYNC, ('thrown', 'high'), by_clang=False)
kinds('ways out that are no returns', 'jumps.cc', ASYNC, ('coroutines', 'untold', 'recursion'))
@SUITE.test('first instructions as nobody else has them, bodies that overlap or run on, data in text, wrong sizes, one name at a time')
def _(t):
    for compiler in ('gcc', 'clang'):
        promise.keeps(t, [t.build('entries.c', compiler=compiler)], folder=f'-{compiler}')
    program = t.build('entries.c')
    for name in ('sizeless', 'way_two', 'next_one', 'behind_data', 'in_section'):
        run, report = t.report_of([program], name, t.sub(f'one-{name}'))
        expect_equal((report.sum('calls', name), report.refused), (500, []), f'calls of {name}, refused')


kinds('recursion and ends of threads', 'tallies.c', ('-pthread',),
      ('recursive', 'handlers', 'nested_handlers', 'chains', 'threads', 'across'))


@SUITE.test('registers, flags, x87, vectors and masks over each way through entry and exit, under each setting')
def _(t):
    program = t.build('registers.c', '-pthread')
    settings = ('WTM_CLOCK=tsc', 'WTM_CLOCK=monotonic', 'WTM_CPU=clock_gettime', 'WTM_ORDER=strict', 'WTM_NOISE=1', 'WTM_SAMPLES=9',
                'WTM_SUBTRACT=long_leaf')
    for setting in settings:
        promise.keeps(t, [program], every=setting == settings[0], env=dict([setting.split('=')]), folder=f'-{setting}')


@SUITE.test('a call by tail from a timed one is not charged what closing it costs, a first call not twice: no mean below zero')
def _(t):
    def means(number):
        for setting in ('WTM_CPU=clock_gettime', 'WTM_NOISE=1'):
            program = t.build('registers.c', '-pthread')
            report = promise.keeps(t, [program], every=False, env=dict([setting.split('=')]), folder=f'-{setting}-{number}')[0]
            for row in report.rows('by_tail', 'plain_leaf', 'long_leaf'):
                mean = row['realtime']['mean_ns']
                expect_time(mean > -200, f"{setting}: {row['name']} takes {mean} ns on average")
    unless_disturbed(means)
