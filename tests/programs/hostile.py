# SPDX-License-Identifier: MIT
"""Programs that take the ground from under us: system calls, descriptors, the counter, memory. They must not notice."""
import os
import re
import subprocess

from suite.registry import Suite
from suite.results import expect, expect_equal
from suite.target import need

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
        program = t.build('sandbox.c', '-pthread')
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


for _how in ('none', 'prctl', 'seccomp', 'sysprctl', 'open', 'probe', 'fork', 'threads'):
    sandboxed(_how)
sandboxed('strict', -9)  # exit_group is not allowed there, with or without us
for _how in ('prctl', 'sysprctl'):
    sandboxed(_how, time=NAMES + ',libc.so.6:prctl,libc.so.6:syscall')


@SUITE.test('a filter that allows all that we use costs nothing: runtime of calls with switches is known')
def _(t):
    run = t.run([t.build('sandbox.c', '-pthread'), 'open', '100'], NAMES)
    expect_equal(run.status, 5, 'status')
    expect('seccomp' not in str(run.report().data), 'the report speaks of seccomp without need')
    times = run.report().one('spin')
    total = times['realtime']['total_ns']
    expect(total * 0.02 < times['runtime']['total_ns'] <= total * 1.01, f'runtime of the spinning: {times}')


def forbidden(how, counted):
    @SUITE.test(f'the counter forbidden and allowed again ({how}), timed by the kernel\'s clock: nothing is missed')
    def _(t):
        program = t.build('forbidden.c')
        for number, time in enumerate(('work', 'work,outer,forbid,forbid_by_tail,libc.so.6:prctl,libc.so.6:syscall,main:main')):
            run = t.run([program, how], time, t.sub(str(number)), env={'WTM_CLOCK': 'monotonic'})
            expect_equal((run.status, run.out), (4, '3130\n'), f'status and stdout when timing {time} ({run.err[-300:]})')
            report = run.report()
            expect_equal((report.data['clock']['source'], report.one('work')['calls']), ('monotonic', 3130), 'clock, calls')
            expect_equal(report.one('work')['abnormal'], 0, 'calls of work that were left')
            expect(0 <= report.one('work')['realtime']['p50_ns'] < 100e3, f"times: {report.one('work')['realtime']}")
            stepped = t.run([t.build('notsc.c'), '-20000', program, how], time, t.sub(f'{number} stepped'),
                            env={'WTM_CLOCK': 'monotonic'})
            found = re.search(r'stepped (\d+), read (\d+)', stepped.out)
            expect(found and int(found.group(1)) > 3000, f'not stepped: {stepped.out!r} {stepped.err[-300:]!r}')
            expect_equal((stepped.status, found.group(2)), (4, '0'), f'status, readings while forbidden ({stepped.err[:300]})')

    @SUITE.test(f'the counter forbidden and allowed again ({how}): unharmed, and counted while it could be read')
    def _(t):
        program = t.build('forbidden.c')
        for number, time in enumerate(('work', 'work,outer,forbid,forbid_by_tail,main:main',
                                       'work,outer,forbid,forbid_by_tail,libc.so.6:prctl,libc.so.6:syscall,main:main')):
            run = t.run([program, how], time, t.sub(str(number)), env={'WTM_CLOCK': 'tsc'})
            expect_equal((run.status, run.out), (4, '3130\n'), f'status and stdout when timing {time} ({run.err[-300:]})')
            expect_equal(run.report().one('work')['calls'], counted, f'calls of work when timing {time}')
            if 'outer' in time:
                outer = run.report().one('outer')
                expect_equal(outer['abnormal'], outer['calls'], 'calls that were left on the way')
            expect('PR_SET_TSC' in str(run.report().data), 'the report does not say so')
            stepped = t.run([t.build('notsc.c'), program, how], time, t.sub(f'{number} stepped'),
                            env={'WTM_CLOCK': 'tsc'})
            found = re.search(r'stepped (\d+), read (\d+)', stepped.out)
            expect(found and int(found.group(1)) > 3000, f'not stepped: {stepped.out!r} {stepped.err[-300:]!r}')
            expect_equal((stepped.status, found.group(2)), (4, '0'), f'status, readings while forbidden ({stepped.err[:300]})')


forbidden('prctl', 130)
forbidden('syscall', 130)
forbidden('tail', 130)
forbidden('stay', 100)


