# SPDX-License-Identifier: MIT
"""wtmtime.h: what a program itself can time, with and without the library, in C and C++, however it is linked."""
import os
import re
import subprocess

from suite.registry import Suite
from suite.results import Skipped, expect, expect_equal
from suite.target import ROOT, need

SUITE = Suite('programs')

WITH = '''present 1
time alpha* 2
time alpha 1
time nothing -2 no function of that name is loaded, or timed
time vfork -9999 pops its own return address
time beta 1
time data -9999 not in an executable segment of a loaded object
alpha 20 calls 0 open 20 timed 1 sane
the handle 10 calls 0 open 10 timed 1 sane
untime 1
untime again -2 no function of that name is loaded, or timed
alphabet 20 calls 0 open 20 timed 1 sane
walk 42
time again 1
disarm 0
arm 0
alphabet 30 calls 0 open 30 timed 1 sane
reset 0
alpha 7 calls 0 open 7 timed 1 sane
untime pointer 1
dump 0
untime all 2
alphabet 7 calls 0 open 7 timed 1 sane
'''
WITHOUT = 'present 0\n' + ''.join(f'{line.rsplit(" ", 1)[0]} -38\n' for line in '''time alpha* -
time alpha -
time nothing -
time vfork -
time beta -
time data -
alpha -
the handle -
untime -
untime again -
alphabet -
walk -
time again -
disarm -
arm -
alphabet -
reset -
alpha -
untime pointer -
dump -
untime all -
alphabet -'''.splitlines())
WAYS = {'C': ('inside.c', 'gcc'), 'C, at a fixed address': ('inside.c', 'gcc', '-no-pie', '-fno-pie'),
        'C, link-time optimisation': ('inside.c', 'gcc', '-flto'), 'C, by clang': ('inside.c', 'clang'),
        'C, by clang at a fixed address': ('inside.c', 'clang', '-no-pie', '-fno-pie'), 'C++': ('inside.cc', 'gcc'),
        'C++ by clang': ('inside.cc', 'clang', '-std=c++17'), 'C, static': ('inside.c', 'gcc', '-static')}


def build(t, source, compiler, *flags):
    name = re.sub(r'\W+', '-', ' '.join((source, *flags)))
    return t.build(source, '-I' + ROOT, '-pthread', *flags, compiler=compiler, name=name)


def way(title, how):
    @SUITE.test(f'wtmtime.h without and with the library: {title}')
    def _(t):
        program = build(t, *how)
        run = t.run([program], folder=t.sub('without'))
        expect_equal((run.status, run.out, run.err), (0, WITHOUT, ''), 'without the library')
        if '-static' in how:
            return
        for number, patterns in enumerate((None, 'main:alpha')):
            run = t.run([program], '', t.sub(str(number)), env={'WTM_TIME': patterns, 'WTM_SIGNALS': 'none'})
            wanted = WITH if patterns is None else WITH.replace('alpha 20 calls 0 open 20', 'alpha 25 calls 0 open 25')
            expect_equal((run.status, run.out, run.err), (0, wanted, ''),
                         f'with the library, WTM_TIME {patterns}')
            expect_equal(run.report().one('alpha')['calls'], 7, 'calls of alpha in the profile')
            tables = run.tables()[run.pid]
            expect_equal(len(re.findall(r'^alpha +7 ', tables, re.M)), 2, f'rows of alpha in two tables:\n{tables}')


for _title, _how in WAYS.items():
    way(_title, _how)


@SUITE.test('wtmtime.h in a program of two threads: what cannot be changed live is refused, the rest works')
def _(t):
    program = build(t, 'inside.c', 'gcc')
    run = t.run([program, 'threads'], 'main:alpha,main:alphabet')
    lines = run.out.splitlines()
    expect_equal(run.status, 0, 'status')
    for line in ('time alpha 1', 'alpha 25 calls 0 open 25 timed 1 sane', 'untime 1', 'time again 1', 'reset 0',
                 'alpha 7 calls 0 open 7 timed 1 sane'):
        expect(line in lines, f'no line {line!r}: {lines}')
    beta = [line for line in lines if line.startswith('time beta')]
    expect(beta in (['time beta 1'], ['time beta -9999 a thread stands in its first bytes']), f'beta: {beta}')


@SUITE.test('wtmtime.h is installed, and pkg-config finds it')
def _(t):
    try:
        done = subprocess.run(['meson', 'install', '-C', t.tools.build, '--no-rebuild', '--destdir', t.folder, '--quiet'],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, timeout=120)
    except FileNotFoundError:
        raise Skipped('meson is not installed') from None
    expect_equal(done.returncode, 0, f'status of meson install: {done.stdout.decode()[-600:]}')
    found = {name: os.path.join(at, name) for at, _, names in os.walk(t.folder) for name in names}
    expect('wtmtime.h' in found and 'wtmtime.pc' in found, f'installed: {sorted(found)}')
    env = dict(t.tools.environment(), PKG_CONFIG_PATH=os.path.dirname(found['wtmtime.pc']), PKG_CONFIG_SYSROOT_DIR=t.folder)
    flags = subprocess.run(['pkg-config', '--cflags', '--libs', 'wtmtime'], env=env, check=True,
                           stdout=subprocess.PIPE).stdout.decode().split()
    source = os.path.join(t.folder, 'user.c')
    with open(source, 'w', encoding='ascii') as file:
        file.write('#include <wtmtime.h>\nint main(void) { return wtmtime_arm() == -ENOSYS ? 0 : 1; }\n')
    subprocess.run(['gcc', '-std=c99', '-Wall', '-Werror', source, *flags, '-o', source[:-2]], check=True)
    expect_equal(subprocess.run([source[:-2]], check=False).returncode, 0, 'status of a program built so')


@SUITE.test('from gdb: time, reset, disarm, arm, dump and untime by calls, in a library with debug information and in a stripped one')
def _(t):
    gdb, program = need('gdb'), t.build('plain.c', '-g')
    stripped = f'{t.folder}/libwtmtime.so'
    subprocess.run(['strip', '-o', stripped, t.tools.lib], check=True)
    for name, lib, cast in (('plain', t.tools.lib, ''), ('stripped', stripped, '(int)')):
        folder = t.sub(name)
        calls = ['break alphabet', 'run', *(f'print {cast}wtmtime_{call}' for call in (
            'dump()', 'reset()', 'time("beta")', 'disarm()', 'arm()', 'untime("alpha")', 'time("nothing")')), 'delete', 'continue']
        argv = [gdb, '-q', '-nx', '-batch', '-ex', 'set startup-with-shell off', '-ex', f'set environment LD_PRELOAD {lib}',
                '-ex', 'set environment WTM_TIME alpha', '-ex', f'set environment WTM_OUT {folder}/out.%p.prof',
                '-ex', f'set environment WTM_TABLE {folder}/table']
        for call in calls:
            argv += ['-ex', call]
        run = t.run([*argv, '--args', program, '10', '20', '3'], folder=folder)
        expect_equal(re.findall(r'^\$\d+ = (-?\d+)', run.out, re.M), ['0', '0', '1', '0', '0', '1', '-2'], f'results of the calls ({run.out[-900:]}{run.err})')
        expect('exited normally' in run.out, f'the program did not end well: {run.out[-600:]}')
        with open(f'{folder}/table', encoding='utf-8') as file:
            text = file.read()
        expect_equal(re.findall(r'^(beta|alpha) +(\d+) ', text, re.M), [('alpha', '10'), ('beta', '3')], f'rows of two tables:\n{text}')
