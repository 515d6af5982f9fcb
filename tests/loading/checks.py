# SPDX-License-Identifier: MIT
"""Libraries that come and go: from several threads at once, again and again, with RTLD_DEEPBIND, in name spaces of their own,
imported by an interpreter. Their functions are counted exactly, and so are those that run meanwhile."""
import os
import re
import shutil

from suite.registry import TESTS, Suite
from suite.results import Skipped, expect_equal

SUITE, LONG = Suite('loading'), Suite('loading')  # with --full: LONG too
FILES, CALLS = 4, 10


def load(t, how, rounds, plug, both, host):
    """`plug`, `both` (the plug-ins' own and the program's), `host`: calls that there must be, over all files."""
    program = t.build('loader.c', '-rdynamic', '-pthread')
    plugin = t.build('plugin.c', '-fPIC', '-shared', name='plugin.so')
    files = [shutil.copy(plugin, os.path.join(t.folder, f'plugin{number}.so')) for number in range(FILES)]
    argv = [program, how, str(rounds), *files]
    plain = t.run(argv, folder=t.sub('plain'), timeout=300)
    run, report = t.report_of(argv, 'plug,both,busy,host_function', t.sub('timed'), timeout=900)
    expect_equal(run.out, plain.out, 'stdout')
    busy = int(re.search(r'busy (\d+)', run.err).group(1))
    expect_equal({name: tuple(report.sum(field, name) for field in ('calls', 'recursive', 'abnormal', 'open'))
                  for name in ('plug', 'both', 'host_function', 'busy')},
                 {name: (calls, 0, 0, 0) for name, calls in
                  (('plug', plug), ('both', both), ('host_function', host), ('busy', busy))},
                 'calls, recursive, abnormal, open')
    rows = report.rows('plug')
    expect_equal(sum(row['calls'] > 0 for row in rows), {'spaces': 0, 'shared': 1}.get(how, FILES), 'rows of plug')
    return busy


def loads(rounds):
    """Each loading calls `plug` ten times and once in constructor and destructor each."""
    total = FILES * rounds
    return total * (CALLS + 2), total * CALLS, total


@SUITE.test('a library loaded again and again, constructors and destructors call timed functions')
def _(t):
    load(t, 'again', 60, *loads(60))


@SUITE.test('the same with RTLD_DEEPBIND')
def _(t):
    load(t, 'deep', 60, *loads(60))


@SUITE.test('four threads load and unload while four others are timed')
def _(t):
    return f"{load(t, 'threads', 40, *loads(40))} calls beside"


@SUITE.test('four threads load and unload the same library')
def _(t):
    program_calls = FILES * 40 * CALLS
    # how often it is really unloaded is up to chance: constructors and destructors are told by host_function
    program = t.build('loader.c', '-rdynamic', '-pthread')
    plugin = t.build('plugin.c', '-fPIC', '-shared', name='plugin.so')
    argv = [program, 'shared', '40', *[plugin] * FILES]
    plain = t.run(argv, folder=t.sub('plain'))
    run, report = t.report_of(argv, 'plug,both,busy,host_function', t.sub('timed'))
    expect_equal(run.out, plain.out, 'stdout')
    loaded = report.one('host_function')['calls']
    expect_equal([report.sum('calls', name) for name in ('plug', 'both', 'busy')],
                 [program_calls + 2 * loaded, program_calls, int(re.search(r'busy (\d+)', run.err).group(1))],
                 f'calls of plug, both and busy, loaded {loaded} times')


@SUITE.test('libraries in name spaces of their own (dlmopen): not timed, unharmed')
def _(t):
    load(t, 'spaces', 20, 0, 0, 0)


# How a library tells the loader where it begins, and whether its constructors call the function.
CHOSEN = {'DT_INIT and an array': ((), 2), 'an array alone': (('-nostartfiles',), 2),
          'packed relocations': (('-Wl,-z,pack-relative-relocs',), 2), 'bound at once': (('-Wl,-z,now',), 2),
          'no constructor': (('-DQUIET',), 0)}


@SUITE.test('IFUNCs of libraries loaded later: the chosen body, constructors included, again after unloading')
def _(t):
    program = t.build('loader.c', '-rdynamic', '-pthread')
    for number, (name, (flags, early)) in enumerate(CHOSEN.items()):
        plugin = t.build('chosen.c', '-fPIC', '-shared', *flags, name=f'chosen{number}.so')
        argv = [program, 'again', '7', plugin]
        plain = t.run(argv, folder=t.sub(f'plain {number}'))
        for time in ('pick', f'chosen{number}.so:pick*', '*', f'*,!{os.path.basename(plugin)}:_init'):
            run, report = t.report_of(argv, time, t.sub(f'{number} {time}'.replace('/', ' ')))
            expect_equal(run.out, plain.out, f'{name}, {time}: stdout')
            expect_equal(report.sum('calls', 'pick', 'large'), 7 * (2 * CALLS + early), f'{name}, {time}: calls')
            expect_equal([report.sum('calls', 'small'), report.sum('abnormal', '*'), len(report.refusals('pick'))], [0, 0, 0],
                         f'{name}, {time}: calls of the other body, abnormal, refusals')


