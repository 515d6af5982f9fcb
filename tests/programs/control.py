# SPDX-License-Identifier: MIT
"""Control of a running process by signals: what they do to the counts, and whose signals they are."""
import os
import re
import signal
import struct
import subprocess
import time

from suite.registry import Suite
from suite.results import Failed, expect, expect_equal
from suite.target import ROOT

SUITE = Suite('programs')
ARM, RESET, DISARM, DUMP = (signal.SIGRTMIN + n for n in (10, 11, 12, 13))
FIELDS = ('epoch', 'armed', 'tables')


def offsets(t):
    """Where fields of the profile's header stand, as the compiler says."""
    source = os.path.join(t.folder, 'offsets.c')
    values = ', '.join(f'offsetof(struct wtm_profile_header, {name})' for name in FIELDS)
    with open(source, 'w', encoding='ascii') as file:
        file.write('#include <stdio.h>\n#include "common/profile_format.h"\n'
                   f'int main(void) {{ printf("{"%zu " * len(FIELDS)}", {values}); return 0; }}\n')
    subprocess.run(['gcc', '-I' + ROOT, '-o', source[:-2], source], check=True)
    return dict(zip(FIELDS, map(int, subprocess.run([source[:-2]], check=True, stdout=subprocess.PIPE).stdout.split())))


class Live:
    """A program under the library that stops and goes on by lines, and its profile's header."""

    def __init__(self, t, argv, functions, env=None, **how):
        self.t, self.at = t, offsets(t)
        settings = t.tools.settings(t.folder, functions, env)
        self.child = subprocess.Popen(argv, env=t.tools.environment(settings), stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=t.folder, **how)
        self.pid = self.child.pid
        self.path = f'{t.folder}/out.{self.pid}.prof'

    def __enter__(self):
        return self

    def __exit__(self, *what):
        if self.child.poll() is None:
            self.child.kill()
            self.child.communicate()

    def line(self):
        return self.child.stdout.readline().decode().strip()

    def go(self):
        self.child.stdin.write(b'\n')
        self.child.stdin.flush()

    def word(self, field):
        with open(self.path, 'rb') as file:
            file.seek(self.at[field])
            return struct.unpack('<Q', file.read(8))[0]

    def until(self, field, wanted):
        end = time.monotonic() + 20
        while self.word(field) != wanted:
            if time.monotonic() > end:
                raise Failed(f'{field} in the header is {self.word(field)}, not {wanted}')
            time.sleep(0.001)

    def send(self, number):
        """Sends a control signal and waits for its effect."""
        field = {ARM: 'armed', DISARM: 'armed', RESET: 'epoch', DUMP: 'tables'}[number]
        wanted = {ARM: 1, DISARM: 0}[number] if field == 'armed' else self.word(field) + 1
        os.kill(self.pid, number)
        self.until(field, wanted)

    def report(self):
        return self.t.tools.report(self.path)

    def end(self):
        """Lets it run to its end; gives the report, and stdout and stderr in `out` and `err`."""
        self.go()
        out, err = self.child.communicate(timeout=60)
        self.out, self.err = out.decode(), err.decode()
        expect_equal(self.child.returncode, 0, f'status ({self.err[-600:]!r})')
        return self.report()


def counts(report, name):
    row = report.one(name)
    return tuple(row[field] for field in ('calls', 'recursive', 'abnormal', 'open'))


@SUITE.test('eight threads: arm, disarm and reset between phases, exact counts')
def _(t):
    times = 3000
    plan = [(DISARM,), (ARM,), (), (RESET,), (DISARM, RESET), (DISARM,), (RESET, RESET), ()]
    with Live(t, [t.build('phases.c', '-pthread'), str(len(plan)), str(times)], 'outer,work') as live:
        armed, wanted = 1, 0
        for number, signals in enumerate(plan):
            if number:
                live.go()
            expect_equal(live.line(), f'phase {number}', 'where the program is')
            wanted += 8 * times * armed
            expect_equal([counts(live.report(), name) for name in ('outer', 'work')], [(wanted, 0, 0, 0)] * 2,
                         f'calls, recursive, abnormal, open in phase {number}')
            for one in signals:
                live.send(one)
                armed, wanted = int(one != DISARM), 0 if one == RESET else wanted
        report = live.end()
        expect_equal([counts(report, name) for name in ('outer', 'work')], [(wanted, 0, 0, 0)] * 2, 'in the end')
        expect_equal([(caller['name'], caller['calls']) for caller in report.one('work')['callers']], [('outer', wanted)],
                     'callers of work')
        expect_equal(live.out, 'end\n', 'stdout')


