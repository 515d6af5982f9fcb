# SPDX-License-Identifier: MIT
"""The `wtm` command, as far as it takes a whole run: starting programs, merging profiles, formats, bad files."""
import csv
import glob
import gzip
import io
import json
import os
import shutil

from suite.registry import Suite
from suite.results import Skipped, expect, expect_equal

SUITE = Suite('programs')


def command_in(t, *args, **more):
    return t.tools.command(*args, cwd=t.folder, **more)


@SUITE.test('wtm run: status and output of the program, a table, a saved profile')
def _(t):
    done = command_in(t, 'run', '-t', 'alpha,beta', '--', t.build('plain.c'), '10', '0', '3', '7', check=False)
    expect_equal((done.returncode, done.stdout), (7, b'sum 67\n'), f'status and stdout ({done.stderr[-300:]!r})')
    expect(b'alpha' in done.stderr, f'no table: {done.stderr!r}')
    paths = glob.glob(t.folder + '/wtm.*.prof')
    expect_equal(len(paths), 1, f'profiles in {os.listdir(t.folder)}')
    expect_equal(t.tools.report(paths[0]).one('alpha')['calls'], 10, 'calls of alpha')


@SUITE.test('wtm run: a program killed by a signal: the same signal, or 128 + its number')
def _(t):
    done = command_in(t, 'run', '-t', 'work', '--', t.build('steps.c', '-pthread'), 'c5', 'k', check=False)
    expect(done.returncode in (-9, 128 + 9), f'status {done.returncode}')


@SUITE.test('wtm run: says why a static program cannot be timed')
def _(t):
    static = t.build('plain.c', '-static', name='plain-static')
    done = command_in(t, 'run', '-t', 'alpha', '--', static, '1', '0', '0', check=False)
    expect(done.returncode != 0 and b'static' in done.stderr, f'status {done.returncode}, stderr {done.stderr!r}')


@SUITE.test('wtm run: says why a setuid program cannot be timed')
def _(t):
    if os.geteuid() != 0:
        raise Skipped('not root')
    program = shutil.copy(t.build('plain.c'), t.folder + '/setuid')
    os.chown(program, 65534, 65534)
    os.chmod(program, 0o4755)  # rights that differ from the user's own
    done = command_in(t, 'run', '-t', 'alpha', '--', program, '1', '0', '0', check=False)
    os.unlink(program)
    expect(done.returncode != 0 and b'setuid' in done.stderr, f'status {done.returncode}, stderr {done.stderr!r}')


@SUITE.test('wtm run: a program that is not there gives 127 and its name')
def _(t):
    done = command_in(t, 'run', '-t', 'alpha', '--', '/nonexistent/program', check=False)
    expect_equal(done.returncode, 127, 'status')
    expect(b'/nonexistent/program' in done.stderr, f'stderr {done.stderr!r}')


@SUITE.test('wtm report: the table of a file is that of the run')
def _(t):
    run = t.run([t.build('plain.c'), '12345', '20', '3'], 'alpha,alphabet,beta')
    text = command_in(t, 'report', run.profile_paths()[run.pid]).stdout.decode()
    for name, calls in (('alpha', '12,345'), ('alphabet', '20'), ('beta', '3')):
        cells = [line.split() for line in text.splitlines() if line.split()[:1] == [name]]
        expect_equal([row[1] for row in cells], [calls], f'calls of {name} in:\n{text}')


@SUITE.test('wtm report: CSV holds the counts')
def _(t):
    run = t.run([t.build('plain.c'), '12345', '20', '3'], 'alpha,alphabet')
    text = command_in(t, 'report', '--csv', run.profile_paths()[run.pid]).stdout.decode()
    rows = {row['name']: row['calls'] for row in csv.DictReader(io.StringIO(text))}
    expect_equal(rows, {'alpha': '12345', 'alphabet': '20'}, 'names and calls')


def form(option, judge):
    @SUITE.test(f'wtm report: {option} holds the functions')
    def _(t):
        run = t.run([t.build('plain.c'), '12345', '20', '3'], 'alpha,alphabet')
        done = command_in(t, 'report', option, run.profile_paths()[run.pid], check=False)
        if f'no option {option}'.encode() in done.stderr:
            raise Skipped(f'this version has no {option}')
        expect_equal(done.returncode, 0, f'status ({done.stderr!r})')
        expect(judge(done.stdout), f'{option} wrote {done.stdout[:300]!r}')


