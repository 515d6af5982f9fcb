# SPDX-License-Identifier: MIT
"""Distributions, single observations, and what disturbs calls. Nothing here depends on how fast the machine is: percentiles
are compared with the samples they are of, times with what the program measured itself."""
import csv
import io
import math
import os
import re
import subprocess

from suite.registry import Suite
from suite.results import Skipped, expect, expect_equal, expect_time, unless_disturbed

SUITE = Suite('programs')
MS = 1e6


def told(run, word):
    return int(re.search(rf'^{word} (\d+)$', run.out, re.M).group(1))


def whole(row):
    """What is left of a function, and all that was taken out: what measuring cost, and what WTM_SUBTRACT names."""
    return row['realtime']['total_ns'] + row['subtracted_ns']


def nearest_rank(values, fraction):
    return sorted(values)[max(0, math.ceil(fraction * len(values)) - 1)]


def near(value, exact, share, slack, what):
    expect_time(abs(value - exact) <= abs(exact) * share + slack, f'{what}: {value} ns, exactly {exact} ns')


def check_distribution(row, calls):
    """All calls are in the samples: every number of the report can be computed from them."""
    for kind, samples in (('realtime', row['samples_ns']), ('runtime', row['runtime_samples_ns'])):
        times, what = row[kind], f"{row['name']} {kind}"
        expect_equal(len(samples), calls, f'{what}: samples')
        expect(all(value is not None for value in samples), f'{what}: unknown samples')
        for name, fraction in (('p50_ns', 0.5), ('p90_ns', 0.9), ('p99_ns', 0.99), ('p999_ns', 0.999)):
            exact = max(0, nearest_rank(samples, fraction))  # what came out below zero by noise is in the first bucket
            near(times[name], exact, 0.03, 0.6, f'{what} {name}')  # 0.6: a bucket of one tick
        mean = math.fsum(samples) / calls
        near(times['min_ns'], min(samples), 0, 0.01, f'{what}: smallest')
        near(times['max_ns'], max(samples), 1e-9, 0.01, f'{what}: largest')
        near(times['total_ns'], math.fsum(samples), 1e-6, 0.01 * calls, f'{what}: total')
        near(times['mean_ns'], mean, 1e-6, 0.01, f'{what}: mean')
        near(times['stddev_ns'], math.sqrt(math.fsum((x - mean) ** 2 for x in samples) / calls), 1e-4, 0.1,
             f'{what}: deviation')


@SUITE.test('percentiles are within 3 % of the exact ones of all calls, realtime and runtime')
def _(t):
    for source in ('rseq', 'perf', 'clock_gettime'):
        run, report = t.report_of([t.build('spread.c', '-pthread'), '4'], 'tiny,flat,steep,twofold,mixed', t.sub(source),
                                  env={'WTM_SAMPLES': '100000', 'WTM_CPU': source})
        if report.data['cpu']['source'] != source:
            continue
        for name in ('tiny', 'flat', 'steep', 'twofold', 'mixed'):
            check_distribution(report.one(name), told(run, name))


@SUITE.test('WTM_SAMPLES=N keeps the first N calls to end of each function, of all threads together')
def _(t):
    env = {'WTM_SAMPLES': '50'}
    run, report = t.report_of([t.build('spread.c', '-pthread'), '4'], 'tiny,flat', env=env)
    for name in ('tiny', 'flat'):
        row = report.one(name)
        expect_equal((len(row['samples_ns']), len(row['runtime_samples_ns'])), (50, 50), f'samples of {name}')
        expect_equal(row['calls'], told(run, name), f'calls of {name}')
        expect(min(row['samples_ns']) >= row['realtime']['min_ns'] - 0.01 and
               max(row['samples_ns']) <= row['realtime']['max_ns'] + 0.01, f'samples of {name} lie outside of its calls')
    _, report = t.report_of([t.build('plain.c'), '0', '7', '0'], 'alphabet', t.sub('fewer'), env=env)
    expect_equal(len(report.one('alphabet')['samples_ns']), 7, 'samples of 7 calls')
    _, report = t.report_of([t.build('plain.c'), '100', '7', '0'], 'alpha', t.sub('none'))
    expect_equal(report.one('alpha')['samples_ns'], [], 'samples that nobody asked for')


