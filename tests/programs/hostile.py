# SPDX-License-Identifier: MIT
"""Programs that take the ground from under us: system calls, descriptors, the counter, memory. They must not notice."""
import re

from suite.registry import Suite
from suite.results import expect, expect_equal

SUITE = Suite('programs')
NAMES = 'work,late,in_handler,spin,last'
STDERR = {'WTM_TABLE': None, 'WTM_OUT': None}


def row_of(table, name):
    lines = [line.split() for line in table.splitlines() if re.match(rf'{name} +[\d,]+ ', line)]
    expect(len(lines) == 1, f'expected one line of {name} in the table, got {len(lines)}:\n{table}')
    return lines[0]


def sandboxed(how, status=5, time=NAMES):
    @SUITE.test(f'system calls given up by {how}, timing {time}: unharmed, exact counts, the table by write alone')
    def _(t):
        program = t.build('sandbox.c')
        plain = t.run([program, how, '20000'], folder=t.sub('plain'))
        expect_equal((plain.status, plain.out[-6:]), (status, 'right\n'), 'without the library: status and end of output')
        run = t.run([program, how, '20000'], time, t.sub('stderr'), env=STDERR)
        expect_equal((run.status, run.out), (plain.status, plain.out), f'status and stdout ({run.err[-600:]})')
        expect_equal((row_of(run.err, 'work')[1], row_of(run.err, 'late')[1], row_of(run.err, 'last')[1]),
                     ('20,010', '20,000', '1'), 'calls in the table')
        run = t.run([program, how, '20000'], time, t.sub('files'))
        expect_equal((run.status, run.out), (plain.status, plain.out), f'with files: status and stdout ({run.err[-600:]})')
        report, table = run.report(), run.tables()[run.pid]
        expect_equal((report.one('work')['calls'], report.one('late')['calls'], row_of(table, 'work')[1]),
                     (20010, 20000, '20,010'), 'calls in the profile and in the table file')
        spin = report.one('spin')
        expect(spin['realtime']['total_ns'] > 1e6, f"realtime of the spinning: {spin['realtime']}")
        expect(how in ('none', 'open', 'probe') or re.search('seccomp', run.tables()[run.pid] + str(report.data)),
               'the report does not say that system calls were given up')


for _how in ('none', 'prctl', 'seccomp', 'sysprctl', 'open', 'probe', 'fork'):
    sandboxed(_how)
sandboxed('strict', -9)  # exit_group is not allowed there, with or without us
for _how in ('prctl', 'sysprctl'):
    sandboxed(_how, time=NAMES + ',libc.so.6:prctl,libc.so.6:syscall')


@SUITE.test('a filter that allows all that we use costs nothing: runtime of calls with switches is known')
def _(t):
    run = t.run([t.build('sandbox.c'), 'open', '100'], NAMES)
    expect_equal(run.status, 5, 'status')
    expect('seccomp' not in str(run.report().data), 'the report speaks of seccomp without need')
    times = run.report().one('spin')
    total = times['realtime']['total_ns']
    expect(total * 0.02 < times['runtime']['total_ns'] <= total * 1.01, f'runtime of the spinning: {times}')


def forbidden(how, counted):
    @SUITE.test(f'the counter forbidden and allowed again ({how}): unharmed, and counted while it could be read')
    def _(t):
        program = t.build('forbidden.c')
        for number, time in enumerate(('work', 'work,outer,forbid,forbid_by_tail,main:main',
                                       'work,outer,forbid,forbid_by_tail,libc.so.6:prctl,libc.so.6:syscall,main:main')):
            run = t.run([program, how], time, t.sub(str(number)))
            expect_equal((run.status, run.out), (4, '3130\n'), f'status and stdout when timing {time} ({run.err[-300:]})')
            expect_equal(run.report().one('work')['calls'], counted, f'calls of work when timing {time}')
            if 'outer' in time:
                outer = run.report().one('outer')
                expect_equal(outer['abnormal'], outer['calls'], 'calls that were left on the way')
            expect('PR_SET_TSC' in str(run.report().data), 'the report does not say so')


forbidden('prctl', 130)
forbidden('syscall', 130)
forbidden('tail', 130)
forbidden('stay', 100)


@SUITE.test('the counter forbidden before the start: unharmed and told')
def _(t):
    plain = t.build('plain.c')
    program = t.build('forbidding.c')
    run = t.run([program, plain, '10', '0', '0'], 'alpha', env=STDERR)
    expect_equal((run.status, run.out), (0, 'sum 55\n'), f'status and stdout ({run.err})')
    expect('PR_SET_TSC' in run.err, f'not told: {run.err!r}')
