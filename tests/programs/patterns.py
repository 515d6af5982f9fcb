# SPDX-License-Identifier: MIT
"""Patterns: what each kind selects, and what it leaves out."""
import re
import subprocess

from suite.registry import Suite
from suite.results import expect, expect_equal

SUITE = Suite('programs')


def counts(report):
    return sorted((row['name'], row['calls']) for row in report.functions)


def plain_counts(t, pattern):
    _, report = t.report_of([t.build('plain.c'), '7', '8', '9'], pattern)
    return [row for row in counts(report) if row[1]]  # libc has functions of such names as well, and nobody calls them


PLAIN = {
    'alpha': [('alpha', 7)],
    'alpha*': [('alpha', 7), ('alphabet', 8)],
    '?eta': [('beta', 9)],
    '/^al.*t$/': [('alphabet', 8)],
    '/bet/': [('alphabet', 8), ('beta', 9)],
    'alpha*,!alphabet': [('alpha', 7)],
    'main:alpha,beta': [('alpha', 7), ('beta', 9)],
    'plain:*eta': [('beta', 9)],
    ' alpha , beta ': [('alpha', 7), ('beta', 9)],
    'alpha,alpha,al*a': [('alpha', 7)],
}


def plain_pattern(pattern, wanted):
    @SUITE.test(f'pattern {pattern!r}')
    def _(t):
        expect_equal(plain_counts(t, pattern), wanted, 'rows')


for _pattern, _wanted in PLAIN.items():
    plain_pattern(_pattern, _wanted)


@SUITE.test('a pattern of a library leaves the program alone, and the other way round')
def _(t):
    lib = t.build('lib.c', '-shared', '-fPIC', '-Wl,-Bsymbolic', name='libwtmlib.so')
    program = t.build('uselib.c', lib, name='uselib')
    for pattern, wanted in {'alpha': [('alpha', 11), ('alpha', 13)], 'main:alpha': [('alpha', 11)],
                            'libwtmlib.so:alpha': [('alpha', 13)], 'uselib:alpha': [('alpha', 11)],
                            'libwtm*:*': [('alpha', 13), ('in_library', 13)]}.items():
        run, report = t.report_of([program], pattern, t.sub(re.sub(r'\W', '_', pattern)))
        seen = [row for row in counts(report) if row[0] in ('alpha', 'in_library')]
        expect_equal(seen, wanted, f'rows of {pattern}')
    run, report = t.report_of([program], 'alpha', t.sub('both'))
    modules = {row['module'].rsplit('/', 1)[-1] for row in report.functions}
    expect_equal(modules, {'uselib', 'libwtmlib.so'}, 'modules of the two rows')
    table = run.tables()[run.pid]
    expect('libwtmlib.so' in table, f'the table does not tell the two apart:\n{table}')


CPP = {
    'ns::add(int, int)': [('ns::add(int, int)', 10)],
    'ns::add(int,int)': [('ns::add(int, int)', 10)],
    'ns::add': [('ns::add(double, double)', 20), ('ns::add(int, int)', 10)],
    '_ZN2ns3addEii': [('ns::add(int, int)', 10)],
    'ns::Box<int>::get': [('ns::Box<int>::get() const', 30)],
    'ns::Box<*>::get*': [('ns::Box<char>::get() const', 40), ('ns::Box<int>::get() const', 30)],
    'ns::Square::area': [('ns::Square::area() const', 60)],
    'ns::(anonymous namespace)::hidden': [('ns::(anonymous namespace)::hidden(int)', 50)],
}


def cpp_pattern(pattern, wanted):
    @SUITE.test(f'C++ pattern {pattern!r}')
    def _(t):
        with open(f'{t.folder}/list', 'w', encoding='utf-8') as file:
            file.write(pattern + '\n')
        for number, form in enumerate((pattern, f'@{t.folder}/list')):
            _, report = t.report_of([t.build('overload.cc')], form, t.sub(str(number)))
            expect_equal(sorted(row['calls'] for row in report.functions), sorted(calls for _, calls in wanted),
                         f'calls by {form}: {report.brief()}')
            for row in report.functions:
                expect(any(row['name'] in (name, name.split('(')[0], name.removesuffix(' const')) for name, _ in wanted
                           if '(anon' not in name) or 'hidden' in row['name'], f"shown as {row['name']}")
                expect(row['mangled'].startswith('_ZN'), f"mangled name {row['mangled']!r}")