@SUITE.test('samples are in the order in which calls end')
def _(t):
    _, report = t.report_of([t.build('disturbed.c')], 'touch', env={'WTM_SAMPLES': '2'})
    first, second = report.one('touch')['runtime_samples_ns']  # the second finds its pages
    expect(first > 2 * second, f'500 page faults in {first} ns, none in {second} ns')


@SUITE.test('samples of a child are its own')
def _(t):
    run, report = t.report_of([t.build('forkinside.c')], 'work,split', env={'WTM_SAMPLES': '1500'})
    kept = sorted(len(row['samples_ns']) for row in [report.one('work'), *(child.one('work') for child in run.children())])
    expect_equal(kept, [1000, 1500, 1500], 'samples of work in three processes')


@SUITE.test('a reset begins the samples anew')
def _(t):
    steps = t.build('steps.c', '-pthread')
    _, report = t.report_of([steps, 'c5', 's11', 'c3'], 'work', env={'WTM_SAMPLES': '4', 'WTM_SIGNALS': 'reset=RTMIN+11'})
    row = report.one('work')
    expect_equal((row['calls'], len(row['samples_ns'])), (3, 3), 'calls and samples after a reset')


@SUITE.test('wtm report --samples and --outliers')
def _(t):
    run, report = t.report_of([t.build('spread.c', '-pthread'), '1'], 'flat,twofold', env={'WTM_SAMPLES': '300'})
    path = run.profile_paths()[run.pid]
    text = subprocess.run([t.tools.wtm, 'report', '--samples', 'flat', path], check=True, capture_output=True, text=True).stdout
    rows = list(csv.DictReader(io.StringIO(text)))
    expect_equal([int(row['number']) for row in rows], list(range(1, 301)), 'numbers of the samples')
    expect_equal([float(row['realtime_ns']) for row in rows], report.one('flat')['samples_ns'], 'CSV and JSON')
    none = subprocess.run([t.tools.wtm, 'report', '--samples', 'nothing', path], capture_output=True, text=True)
    expect_equal(none.returncode, 1, 'status without samples')
    told_text = subprocess.run([t.tools.wtm, 'report', '--outliers', '3', path], check=True, capture_output=True, text=True).stdout
    for name in ('flat', 'twofold'):
        values, taken = report.one(name)['samples_ns'], 0
        for _ in range(3):
            mean = math.fsum(values) / len(values)
            away = 2 * math.sqrt(math.fsum((x - mean) ** 2 for x in values) / len(values))
            left = [x for x in values if abs(x - mean) <= away]
            taken, values = taken + len(values) - len(left), left
        expect(f'{name}: realtime {taken} of 300 samples taken away' in told_text, f'{name}, {taken} taken: {told_text}')


