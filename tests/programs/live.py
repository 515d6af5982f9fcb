# SPDX-License-Identifier: MIT
"""The command and a running process: wtm arm, reset, disarm, dump, report PID, top."""
import json
import os
import pty
import re
import signal
import subprocess
import time

from programs.control import Live, counts, tables_of
from suite.registry import Suite
from suite.results import expect, expect_equal

SUITE = Suite('programs')


def phases(t, count, env=None):
    return Live(t, [t.build('phases.c', '-pthread'), str(count), '100'], 'outer', env)


def wtm(t, *args):
    done = t.tools.command(*map(str, args), check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@SUITE.test('wtm arm, reset, disarm, dump: the effect is there when they return')
def _(t):
    for env in ({}, {'WTM_OUT': None}):
        with phases(t, 4, env) as live:
            live.line()
            name = f'{live.pid} (phases)'
            expect_equal(wtm(t, 'disarm', live.pid), (0, f'{name} is disarmed\n', ''), 'wtm disarm')
            expect_equal(wtm(t, 'disarm', live.pid), (0, f'{name} was disarmed already\n', ''), 'wtm disarm, again')
            live.go()
            live.line()
            expect_equal(wtm(t, 'arm', live.pid), (0, f'{name} is armed\n', ''), 'wtm arm')
            live.go()
            live.line()
            calls = json.loads(wtm(t, 'report', '--json', live.pid)[1])['functions'][0]['calls']
            expect_equal(calls, 1600, 'calls in wtm report PID')
            expect_equal(wtm(t, 'dump', live.pid), (0, f'{name} has printed its table\n', ''), 'wtm dump')
            expect_equal([line.split()[1] for line in tables_of(live) if line.split()[:1] == ['outer']], ['1,600'], 'the table')
            status, out, _ = wtm(t, 'reset', live.pid)
            expect_equal((status, out), (0, f'{name} counts from zero now, and is armed\n'), 'wtm reset')
            live.go()
            live.line()
            live.go()
            live.child.communicate(timeout=60)
            expect_equal([line.split()[1] for line in tables_of(live) if line.split()[:1] == ['outer']], ['1,600', '800'],
                         'the tables in the end')
            os.unlink(f'{t.folder}/table.{live.pid}.txt')


@SUITE.test('nothing is sent where nobody listens')
def _(t):
    with subprocess.Popen(['sleep', '60']) as other:
        status, out, err = wtm(t, 'dump', other.pid)
        expect_equal((status, out), (126, ''), 'status and stdout for a process without the library')
        expect('does not carry libwtmtime.so' in err and 'nothing was sent' in err, err)
        expect_equal(other.poll(), None, 'the other process lives')
        other.kill()
    with phases(t, 1, {'WTM_SIGNALS': 'dump=none'}) as live:
        live.line()
        status, _, err = wtm(t, 'dump', live.pid)
        expect_equal((status, 'nothing was sent' in err), (126, True), f'a control without a signal: {err!r}')
        expect_equal(wtm(t, 'arm', live.pid)[0], 0, 'another control')
        live.end()
        status, _, err = wtm(t, 'arm', live.pid)
        expect_equal((status, 'no such process' in err), (3, True), f'after the end: {err!r}')
    for word in ('0', '-1', 'abc', '4.5', '99999999999'):
        expect_equal(wtm(t, 'arm', '--', word)[0], 2, f'status for {word}')
    expect_equal(wtm(t, 'arm')[0], 2, 'status without a process')


@SUITE.test('a process that is stopped or has taken the signal away: that is said')
def _(t):
    with Live(t, [t.build('load.c', '-pthread'), str(int(signal.SIGRTMIN + 12))], 'outer') as live:
        live.line()
        status, _, err = wtm(t, 'disarm', live.pid)
        expect_equal((status, 'had no effect within 2 s' in err), (1, True), f'a handler of its own: {err!r}')
        os.kill(live.pid, signal.SIGSTOP)
        status, _, err = wtm(t, 'reset', live.pid)
        expect_equal((status, 'it is stopped' in err), (1, True), f'a stopped process: {err!r}')
        os.kill(live.pid, signal.SIGCONT)
        live.until('epoch', 2)
        live.end()


@SUITE.test('a forked child that has called nothing is controlled by itself')
def _(t):
    with Live(t, [t.build('forks.c')], 'work') as live:
        child = int(live.line().split()[1])
        expect_equal(wtm(t, 'report', child)[0], 3, 'status of wtm report before the child has a profile')
        expect_equal(wtm(t, 'disarm', child)[0], 0, 'status of wtm disarm')
        expect_equal((live.word('armed'), counts(live.report(), 'work')[0]), (1, 10), 'the parent')
        live.go()
        live.line()
        expect_equal(counts(live.end(), 'work')[0], 40, 'calls in the parent')
        expect_equal(t.tools.report(f'{t.folder}/out.{child}.prof').one('work')['calls'], 0, 'calls in the child')


@SUITE.test('wtm report: files and processes together, and --pid')
def _(t):
    with phases(t, 2) as live:
        live.line()
        both = json.loads(wtm(t, 'report', '--json', live.path, live.pid)[1])
        expect_equal([row['calls'] for row in both['functions']], [1600], 'calls, counted in both')
        one = json.loads(wtm(t, 'report', '--json', '--pid', live.pid)[1])
        expect_equal([row['calls'] for row in one['functions']], [800], 'calls by --pid')
        live.go()
        live.line()
        live.end()
    expect_equal(wtm(t, 'report', '--pid', 'x')[0], 2, 'status for --pid x')


@SUITE.test('wtm top: tables one after the other, until the process ends')
def _(t):
    with phases(t, 2) as live:
        live.line()
        status, out, _ = wtm(t, 'top', '-n', 2, '-d', '0.1', '--top', '1', live.pid)
        expect_equal((status, [line.split()[1] for line in out.splitlines() if line.split()[:1] == ['outer']]),
                     (0, ['800', '800']), 'status, and calls in the tables')
        expect('\033' not in out, 'no control sequences where there is no terminal')
        top = subprocess.Popen([t.tools.wtm, 'top', '-d', '0.1', str(live.pid)], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
        while line := top.stdout.readline():  # it must have found the process before that ends
            if line.split()[:1] == [b'outer']:
                break
        live.go()
        live.line()
        live.end()
        out, err = top.communicate(timeout=20)
        last = [line.split()[1] for line in out.decode().splitlines() if line.split()[:1] == ['outer']][-1]
        expect_equal((top.returncode, last, 'has ended' in err.decode()), (0, '1,600', True), 'status, calls, last word')
    for bad in (('-d', '0'), ('-d', 'x'), ('-s', 'x'), ()):
        expect_equal(wtm(t, 'top', *bad, *(('1',) if bad else ()))[0], 2, f'status of wtm top {bad}')


@SUITE.test('wtm top on a terminal: in place, q ends it, the terminal is as before')
def _(t):
    with phases(t, 1) as live:
        live.line()
        master, slave = pty.openpty()
        before = os.popen(f'stty -g < {os.ttyname(slave)}').read()
        top = subprocess.Popen([t.tools.wtm, 'top', '-d', '0.2', str(live.pid)], stdin=slave, stdout=slave)
        text, end = b'', time.monotonic() + 20
        while text.count(b'\033[H') < 4 and time.monotonic() < end:
            text += os.read(master, 65536)
        os.write(master, b'q')
        expect_equal(top.wait(20), 0, 'status')
        expect_equal(os.popen(f'stty -g < {os.ttyname(slave)}').read(), before, 'state of the terminal')
        expect(re.search(rb'\n *outer +800 ', text), f'no row: {text[:600]!r}')
        os.close(master)
        os.close(slave)
        live.end()
