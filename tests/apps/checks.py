# SPDX-License-Identifier: MIT
"""Real programs: what they print and how they end must be the same as without the library, and their counts must be those
of a debugger or of arithmetic."""
import os
import subprocess

from apps import everything, judge, live, perlsuite, pythonsuite, redis, servers, sqlitesuite
from suite.registry import TESTS, Suite
from suite.results import Skipped, expect, expect_equal
from suite.target import need

SUITE = Suite('apps')
HERE = os.path.join(TESTS, 'apps')
PYTHON = '/usr/bin/python3'


def read(name):
    with open(os.path.join(HERE, name), encoding='utf-8') as file:
        return file.read()


def same(t, argv, time, stdin=None, status=0, timeout=300, env=None):
    """Runs without and with the library; status and output must be the same. Gives the timed run."""
    without = t.run(argv, folder=t.sub('plain'), stdin=stdin, timeout=timeout)
    expect_equal(without.status, status, f'status without the library ({without.err[-300:]})')
    run = t.run(argv, time, t.sub('timed'), stdin=stdin, timeout=timeout, env=env)
    expect_equal(run.status, status, f'status ({run.err[-600:]})')
    expect(run.out == without.out, f'stdout differs: {run.out[-300:]!r} instead of {without.out[-300:]!r}')
    expect_equal(run.err, without.err, 'stderr')
    return run


def same_counts(t, argv, functions, stdin=None, status=0, also=''):
    """functions: {pattern's name: symbol for gdb}. The counts of the library must be those of gdb."""
    path = '/dev/null'
    if stdin is not None:
        path = os.path.join(t.folder, 'stdin')
        with open(path, 'w', encoding='utf-8') as file:
            file.write(stdin)
    report = same(t, argv, ','.join(functions) + also, stdin, status).report()
    counted = judge.count(t.tools, argv, list(functions.values()), t.sub('judge'), path, status)
    seen = {symbol: report.sum('calls', name.split(':')[-1] if ':' in name and '::' not in name else name)
            for name, symbol in functions.items()}
    expect_equal(seen, counted, 'calls (expected: by gdb)')
    expect(all(counted.values()), f'a function that was never called proves nothing: {counted}')
    return ', '.join(f'{symbol} {number}' for symbol, number in counted.items())


def plain_names(text):
    return {name: name for name in text.split()}


# --- sqlite3

@SUITE.test('sqlite3: counts of its library as by gdb')
def _(t):
    return same_counts(t, [need('sqlite3'), ':memory:'], plain_names(
        'sqlite3_step sqlite3_prepare_v2 sqlite3_finalize sqlite3_column_text sqlite3_free'), read('small.sql'))


@SUITE.test('sqlite3: every public function over a real script')
def _(t):
    run = same(t, [need('sqlite3'), ':memory:'], 'libsqlite3.so.0:sqlite3_*', read('demo.sql'))
    report = run.report()
    expect(len(report.functions) > 150, f'only {len(report.functions)} functions were found')
    counted = judge.count(t.tools, [need('sqlite3'), ':memory:'], ['sqlite3_step'], t.folder, os.path.join(HERE, 'demo.sql'))
    expect_equal(report.sum('calls', 'sqlite3_step'), counted['sqlite3_step'], 'calls of sqlite3_step (expected: by gdb)')
    # reading the schema again after each of three CREATE statements steps twice, inside the shell's own step
    expect_equal(report.sum('recursive', 'sqlite3_step'), 6, 'recursive calls of sqlite3_step')


# --- python3

@SUITE.test('python3: counts of the interpreter as by gdb')
def _(t):
    need('gdb')
    return same_counts(t, [PYTHON, '-S', os.path.join(HERE, 'hash.py'), '300'], plain_names(
        'PyList_Append PyList_Sort _PyBytes_FormatEx PyObject_GetBuffer PyBuffer_Release PyArg_UnpackTuple'))


@SUITE.test('python3: 1000 interpreter functions at once, with exceptions, generators and threads')
def _(t):
    report = same(t, [PYTHON, '-S', os.path.join(HERE, 'work.py')], 'python3.11:Py*').report()
    expect(len(report.functions) > 800, f'only {len(report.functions)} functions were found')
    expect_equal(report.sum('open', 'PyThread_*'), 0, 'calls of PyThread_* still open')


