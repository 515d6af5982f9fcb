# SPDX-License-Identifier: MIT
"""Where the profile goes: what stands there already, who may read it, what becomes of it while the program runs."""
import os
import shutil
import stat
import subprocess

from suite.registry import Suite
from suite.results import expect, expect_equal

SUITE = Suite('programs')


def planted(kind, plant, untouched):
    @SUITE.test(f'WTM_OUT names {kind}: not followed, not written to, not removed; told; the program unharmed')
    def _(t):
        place, other = f'{t.folder}/place', f'{t.folder}/other'
        with open(other, 'wb') as file:
            file.write(b'precious')
        plant(place, other)
        before = os.lstat(place)
        for command in (False, True):
            if command:
                done = t.tools.command('run', '-o', place, '-t', 'alpha', '--', t.build('plain.c'), '10', '0', '0', '3', cwd=t.folder,
                                       check=False)
                status, out, err = done.returncode, done.stdout.decode(), done.stderr.decode()
            else:
                run = t.run([t.build('plain.c'), '10', '0', '0', '3'], 'alpha', t.sub('run'),
                            env={'WTM_OUT': place, 'WTM_TABLE': None})
                status, out, err = run.status, run.out, run.err
            expect_equal((status, out), (3, 'sum 55\n'), f'status and stdout ({err})')
            expect(place in err and 'cannot be created' in err, f'not told: {err!r}')
            expect('alpha' in err.split('memory)')[-1], f'no table: {err!r}')
            after = os.lstat(place)
            expect_equal((after.st_ino, after.st_mode, after.st_size), (before.st_ino, before.st_mode, before.st_size), 'what stood there')
            with open(other, 'rb') as file:
                expect_equal(file.read(), b'precious', 'the other file')
        untouched(place, other)


def nothing_more(place, other):
    pass


def still_absent(place, other):
    expect(not os.path.exists(other + '-absent'), 'the target of the link was made')


planted('a symbolic link to a file', lambda place, other: os.symlink(other, place), nothing_more)
planted('a symbolic link to nothing', lambda place, other: os.symlink(other + '-absent', place), still_absent)
planted('a named pipe', lambda place, other: os.mkfifo(place), nothing_more)
planted('a folder', lambda place, other: os.mkdir(place), nothing_more)
planted('a file that is no profile', lambda place, other: shutil.copy(other, place), nothing_more)
planted('a hard link to a file that is no profile', lambda place, other: os.link(other, place), nothing_more)


@SUITE.test('a profile is its user\'s alone, whatever the umask; an older profile or an empty file is replaced, not written into')
def _(t):
    place = f'{t.folder}/place'
    program = t.build('plain.c')
    for number, umask in enumerate((0, 0o777, 0o022)):
        kept = None
        if os.path.exists(place):
            kept = f'{t.folder}/kept{number}'
            os.link(place, kept)
            with open(kept, 'rb') as file:
                before = file.read()
        else:
            with open(place, 'w', encoding='ascii'):
                pass
            os.chmod(place, 0o644)
        t.run(['/bin/sh', '-c', f'umask {umask:o}; exec {program} 1{number} 0 0'], 'main:alpha', t.sub(str(number)), env={'WTM_OUT': place})
        expect_equal(stat.S_IMODE(os.stat(place).st_mode), 0o600 & ~umask, f'mode with umask {umask:o}')
        os.chmod(place, 0o600)
        expect_equal(t.tools.report(place).one('alpha')['calls'], 10 + number, 'calls')
        if kept:
            with open(kept, 'rb') as file:
                expect_equal(file.read() == before, True, 'the older profile under its other name is as it was')


@SUITE.test('the profile removed while the program runs, and something else put in its place: unharmed, told in the table')
def _(t):
    for number, make in enumerate((lambda place: None, os.mkdir, lambda place: shutil.copy('/etc/passwd', place))):
        folder = t.sub(str(number))
        place, stderr = f'{folder}/place', f'{folder}/stderr'
        env = t.tools.environment(t.tools.settings(folder, 'main:work', {'WTM_OUT': place, 'WTM_TABLE': None}))
        with open(stderr, 'wb') as err, subprocess.Popen([t.build('steps.c', '-pthread'), 'c10', 'h', *['t5'] * 20, 'c7'], env=env,
                                                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=err) as child:
            expect_equal(child.stdout.readline(), b'here\n', 'the program is at its stop')
            os.unlink(place)
            make(place)
            child.stdin.write(b'\n')
            child.stdin.close()
            expect_equal((child.wait(60), child.stdout.read()), (0, b'end\n'), 'status and stdout')
        with open(stderr, encoding='utf-8') as file:
            text = file.read()
        row = [line.split() for line in text.splitlines() if line.split()[:1] == ['work']]
        expect_equal([cells[1] for cells in row], ['117'], f'calls in the table:\n{text}')
        if number == 2:
            with open('/etc/passwd', 'rb') as one, open(place, 'rb') as other:
                expect_equal(one.read() == other.read(), True, 'what was put in its place')


@SUITE.test('wtm run in a folder that may not be written, or is gone, and with an -o whose folder is missing: told, and a table')
def _(t):
    program = t.build('plain.c')
    done = t.tools.command('run', '-o', f'{t.folder}/absent/x.prof', '-t', 'alpha', '--', program, '10', '0', '0', '3', cwd=t.folder,
                           check=False)
    err = done.stderr.decode()
    expect_equal((done.returncode, done.stdout), (3, b'sum 55\n'), f'status and stdout ({err})')
    expect('absent/x.prof' in err and 'no such directory' in err, f'not told: {err!r}')
    expect_equal([line.split()[1] for line in err.splitlines() if line.split()[:1] == ['alpha']], ['10'], f'calls in the table:\n{err}')
    gone = t.sub('gone')
    done = subprocess.run(['/bin/sh', '-c', f'rmdir {gone}; exec {t.tools.wtm} run -t alpha -- {program} 10 0 0 3'], cwd=gone, check=False,
                          env=t.tools.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    expect(done.returncode in (3, 126), f'status {done.returncode}')
    expect(b'directory' in done.stderr, f'not told: {done.stderr!r}')