form('--folded', lambda text: b'alpha' in text)
form('--html', lambda text: b'alpha' in text and b'<html' in text)
form('--prometheus', lambda text: b'alpha' in text and b'12345' in text)
form('--pprof', lambda text: b'alphabet' in gzip.decompress(text))


@SUITE.test('wtm report: JSON has every promised field')
def _(t):
    run = t.run([t.build('plain.c'), '10', '0', '0'], 'alpha,vfork,no_such_thing')
    data = run.report().data
    for part, fields in {'process': 'pid program wall_ns', 'clock': 'source trusted hz', 'cpu': 'source',
                         'cost': 'inside_ns outside_ns spread_ns recursive_ns'}.items():
        missing = [field for field in fields.split() if field not in data[part]]
        expect_equal(missing, [], f'missing of {part}')
    row = run.report().one('alpha')
    fields = 'name mangled module address calls recursive abnormal open realtime runtime callers slow samples_ns'
    expect_equal([field for field in fields.split() if field not in row], [], 'missing of a function')
    times = 'total_ns self_ns mean_ns min_ns max_ns stddev_ns p50_ns p90_ns p99_ns p999_ns'
    expect_equal([field for field in times.split() if field not in row['realtime']], [], 'missing of realtime')
    expect_equal(data['process']['pid'], run.pid, 'pid')
    expect_equal([row['name'] for row in data['refused']], ['vfork'], 'refused')
    expect_equal(set(data['refused'][0]) >= {'name', 'module', 'address', 'reason'}, True, 'fields of refused')
    expect_equal(set(data['not_found'][0]) >= {'pattern', 'near'}, True, 'fields of not_found')


@SUITE.test('wtm report: an empty, a cut and a foreign file are named, never a crash')
def _(t):
    run = t.run([t.build('plain.c'), '10', '0', '0'], 'alpha')
    with open(run.profile_paths()[run.pid], 'rb') as file:
        whole = file.read()
    for name, data in {'empty': b'', 'cut-header': whole[:1000], 'foreign': b'\x7fELF' * 4096,
                       'other-version': whole[:12] + b'\xff\xff' + whole[14:]}.items():
        with open(f'{t.folder}/{name}', 'wb') as file:
            file.write(data)
        done = command_in(t, 'report', '--json', f'{t.folder}/{name}', check=False)
        expect(done.returncode > 0 and name.encode() in done.stderr,
               f'{name}: status {done.returncode}, stderr {done.stderr!r}')
    done = command_in(t, 'report', '--json', f'{t.folder}/absent', check=False)
    expect(done.returncode > 0 and b'absent' in done.stderr, f'absent: status {done.returncode}, {done.stderr!r}')


@SUITE.test('wtm report: files damaged at random give an error or a report, never a crash')
def _(t):
    import random
    run = t.run([t.build('steps.c', '-pthread'), 'c100', 't50', 't50'], 'work')
    with open(run.profile_paths()[run.pid], 'rb') as file:
        whole = file.read()
    source = random.Random(4711)
    for number in range(60):
        data = bytearray(whole)
        for _ in range(source.choice((1, 4, 64))):
            data[source.randrange(len(data) if number % 2 else min(len(data), 8192))] = source.randrange(256)
        with open(f'{t.folder}/damaged', 'wb') as file:
            file.write(data)
        done = command_in(t, 'report', '--json', f'{t.folder}/damaged', check=False)
        expect(done.returncode in (0, 1, 2, 3), f'round {number}: status {done.returncode}, {done.stderr[-300:]!r}')
        if done.returncode == 0:
            json.loads(done.stdout.decode(errors='replace'))


@SUITE.test('the command tells its version, its help, and a wrong subcommand')
def _(t):
    expect(command_in(t, '--version').stdout.strip(), 'version')
    text = command_in(t, '--help').stdout
    expect(b'run' in text and b'report' in text, f'help: {text[:300]!r}')
    done = command_in(t, 'no-such-thing', check=False)
    expect(done.returncode != 0 and b'no-such-thing' in done.stderr, f'status {done.returncode}, {done.stderr!r}')
