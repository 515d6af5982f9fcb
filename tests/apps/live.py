# SPDX-License-Identifier: MIT
"""A server whose functions are timed and timed no longer, over and over, while clients are served: no request may fail, and
what is counted afterwards must be exact."""
import subprocess
import time

from apps import redis
from suite.registry import Suite
from suite.results import expect, expect_equal
from suite.target import need

SHORT, LONG = Suite('apps'), Suite('apps')
PATTERNS = ('lookup*', 'libc.so.6:*')
COMMANDS = ('set', 'get', 'incr', 'lpush', 'rpop')


def ask_wtm(t, verb, pid, pattern):
    """Gives the number of functions that it says it did this to."""
    done = t.tools.command(verb, str(pid), pattern, check=False)
    expect_equal(done.returncode, 0, f'status of wtm {verb} {pattern} ({done.stderr.decode()[-300:]})')
    return int(done.stdout.decode().split('): ')[1].split()[0])


def rounds(t, pid, client):
    """Until the client has ended. Gives the number of functions of each pattern, and how often they were timed."""
    seen, count = set(), 0
    while client.poll() is None:
        timed = [ask_wtm(t, 'time', pid, pattern) for pattern in PATTERNS]
        time.sleep(0.05)
        untimed = [ask_wtm(t, 'untime', pid, pattern) for pattern in reversed(PATTERNS)]
        expect_equal(untimed, timed[::-1], 'functions that are timed no longer')
        seen.add(tuple(timed))
        count += 1
    expect_equal(len(seen), 1, f'numbers of functions that were timed ({seen})')
    return seen.pop(), count


def calls(t, server, name):
    return t.tools.report(str(server.process.pid)).sum('calls', name)


def serve(t, requests):
    benchmark, folder = need('redis-benchmark'), t.sub('server')
    server = redis.Server(t.tools, folder, t.tools.settings(folder, '!*', {'WTM_TABLE': 'none'}))
    with server:
        client = subprocess.Popen([benchmark, '-s', server.path, '-n', str(requests), '-c', '20', '-q', '-t', ','.join(COMMANDS)],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            functions, count = rounds(t, server.process.pid, client)
            output = client.communicate(timeout=60)[0]
        finally:
            client.kill()
            client.wait()
        expect_equal(client.returncode, 0, f'status of redis-benchmark ({output[-300:]!r})')
        for name in COMMANDS:
            expect_equal(server.statistics(name), (requests, 0, 0), f'{name}: calls, rejected, failed')
        expect(functions[0] > 10 and functions[1] > 3000 and count > 1, f'{functions} functions, {count} times')

        before = calls(t, server, 'lookupKeyRead*')
        server.ask(b'GET', b'mylist')
        expect_equal(calls(t, server, 'lookupKeyRead*'), before, 'calls while nothing is timed')
        ask_wtm(t, 'time', server.process.pid, 'getCommand')
        for _ in range(100):
            server.ask(b'GET', b'key')
        expect_equal(calls(t, server, 'getCommand'), 100, 'calls of getCommand')
    expect_equal(server.status, 0, 'status of redis-server')
    return f'{sum(functions)} functions timed and untimed {count} times during {requests * len(COMMANDS)} requests'


@SHORT.test('redis-server: the C library timed and untimed while redis-benchmark runs')
def _(t):
    return serve(t, 10000)


@LONG.test('redis-server: the C library timed and untimed while redis-benchmark runs, 100,000 of each request')
def _(t):
    return serve(t, 100000)


def tests(tools, full=False):
    return SHORT.tests(tools) + (LONG.tests(tools) if full else [])