@SUITE.test('python3: libcrypto, loaded later, by arithmetic')
def _(t):
    counts = {}
    for blocks in (1000, 3000):
        folder = t.sub(str(blocks))
        argv = [PYTHON, '-S', os.path.join(HERE, 'hash.py'), str(blocks)]
        without = t.run(argv, folder=folder)
        run, report = t.report_of(argv, 'EVP_DigestUpdate,libcrypto.so.3:EVP_DigestFinal*', folder)
        expect_equal(run.out, without.out, 'digest')
        counts[blocks] = report.sum('calls', 'EVP_DigestUpdate')
        expect(report.sum('calls', 'EVP_DigestFinal*') >= 1, f'no digest was finished: {report.brief()}')
    expect_equal(counts, {1000: 1000, 3000: 3000}, 'calls of EVP_DigestUpdate')


# --- gcc

def compile_same(t, time, *flags):
    """Compiles unit.c without and with the library. The objects must be identical. Gives cc1's report."""
    source, objects = os.path.join(HERE, 'unit.c'), []
    for name, patterns in (('plain', None), ('timed', time)):
        folder = t.sub(name)
        run = t.run([need('gcc'), '-O2', '-c', *flags, source, '-o', 'unit.o'], patterns, folder, timeout=300)
        expect_equal((run.status, run.out, run.err), (0, '', ''), f'status and output of gcc ({name})')
        with open(os.path.join(folder, 'unit.o'), 'rb') as file:
            objects.append(file.read())
    expect(objects[0] == objects[1], 'the objects differ')
    reports = [report for report in run.children() if report.data['process']['program'].endswith('cc1')]
    expect_equal(len(reports), 1, 'profiles of cc1')
    return reports[0]


@SUITE.test('gcc: the object is the same, functions of cc1 by arithmetic')
def _(t):
    report = compile_same(t, 'cc1:finish_function,cc1:c_parse_file,cc1:cgraph_node::finalize_function')
    counts = {word: sum(row['calls'] for row in report.functions if word in row['name'])
              for word in ('objc_', 'finish_function', 'c_parse_file', 'finalize_function')}
    expect_equal(counts, {'objc_': 0, 'finish_function': 25, 'c_parse_file': 1, 'finalize_function': 25}, 'calls')


@SUITE.test('gcc: hundreds of functions of cc1 at once, the object is the same')
def _(t):
    report = compile_same(t, 'cc1:gimple_*,cc1:tree_*,cc1:*::execute*')
    expect(len(report.functions) > 300, f'only {len(report.functions)} functions were found')
    expect(report.sum('calls', '*') > 10000, f"only {report.sum('calls', '*')} calls")


# --- redis

def redis_session(t, name, time, commands):
    """Runs a server, alone or timed, over `commands`. Gives its replies, its status and its report."""
    folder = t.sub(name)
    env = t.tools.settings(folder, time) if time else {}
    server = redis.Server(t.tools, folder, env)
    with server:
        replies = [server.ask(*words) for words in commands]
    path = os.path.join(folder, f'out.{server.process.pid}.prof')
    return replies, server.status, t.tools.report(path) if time else None


@SUITE.test('redis-server: replies are the same, commands by arithmetic')
def _(t):
    need('redis-server')
    commands = []
    for number in range(500):
        commands.append((b'SET', b'key%d' % (number % 50), b'value %d' % number))
        if number % 5 < 3:
            commands.append((b'GET', b'key%d' % (number % 70)))
        if number % 5 < 2:
            commands.append((b'INCR', b'counter'))
    without = redis_session(t, 'plain', None, commands)
    replies, status, report = redis_session(t, 'timed', 'main:processCommand,setCommand,getCommand,incrCommand', commands)
    expect_equal((replies, status), (without[0], without[1]), 'replies and status')
    counts = {name: report.sum('calls', name) for name in ('setCommand', 'getCommand', 'incrCommand', 'processCommand')}
    expect_equal(counts, {'setCommand': 500, 'getCommand': 300, 'incrCommand': 200,
                          'processCommand': len(commands) + 1}, 'calls (and one for SHUTDOWN)')
    callers = {caller['name'] for caller in report.one('setCommand')['callers']}
    expect_equal(callers, {'processCommand'}, 'callers of setCommand')


@SUITE.test('redis-server under redis-benchmark: commands by arithmetic, all commands at once')
def _(t):
    benchmark, folder = need('redis-benchmark'), t.sub('run')
    server = redis.Server(t.tools, folder, t.tools.settings(folder, 'main:*Command'))
    with server:
        done = subprocess.run([benchmark, '-s', server.path, '-t', 'set,get', '-n', '5000', '-c', '10', '-q'],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120, check=False)
        expect_equal(done.returncode, 0, f'status of redis-benchmark ({done.stdout[-300:]!r})')
    expect_equal(server.status, 0, 'status of redis-server')
    report = t.tools.report(os.path.join(folder, f'out.{server.process.pid}.prof'))
    expect_equal([report.sum('calls', name) for name in ('setCommand', 'getCommand')], [5000, 5000], 'calls')
    expect(len(report.functions) > 200, f'only {len(report.functions)} functions were found')