def held_calls(mode, open_, later):
    @SUITE.test(f'a reset while calls are open counts them once: WTM_RECURSION={mode}')
    def _(t):
        with Live(t, [t.build('phases.c', '-pthread'), '3', '10', 'held'], 'held,outer', {'WTM_RECURSION': mode}) as live:
            live.line()
            live.go()
            live.line()
            live.send(RESET)
            expect_equal(counts(live.report(), 'held'), (open_, 0, 0, open_), 'right after the reset')
            expect_equal(counts(live.report(), 'outer'), (0, 0, 0, 0), 'a function that was not open')
            live.go()
            live.line()
            live.send(RESET)  # and again, with other calls open
            live.send(RESET)
            report = live.end()
            expect_equal(counts(report, 'held'), later, 'calls, recursive, abnormal, open of held in the end')
            expect(report.one('held')['realtime']['min_ns'] > 0, 'the open calls were not timed from their beginning')


held_calls('withdraw', 8, (8, 0, 0, 0))
held_calls('nest', 24, (24, 16, 0, 0))


@SUITE.test('signals under load, from two processes at once: no call is lost or doubled')
def _(t):
    with Live(t, [t.build('load.c', '-pthread')], 'outer,work,ticked') as live:
        live.line()
        storm = f'import os\nfor i in range(3000): os.kill({live.pid}, ({int(ARM)}, {int(DUMP)})[i % 50 == 0])'
        senders = [subprocess.Popen(['/usr/bin/python3', '-c', storm]) for _ in range(2)]
        expect_equal([sender.wait(60) for sender in senders], [0, 0], 'status of the senders')
        report = live.end()
        calls = int(live.out.split()[0])
        expect_equal(counts(report, 'outer'), (calls, 0, 0, 0), 'calls of outer, and those the program counted itself')
        callers = {caller['name']: caller['calls'] for caller in report.one('work')['callers']}
        expect_equal(callers.get('outer'), calls, 'calls of work by outer')
        heads = [line for line in tables_of(live) if line.startswith('wtm: load (pid')]
        expect(len(heads) >= 2, f'{len(heads)} tables were printed')


def tables_of(live):
    with open(f'{live.t.folder}/table.{live.pid}.txt', encoding='utf-8') as file:
        return file.read().splitlines()


@SUITE.test('resets and disarming under load: counts stay consistent')
def _(t):
    with Live(t, [t.build('load.c', '-pthread')], 'outer,work,ticked') as live:
        live.line()
        numbers = [int(RESET), int(DISARM), int(ARM), int(RESET)]
        storm = f'import os\nfor i in range(4000): os.kill({live.pid}, {numbers}[i % 4])'
        senders = [subprocess.Popen(['/usr/bin/python3', '-c', storm]) for _ in range(2)]
        expect_equal([sender.wait(60) for sender in senders], [0, 0], 'status of the senders')
        before = 0
        while before != live.word('epoch'):  # signals wait in a queue
            before = live.word('epoch')
            time.sleep(0.2)
        live.send(RESET)
        time.sleep(0.1)
        report = live.end()
        outer, work = report.one('outer'), report.one('work')
        expect_equal([counts(report, name)[2:] for name in ('outer', 'work', 'ticked')], [(0, 0)] * 3,
                     'abnormal and open in the end')
        inner = {caller['name']: caller['calls'] for caller in work['callers']}['outer']
        expect(0 < outer['calls'] <= int(live.out.split()[0]), f"calls of outer: {outer['calls']}, really {live.out}")
        expect(0 <= outer['calls'] - inner <= 8, f"outer {outer['calls']} times, work by outer {inner} times: a call each "
                                                 'thread may be between the two, no more')


@SUITE.test('dump: whole tables while the program runs, each with more calls')
def _(t):
    with Live(t, [t.build('phases.c', '-pthread'), '2', '1000'], 'outer,work') as live:
        live.line()
        live.send(DUMP)
        live.go()
        live.line()
        live.send(DUMP)
        live.end()
        lines = [line.split() for line in tables_of(live) if line.split()[:1] == ['outer']]
        expect_equal([line[1] for line in lines], ['8,000', '16,000', '16,000'], 'calls of outer in the three tables')
        expect_equal(live.out, 'end\n', 'the rest of stdout')


