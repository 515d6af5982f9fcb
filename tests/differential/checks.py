# SPDX-License-Identifier: MIT
"""Copies of function entries against the originals, for the functions of real libraries: what differential/main.c prints,
and how much of it there must be at least."""
import os
import re
import subprocess

from suite.registry import Suite
from suite.results import Failed, Skipped, expect

SUITE, LONG = Suite('differential'), Suite('differential')  # with --full: LONG too
LIBRARIES = '/usr/lib/x86_64-linux-gnu'
TIMEOUT = 900


def run(t, path, *options):
    """Counts that the program prints last, by name."""
    program = os.path.join(t.tools.build, 'tests', 'differential', 'differential')
    if not os.path.exists(program):
        raise Skipped('it was not built: Zydis (libzydis-dev) is missing, or these are sanitizers')
    if not os.path.exists(path):
        raise Skipped(f'{path} is not installed')
    done = subprocess.run([program, *options, path], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, env=t.tools.environment(), timeout=TIMEOUT, check=False)
    text = done.stdout.decode(errors='replace')
    last = text.strip().splitlines()[-1] if text.strip() else ''
    counts = {name: int(value) for name, value in re.findall(r'(\w+)=(\d+)', last)}
    if done.returncode != 0 or 'failures' not in counts:
        raise Failed(f'status {done.returncode}:\n{text[-6000:]}')
    return counts


def at_least(counts, **least):
    short = [f'{name}: {counts[name]}, not {number}' for name, number in least.items() if counts[name] < number]
    expect(not short, f"too little was looked at: {', '.join(short)} ({counts})")


def has_debug_file(t):
    done = subprocess.run(['readelf', '-n', f'{LIBRARIES}/libc.so.6'], stdout=subprocess.PIPE, check=False)
    found = re.search(rb'Build ID: (\w\w)(\w+)', done.stdout)
    return bool(found) and os.path.exists('/usr/lib/debug/.build-id/%s/%s.debug' % tuple(w.decode() for w in found.groups()))


def share(counts, part, whole):
    return counts[part] / max(counts[whole], 1)


def compare(t, path, *options, **least):
    """All that can be patched is compared; few runs may end in a fault; most conditional branches go both ways."""
    counts = run(t, path, *options)
    at_least(counts, **least)
    expect(counts['boundaries'] - counts['compared'] <= 10 + counts['boundaries'] // 50,
           f'too many are not compared: {counts}')
    expect(counts['entries'] == counts['compared'], f'not all were entered through their changed bytes: {counts}')
    expect(share(counts, 'faulted', 'runs') < 0.2, f'too many runs ended in a fault: {counts}')
    expect(share(counts, 'both_ways', 'conditional') > 0.5, f'too few branches went both ways: {counts}')
    return (f"{counts['compared']} of {counts['functions']} functions (jump5 {counts['jump5']}, padded {counts['padded']}, "
            f"jump2 {counts['jump2']}, punned {counts['punned']}), {counts['runs']} runs, {counts['faulted']} with a fault, "
            f"{counts['branches']} branches, {counts['loops']} loops")


@SUITE.test('libcrypto: copies do what the originals do')
def _(t):
    return compare(t, f'{LIBRARIES}/libcrypto.so.3', compared=4500, jump5=4400, padded=5, jump2=1, branches=20000,
                   jumps=150, conditions=250, calls=150, rip_relative=300)


@SUITE.test('libstdc++: copies do what the originals do')
def _(t):
    return compare(t, f'{LIBRARIES}/libstdc++.so.6', compared=3000, jump5=2900, padded=20, branches=20000, jumps=90,
                   conditions=30, calls=70, rip_relative=200)


@SUITE.test('libc: copies do what the originals do')
def _(t):
    least = {'compared': 3000, 'jump5': 2900, 'padded': 20, 'jump2': 5, 'conditions': 100} if has_debug_file(t) else {
        'compared': 1700}
    return compare(t, f'{LIBRARIES}/libc.so.6', branches=20000, rip_relative=200, **least)


@SUITE.test('python3.11: copies do what the originals do, at addresses below 2 GiB')
def _(t):
    return compare(t, '/usr/bin/python3.11', compared=1000, jump5=1000, branches=10000, calls=20, rip_relative=50)


@SUITE.test('libc: as well for an instruction in the midst of each function, of every kind and by every method')
def _(t):
    return compare(t, f'{LIBRARIES}/libc.so.6', '--inside', '1', compared=800, padded=50, jump2=15, punned=15, loops=10,
                   islands=15, indirect_calls=2)


@SUITE.test('one wrong bit in a copy is noticed')
def _(t):
    counts = run(t, f'{LIBRARIES}/libcrypto.so.3', '--damage', '--sample', '3')
    at_least(counts, exits_damaged=1200, bits_damaged=1200)
    expect(counts['exits_noticed'] == counts['exits_damaged'], f'a way back that is off by one passed: {counts}')
    # the others: the sense of a comparison that both states answer alike, a displacement of a branch not taken, a nop
    expect(share(counts, 'bits_noticed', 'bits_damaged') > 0.93, f'too much passed: {counts}')
    return (f"{counts['exits_noticed']} of {counts['exits_damaged']} ways back, {counts['bits_noticed']} of "
            f"{counts['bits_damaged']} bits of other instructions")


@SUITE.test('libLLVM: windows end where a second disassembler sees an instruction end')
def _(t):
    for version in range(14, 20):
        path = f'{LIBRARIES}/libLLVM-{version}.so.1'
        if os.path.exists(path):
            counts = run(t, path, '--boundaries', '--sample', '4')
            at_least(counts, boundaries=5000)
            return f"{counts['boundaries']} of {counts['functions']} functions"
    raise Skipped('no libLLVM is installed')


@LONG.test('an instruction in the midst of each function, ten times')
def _(t):
    compared = 0
    for seed in range(10, 20):
        for name in ('libcrypto.so.3', 'libstdc++.so.6', 'libc.so.6', 'libsqlite3.so.0'):
            counts = run(t, f'{LIBRARIES}/{name}', '--inside', str(seed))
            at_least(counts, compared=500, loops=5, punned=5)
            compared += counts['compared']
    return f'{compared} copies'


def long_test(path, states=24, **least):
    @LONG.test(f'{os.path.basename(path)}: copies do what the originals do, from {states} states')
    def _(t):
        return compare(t, path, '--states', str(states), **least)


long_test(f'{LIBRARIES}/libc.so.6', compared=1700)
long_test(f'{LIBRARIES}/libcrypto.so.3', compared=4500)
long_test(f'{LIBRARIES}/libstdc++.so.6', compared=3000)
long_test('/usr/bin/python3.11', compared=1000)
long_test(f'{LIBRARIES}/libLLVM-14.so.1', states=4, compared=25000)
long_test(f'{LIBRARIES}/libsqlite3.so.0', compared=1000)
long_test('/bin/bash', compared=1200)
long_test('/usr/bin/node', states=2, compared=70000)


def tests(tools, full=False):
    return SUITE.tests(tools) + (LONG.tests(tools) if full else [])
