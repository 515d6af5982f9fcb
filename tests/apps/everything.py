# SPDX-License-Identifier: MIT
"""Real programs while all of their functions are timed, the C library's too (WTM_TIME='*'), in every process that they start:
what they print, how they end and the files they leave must be the same as without the library."""
import difflib
import glob
import os
import shutil
import subprocess

from apps import redis
from suite.registry import TESTS, Suite
from suite.results import Failed, expect, expect_equal
from suite.target import ROOT, need

SHORT, LONG = Suite('apps'), Suite('apps')
SCRIPTS = os.path.join(TESTS, 'apps', 'scripts')
QUIET = {'WTM_TABLE': 'none', 'TZ': 'UTC'}  # no descriptor of the library's is open, and a child that lists them sees none


def files_in(folder):
    """Path and content of each file, those of the library left out."""
    found = {}
    for path in sorted(glob.glob(os.path.join(folder, '**'), recursive=True)):
        if os.path.isfile(path) and not os.path.islink(path):
            with open(path, 'rb') as file:
                found[os.path.relpath(path, folder)] = file.read()
    return found


def drop_profiles(folder):
    for path in glob.glob(os.path.join(folder, 'out.*.prof')):
        os.remove(path)


def expect_same_text(timed, plain, what):
    """Names the lines that differ, not the whole of both."""
    if timed != plain:
        lines = difflib.unified_diff(plain.splitlines(), timed.splitlines(), 'without', 'with', lineterm='', n=1)
        raise Failed(f'{what} differs\n' + '\n'.join(list(lines)[:40]))


def twice(t, argv, timeout=600):
    """Runs argv without and with the library, in a folder of the same name. Gives the timed run and the number of processes
    that were timed."""
    seen = []
    for time in (None, '*'):
        profiles = t.sub(f'profiles-{time is not None}')
        work = t.sub('work')
        os.chmod(profiles, 0o777)  # who changes the user writes there too, and %e keeps it off root's file
        settings = dict(QUIET, WTM_OUT=os.path.join(profiles, 'out.%e.%p.prof'))
        run = t.run(argv, time, profiles, cwd=work, timeout=timeout, env=settings if time else {'TZ': 'UTC'})
        seen.append((run.status, run.out, run.err, files_in(work)))
        shutil.rmtree(work)
    count = len(glob.glob(os.path.join(profiles, 'out.*.prof')))
    for what, plain, timed in zip(('status', 'stdout', 'stderr', 'files'), *seen):
        if what == 'status':
            expect_equal(timed, plain, what)
            continue
        if what != 'files':
            expect_same_text(timed, plain, what)
            continue
        expect_equal(sorted(timed), sorted(plain), 'files left')
        different = [name for name in plain if plain[name] != timed[name]]
        expect(not different, f'files differ: {different}')
    return run, count


def largest_of(folder, program, most=8):
    """Profiles of programs whose name begins so (python3 is python3.11). One process may have several, of what it executed."""
    return sorted(glob.glob(os.path.join(folder, f'out.{program}*.prof')), key=os.path.getsize, reverse=True)[:most]


def same(t, program, argv, functions=1500, timeout=600):
    """`program` begins the name of the one whose profile must show that nearly all of libc was timed, and called."""
    run, count = twice(t, argv, timeout)
    reports = [t.tools.report(path) for path in largest_of(run.folder, program)]
    expect(reports, f'no profile of {program} among {count}')
    report = max(reports, key=lambda each: each.sum('calls', 'malloc'))
    expect(len(report.functions) > functions, f'only {len(report.functions)} functions of {program} were timed')
    expect(report.sum('calls', 'malloc') > 0, f'malloc of {program} was never called')
    drop_profiles(run.folder)
    return f'{count} processes, {len(report.functions)} functions in {program}'


def script(name, *words):
    return [need('bash'), os.path.join(SCRIPTS, name), *words]


@SHORT.test('everything timed: bash, its features and small tools')
def _(t):
    return same(t, 'bash', script('shell.sh'), 4000)


@SHORT.test('everything timed: git, on a repository')
def _(t):
    need('git')
    return same(t, 'git', script('git.sh', '/nonexistent'))


@SHORT.test('everything timed: tar, xz, zstd, gzip, bzip2')
def _(t):
    for program in ('xz', 'zstd', 'bzip2'):
        need(program)
    return same(t, 'xz', script('pack.sh', ROOT))


@SHORT.test('everything timed: sqlite3 over a real script')
def _(t):
    return same(t, 'sqlite3', [need('sqlite3'), '-init', os.path.join(TESTS, 'apps', 'demo.sql'), 'db', 'PRAGMA integrity_check'])