@SUITE.test('the counter forbidden before the start: unharmed and told, and timed by the kernel\'s clock')
def _(t):
    plain = t.build('plain.c')
    program = t.build('forbidding.c')
    without = t.run([program, plain, '10', '0', '0'], folder=t.sub('plain'))
    for clock in ('auto', 'tsc', 'monotonic'):
        run = t.run([program, plain, '10', '0', '0'], 'alpha', t.sub(clock), env={'WTM_CLOCK': clock})
        expect_equal((run.status, run.out), (without.status, without.out), f'status and stdout ({run.err})')
        if run.status:  # where the loader may not read it, nothing starts
            continue
        expect(clock == 'monotonic' or 'PR_SET_TSC' in run.err, f'not told: {run.err!r}')
        report = run.report()
        expect_equal((report.data['clock']['source'], report.one('alpha')['calls']), ('monotonic', 10), 'clock and calls')


def pressed(what):
    @SUITE.test(f'under pressure ({what}): status and output as without the library')
    def _(t):
        program = t.build('pressed.c', '-pthread')
        each = '50' if what == 'many' else '500'
        plain = t.run([program, what, each], folder=t.sub('plain'))
        expect_equal((plain.status, plain.out.split()[-1]), (6, '20000'), f'without the library ({plain.err})')
        for number, env in enumerate((STDERR, {}, {'WTM_TABLE': None})):
            run = t.run([program, what, each], 'work', t.sub(str(number)), env=env)
            expect_equal((run.status, run.out), (plain.status, plain.out), f'status and stdout with {env} ({run.err[-600:]})')
            if env == STDERR and run.err:
                expect_equal(row_of(run.err, 'work')[1], '20,000', 'calls in the table')
            if 'WTM_OUT' not in env and what not in ('as',):
                expect_equal(run.report().one('work')['calls'], 20000, f'calls in the profile with {env}')


for _what in ('nothing', 'many', 'closefrom', 'reuse', 'nofile', 'as', 'fsize', 'pipe', 'masked'):
    pressed(_what)


def may_mount():
    """Root may, but not everywhere: not where the root directory is no mount point."""
    return subprocess.run([need('unshare'), '-m', 'true'], stderr=subprocess.DEVNULL, check=False).returncode == 0


@SUITE.test('the same in a chroot, without /proc, with few descriptors from the start, with small stacks')
def _(t):
    program, sh = t.build('pressed.c', '-pthread'), '/bin/sh'
    settings = {'chroot': [program, 'chroot', '500'],
                'few': [sh, '-c', f'ulimit -n 20; exec {program} nothing 500'],
                'some': [sh, '-c', f'ulimit -n 200; exec {program} nothing 500'],
                'three': [sh, '-c', f'ulimit -n 5; exec {program} nothing 500'],
                'fsize': [sh, '-c', f'ulimit -f 0; exec {program} nothing 500'],
                'stack': [sh, '-c', f'ulimit -s 128; exec {program} nothing 500'],
                'closed': [sh, '-c', f'exec {program} nothing 500 2>&-'],
                'all closed': [sh, '-c', f'exec {program} nothing 500 2>&- 0<&-']}
    if may_mount():
        settings['no proc'] = [need('unshare'), '-m', sh, '-c', f'mount -t tmpfs none /proc && exec {program} nothing 500']
    if os.geteuid() != 0:
        del settings['chroot']
    for name, argv in settings.items():
        plain = t.run(argv, folder=t.sub('plain ' + name))
        expect_equal((plain.status, plain.out), (6, '20000\n'), f'{name}: without the library ({plain.err})')
        for env in (STDERR, {}):
            run = t.run(argv, 'main:work,printf', t.sub(name + ('' if env else ' out')), env=env)
            expect_equal((run.status, run.out), (6, '20000\n'), f'{name}: status and stdout ({run.err[-600:]})')
            if 'closed' in name:
                expect_equal(run.err, '', f'{name}: stderr')
            elif env and name not in ('no proc', 'fsize'):
                expect_equal(row_of(run.err, 'work')[1], '20,000', f'{name}: calls in the table')


