# SPDX-License-Identifier: MIT
"""Whatever ends a process, its profile holds each call that was done until then; whatever cuts a file, it is no lie."""
import json
import os
import random
import signal
import struct
import subprocess
import time

from suite.registry import Suite
from suite.results import expect, expect_equal

SUITE = Suite('programs')
THREADS = 3


def shared_counts(path):
    """(begun, done) of each thread; the last is that of the short threads. Nothing when the program had not come so far."""
    try:
        with open(path, 'rb') as file:
            data = file.read(4096)
    except FileNotFoundError:
        data = b''
    data = data.ljust(4096, b'\0')
    return [struct.unpack_from('<QQ', data, 64 * i) for i in range(THREADS + 1)]


def by_thread(t, path):
    """Closed and all calls of work by thread's name; None when there is no profile to read."""
    done = t.tools.command('report', '--json', '--by', 'thread', path, check=False)
    expect(done.returncode in (0, 1, 3), f'wtm report gave {done.returncode}: {done.stderr.decode()}')
    if done.returncode == 3:
        return None
    found = {}
    for row in json.loads(done.stdout.decode())['functions']:
        if row['name'] == 'work' and row['calls']:
            found[row['thread']] = (row['calls'] - row['open'], row['calls'])
    return found


def judge(found, counts, what):
    names = [f't{i}' for i in range(THREADS)] + ['short']
    for name, (begun, done) in zip(names, counts):
        closed, calls = (found or {}).get(name, (0, 0))
        expect(done <= closed <= calls <= begun and begun - done <= 1,
               f'{what}, thread {name}: {done} calls done and {begun} begun, the profile has {closed} closed of {calls}')
    extra = set(found or {}) - set(names)
    expect(not extra, f'{what}: threads that there were not: {extra}')


def end(t, source, number, how):
    """One process, ended at a random moment: gives its profile."""
    program = t.build('killed.c', '-pthread')
    folder = t.sub(str(number))
    counts, path = f'{folder}/counts', f'{folder}/profile'
    env = t.tools.environment(t.tools.settings(folder, 'work,inner', {'WTM_OUT': path, 'WTM_TABLE': 'none'}))
    with subprocess.Popen([program, counts, str(THREADS), how], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as child:
        started = number % 4 != 0  # else also while it starts
        if started:
            expect_equal(child.stdout.readline(), b'running\n', 'the program runs')
        time.sleep(source.uniform(0, 0.03 if started else 0.25))
        if how == 'wait':
            child.kill()
            status = -signal.SIGKILL
        else:
            status = {'segv': -signal.SIGSEGV, 'abort': -signal.SIGABRT, 'exit': 5}[how]
            child.stdin.write(b'\n')
            child.stdin.flush()
        expect_equal(child.wait(60), status, f'status, ended by {how}')
    judge(by_thread(t, path), shared_counts(counts), f'round {number}, ended by {how}')
    return path


@SUITE.test('ended at random moments by SIGKILL, a fault, abort and _exit: every call that was done is in the profile')
def _(t):
    seed = random.randrange(1 << 30)
    source = random.Random(seed)
    for number in range(1000 if t.tools.full else 60):
        how = 'wait' if number % 4 < 2 else ('segv', 'abort', 'exit')[number % 3]
        try:
            path = end(t, source, number, how)
        except Exception as why:
            raise AssertionError(f'seed {seed}: {why}') from why
        for name in (path, os.path.join(os.path.dirname(path), 'counts')):
            if os.path.exists(name):
                os.unlink(name)


@SUITE.test('a profile cut off at any length: what is left of it is read, or it is named as no profile; counts are never more')
def _(t):
    path = end(t, random.Random(1), 1, 'wait')
    whole = by_thread(t, path)
    with open(path, 'rb') as file:
        data = file.read()
    used = struct.unpack_from('<Q', data, 32)[0]
    source = random.Random(99)
    lengths = [0, 1, 7, 8, 4095, 4096, 4097, used - 1, used, used + 1, len(data) - 1]
    lengths += [source.randrange(used + 64) for _ in range(200 if t.tools.full else 50)]
    lengths += [at // 64 * 64 for at in lengths]
    seen = []
    for length in lengths:
        with open(f'{t.folder}/cut', 'wb') as file:
            file.write(data[:length])
        found = by_thread(t, f'{t.folder}/cut')
        expect((found is None) == (length < 4096), f'cut at {length}: {found}')
        for name, (closed, calls) in (found or {}).items():
            expect(closed <= whole[name][0] and calls == whole[name][1], f'cut at {length}, {name}: {closed} of {calls}, whole {whole[name]}')
        seen.append((length, found))
    expect_equal([found for length, found in seen if length >= used], [whole] * sum(length >= used for length, _ in seen), 'all of it')


@SUITE.test('blocks of a profile lost (zeros), as after power is cut: the rest is read, counts are never more')
def _(t):
    path = end(t, random.Random(2), 2, 'wait')
    whole = by_thread(t, path)
    with open(path, 'rb') as file:
        data = file.read()
    used = struct.unpack_from('<Q', data, 32)[0]
    for block in range(0, used, 4096):
        with open(f'{t.folder}/holes', 'wb') as file:
            file.write(data[:block] + bytes(4096) + data[block + 4096:])
        found = by_thread(t, f'{t.folder}/holes')
        expect((found is None) == (block == 0), f'block {block}: {found}')
        for name, (_, calls) in (found or {}).items():
            expect(calls <= whole.get(name, (0, 0))[1], f'block {block}, {name}: {calls} calls, whole {whole}')