@SUITE.test('a library with an IFUNC and no initializer at all: refused with that reason, unharmed')
def _(t):
    program = t.build('loader.c', '-rdynamic', '-pthread')
    plugin = t.build('chosen.c', '-fPIC', '-shared', '-nostartfiles', '-DQUIET', name='quiet.so')
    argv = [program, 'again', '3', plugin]
    plain = t.run(argv, folder=t.sub('plain'))
    run, report = t.report_of(argv, 'pick,busy', t.sub('timed'))
    expect_equal(run.out, plain.out, 'stdout')
    expect_equal([row['code'] for row in report.refusals('pick')], ['UNBOUND'], 'refusals of pick')


@SUITE.test('versions of one function, weak ones, hot, cold and other sections: each body a row, cold parts none')
def _(t):
    library = t.build('versions.c', '-fPIC', '-shared', f'-Wl,--version-script={TESTS}/loading/versions.map', name='libversions.so')
    folder = os.path.dirname(library)
    program = t.build('sections.c', '-freorder-blocks-and-partition', f'-L{folder}', '-lversions', f'-Wl,-rpath,{folder}')
    plain = t.run([program], folder=t.sub('plain'))
    for number, time in enumerate(('versioned,weak_one,elsewhere,often,seldom,split', 'libversions.so:*,main:*', '*')):
        run, report = t.report_of([program], time, t.sub(str(number)))
        expect_equal(run.out, plain.out, f'{time}: stdout')
        expect_equal(sorted(row['calls'] for row in report.rows('versioned')), [51, 100], f'{time}: calls of both versions')
        expect_equal({name: report.one(name)['calls'] for name in ('weak_one', 'elsewhere', 'often', 'seldom', 'split')},
                     {'weak_one': 50, 'elsewhere': 100, 'often': 100, 'seldom': 26, 'split': 101}, f'{time}: calls')
        expect_equal(report.rows('*.cold*'), [], f'{time}: cold parts')


@LONG.test('a thousand loadings of each of four libraries, and a thousand by each of four threads')
def _(t):
    load(t, 'again', 1000, *loads(1000))
    for name in ('plain', 'timed'):
        os.rename(os.path.join(t.folder, name), os.path.join(t.folder, f'{name}-again'))
    return f"{load(t, 'threads', 1000, *loads(1000))} calls beside"


IMPORT = """
import _sqlite3, _json, _decimal, _ctypes, zlib, ssl, sqlite3, decimal
base = sqlite3.connect(':memory:')
base.execute('create table t (a)')
base.executemany('insert into t values (?)', [(i,) for i in range(ROWS)])
print(base.execute('select sum(a) from t').fetchone(), decimal.Decimal(2).sqrt(), zlib.crc32(b'x' * 1000))
"""


@SUITE.test('python imports modules: the functions of these and of the libraries that come with them')
def _(t):
    python = '/usr/bin/python3'
    if not os.path.exists(python):
        raise Skipped(f'{python} is not there')
    counts = []
    for number, (rows, time) in enumerate(((1000, 'PyInit_*,libsqlite3.so.0:sqlite3_step,libsqlite3.so.0:sqlite3_prepare_v*,libz.so.1:crc32*'),
                                           (3000, 'PyInit_*,libsqlite3.so.0:*,libz.so.1:*,*.cpython-311-*:*'))):
        argv = [python, '-I', '-c', IMPORT.replace('ROWS', str(rows))]
        plain = t.run(argv, folder=t.sub(f'plain {number}'))
        run, report = t.report_of(argv, time, t.sub(str(number)))
        expect_equal((run.out, run.err), (plain.out, plain.err), 'stdout and stderr')
        counts.append({name: report.sum('calls', name) for name in ('PyInit__sqlite3', 'PyInit__decimal', 'PyInit__ctypes',
                                                                    'sqlite3_step')})
        expect_equal([report.sum('abnormal', '*'), report.sum('open', '*')], [0, 0], 'abnormal, open')
    for name in ('PyInit__sqlite3', 'PyInit__decimal', 'PyInit__ctypes'):
        expect_equal([count[name] for count in counts], [1, 1], f'calls of {name}')
    expect_equal(counts[1]['sqlite3_step'] - counts[0]['sqlite3_step'], 2000, 'calls of sqlite3_step for 2000 more rows')


def tests(tools, full=False):
    return SUITE.tests(tools) + (LONG.tests(tools) if full else [])
