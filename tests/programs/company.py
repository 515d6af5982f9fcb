# SPDX-License-Identifier: MIT
"""Other tools in the same process: allocators, sanitizers, valgrind, language runtimes. Counts are right, output the same."""
import os
import re
import subprocess

from suite.registry import Suite
from suite.results import Skipped, expect, expect_equal
from suite.target import ROOT, need

SUITE = Suite('programs')
LIBRARIES = '/usr/lib/x86_64-linux-gnu'


def library(name):
    path = os.path.join(LIBRARIES, name)
    if not os.path.exists(path):
        raise Skipped(f'{name} is not installed')
    return path


def allocator(name):
    @SUITE.test(f'{name} preloaded before and behind us, malloc and free timed: exact counts')
    def _(t):
        program, other = t.build('allocate.c', '-pthread', '-fno-builtin'), library(name)
        for number, order in enumerate((f'{other}:{t.tools.lib}', f'{t.tools.lib}:{other}')):
            counts = []
            for calls in (1000, 6000):
                run, report = t.report_of([program, str(calls)], f'main:grab,main:drop,{name}:malloc,{name}:free',
                                          t.sub(f'{number}-{calls}'), env={'LD_PRELOAD': order})
                expect_equal(run.out, '0 bad\n', f'stdout with LD_PRELOAD={order}')
                expect_equal([report.one(name)['calls'] for name in ('grab', 'drop')], [4 * calls, 4 * calls + 64], 'grab, drop')
                counts.append([report.one(name)['calls'] for name in ('malloc', 'free')])
            expect_equal([more - less for less, more in zip(*counts)], [20000, 20000],
                         f'calls of malloc and free for 20000 more pairs: {counts}')


for _name in ('libjemalloc.so.2', 'libtcmalloc_minimal.so.4', 'libtcmalloc_minimal_debug.so.4'):
    allocator(_name)


def sanitized(kind, runtime):
    @SUITE.test(f'a program built with -fsanitize={kind}, its functions and malloc timed: the same output, exact counts')
    def _(t):
        for compiler in ('gcc', 'clang'):
            program = t.build('allocate.c', '-pthread', '-fno-builtin', f'-fsanitize={kind}', compiler=compiler,
                              name=f'allocate-{kind}')
            argv = [need('setarch'), '-R', program, '2000']  # some versions of the runtimes cannot do with all of ASLR
            plain = t.run(argv, folder=t.sub(f'{compiler} plain'))
            expect_equal((plain.status, plain.out), (0, '0 bad\n'), f'{compiler}: without the library ({plain.err[-400:]})')
            needed = subprocess.run(['ldd', program], capture_output=True, text=True, check=True).stdout
            first = re.search(rf'{runtime}\S* => (\S+)', needed)
            order = (first.group(1) + ':' if first else '') + t.tools.lib
            run = t.run(argv, 'main:grab,main:drop,malloc,free', t.sub(compiler), env={'LD_PRELOAD': order})
            expect_equal((run.status, run.out, run.err), (0, '0 bad\n', ''), f'{compiler}: status, stdout and stderr')
            report = run.report()
            if kind == 'thread':  # each function tells its return address to the runtime
                expect_equal([row['reason'] for row in report.refusals('grab', 'drop')], ['READS_RETURN'] * 2, compiler)
                continue
            expect_equal([report.one(name)['calls'] for name in ('grab', 'drop')], [8000, 8064], f'{compiler}: calls')


for _kind, _runtime in (('address', 'libasan'), ('thread', 'libtsan'), ('undefined', 'libubsan')):
    sanitized(_kind, _runtime)


@SUITE.test('an error that AddressSanitizer finds is reported as without the library, with its backtrace')
def _(t):
    program = t.build('overrun.c', '-fsanitize=address', '-g')
    plain = t.run([program], folder=t.sub('plain'))
    asan = re.search(r'(\S+libasan\S+)', subprocess.run(['ldd', program], capture_output=True, text=True,
                                                        check=True).stdout.split('=>')[1]).group(1)
    run = t.run([program], 'main:*', t.sub('timed'), env={'LD_PRELOAD': f'{asan}:{t.tools.lib}'})
    expect_equal(run.status, plain.status, 'status')
    found = [re.findall(r'ERROR: AddressSanitizer: \S+|WRITE of size \d+|in (?:overrun|middle|main|_start)\b',
                        text.split('SUMMARY')[0]) for text in (plain.err, run.err)]
    expect(len(found[0]) >= 4, f'the plain run reports less than expected: {plain.err[:800]}')
    expect_equal(found[1], found[0], f'the report ({run.err[:1500]})')


def under_valgrind(tool, *options):
    @SUITE.test(f'under valgrind ({tool}): no error of ours, the same output, exact counts')
    def _(t):
        argv = [need('valgrind'), f'--tool={tool}', '-q', *options, t.build('allocate.c', '-pthread', '-fno-builtin'), '300']
        run = t.run(argv, 'main:grab,main:drop', timeout=300)
        expect_equal((run.status, run.out), (0, '0 bad\n'), f'status and stdout ({run.err[-800:]})')
        expect('Invalid' not in run.err and 'uninitialised' not in run.err, f'errors: {run.err[-800:]}')
        report = run.report()
        expect_equal([report.one(name)['calls'] for name in ('grab', 'drop')], [1200, 1264], 'calls')


