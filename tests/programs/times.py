# SPDX-License-Identifier: MIT
"""Times of calls that sleep or work for a known while. Lower bounds are hard (a sleep is never shorter); upper bounds are
what the program measured around the call by its own clock."""
import re

from suite.registry import Suite
from suite.results import Skipped, expect, expect_equal, expect_time, unless_disturbed

SUITE = Suite('programs')
MS = 1e6
NAMES = 'outer,inner,worker,descend,left,right,shared'


def printed(run, word):
    return int(re.search(rf'^{word} (\d+)$', run.out, re.M).group(1))


def nested(t, folder=None, time=NAMES, **env):
    return t.report_of([t.build('nested.c')], time, folder, env=env)


def within(value, low, high, what):
    expect(low <= value <= high, f'{what}: {value / MS:.3f} ms, expected {low / MS:.3f} to {high / MS:.3f} ms')


@SUITE.test('realtime is what the program measures itself; self is less the timed callees')
def _(t):
    run, report = nested(t)
    outer, inner = report.one('outer')['realtime'], report.one('inner')['realtime']
    within(outer['total_ns'], 50 * MS - 0.02 * MS, printed(run, 'outer') + 0.02 * MS, 'outer')
    within(inner['total_ns'], 30 * MS - 0.02 * MS, printed(run, 'outer') - 20 * MS + 0.02 * MS, 'inner')
    within(outer['self_ns'], 20 * MS - 0.02 * MS, printed(run, 'outer') - 30 * MS + 0.02 * MS, 'self time of outer')
    within(abs(outer['total_ns'] - outer['self_ns'] - inner['total_ns']), 0, 0.01 * MS, 'total less self less callee')


@SUITE.test('runtime of a sleeper is near nothing, that of a worker what it used')
def _(t):
    for source in ('auto', 'rseq', 'perf', 'clock_gettime'):
        run, report = nested(t, t.sub(source), WTM_CPU=source)
        within(report.one('inner')['runtime']['total_ns'], -0.1 * MS, 5 * MS, f'runtime of a 30 ms sleep by {source}')
        within(report.one('worker')['runtime']['total_ns'], 39 * MS, printed(run, 'worker') + 0.1 * MS,
               f'runtime of 40 ms of work by {source}')
        runtime, realtime = report.one('worker')['runtime'], report.one('worker')['realtime']
        expect(runtime['total_ns'] <= realtime['total_ns'] + 0.1 * MS, f'more runtime than realtime by {source}')
        expect(report.data['cpu']['source'] != 'off', f'{source}: no source of runtime was found')


KINDS = 'compute,nap,block,drain,preempted,brief'


def check_kinds(t, folder, source, threads):
    run, report = t.report_of([t.build('cpukinds.c', '-pthread'), str(threads), '40'], KINDS, folder, env={'WTM_CPU': source})
    if report.data['cpu']['source'] != source:
        raise Skipped(f"this machine has no {source}: {report.data['cpu']['note']}")
    reading = printed(run, 'reading')
    for name in KINDS.split(','):
        calls, told = (int(word) for word in re.search(rf'^{name} (\d+) (\d+)$', run.out, re.M).groups())
        row = report.one(name)
        expect_equal((row['calls'], row['open'], row['late']), (calls, 0, 0), f'{name}: calls, open, late')
        apart = row['runtime']['total_ns'] - told - reading * calls
        expect_time(abs(apart) <= max(told / 100, 5000 * calls),
                    f"{name}: {row['runtime']['total_ns']:.0f} ns by {source}, {told} + {calls} x {reading} ns by the clock")


def cpu_kinds(source, threads):
    """Functions of all kinds against the kernel's CPU clock, which each reads itself at its first and last line."""
    @SUITE.test(f'runtime by {source} is that of clock_gettime within 1 % or 5 us a call, on {threads} threads')
    def _(t):
        unless_disturbed(lambda number: check_kinds(t, t.sub(str(number)), source, threads))


for _source in ('rseq', 'perf', 'clock_gettime'):
    for _threads in (1, 4):
        cpu_kinds(_source, _threads)