def check_taken_out(t, source, number):
    run, report = t.report_of([t.build('disturbed.c')], 'mutate,step', t.sub(f'{source}.{number}'),
                              env={'WTM_SUBTRACT': 'collect,sweep', 'WTM_CPU': source})
    rows = {name: [row for row in report.rows(name) if row['calls']][0] for name in ('mutate', 'step', 'collect', 'sweep')}
    expect_equal([rows[name]['calls'] for name in ('mutate', 'step', 'collect', 'sweep')], [1, 60, 30, 30], 'calls')
    inside = rows['collect']['realtime']['total_ns'] + rows['sweep']['realtime']['total_ns']
    # 5 us for each call at whose end the kernel's clock was read: those that waited, or all 121
    slack = (121 if source == 'clock_gettime' else 30) * 5000 + 0.005 * told(run, 'mutate')
    near(inside, told(run, 'collect'), 0, slack, 'collect and sweep, by the program and by us')
    for name in ('mutate', 'step'):
        noise = rows[name]['noise']
        expect_equal(noise['taken_out'], 60, f'{name}: calls taken out')
        near(noise['taken_out_ns'], inside, 1e-6, 1, f'{name}: time taken out')
        near(whole(rows[name]), told(run, 'mutate'), 0, slack, f'{name}: what is left and what was taken out')
        runtime = rows[name]['runtime']['total_ns']
        expect_time(runtime > -slack and runtime <= rows[name]['realtime']['total_ns'] + slack, f'{name}: runtime {runtime}')
    # 60 turns of a tenth of a millisecond are its own; of those that wait none is
    near(rows['mutate']['realtime']['self_ns'] + rows['step']['realtime']['total_ns'],
         rows['mutate']['realtime']['total_ns'], 0, 1000, 'self of mutate and its callee')
    expect_equal([rows[name]['subtracted'] for name in ('mutate', 'collect')], [False, True], 'marks')
    expect('subtracted' in list(run.tables().values())[0], 'no such section in the table')


@SUITE.test('WTM_SUBTRACT: what is taken out and what is left make the whole, each shown apart')
def _(t):
    for source in ('rseq', 'perf', 'clock_gettime'):
        unless_disturbed(lambda number, source=source: check_taken_out(t, source, number))


@SUITE.test('WTM_SUBTRACT: the runtime of a function around collections that wait is its own work')
def _(t):
    run, report = t.report_of([t.build('disturbed.c')], 'mutate', env={'WTM_SUBTRACT': 'collect'})
    row = report.one('mutate')
    expect(row['runtime']['total_ns'] > 60 * 0.05 * MS * 0.2, f"runtime of mutate: {row['runtime']['total_ns']} ns")
    expect(row['runtime']['total_ns'] <= row['realtime']['total_ns'] + 0.2 * MS, 'more runtime than realtime')


@SUITE.test('WTM_SUBTRACT: what cannot be timed, or is not there, is told')
def _(t):
    _, report = t.report_of([t.build('disturbed.c')], 'mutate', env={'WTM_SUBTRACT': 'collekt,vfork'})
    expect_equal([row['pattern'] for row in report.not_found], ['collekt'], 'not found')
    expect_equal([row['name'] for row in report.refusals('vfork')], ['vfork'], 'refused')


@SUITE.test('WTM_NOISE=1 counts page faults, waits and handlers of each call')
def _(t):
    run, report = t.report_of([t.build('disturbed.c')], 'touch,rest,interrupted', env={'WTM_NOISE': '1'})
    touch, rest, interrupted = (report.one(name) for name in ('touch', 'rest', 'interrupted'))
    expect_equal([row['noise']['counted'] for row in (touch, rest, interrupted)], [2, 1, 1], 'calls that were counted')
    expect(500 <= touch['noise']['minor_faults'] <= 503, f"faults of 500 fresh pages: {touch['noise']}")
    expect(20 <= rest['noise']['waits'] <= 22, f"waits of 20 sleeps: {rest['noise']}")
    expect_equal(interrupted['noise']['handlers'], told(run, 'count'), 'signal handlers')
    near(interrupted['noise']['handlers_ns'], told(run, 'handled'), 0.01, 10 * 5000, 'time of the handlers')
    near(whole(interrupted), told(run, 'interrupted'), 0.001, 100000, 'the interrupted function, handlers included')
    handler = report.one('on_alarm')
    expect_equal((handler['calls'], handler['handler'], handler['subtracted']), (told(run, 'count'), True, False), 'the handler')
    expect(rest['noise']['waited_ns'] > 0.9 * 20 * 0.1 * MS, f"blocked time of 2 ms of sleep: {rest['noise']}")