@SHORT.test('everything timed: perl, die and sort and regular expressions')
def _(t):
    return same(t, 'perl', [need('perl'), '-e', 'for (1..3000) { eval { die { n => $_ } if $_ % 3; push @x, "k$_" }; }'
                            'print scalar(@x), join(",", (sort { $b cmp $a } grep { /7(?{ $n++ })/ } @x)[0..5]), " $n\\n"'])


@SHORT.test('everything timed: openssl, digests and ciphers')
def _(t):
    need('openssl')
    return same(t, 'openssl', [need('bash'), '-c', 'openssl dgst -sha256 /bin/bash; openssl enc -aes-256-ctr -pbkdf2 -S 0102030405060708 '
                               '-pass pass:x -in /bin/bash -out e; openssl genpkey -algorithm ED25519 | openssl pkey -check -noout'], 8000)


@LONG.test('everything timed: git, on the repository of this project')
def _(t):
    need('git')
    return same(t, 'git', script('git.sh', ROOT))


@LONG.test('everything timed: openssl, keys and certificates and a connection')
def _(t):
    need('openssl')
    return same(t, 'openssl', script('openssl.sh'), 8000)


@LONG.test('everything timed: gcc builds files of this project, the objects are identical')
def _(t):
    need('gcc')
    return same(t, 'cc1', script('compile.sh', ROOT), 30000)


@LONG.test('everything timed: meson, ninja, gcc and ld build this project, the library and the command are identical')
def _(t):
    need('meson')
    return same(t, 'cc1', script('build.sh', ROOT), 30000, 3600)


@LONG.test('everything timed: gdb, and python inside it')
def _(t):
    need('gdb')
    return same(t, 'gdb', script('debug.sh'))


@LONG.test('everything timed: ImageMagick')
def _(t):
    need('convert')
    return same(t, 'convert', script('image.sh'))


@LONG.test('everything timed: lua, coroutines and errors through C frames')
def _(t):
    return same(t, 'lua', [need('lua5.4'), os.path.join(SCRIPTS, 'work.lua')])


@LONG.test('everything timed: node')
def _(t):
    return same(t, 'node', [need('node'), os.path.join(SCRIPTS, 'work.js')], 10000)


@LONG.test('everything timed: java')
def _(t):
    return same(t, 'java', [need('java'), os.path.join(SCRIPTS, 'Work.java')], 2000)


@LONG.test('everything timed: node, its test runner over threads and WebAssembly, with three kinds of options')
def _(t):
    need('node')
    return same(t, 'node', script('node.sh', os.path.join(SCRIPTS, 'suite.mjs')), 10000, 1200)


@LONG.test('everything timed: java, many threads in a small heap, under each collector')
def _(t):
    need('javac')
    return same(t, 'java', script('java.sh', os.path.join(SCRIPTS, 'Threads.java')), 2000, 1200)


@LONG.test('everything timed: ruby, threads and fibers and exceptions and extensions')
def _(t):
    return same(t, 'ruby', [need('ruby'), '-W0', os.path.join(SCRIPTS, 'work.rb')], 8000)


@LONG.test('everything timed: php, with its compiler and its web server')
def _(t):
    need('php')
    return same(t, 'php', script('php.sh', os.path.join(SCRIPTS, 'work.php')), 4000)


def redis_load(t, requests):
    """redis-benchmark against a server, both with everything timed, over loopback sockets."""
    benchmark = need('redis-benchmark')
    server = redis.Server(t.tools, t.sub('server'), t.tools.settings(t.sub('server-profile'), '*', QUIET))
    with server:
        env = t.tools.environment(t.tools.settings(t.folder, '*', QUIET))
        done = subprocess.run([benchmark, '-s', server.path, '-n', str(requests), '-c', '20', '-q', '-t', 'set,get,incr,lpush,rpop'],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=1200, check=False, env=env)
        expect_equal(done.returncode, 0, f'status of redis-benchmark ({done.stdout[-300:]!r})')
        expect_equal(server.ask(b'GET', b'counter:__rand_int__'), b'%d' % requests, 'the counter')
        expect_equal(server.ask(b'LLEN', b'mylist'), b':0', 'the list')
    expect_equal(server.status, 0, 'status of redis-server')
    report = t.tools.report(os.path.join(t.folder, 'server-profile', f'out.{server.process.pid}.prof'))
    expect_equal([report.sum('calls', name) for name in ('setCommand', 'incrCommand', 'lpushCommand', 'rpopCommand')],
                 [requests] * 4, 'calls')
    return f'{len(report.functions)} functions in redis-server'


@SHORT.test('everything timed: redis-server and redis-benchmark')
def _(t):
    return redis_load(t, 2000)


@LONG.test('everything timed: redis-server and redis-benchmark, 100,000 of each')
def _(t):
    return redis_load(t, 100000)


def tests(tools, full=False):
    return SHORT.tests(tools) + (LONG.tests(tools) if full else [])
