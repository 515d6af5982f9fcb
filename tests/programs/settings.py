# SPDX-License-Identifier: MIT
"""Settings: each value does what it says, a bad one is named and does no harm, the table goes where it is sent."""
import glob
import os
import re
import socket

from suite.registry import Suite
from suite.results import Skipped, expect, expect_equal

SUITE = Suite('programs')
SIGNALS = {'WTM_SIGNALS': 'arm=RTMIN+10,reset=RTMIN+11,disarm=RTMIN+12,dump=RTMIN+13'}  # the default


def plain(t):
    return t.build('plain.c')


def row_of(table, name):
    """The cells of a function's line in a table."""
    lines = [line.split() for line in table.splitlines() if line.split()[:1] == [name]]
    expect(len(lines) == 1, f'expected one line of {name} in the table, got {len(lines)}:\n{table}')
    return lines[0]


@SUITE.test('the table goes to stderr by default, once and whole')
def _(t):
    run = t.run([plain(t), '1234567', '20', '0', '3'], 'alpha,alphabet,beta', env={'WTM_TABLE': None, 'WTM_OUT': None})
    expect_equal(run.status, 3, 'exit status')
    expect_equal(len(re.findall(r'^ *function +calls', run.err, re.M)), 1, f'headings of the table in {run.err!r}')
    expect_equal(row_of(run.err, 'alpha')[1], '1,234,567', 'calls of alpha in the table')
    expect_equal(row_of(run.err, 'alphabet')[1], '20', 'calls of alphabet in the table')
    expect(run.err.endswith('\n') and run.out.startswith('sum '), 'stdout is the program\'s alone')
    expect(max(len(line) for line in run.err.splitlines()) <= 80, f'a line wider than 80 columns:\n{run.err}')
    expect(f'(pid {run.pid})' in run.err and 'plain' in run.err.splitlines()[0], 'the table names program and pid')


@SUITE.test('the table names the clock, the cost and the source of runtime')
def _(t):
    run = t.run([plain(t), '100000', '0', '0'], 'alpha', env={'WTM_TABLE': None, 'WTM_OUT': None})
    for word in (r'clock (tsc|monotonic)', r'runtime by \w+', r'subtracted', r'timing took'):
        expect(re.search(word, run.err), f'{word} is not in the table:\n{run.err}')


@SUITE.test('WTM_TABLE=none prints nothing')
def _(t):
    run = t.run([plain(t), '10', '0', '0'], 'alpha', env={'WTM_TABLE': 'none'})
    expect_equal(run.err, '', 'stderr')
    expect_equal(run.report().one('alpha')['calls'], 10, 'calls of alpha')


@SUITE.test('WTM_TABLE=FILE with %p, %e and %h')
def _(t):
    run = t.run([plain(t), '10', '0', '0'], 'alpha', env={'WTM_TABLE': t.folder + '/t.%e.%h.%p'})
    path = f'{t.folder}/t.plain.{socket.gethostname()}.{run.pid}'
    expect(os.path.exists(path), f'{path} was not written; there is {os.listdir(t.folder)}')
    expect_equal(run.err, '', 'stderr')
    with open(path, encoding='utf-8') as file:
        expect_equal(row_of(file.read(), 'alpha')[1], '10', 'calls of alpha')


@SUITE.test('WTM_OUT with %p, %e, %h and %%')
def _(t):
    run = t.run([plain(t), '10', '0', '0'], 'alpha', env={'WTM_OUT': t.folder + '/o.%%.%e.%h.%p.p'})
    path = f'{t.folder}/o.%.plain.{socket.gethostname()}.{run.pid}.p'
    expect(os.path.exists(path), f'{path} was not written; there is {os.listdir(t.folder)}')
    expect_equal(t.tools.report(path).one('alpha')['calls'], 10, 'calls of alpha')


@SUITE.test('a profile that cannot be written is named, the program unharmed')
def _(t):
    run = t.run([plain(t), '10', '0', '0', '4'], 'alpha', env={'WTM_OUT': '/nonexistent/x.prof', 'WTM_TABLE': None})
    expect_equal((run.status, run.out), (4, 'sum 55\n'), 'status and stdout')
    expect('/nonexistent/x.prof' in run.err, f'stderr does not name the file: {run.err!r}')
    expect_equal(row_of(run.err, 'alpha')[1], '10', 'calls of alpha in the table')