@SUITE.test('WTM_SIGNALS: names, numbers, some of them none')
def _(t):
    env = {'WTM_SIGNALS': 'arm=SIGUSR1,disarm=12,reset=RTMAX-2,dump=none', 'WTM_START': 'disarmed'}
    with Live(t, [t.build('phases.c', '-pthread'), '4', '10'], 'outer', env) as live:
        for number, (one, field, value, calls) in enumerate((
                (signal.SIGUSR1, 'armed', 1, 0), (signal.SIGUSR2, 'armed', 0, 80), (signal.SIGRTMAX - 2, 'epoch', 2, 80))):
            expect_equal(live.line(), f'phase {number}', 'where the program is')
            expect_equal(counts(live.report(), 'outer')[0], calls, f'calls in phase {number}')
            os.kill(live.pid, one)
            live.until(field, value)
            live.go()
        live.line()
        with open(f'/proc/{live.pid}/status', encoding='ascii') as file:
            caught = int(re.search(r'^SigCgt:\s*(\w+)', file.read(), re.M).group(1), 16)
        expect_equal([bool(caught >> (n - 1) & 1) for n in (10, 12, 62, ARM, RESET, DISARM, DUMP)],
                     [True] * 3 + [False] * 4, 'caught: USR1, USR2, RTMAX-2, and the four defaults')
        expect_equal(counts(live.end(), 'outer')[0], 80, 'calls in the end')


@SUITE.test('WTM_SIGNALS: what is wrong is named, and the defaults hold')
def _(t):
    for number, value in enumerate(('arm', 'arm=', 'arm=KILL', 'arm=9', 'arm=RTMIN+31', 'arm=33', 'arm=USR1,arm=USR2',
                                    'arm=USR1,dump=USR1', 'fire=USR1', 'arm=65', 'arm=RTMIN-1', 'arm=USR1 ', 'NONE')):
        run = t.run([t.build('steps.c', '-pthread'), 'c5', 's12', 'c6'], 'work', t.sub(str(number)),
                    env={'WTM_SIGNALS': value})
        lines = [line for line in run.err.splitlines() if 'WTM_SIGNALS' in line]
        expect(len(lines) == 1 and value in lines[0] and 'default' in lines[0], f'{value!r}: {run.err!r}')
        expect_equal((run.out, run.report().one('work')['calls']), ('end\n', 5), f'stdout, calls under {value!r}')


@SUITE.test('a handler that the program sets later is its own')
def _(t):
    with Live(t, [t.build('load.c', '-pthread'), str(int(DISARM))], 'outer') as live:
        live.line()
        os.kill(live.pid, DISARM)
        time.sleep(0.2)
        expect_equal(live.word('armed'), 1, 'armed, after a signal that is the program\'s own')
        report = live.end()
        calls, came = map(int, live.out.split())
        expect_equal((came, report.one('outer')['calls']), (1, calls), 'signals that the program got; calls')


@SUITE.test('a signal that the parent has ignored stays ignored, and that is told to who asked for it')
def _(t):
    for env in ({}, {'WTM_SIGNALS': 'reset=RTMIN+11'}, {'WTM_VERBOSE': '1'}):
        def ignore():
            signal.signal(RESET, signal.SIG_IGN)
        with Live(t, [t.build('steps.c', '-pthread'), 'c5', 's11', 'c6', 'h'], 'work', env, preexec_fn=ignore) as live:
            expect_equal(live.line(), 'here', 'where the program is')
            expect_equal(counts(live.end(), 'work')[0], 11, 'calls')
            expect_equal('signal 45 (reset)' in live.err, bool(env), f'told under {env}: {live.err!r}')


@SUITE.test('a forked child acts on its own profile')
def _(t):
    with Live(t, [t.build('forks.c')], 'work') as live:
        child = int(live.line().split()[1])
        path = f'{t.folder}/out.{child}.prof'
        os.kill(child, DISARM)  # before it has called anything: its profile comes with this
        end = time.monotonic() + 20
        while not os.path.exists(path) and time.monotonic() < end:
            time.sleep(0.001)
        expect_equal(live.word('armed'), 1, 'armed in the parent')
        live.send(RESET)
        live.go()
        expect_equal(live.line(), 'child done', 'where the program is')
        report = live.end()
        expect_equal(counts(report, 'work')[0], 30, 'calls in the parent since the reset')
        expect_equal(t.tools.report(path).one('work')['calls'], 0, 'calls in the child, disarmed')


@SUITE.test('unwinders pass the return of a control signal\'s handler')
def _(t):
    for compiler in ('gcc', 'clang'):
        run = t.run([t.build('restorer.c', compiler=compiler)], 'no_such_function', t.sub(compiler))
        expect_equal((run.status, run.out), (0, '3 signal frames, main 1\n'), f'status and stdout ({compiler})')