under_valgrind('memcheck', '--error-exitcode=9', '--leak-check=full')
under_valgrind('callgrind', '--callgrind-out-file=/dev/null')


def races(text):
    """The function in which each reported race is."""
    return set(re.findall(r'(?:Possible data race during|Conflicting (?:load|store)).*\n(?:==\d+== Locks held.*\n)?'
                          r'==\d+==    at 0x\w+: (\S+)', text))


def races_under(tool):
    @SUITE.test(f'under valgrind ({tool}), with our suppressions: the races of the program and no others, the table and exact counts')
    def _(t):
        for time in ('add,step,race', '*'):
            for racing in ('', 'race'):
                argv = [need('valgrind'), f'--tool={tool}', f'--suppressions={ROOT}/docs/valgrind.supp', '-q',
                        t.build('raced.c', '-g', '-pthread'), '100', racing]
                run = t.run([word for word in argv if word], time, t.sub(f'{time[0]}{racing}'), env={'WTM_TABLE': None}, timeout=300)
                expect_equal((run.status, run.out), (0, '20200\n'), f'status and stdout ({run.err[-800:]})')
                expect_equal(races(run.err), {racing} - {''}, f'functions with races when timing {time} ({run.err[:1500]})')
                expect_equal(run.err.count(' functions timed'), 1, f'tables ({run.err[-800:]})')
                counts = [run.report().sum('calls', name) for name in ('add', 'step', 'race')]
                expect_equal(counts, [400, 400, 400 if racing else 0], 'calls')


races_under('helgrind')
races_under('drd')


SCRIPT = """
let keep = [], sum = 0;
for (let i = 0; i < 100000; i++) {
    const o = {a: i, b: [i, i + 1], c: 'x' + i};
    if (i % 7 == 0) keep.push(o);
    if (keep.length > 5000) keep = keep.slice(2500);
    sum += JSON.stringify(o).length;
}
try { null.x } catch (e) { sum += e.stack.split('\\n').length > 1 }
new Promise(done => setTimeout(done, 20)).then(() => {
    gc();
    console.log(sum, require('crypto').createHash('sha256').update(String(keep.length)).digest('hex'));
});
"""


def as_without(t, argv, times, word, timed):
    """`word`: of a note; `timed`: C++ functions of the runtime, which everything includes."""
    plain = t.run(argv, folder=t.sub('plain'), timeout=300)
    expect_equal(plain.status, 0, f'status without the library ({plain.err[-400:]})')
    for number, time in enumerate(times):
        run = t.run(argv, time, t.sub(str(number)), timeout=300)
        expect_equal((run.status, run.out, run.err), (0, plain.out, plain.err), f'status, stdout and stderr when timing {time}')
        if '*' in time:
            expect(word in ' '.join(run.tables()[run.pid].split()), f'{time}: not told what was left out')
            row = run.report().one(timed)
            expect(row['calls'] > 0 and row['realtime']['total_ns'] > 0, f'{time}: {timed} was not timed: {row}')
        else:
            for name in time.split(','):
                expect(run.report().sum('calls', name) > 0, f'no calls of {name}')


@SUITE.test('node: libc functions timed, then everything; its garbage collector walks the stack')
def _(t):
    as_without(t, [need('node'), '--expose-gc', '-e', SCRIPT], ('malloc,read,write,memcpy', '*'),
               'by code that it generates are only counted', 'v8::internal::Heap::CollectGarbage')


@SUITE.test('java: libc functions timed, then everything; its garbage collector walks the stack')
def _(t):
    with open(t.folder + '/Hello.java', 'w', encoding='utf-8') as file:
        file.write('public class Hello { public static void main(String[] a) { long s = 0; '
                   'var m = new java.util.HashMap<Integer, String>(); '
                   'for (int i = 0; i < 200000; i++) { m.put(i % 1000, "x" + i); s += m.get(i % 1000).length(); } '
                   'System.gc(); try { m.get(-1).length(); } catch (NullPointerException e) { s += e.getStackTrace().length; } '
                   'System.out.println("sum " + s); } }\n')
    as_without(t, [need('java'), t.folder + '/Hello.java'], ('malloc,read,write,memcpy', '*'),
               'by code that it generates are only counted', 'Threads::create_vm')


@SUITE.test('dlopen of a library whose functions are chosen at load time: unharmed, counted')
def _(t):
    program = t.build('loadmath.c')
    for number, time in enumerate(('libm.so.6:sin', 'libm.so.6:*', 'sin,cos')):
        run = t.run([program], time, t.sub(str(number)))
        expect_equal((run.status, run.out), (0, '0.8415 1.0000\n'), f'status and stdout when timing {time}')
        expect_equal(run.report().sum('calls', 'sin', '__sin_*'), 1, f'calls of sin when timing {time}')
