# SPDX-License-Identifier: MIT
"""wtm time, wtm untime, and the same from inside, while eight threads run through the very bytes that change."""
import re
import signal
import time

from programs.control import Live
from suite import compile as compiling
from suite.registry import Suite
from suite.results import expect, expect_equal
from suite.target import ROOT

SUITE, LONG = Suite('programs'), Suite('programs')  # with --full: LONG too
NAMES = ['usual', 'saves', 'calls', 'branches', 'floats']


class Running(Live):
    def __init__(self, t, *args, functions='!*', env=None):
        super().__init__(t, [t.build('running.c', '-pthread', '-I' + ROOT), *args], functions, env)
        expect_equal(self.line(), 'running', 'the first line')

    def say(self, line):
        self.child.stdin.write(line.encode() + b'\n')
        self.child.stdin.flush()
        return self.line()

    def sums(self):
        """Stops all threads; calls of each function so far, by their own count."""
        return {name: int(number) for name, number in (word.split('=') for word in self.say('pause').split())}

    def go_on(self):
        expect_equal(self.say('go'), 'gone on', 'the answer to go')

    def calls(self):
        return {row['name']: row['calls'] for row in self.report().functions}

    def protections(self):
        with open(f'/proc/{self.pid}/maps', encoding='utf-8') as file:
            return [line.split()[1] for line in file]