for _pattern, _wanted in CPP.items():
    cpp_pattern(_pattern, _wanted)


def address_of(path, name):
    listing = subprocess.run(['nm', path], stdout=subprocess.PIPE, check=True).stdout.decode()
    return int(re.search(rf'^([0-9a-f]+) [tT] {name}$', listing, re.M).group(1), 16)


@SUITE.test('an absolute address under a handle')
def _(t):
    fixed = t.build('plain.c', '-no-pie', '-fno-pie', name='plain-fixed')
    address = address_of(fixed, 'alphabet')
    _, report = t.report_of([fixed, '7', '8', '9'], f'{address:#x}=my_handle')
    expect_equal(counts(report), [('my_handle', 8)], 'rows')


@SUITE.test('an offset in a module under a handle')
def _(t):
    lib = t.build('lib.c', '-shared', '-fPIC', '-Wl,-Bsymbolic', name='libwtmlib.so')
    program = t.build('uselib.c', lib, name='uselib')
    _, report = t.report_of([program], f"libwtmlib.so+{address_of(lib, 'in_library'):#x}=lib_handle", t.sub('library'))
    expect_equal(counts(report), [('lib_handle', 13)], 'rows')
    _, report = t.report_of([program], f"main+{address_of(program, 'alpha'):#x}=own", t.sub('program'))
    expect_equal(counts(report), [('own', 11)], 'rows')


@SUITE.test('an address outside of code, or in the middle of an instruction, is told and does no harm')
def _(t):
    fixed = t.build('plain.c', '-no-pie', '-fno-pie', name='plain-fixed')
    inside = address_of(fixed, 'alphabet') + 1
    run, report = t.report_of([fixed, '7', '8', '9'], f'0x10=low,0x7fffffffffff=high,{inside:#x}=inside,alpha')
    told = {row['name'] for row in report.refused} | {row['pattern'].split('=')[-1] for row in report.not_found}
    expect_equal(told, {'high', 'low', 'inside'}, f'refused or not found: {report.brief()}')
    expect(all(row['reason'] for row in report.refused), 'a refusal without a reason')
    expect_equal((run.out, counts(report)), (f'sum {28 + 44 + 63}\n', [('alpha', 7)]), 'stdout and rows')


@SUITE.test('a thousand functions by one glob')
def _(t):
    _, report = t.report_of([t.build('many.c')], 'main:f_*')
    expect_equal(len(report.functions), 1000, 'rows')
    wrong = [row['name'] for row in report.functions if row['calls'] != int(row['name'][2:])]
    expect_equal(wrong, [], 'functions with a wrong count')


@SUITE.test('* times a whole program, and leaves loader and library out')
def _(t):
    run, report = t.report_of([t.build('plain.c'), '7', '8', '9', '0'], 'main:*')
    rows = dict(counts(report))
    expect_equal([rows.get(name) for name in ('main', 'alpha', 'alphabet', 'beta')], [1, 7, 8, 9], 'calls')
    run, report = t.report_of([t.build('plain.c'), '7', '8', '9', '0'], '*', t.sub('all'))
    expect_equal((run.status, run.out), (0, f'sum {28 + 44 + 63}\n'), 'status and stdout')
    modules = {row['module'].rsplit('/', 1)[-1] for row in report.functions}
    expect('libc.so.6' in modules and 'plain' in modules, f'modules: {modules}')
    expect(not any('ld-linux' in name or 'libwtmtime' in name for name in modules), f'modules: {modules}')
    expect_equal(report.sum('calls', 'alphabet'), 8, 'calls of alphabet')


@SUITE.test('a refused function is told with its reason, the others are timed')
def _(t):
    run = t.run([t.build('plain.c'), '7', '8', '9'], 'alpha,vfork,dlsym,_setjmp', env={'WTM_TABLE': None})
    report = run.report()
    expect_equal(counts(report), [('alpha', 7)], 'rows')
    reasons = {row['name']: row['reason'] for row in report.refused}
    expect('RETURNS_TWICE' in (reasons.get('vfork'), reasons.get('_setjmp')) or 'POPS_RETURN' == reasons.get('vfork'),
           f'reasons: {reasons}')
    expect_equal(sorted(reasons), ['_setjmp', 'dlsym', 'vfork'], 'refused')
    expect('refused' in run.err and 'vfork' in run.err, f'the table does not tell: {run.err!r}')