@SUITE.test('WTM_SUBTRACT=signals:* takes signal handlers out')
def _(t):
    run, report = t.report_of([t.build('disturbed.c')], 'interrupted', env={'WTM_SUBTRACT': 'signals:*'})
    row = report.one('interrupted')
    expect_equal(row['noise']['taken_out'], told(run, 'count'), 'handlers taken out')
    near(whole(row), told(run, 'interrupted'), 0.001, 100000, 'what is left and what was taken out')
    near(row['noise']['taken_out_ns'], told(run, 'handled'), 0.01, 10 * 5000, 'time of the handlers')
    expect_equal(report.not_found, [], 'not found')


@SUITE.test('handlers that were installed before, by a library, and in a child, are found')
def _(t):
    run, report = t.report_of([t.build('handlers.c', '-pthread')], 'loop', env={'WTM_NOISE': '1'})
    expect_equal(report.one('on_first')['calls'], 3, 'calls of the handler set by signal()')
    expect_equal(report.one('on_second')['calls'], 2, 'calls of the one with three arguments')
    expect_equal(report.one('loop')['noise']['handlers'], 5, 'handlers inside of loop')
    child = run.children()[0]
    expect_equal(child.one('on_first')['calls'], 1, 'calls of the handler in the child')


# Collectors of real programs, through functions that these export; each measures its collections itself.
COLLECTING = '''
import ctypes, gc, time
gc.disable()
collect, clock = ctypes.pythonapi.PyGC_Collect, time.perf_counter_ns
def churn():
    spent = 0
    for i in range(40):
        heap = [[j] for j in range(20000)]
        begin = clock()
        collect()
        spent += clock() - begin
    return spent
begin = clock()
spent = churn()
print('collected', spent)
print('whole', clock() - begin)
'''
GUILE = '''
(define (clock) (get-internal-real-time))
(define spent 0)
(define begin-all (clock))
(do ((i 0 (+ i 1))) ((= i 20))
  (let ((heap (make-list 200000 i)) (begin (clock)))
    (gc)
    (set! spent (+ spent (- (clock) begin)))))
(define all (- (clock) begin-all))
(define unit (/ 1000000000 internal-time-units-per-second))
(format #t "collected ~a~%whole ~a~%" (* unit spent) (* unit all))
'''


def collector(t, argv, name, script, outer, function, calls, share):
    program = os.path.join(t.folder, name)
    with open(program, 'w', encoding='utf-8') as file:
        file.write(script)
    run, report = t.report_of([*argv, program], outer, env={'WTM_SUBTRACT': function})
    row, collect = report.one(outer), report.one(function)
    noise, spent = row['noise'], told(run, 'collected')
    expect(collect['subtracted'] and collect['calls'] >= noise['taken_out'] >= calls, f'collections: {collect} {noise}')
    expect(spent * share - calls * 30000 <= noise['taken_out_ns'] <= spent + calls * 5000,
           f"{noise['taken_out_ns']} ns were taken out, the program saw collections of {spent} ns")
    # the evaluation also reads the file and compiles it; it cannot be shorter than what it holds
    expect(whole(row) >= told(run, 'whole') * 0.9999, f'{whole(row)} ns are less than the part {told(run, "whole")} ns')
    expect(whole(row) <= report.data['process']['wall_ns'], 'more than the whole run')
    expect(whole(row) - noise['taken_out_ns'] >= row['realtime']['total_ns'] - 1000, 'measuring cost less than nothing')


@SUITE.test("a real collector: Python's, taken out of the evaluation around it")
def _(t):
    collector(t, ['/usr/bin/python3', '-S', '-E'], 'churn.py', COLLECTING, 'PyEval_EvalCode', 'PyGC_Collect', 40, 0.98)


@SUITE.test("a real collector: Boehm's in Guile, taken out of the program around it")
def _(t):
    collector(t, ['guile', '--no-auto-compile', '-s'], 'churn.scm', GUILE, 'scm_primitive_load', 'GC_gcollect', 20, 0.7)  # hooks run behind it