def wtm(t, *args):
    done = t.tools.command(*map(str, args), check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def check_no_writable_code(live):
    expect(not [one for one in live.protections() if 'w' in one and 'x' in one], 'mappings that are writable and executable')


@SUITE.test('wtm time, untime under load: exact counts, text is r-x')
def _(t):
    with Running(t) as live:
        who = f'{live.pid} (running)'
        for name in NAMES:
            expect_equal(wtm(t, 'time', live.pid, name), (0, f'{who}: 1 function of {name} is timed now\n', ''), 'wtm time')
            check_no_writable_code(live)
        before = live.sums()
        expect_equal(wtm(t, 'reset', live.pid)[0], 0, 'wtm reset')
        live.go_on()
        time.sleep(0.3)
        after = live.sums()
        expect_equal(live.calls(), {name: after[name] - before[name] for name in NAMES}, 'counts of the first phase')
        first = live.calls()
        expect_equal(wtm(t, 'untime', live.pid, 'saves', 'us*'),
                     (0, f'{who}: 1 function of saves is timed no longer\n{who}: 1 function of us* is timed no longer\n', ''),
                     'wtm untime')
        live.go_on()
        time.sleep(0.2)
        last = live.sums()
        wanted = {name: first[name] + (0 if name in ('saves', 'usual') else last[name] - after[name]) for name in NAMES}
        expect_equal(live.calls(), wanted, 'counts with two of them untimed')
        expect_equal(wtm(t, 'time', live.pid, 'saves')[0], 0, 'wtm time, once more')
        live.go_on()
        time.sleep(0.2)
        end = live.sums()
        expect_equal(live.calls()['saves'], first['saves'] + end['saves'] - last['saves'], 'timed again')
        check_no_writable_code(live)
        live.end()
        expect_equal(live.out, 'end\n', 'stdout')


def many_rounds(t, count):
    with Running(t) as live:
        expect_equal(live.say(f'rounds {count}'), f'{count} rounds, 0 bad', 'from inside')
        expect_equal([live.say('time usual').strip(), live.say('time saves').strip()], ['1', '1'], 'timed in the end')
        before = live.sums()
        expect_equal(live.say('reset'), '0', 'reset')
        live.go_on()
        time.sleep(0.2)
        after = live.sums()
        expect_equal({name: live.calls()[name] for name in ('usual', 'saves')},
                     {name: after[name] - before[name] for name in ('usual', 'saves')}, 'counts after the rounds')
        check_no_writable_code(live)
        live.end()


@SUITE.test('time and untime from inside, round after round under load')
def _(t):
    many_rounds(t, 200)


@LONG.test('ten thousand rounds of time and untime under load')
def _(t):
    many_rounds(t, 10000)


@SUITE.test('threads that block SIGTRAP: refused, and unharmed')
def _(t):
    with Running(t, 'blocked') as live:
        status, out, err = wtm(t, 'time', live.pid, 'usual')
        expect_equal((status, out), (1, ''), 'status and stdout')
        expect('a thread blocks SIGTRAP' in err, f'the reason: {err!r}')
        before = live.sums()
        # all sleep at the barrier now: none can stand inside
        expect_equal(wtm(t, 'time', live.pid, 'usual')[0], 0, 'while they sleep')
        live.go_on()
        time.sleep(0.2)
        after = live.sums()
        expect_equal(live.calls(), {'usual': after['usual'] - before['usual']}, 'counts')
        live.end()


MANY = 400
BODIES = ('return n + 1;', 'long a = n, b = n + 1; __asm__ volatile("" : "+r"(a), "+r"(b) : : "rbx", "r12", "r13"); return a + b - n;',
          'if (n & 1) { IMPURE; return n + 1; } IMPURE; return n + 1;', 'return n == 7 ? 8 : n + 1;',
          'double x = (double)(n & 7); IMPURE; return n + 1 + (x < 0);', 'static long last; last += n; IMPURE; return n + 1 + (last == -1);',
          'long m = f0(n); IMPURE; return m;', 'char room[200]; room[n & 127] = 1; IMPURE; return n + (room[n & 127] == 1);')


@SUITE.test('hundreds of functions of all kinds, libc as well, timed while eight threads call them')
def _(t):
    source = f'{t.folder}/many.c'
    functions = '\n'.join(f'REAL long f{i}(long n) {{ IMPURE; {BODIES[i % len(BODIES)]} }}' for i in range(MANY))
    with open(source, 'w', encoding='ascii') as file:
        file.write(f'''#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/programs/target.h"
{functions}
static long (*const all[{MANY}])(long) = {{{', '.join(f'f{i}' for i in range(MANY))}}};
static int stop;
static long rounds[8];
static void *body(void *argument)
{{
    for (long n = 0; !__atomic_load_n(&stop, __ATOMIC_ACQUIRE); n++) {{
        for (int i = 0; i < {MANY}; i++)
            if (all[i](n) != n + 1)
                abort();
        char text[64], *copy;
        snprintf(text, sizeof text, "%ld %s", n, "words");
        copy = strdup(text);
        if (strtol(copy, NULL, 10) != n || strlen(copy) != strlen(text) || memcmp(copy, text, strlen(text)))
            abort();
        free(copy);
        rounds[(long)argument]++;
    }}
    return NULL;
}}
int main(void)
{{
    pthread_t threads[8];
    for (long i = 0; i < 8; i++)
        pthread_create(&threads[i], NULL, body, (void *)i);
    puts("running");
    fflush(stdout);
    getchar();
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    puts("end");
    return 0;
}}
''')
    compiling.program(source, source[:-2], '-pthread', '-I' + ROOT)
    with Live(t, [source[:-2]], '!*') as live:
        live.line()
        status, out, err = wtm(t, 'time', live.pid, 'main:f*')
        expect_equal(status, 0, f'wtm time ({err!r})')
        found = int(re.search(r': (\d+) functions', out).group(1))
        expect(found >= MANY - 8, f'{found} of {MANY} functions of the program are timed: {err}')
        status, out, err = wtm(t, 'time', live.pid, 'libc.so.6:*')
        expect_equal(status, 0, f'wtm time libc ({err!r})')
        expect(int(re.search(r': (\d+) functions', out).group(1)) > 2000, f'functions of libc: {out!r}')
        time.sleep(0.5)
        report = live.end()
        expect_equal(live.out, 'end\n', 'stdout')
        expect(report.sum('calls', 'f0') > 0, 'calls of f0')


@SUITE.test('what cannot be asked for from outside, or finds nothing, is said')
def _(t):
    with Running(t) as live:
        who = f'{live.pid} (running)'
        expect_equal(wtm(t, 'time', live.pid, 'brunches'),
                     (1, '', f'wtm time: {who}: brunches: not found; did you mean branches?\n'), 'a wrong name')
        status, _, err = wtm(t, 'time', live.pid, 'dlopen', '/[', 'usual')
        expect_equal((status, err.count('\n')), (1, 2), f'one that is refused, one that is no pattern, one that is good: {err!r}')
        expect_equal(wtm(t, 'untime', live.pid, 'saves')[0], 1, 'one that is not timed')
        expect_equal(live.say('untime usual'), '1', 'the good one was timed')
        expect_equal(wtm(t, 'time', live.pid)[0], 2, 'no function')
        expect_equal(wtm(t, 'time', 'abc', 'usual')[0], 2, 'no process')
        expect_equal(wtm(t, 'time', live.pid, 'x' * 2000)[0], 2, 'a pattern that does not fit')
        live.child.send_signal(signal.SIGSTOP)
        status, _, err = wtm(t, 'time', live.pid, 'saves')
        live.child.send_signal(signal.SIGCONT)
        expect_equal((status, 'it is stopped' in err), (126, True), f'a process that is stopped: {err!r}')
        live.sums()
        live.end()
    with Running(t, env={'WTM_SIGNALS': 'none'}) as live:
        status, _, err = wtm(t, 'time', live.pid, 'usual')
        expect_equal((status, 'WTM_SIGNALS' in err), (126, True), f'without signals: {err!r}')
        live.sums()
        live.end()