@SUITE.test('a table file that cannot be written is named, the program unharmed')
def _(t):
    run = t.run([plain(t), '10', '0', '0', '4'], 'alpha', env={'WTM_TABLE': '/nonexistent/t.txt'})
    expect_equal((run.status, run.out), (4, 'sum 55\n'), 'status and stdout')
    expect('/nonexistent/t.txt' in run.err, f'stderr does not name the file: {run.err!r}')


BAD = {'WTM_START': 'maybe', 'WTM_RECURSION': 'some', 'WTM_CLOCK': 'sundial', 'WTM_CPU': 'guess', 'WTM_ORDER': 'random',
       'WTM_SLOW': 'many', 'WTM_SAMPLES': '-1', 'WTM_VERBOSE': 'loud', 'WTM_SIGNALS': 'arm=SIGNONE',
       'WTM_BUDGET': 'little', 'WTM_FAKE': 'alpha'}


def bad_value(setting, value):
    @SUITE.test(f'a bad value is named: {setting}={value}')
    def _(t):
        run = t.run([plain(t), '10', '0', '0', '5'], 'alpha', env={setting: value})
        expect_equal((run.status, run.out), (5, 'sum 55\n'), 'status and stdout')
        lines = [line for line in run.err.splitlines() if setting in line]
        expect_equal(len(lines), 1, f'lines on stderr that name {setting}: {run.err!r}')
        expect(value.split('=')[-1] in lines[0] and lines[0].startswith('wtm:'), f'the value is not told: {lines[0]!r}')
        expect_equal(run.report().one('alpha')['calls'], 10, 'calls of alpha under the default')


for _setting, _value in BAD.items():
    bad_value(_setting, _value)


@SUITE.test('an unknown WTM_ setting is named')
def _(t):
    run = t.run([plain(t), '10', '0', '0'], 'alpha', env={'WTM_TABEL': 'none'})
    expect('WTM_TABEL' in run.err, f'stderr does not name it: {run.err!r}')
    expect_equal(run.out, 'sum 55\n', 'stdout')


@SUITE.test('WTM_TIME=@FILE: one pattern a line, comments, blanks')
def _(t):
    with open(os.path.join(t.folder, 'list'), 'w', encoding='utf-8') as file:
        file.write('# functions to time\nalpha\n\n  beta  # the other one\n')
    _, report = t.report_of([plain(t), '7', '8', '9'], f'@{t.folder}/list')
    expect_equal(sorted((row['name'], row['calls']) for row in report.functions), [('alpha', 7), ('beta', 9)], 'rows')


@SUITE.test('WTM_TIME=@FILE that cannot be read is named, the program unharmed')
def _(t):
    run = t.run([plain(t), '7', '8', '9', '6'], '@/nonexistent/list')
    expect_equal((run.status, run.out), (6, 'sum ' + str(28 + 44 + 63) + '\n'), 'status and stdout')
    expect('/nonexistent/list' in run.err, f'stderr does not name the file: {run.err!r}')


@SUITE.test('without WTM_TIME the library is silent and idle')
def _(t):
    for time in (None, ''):
        folder = t.sub(repr(time).strip("'") or 'empty')
        run = t.run([plain(t), '7', '8', '9'], '', folder, env={'WTM_TIME': time, 'WTM_TABLE': None})
        expect_equal((run.status, run.err), (0, ''), f'status and stderr with WTM_TIME {time!r}')


@SUITE.test('nothing found: one line, and the name')
def _(t):
    run = t.run([plain(t), '7', '8', '9'], 'no_such_thing', env={'WTM_TABLE': None, 'WTM_OUT': None})
    expect_equal(run.status, 0, 'status')
    expect('no_such_thing' in run.err, f'stderr does not name it: {run.err!r}')
    expect(len(run.err.splitlines()) <= 2, f'more than a line or two: {run.err!r}')


@SUITE.test('a misspelt function: did you mean')
def _(t):
    run = t.run([plain(t), '7', '8', '9'], 'alphabot,beta', env={'WTM_TABLE': None})
    expect(re.search(r'alphabot.*did you mean.*alphabet', run.err), f'no hint in {run.err!r}')
    missing = run.report().not_found
    expect_equal([row['pattern'] for row in missing], ['alphabot'], 'patterns told as not found')
    expect('alphabet' in missing[0]['near'], f"alphabet is not among the nearest: {missing[0]['near']}")


