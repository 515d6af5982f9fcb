# SPDX-License-Identifier: MIT
"""wtm run as a parent: one report of all processes, and to the shell the program itself. Reports of many profiles."""
import csv
import glob
import io
import json
import os
import pty
import select
import signal
import subprocess
import time

from suite.registry import Suite
from suite.results import expect, expect_equal
from suite.target import need

SUITE = Suite('programs')


def people(t):
    return t.build('people.c', '-pthread')


def start(t, *args, **more):
    more.setdefault('env', t.tools.environment())
    more.setdefault('cwd', t.folder)
    return subprocess.Popen([t.tools.wtm, 'run', *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, **more)


def finish(child, timeout=120):
    out, err = child.communicate(timeout=timeout)
    return child.returncode, out, err


def run(t, *args, **more):
    return finish(start(t, *args, **more))


def row(table, name):
    rows = [line.split() for line in table.splitlines() if line.split()[:1] == [name]]
    expect_equal(len(rows), 1, f'rows of {name} in:\n{table}')
    return rows[0]


def profiles(t, folder=None):
    return sorted(glob.glob((folder or t.folder) + '/wtm.*.prof'))


def report(t, *args):
    done = t.tools.command('report', '--json', *args, check=False)
    expect(done.stdout, f'no output for {args}: {done.returncode}, {done.stderr.decode()}')
    return done.returncode, json.loads(done.stdout.decode())


@SUITE.test('wtm run: one table of all processes, those told apart that called something; no file of others')
def _(t):
    program = people(t)
    status, _, err = run(t, '-t', 'work', '--', 'sh', '-c', f'{program} c10; {program} c20 "f(" c7 ")" e4; /bin/true; {program} ; exit 6')
    expect_equal((status, err.count('wtm: clock')), (6, 1), f'status, tables\n{err}')
    expect_equal(row(err, 'work')[1], '37', 'calls')
    found, data = report(t, *profiles(t))
    expect_equal((found, sorted((p['program'], p['calls']) for p in data['processes'])),
                 (0, [('dash', 0), ('people', 7), ('people', 10), ('people', 20)]), 'processes with a file')
    expect('not found' not in err, f'a pattern that one process found is not found:\n{err}')


@SUITE.test('wtm run: a process that executes another program keeps what it counted')
def _(t):
    program = people(t)
    for number, out in enumerate(('wtm.%p.prof', 'one.prof', 'name')):
        folder = t.sub(str(number))
        status, _, err = run(t, '-o', out, '-t', 'work', '--', program, 'c3', f'x{program}', 'c4', f'x{program}', 'c5', 'f(', 'c1',
                             f'x{program}', 'c2', ')', cwd=folder)
        expect_equal((status, row(err, 'work')[1]), (0, '15'), f'status, calls\n{err}')
        files = [name for name in os.listdir(folder)]
        expect_equal((len(files), report(t, *[f'{folder}/{name}' for name in files])[1]['functions'][0]['calls']), (5, 15),
                     f'files, calls in {files}')


@SUITE.test('wtm run -o none: the merged table, and nothing is left behind')
def _(t):
    program, temporary = people(t), t.sub('tmp')
    status, _, err = run(t, '-o', 'none', '-t', 'work', '--', program, 'c3', 'f(', 'c4', ')', 'e9',
                         env=dict(t.tools.environment(), TMPDIR=temporary))
    expect_equal((status, row(err, 'work')[1], os.listdir(temporary), profiles(t)), (9, '7', [], []), 'status, calls, files')


@SUITE.test('wtm run: processes that change their directory, and a folder with % and * in its name')
def _(t):
    folder = t.sub('a%p[x]*b')
    status, _, err = run(t, '-t', 'work', '--', 'sh', '-c', f'cd /; {people(t)} c3; {people(t)} c4', cwd=folder)
    expect_equal((status, row(err, 'work')[1]), (0, '7'), f'status, calls\n{err}')
    expect_equal(len([name for name in os.listdir(folder) if name.endswith('.prof')]), 3, 'profiles in the folder')


@SUITE.test('wtm run: a process that still runs is in the table, and that is said')
def _(t):
    stay = f'{t.folder}/stay'
    with open(stay, 'w', encoding='ascii'):
        pass
    program = people(t)
    status, _, err = run(t, '-t', 'work', '--', 'sh', '-c', f'{program} c10 d; sleep 1')
    os.unlink(stay)
    expect_equal((status, row(err, 'work')[1]), (0, '15'), f'status, calls\n{err}')
    expect('1 process started by the program still runs' in err, err)
    end = time.monotonic() + 20
    while any(p['running'] for p in report(t, *profiles(t))[1]['processes']) and time.monotonic() < end:
        time.sleep(0.05)
    expect_equal([p['running'] for p in report(t, *profiles(t))[1]['processes']], [False] * 3, 'running later')


@SUITE.test('wtm run: exit statuses and signals are the program\'s own; no second core file')
def _(t):
    program = people(t)
    for status in (0, 1, 77, 255):
        expect_equal(run(t, '-t', 'work', '--', program, 'c1', f'e{status}')[0], status, 'status')
    for number in (signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT, signal.SIGTERM, signal.SIGPIPE, signal.SIGRTMIN):
        status, _, err = run(t, '-t', 'work', '--', program, 'c11', f'k{int(number)}')
        expect_equal((status, row(err, 'work')[1]), (-number, '11'), f'end by {number}\n{err}')


@SUITE.test('wtm run: signals that are sent to it reach the program, once')
def _(t):
    with start(t, '-t', 'work', '--', people(t), 'c2', 's') as child:
        expect_equal(child.stdout.readline(), 'ready\n', 'the program is there')
        for _ in range(3):
            os.kill(child.pid, signal.SIGUSR1)
            expect_equal(child.stdout.readline(), 'usr1\n', 'what the program heard')
        os.kill(child.pid, signal.SIGTERM)
        status, out, err = finish(child)
    expect_equal((status, out, row(err, 'work')[1]), (3, '', '2'), f'status, more output, calls\n{err}')


@SUITE.test('wtm run: the program sees the signal mask and dispositions, descriptors and group that it would see without')
def _(t):
    script = ('import os, signal; blocked = signal.pthread_sigmask(signal.SIG_BLOCK, []); '
              'print(sorted(blocked), [s for s in range(1, 32) if signal.getsignal(s) == signal.SIG_IGN], '
              'sorted(fd for fd in os.listdir("/proc/self/fd") if int(fd) < 400), os.getpgrp(), os.getsid(0))')

    def prepare():
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
        for number in (signal.SIGCHLD, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
    seen = []
    for argv in ([], [t.tools.wtm, 'run', '-o', 'none', '-t', 'no_such_function', '--']):
        done = subprocess.run([*argv, need('python3'), '-c', script], preexec_fn=prepare, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, env=t.tools.environment())
        seen.append((done.returncode, done.stdout))
    expect_equal(seen[1], seen[0], 'what the program sees under wtm run, and without')


def states_of_group(group):
    """One letter for each of its processes, as in proc(5)."""
    states = ''
    for path in glob.glob('/proc/[0-9]*/stat'):
        try:
            with open(path, encoding='utf-8', errors='replace') as file:
                fields = file.read().rpartition(')')[2].split()
        except OSError:
            continue
        if int(fields[2]) == group:
            states += fields[0]
    return states


@SUITE.test('wtm run: stopped from the terminal and continued as one job; an interrupt ends both')
def _(t):
    program = people(t)
    pid, master = pty.fork()
    if not pid:  # a session of its own, whose leader is a small shell: in an orphaned group nothing is stopped
        os.chdir(t.folder)
        os.execve('/bin/sh', ['sh', '-c', f'set -m; {t.tools.wtm} run -t work -- {program} c5 s; echo stopped $?; '
                              f'fg >/dev/null; echo ended $?'], t.tools.environment())
    text = b''

    def until(word):
        nonlocal text
        end = time.monotonic() + 60
        while word not in text and time.monotonic() < end:
            if not select.select([master], [], [], 1)[0]:
                continue
            try:
                text += os.read(master, 65536)
            except OSError:
                break
        expect(word in text, f'no {word!r} in {text!r}')
        text = text[text.index(word) + len(word):]
    until(b'ready')
    os.write(master, b'\x1a')
    until(b'stopped 1')
    end = time.monotonic() + 60  # a key of before the job is in front again would be the shell's
    while time.monotonic() < end and (os.tcgetpgrp(master) == pid or 'T' in states_of_group(os.tcgetpgrp(master))):
        time.sleep(0.01)
    os.write(master, b'\x03')
    until(b' 5 ')
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.close(master)
    expect(status in (-signal.SIGINT, 128 + signal.SIGINT), f'a shell ends so when its job was interrupted: {status}')
    expect_equal(subprocess.run(['pgrep', '-f', f'^{program} c5 s'], check=False).returncode, 1, 'processes left')


@SUITE.test('wtm run -- make -j2: a project is built as without, one report, exact counts')
def _(t):
    need('make')
    program, count = people(t), 12
    folders = {}
    for name in ('plain', 'timed'):
        folders[name] = t.sub(name)
        for i in range(count):
            with open(f'{folders[name]}/part{i}.c', 'w', encoding='ascii') as file:
                file.write(f'#include "part{i}.h"\nint part{i}(int n) {{ return n * VALUE; }}\n')
        with open(f'{folders[name]}/main.c', 'w', encoding='ascii') as file:
            file.write('#include <stdio.h>\n' + ''.join(f'int part{i}(int);\n' for i in range(count)) +
                       'int main(void) { printf("%d\\n", ' + ' + '.join(f'part{i}(2)' for i in range(count)) + '); }\n')
        with open(f'{folders[name]}/Makefile', 'w', encoding='ascii') as file:
            file.write('OBJECTS = main.o ' + ' '.join(f'part{i}.o' for i in range(count)) + '\nproject: $(OBJECTS)\n\tgcc -o $@ $^\n'
                       'part%.h:\n\t' + program + ' c100 "f(" c1 ")"; echo "#define VALUE $*" >$@\n%.o: %.c\n\tgcc -O1 -c $<\n' +
                       ''.join(f'part{i}.o: part{i}.h\n' for i in range(count)))
    env = t.tools.environment()
    subprocess.run(['make', '-j2'], cwd=folders['plain'], env=env, check=True, stdout=subprocess.DEVNULL)
    status, out, err = run(t, '-t', 'work,libc.so.6:fopen64', '--', 'make', '-j2', cwd=folders['timed'])
    expect_equal(status, 0, f'status ({err[-600:]})')
    expect('jobserver' not in err, f'make lost its jobserver: {err[-600:]}')
    built = [subprocess.run([f'{folder}/project'], stdout=subprocess.PIPE, check=True).stdout for folder in folders.values()]
    expect_equal(built[1], built[0], 'what the project prints')
    expect_equal(row(err, 'work')[1], f'{count * 101:,}', 'calls of work')
    found, data = report(t, '--by', 'program', *profiles(t, folders['timed']))
    by_program = {(f['name'], f['program']): f['calls'] for f in data['functions'] if f['calls']}
    expect_equal((found, by_program[('work', 'people')]), (0, count * 101), f'calls by program: {by_program}')
    expect(any(p['program'] in ('cc1', 'as') for p in data['processes']), f"processes: {[p['program'] for p in data['processes']]}")
    expect(all(p['calls'] or p['program'] == 'make' for p in data['processes']), 'a file of a process that called nothing')
    status, _, err = run(t, '-t', 'work', '--', 'make', 'nothing-of-this-name', cwd=folders['timed'])
    expect_equal(status, 2, f'status of a make that fails ({err[-300:]})')


@SUITE.test('wtm report --by: rows by thread, process, program, host and module add up to the whole')
def _(t):
    program = people(t)
    run(t, '-t', 'work,pthread_create', '--', program, 'c10', 'treader:20', 'treader:30', 'twriter:40', 'f(', 'treader:7', ')')
    files = profiles(t)
    whole = report(t, *files)[1]
    for keys, count in (('thread', 4), ('process', 4), ('program', 2), ('host', 2), ('module', 2), ('program,thread', 4),
                        ('process,thread', 6), ('module,host,process,thread', 6)):
        found, data = report(t, '--by', keys, *files)
        called = [f for f in data['functions'] if f['calls']]
        expect_equal((found, len(called)), (0, count), f'status, rows by {keys}: {[(f["name"], f["calls"]) for f in called]}')
        for name in ('work', 'pthread_create'):
            expect_equal(sum(f['calls'] for f in called if f['name'] == name),
                         sum(f['calls'] for f in whole['functions'] if f['name'] == name), f'calls of {name} by {keys}')
    data = report(t, '--by', 'thread', *files)[1]
    expect_equal({f['thread']: f['calls'] for f in data['functions'] if f['name'] == 'work'},
                 {'people': 10, 'reader': 57, 'writer': 40}, 'calls of work by thread')
    text = t.tools.command('report', '--csv', '--by', 'process,thread', *files).stdout.decode()
    rows = list(csv.DictReader(io.StringIO(text)))
    expect_equal(sum(int(r['calls']) for r in rows if r['thread'] == 'reader'), 57, f'calls of readers in\n{text}')
    expect('work [reader]' in t.tools.command('report', '--by', 'thread', *files).stdout.decode(), 'no row in the table')
    expect_equal(t.tools.command('report', '--by', 'thread,nonsense', *files, check=False).returncode, 2, 'a wrong key')


@SUITE.test('wtm report: bad files among many are named, the others summed up, and the status tells')
def _(t):
    program = people(t)
    for calls in range(1, 41):
        t.tools.run([program, f'c{calls}'], t.folder, 'work')
    files = sorted(glob.glob(t.folder + '/out.*.prof'))
    expect_equal(len(files), 40, 'profiles')
    bad = [f'{t.folder}/foreign', f'{t.folder}/cut', f'{t.folder}/absent', f'{t.folder}/folder']
    with open(bad[0], 'wb') as file:
        file.write(b'hello' * 5000)
    with open(files[0], 'rb') as source, open(bad[1], 'wb') as file:
        file.write(source.read(2000))
    os.mkdir(bad[3])
    good = t.tools.command('report', '--json', *files)
    done = t.tools.command('report', '--json', bad[0], *files[:20], *bad[1:], *files[20:], check=False)
    expect_equal((done.returncode, json.loads(done.stdout.decode())['functions'][0]['calls']), (3, sum(range(1, 41))), 'status, calls')
    expect_equal(json.loads(good.stdout.decode())['process']['processes'], 40, 'processes')
    for path in bad:
        expect(path.encode() in done.stderr, f'{path} is not named: {done.stderr}')
    expect(b'40 of 44' in done.stderr, done.stderr)


@SUITE.test('the process id of a wtm run in the background stands for its program: report, info, top, disarm, arm, reset, dump')
def _(t):
    with start(t, '-t', 'work', '--', people(t), 'c25', 's') as child:
        expect_equal(child.stdout.readline(), 'ready\n', 'the program is there')
        expect_equal(report(t, str(child.pid))[1]['functions'][0]['calls'], 25, 'calls by wtm report')
        for command in ('info', 'disarm', 'arm', 'dump', 'reset'):
            done = t.tools.command(command, str(child.pid), check=False)
            expect_equal(done.returncode, 0, f'status of wtm {command} ({done.stderr.decode()})')
            expect(b'people' in done.stdout, f'wtm {command}: {done.stdout}')
        expect(b'people' in t.tools.command('top', '-n', '1', str(child.pid)).stdout, 'wtm top')
        os.kill(child.pid, signal.SIGTERM)
        status, _, err = finish(child)
    expect_equal((status, err.count('wtm: clock')), (3, 1), f'status; the table on demand and no call since\n{err}')