# --- bash and perl

@SUITE.test('bash: functions, subshells, pipes and traps as without, counts as by gdb')
def _(t):
    return same_counts(t, [need('bash'), os.path.join(HERE, 'functions.sh')], plain_names(
        'execute_command execute_command_internal'), status=5)


@SUITE.test('bash: all of its exported functions at once')
def _(t):
    report = same(t, [need('bash'), os.path.join(HERE, 'functions.sh')], 'main:*', status=5).report()
    expect(len(report.functions) > 1000, f'only {len(report.functions)} functions were found')
    expect_equal(report.sum('calls', 'main'), 1, 'calls of main')


PERL = ('my $x = 0; my $s; for (1..300) { $x += sqrt($_); $s = join ",", $_, int $x if $_ % 3 == 0 } '
        'eval { die "gone\n" }; print join " ", $s, $@')


@SUITE.test('perl: operators by arithmetic, and die through timed frames')
def _(t):
    report = same(t, [need('perl'), '-e', PERL], 'Perl_pp_sin,Perl_pp_join,Perl_pp_add,Perl_pp_die,Perl_die_unwind').report()
    counts = {name: report.sum('calls', name) for name in ('Perl_pp_sin', 'Perl_pp_join', 'Perl_pp_add', 'Perl_pp_die')}
    expect_equal(counts, {'Perl_pp_sin': 300, 'Perl_pp_join': 101, 'Perl_pp_add': 300, 'Perl_pp_die': 1}, 'calls')
    expect_equal([report.sum(field, 'Perl_pp_die') for field in ('abnormal', 'open')], [1, 0], 'die leaves by longjmp')


@SUITE.test('perl: all of its exported functions at once')
def _(t):
    report = same(t, [need('perl'), '-e', PERL], 'main:Perl_*').report()
    expect(len(report.functions) > 1000, f'only {len(report.functions)} functions were found')


# --- long forms

LONG = Suite('apps')


def python_tests(t, names, patterns):
    """Python's own test suite while its functions are timed."""
    if not os.path.exists('/usr/lib/python3.11/test/test_json/__init__.py'):
        raise Skipped('libpython3.11-testsuite is not installed')
    run = t.run([PYTHON, '-m', 'test', '-q', '-W', *names.split()], patterns, timeout=1200)
    expect_equal((run.status, 'Tests result: SUCCESS' in run.out), (0, True), f'status and result: {run.out[-6000:]}')
    report = run.report()
    expect(report.sum('calls', 'PyDict_*') > 10000, f"only {report.sum('calls', 'PyDict_*')} calls of PyDict_*")


@SUITE.test('python3: a part of its own test suite under the profiler')
def _(t):
    python_tests(t, 'test_json test_generators test_contextlib test_hashlib test_exceptions',
                 'python3.11:PyObject_*,python3.11:PyDict_*,python3.11:PyList_*,python3.11:PyErr_*')


@LONG.test('python3: more of its own test suite: threads, processes, signals, foreign functions')
def _(t):
    python_tests(t, 'test_threading test_subprocess test_ctypes test_signal test_asyncio test_gc test_fork1 test_os',
                 'python3.11:PyObject_*,python3.11:PyDict_*,python3.11:PyThread_*,python3.11:PyEval_*,malloc,free')


@LONG.test('redis-server under a long load')
def _(t):
    benchmark, folder = need('redis-benchmark'), t.sub('run')
    server = redis.Server(t.tools, folder, t.tools.settings(folder, 'main:*'))
    with server:
        done = subprocess.run([benchmark, '-s', server.path, '-n', '100000', '-c', '50', '-q', '-t',
                               'set,get,incr,lpush,rpop,sadd,zadd,lrange_100'], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=1200, check=False)
        expect_equal(done.returncode, 0, f'status of redis-benchmark ({done.stdout[-300:]!r})')
    report = t.tools.report(os.path.join(folder, f'out.{server.process.pid}.prof'))
    expect_equal([report.sum('calls', name) for name in ('setCommand', 'getCommand', 'incrCommand')], [100000] * 3, 'calls')


def tests(tools, full=False):
    found = SUITE.tests(tools) + everything.tests(tools, full) + live.tests(tools, full) + pythonsuite.tests(tools, full)
    return found + (LONG.tests(tools) + servers.tests(tools) + perlsuite.tests(tools) + sqlitesuite.tests(tools) if full else [])