@SUITE.test('standard error is a pipe whose reader is gone: no SIGPIPE of ours')
def _(t):
    program = t.build('pressed.c', '-pthread')
    for time in ('work', 'work,no_such_function'):
        run = t.run(['/bin/bash', '-c', f'( sleep 0.3; exec {program} nothing 10 ) 2> >(exec true); echo $?'], time,
                    t.sub(time), env=STDERR)
        expect_equal(run.out, '400\n6\n', f'output and status when timing {time}')


@SUITE.test('WTM_OUT on a full disk, in a place that cannot be, by a symbolic link: told, unharmed, the table is right')
def _(t):
    program = t.build('pressed.c', '-pthread')
    os.symlink('/etc/hostname', t.folder + '/link')
    places = {t.folder + '/link': 'is no profile', '/proc/wtm.prof': 'cannot be created'}
    before = open('/etc/hostname', 'rb').read()
    for number, (place, word) in enumerate(places.items()):
        run = t.run([program, 'nothing', '500'], 'work', t.sub(str(number)), env={'WTM_OUT': place, 'WTM_TABLE': None})
        expect_equal((run.status, run.out), (6, '20000\n'), f'{place}: status and stdout')
        expect(word in run.err and place in run.err, f'{place}: not told: {run.err!r}')
        expect_equal(row_of(run.err, 'work')[1], '20,000', f'{place}: calls in the table')
    expect_equal(open('/etc/hostname', 'rb').read(), before, 'what the link points to')
    if not may_mount():
        return
    for size, wanted in (('64k', None), ('1100k', 'could not grow')):
        script = (f'mkdir {t.folder}/d{size} && mount -t tmpfs -o size={size} none {t.folder}/d{size} && '
                  f'{{ WTM_OUT={t.folder}/d{size}/x.prof LD_PRELOAD={t.tools.lib} {program} many 50; echo $?; '
                  f'ls {t.folder}/d{size}; cp {t.folder}/d{size}/x.prof {t.folder}/{size}.prof; }}')
        run = t.run([need('unshare'), '-m', '/bin/bash', '-c', script], folder=t.sub('disk ' + size),
                    env={'WTM_TIME': 'work'})
        expect_equal(run.out, '20000\n6\n' + ('x.prof\n' if wanted else ''), f'{size}: output, status, files ({run.err})')
        expect_equal(row_of(run.err, 'work')[1], '20,000', f'{size}: calls in the table')
        if wanted:
            report = t.tools.report(f'{t.folder}/{size}.prof')
            expect(wanted in str(report.data), f'{size}: the report does not say that calls are missing')
            expect(0 < report.one('work')['calls'] < 20000, f"{size}: calls in the file: {report.one('work')['calls']}")
        else:
            expect('no room' in run.err, f'{size}: not told: {run.err!r}')


# x86-64 numbers of what the library calls at start or later; the loader and libc live without them.
CALLS = {'clock_gettime': 228, 'memfd_create': 319, 'fcntl': 72, 'fstat': 5, 'ftruncate': 77, 'fallocate': 285, 'madvise': 28,
         'readlink': 89, 'getppid': 110, 'nanosleep': 35, 'mremap': 25, 'tgkill': 234, 'prctl': 157, 'sched_yield': 24,
         'getpid': 39, 'gettid': 186, 'lstat': 6, 'unlink': 87, 'poll': 7, 'rt_sigpending': 127, 'rt_sigtimedwait': 128}


@SUITE.test('started under a filter that ends the process at a call that we need: unharmed, and told which')
def _(t):
    argv = [t.build('startfilter.c'), None, need('env'), f'LD_PRELOAD={t.tools.lib}', t.build('plain.c'), '10', '0', '0', '3']
    for name, number in CALLS.items():
        argv[1] = str(number)
        run = t.run(argv, folder=t.sub(name), env={'WTM_TIME': 'alpha'})
        expect_equal((run.status, run.out), (3, 'sum 55\n'), f'{name}: status and stdout ({run.err})')
        expect_equal(run.err.count('\n'), 1, f'{name}: lines on stderr: {run.err!r}')
        expect(f'not allow {name}: nothing is timed' in run.err, f'{name}: not told: {run.err!r}')
    argv[1] = 'none'
    run = t.run(argv, folder=t.sub('none'), env={'WTM_TIME': 'alpha'})
    expect_equal((run.status, row_of(run.err, 'alpha')[1]), (3, '10'), 'a filter that does not concern us: status, calls')