@SUITE.test('perf events that cannot be had: threads without one read the clock, and a note says so')
def _(t):
    program = t.build('fewfiles.c', '-pthread')
    run, report = t.report_of([program, '3'], 'work', env={'WTM_CPU': 'perf'})
    if report.data['cpu']['source'] != 'perf':
        raise Skipped('no perf events here')
    row = report.one('work')
    expect_equal(row['calls'], 30, 'calls of work')
    expect(any('perf event' in note for note in report.data['notes']), f"no note: {report.data['notes']}")
    within(row['runtime']['total_ns'], printed(run, 'cpu') * 0.98, printed(run, 'cpu') * 1.01 + 30 * 10000, 'runtime of work')


@SUITE.test('perf events and fork: a child, whose pages are gone, goes on')
def _(t):
    run, report = t.report_of([t.build('forkinside.c')], 'work,split', env={'WTM_CPU': 'perf'})
    children = run.children()
    expect_equal(sorted(child.one('work')['calls'] for child in children), [1000, 2000], 'calls of work in the children')
    expect_equal((report.one('work')['calls'], report.one('split')['calls'], report.one('split')['open']), (2000, 1, 0),
                 'calls of work and split, open ones, in the parent')
    expect(all(child.data['cpu']['source'] == report.data['cpu']['source'] for child in children), 'source of a child')


@SUITE.test('WTM_RECURSION: withdraw charges the outermost call, nest each level')
def _(t):
    run, report = nested(t, t.sub('withdraw'), WTM_RECURSION='withdraw')
    row = report.one('descend')
    expect_equal((row['calls'], row['recursive']), (6, 5), 'calls and recursive calls')
    within(row['realtime']['total_ns'], 9.98 * MS, printed(run, 'descend') + 0.02 * MS, 'withdraw: total')
    run, report = nested(t, t.sub('nest'), WTM_RECURSION='nest')
    row = report.one('descend')
    expect_equal((row['calls'], row['recursive']), (6, 5), 'nest: calls and recursive calls')
    within(row['realtime']['total_ns'], 6 * 9.98 * MS, 6 * printed(run, 'descend') + 0.1 * MS, 'nest: total of six levels')
    within(row['realtime']['min_ns'], 9.98 * MS, printed(run, 'descend') + 0.02 * MS, 'nest: the shortest level')
    within(row['realtime']['self_ns'], 9.98 * MS, printed(run, 'descend') + 0.1 * MS, 'nest: self times add up once')


@SUITE.test('A calls B: callers and their counts')
def _(t):
    _, report = nested(t)
    callers = {caller['name']: caller['calls'] for caller in report.one('shared')['callers']}
    expect_equal(callers, {'left': 70, 'right': 50}, 'callers of shared')
    expect_equal({caller['name']: caller['calls'] for caller in report.one('inner')['callers']}, {'outer': 1},
                 'callers of inner')
    expect_equal(report.one('shared')['calls'], 120, 'calls of shared')


@SUITE.test('statistics of one call agree with each other')
def _(t):
    _, report = nested(t)
    for name in ('inner', 'outer', 'worker'):
        times = report.one(name)['realtime']
        total = times['total_ns']
        expect_equal(report.one(name)['calls'], 1, f'calls of {name}')
        for field in ('mean_ns', 'min_ns', 'max_ns'):
            within(times[field], total - 1000, total + 1000, f'{name} {field}')
        for field in ('p50_ns', 'p90_ns', 'p99_ns', 'p999_ns'):
            within(times[field], total * 0.968 - 1000, total * 1.032 + 1000, f'{name} {field}')
        within(times['stddev_ns'], 0, 1000, f'{name} deviation')


@SUITE.test('timed by the clock of the system instead of the TSC: the same times')
def _(t):
    run, report = nested(t, WTM_CLOCK='monotonic')
    within(report.one('outer')['realtime']['total_ns'], 50 * MS - 0.02 * MS, printed(run, 'outer') + 0.02 * MS, 'outer')
    within(report.data['process']['wall_ns'], 100 * MS, 20000 * MS, 'the run')