@SUITE.test('WTM_START=disarmed counts nothing')
def _(t):
    _, report = t.report_of([plain(t), '1000', '0', '0'], 'alpha', env={'WTM_START': 'disarmed'})
    expect_equal(report.one('alpha')['calls'], 0, 'calls of alpha')


@SUITE.test('signals: arm, disarm, reset')
def _(t):
    steps = t.build('steps.c', '-pthread')
    plans = {  # what the program does, and the calls that are then in the report
        'c5 s10 c7 s12 c11': (dict(WTM_START='disarmed'), 7),
        'c5 s12 c7 s10 c11': ({}, 16),
        'c5 s11 c7': ({}, 7),
        'c5 s12 c3 s11 c7': ({}, 7),
        't5 t6 s11 t7 c1': ({}, 8),
    }
    for number, (plan, (env, wanted)) in enumerate(plans.items()):
        run, report = t.report_of([steps, *plan.split()], 'work', t.sub(str(number)),
                                  env={**SIGNALS, **env})
        expect_equal((report.one('work')['calls'], run.out), (wanted, 'end\n'), f'calls and stdout after {plan}')


@SUITE.test('signals: dump prints the table so far')
def _(t):
    steps = t.build('steps.c', '-pthread')
    run = t.run([steps, 'c5', 's13', 'm', 'c6'], 'work',
                env={'WTM_TABLE': None, 'WTM_OUT': None, **SIGNALS})
    parts = run.err.split('--mark--\n')
    expect_equal(len(parts), 2, f'parts of stderr around the mark: {run.err!r}')
    expect_equal([row_of(part, 'work')[1] for part in parts], ['5', '11'], 'calls in the dumped and the last table')


@SUITE.test('WTM_SIGNALS moves and removes the signals')
def _(t):
    steps = t.build('steps.c', '-pthread')
    env = {'WTM_START': 'disarmed', 'WTM_SIGNALS': 'arm=RTMIN+3'}
    _, report = t.report_of([steps, 'c5', 's3', 'c7'], 'work', t.sub('moved'), env=env)
    expect_equal(report.one('work')['calls'], 7, 'calls after arming by another signal')
    run = t.run([steps, 'c5', 's10', 'c7'], 'work', t.sub('none'), env={'WTM_SIGNALS': 'none'})
    expect(run.status < 0, 'without our handler the signal ends the program, as it would by itself')


def choice(setting, value):
    @SUITE.test(f'{setting}={value} counts right')
    def _(t):
        run, report = t.report_of([plain(t), '1000', '300', '0'], 'alpha,alphabet', env={setting: value})
        if value == 'perf' and 'expected' in run.err and 'perf' not in run.err.split('expected')[1]:
            raise Skipped('this version of the library does not know this source')
        counts = [report.one(name)['calls'] for name in ('alpha', 'alphabet')]
        expect_equal(counts, [1000, 300], f'calls under {setting}={value}')
        expect(setting not in run.err, f'{setting}={value} is taken as a bad value: {run.err!r}')
        if setting == 'WTM_CLOCK':
            expect_equal(report.data['clock']['source'], value, 'the clock that was used')
        if value == 'off':
            expect_equal(report.data['cpu']['source'], 'off', 'the source of runtime')


for _setting, _values in {'WTM_CLOCK': ('tsc', 'monotonic'), 'WTM_ORDER': ('loose', 'exit', 'strict'),
                          'WTM_CPU': ('rseq', 'perf', 'clock_gettime', 'off'),
                          'WTM_RECURSION': ('withdraw', 'nest')}.items():
    for _value in _values:
        choice(_setting, _value)


@SUITE.test('WTM_VERBOSE=1 tells what was patched')
def _(t):
    run = t.run([plain(t), '1', '0', '0'], 'alpha,beta', env={'WTM_VERBOSE': '1'})
    expect('alpha' in run.err and 'beta' in run.err, f'stderr does not name the functions: {run.err!r}')


@SUITE.test('profiles of a directory of runs do not disturb each other')
def _(t):
    for number in range(3):
        t.report_of([plain(t), str(number + 1), '0', '0'], 'alpha')
    paths = glob.glob(t.folder + '/out.*.prof')
    expect_equal(len(paths), 3, 'profiles')
    expect_equal(t.tools.report(*paths).sum('calls', 'alpha'), 6, 'calls in the merged report')