@SUITE.test('an empty function costs near nothing after correction')
def _(t):
    _, report = t.report_of([t.build('plain.c'), '300000', '0', '0'], 'alpha')
    row, cost = report.one('alpha'), report.data['cost']
    expect(cost['inside_ns'] > 0 and cost['outside_ns'] > 0, f'costs: {cost}')
    expect(cost['spread_ns'] >= 0, f'spread: {cost}')
    # a call and return take a few ns; uncorrected it would be the cost of two reads of the counter
    raw = cost['inside_ns'] + row['realtime']['p50_ns']
    expect(row['realtime']['p50_ns'] < raw / 2 + 5, f"median of an empty call {row['realtime']['p50_ns']} ns, cost {cost}")


@SUITE.test('WTM_SLOW keeps the slowest calls')
def _(t):
    run, report = t.report_of([t.build('nested.c')], 'descend,outer', env={'WTM_SLOW': '2'})
    slow = report.one('outer')['slow']
    expect_equal(len(slow), 1, f'slow calls of a function called once: {slow}')


@SUITE.test('WTM_SAMPLES keeps the first observations in order')
def _(t):
    _, report = t.report_of([t.build('plain.c'), '100', '3', '0'], 'alpha,alphabet', env={'WTM_SAMPLES': '10'})
    expect_equal([len(report.one(name)['samples_ns']) for name in ('alpha', 'alphabet')], [10, 3], 'samples')


@SUITE.test('WTM_FAKE returns the value and does not run the function')
def _(t):
    run = t.run([t.build('plain.c'), '7', '8', '0'], 'alpha', env={'WTM_FAKE': 'alphabet=-1'})
    expect_equal((run.status, run.out), (0, f'sum {28 - 8}\n'), 'status and stdout')


@SUITE.test('WTM_SUBTRACT takes a callee out of the functions around it')
def _(t):
    run, report = t.report_of([t.build('nested.c')], 'outer', env={'WTM_SUBTRACT': 'inner'})
    within(report.one('outer')['realtime']['total_ns'], 20 * MS - 0.02 * MS, printed(run, 'outer') - 30 * MS + 0.02 * MS,
           'outer without inner')


@SUITE.test("waits in the midst of the library's own work are in no runtime, and are not taken out of any")
def _(t):
    run, report = t.report_of([t.build('first.c', '-pthread')], 'outer,main:f_*')
    outer, inner = report.one('outer'), report.rows('f_*')
    expect_equal((outer['calls'], len(inner), sum(row['calls'] for row in inner)), (8, 1000, 8000), 'calls')
    runtime, real, spent = outer['runtime']['total_ns'], outer['realtime']['total_ns'], int(run.out)
    expect(0 <= runtime <= spent, f'runtime of all outer {runtime / 1e6:.2f} ms, CPU time as they saw it {spent / 1e6:.2f} ms')
    expect(runtime <= real, f'runtime {runtime / 1e6:.2f} ms, realtime {real / 1e6:.2f} ms')
    return f'runtime {runtime / 1e6:.2f} ms, realtime {real / 1e6:.2f} ms, CPU time {spent / 1e6:.2f} ms'


@SUITE.test('a thread that is preempted everywhere: exact counts, no runtime below zero')
def _(t):
    run, report = t.report_of([t.build('preempted.c')], 'brief')
    row = report.one('brief')
    expect_equal(row['calls'], int(re.search(r'^calls (\d+)$', run.out, re.M).group(1)), 'calls')
    expect_equal((row['recursive'], row['abnormal'], row['open']), (0, 0, 0), 'recursive, abnormal, open')
    for kind in ('realtime', 'runtime'):  # the noise of one reading of the CPU clock; a wait would be milliseconds
        expect(row[kind]['min_ns'] > -20000, f"{kind}: a call took {row[kind]['min_ns']} ns")
    expect(row['runtime']['total_ns'] <= row['realtime']['total_ns'] + 0.01 * abs(row['realtime']['total_ns']),
           f"more runtime ({row['runtime']['total_ns']}) than realtime ({row['realtime']['total_ns']})")
