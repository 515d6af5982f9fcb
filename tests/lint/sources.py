# SPDX-License-Identifier: MIT
"""Rules on the sources."""
import os
import re
import subprocess

from suite.results import Skipped, expect, expect_equal
from suite.target import ROOT

PARTS = ('common', 'patcher', 'preload', 'report')
ALLOWED = {  # part -> what its files may include with quotes
    'common': r'common/',
    'patcher': r'patcher/|common/(status|sys)\.h$',
    'preload': r'preload/|patcher/|common/|unwind_rule\.h$',  # the last one is made by unwind_rule.py
    'report': r'report/|common/',
}
CODE = ('.c', '.h', '.S', '.cc', '.cpp', '.py', '.sh')
CHECKS = []


def check(title):
    def keep(function):
        CHECKS.append((title, function))
        return function
    return keep


def files(folders, endings):
    for folder in folders:
        for at, _, names in sorted(os.walk(os.path.join(ROOT, folder))):
            for name in sorted(names):
                if name.endswith(endings) and '__pycache__' not in at:
                    yield os.path.relpath(os.path.join(at, name), ROOT)


def text_of(path):
    with open(os.path.join(ROOT, path), encoding='utf-8') as file:
        return file.read()


def without_comments(text):
    """C text with comments blanked, lines and strings kept."""
    def blank(match):
        return match.group(0) if match.group(0)[0] in '"\'' else re.sub(r'[^\n]', ' ', match.group(0))
    return re.sub(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|/\*.*?\*/|//[^\n]*', blank, text, flags=re.S)


def places(path, pattern, text=None):
    """`file:line: text` of each line that the pattern matches."""
    lines = (text_of(path) if text is None else text).splitlines()
    return [f'{path}:{number}: {line.strip()}' for number, line in enumerate(lines, 1) if re.search(pattern, line)]


def none_left(found, what):
    expect(not found, f'{what}:\n' + '\n'.join(found[:20]))


@check('includes go one way: preload -> patcher, common; report -> common')
def _(tools):
    wrong, seen = [], 0
    for part in PARTS:
        for path in files([part], ('.c', '.h', '.S')):
            for number, line in enumerate(text_of(path).splitlines(), 1):
                match = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
                if match:
                    seen += 1
                    if not re.match(ALLOWED[part], match.group(1)):
                        wrong.append(f'{path}:{number}: {match.group(1)}')
    none_left(wrong, 'includes against the direction')
    expect(seen > 20, f'only {seen} includes were looked at')


@check('each source file has its licence line')
def _(tools):
    wrong = [path for path in files(PARTS + ('tests', 'docs'), CODE)
             if 'SPDX-License-Identifier: MIT' not in '\n'.join(text_of(path).splitlines()[:3])]
    none_left(wrong, 'files without `SPDX-License-Identifier: MIT` at the top')


@check('no source file is over 600 lines')
def _(tools):
    lengths = {path: len(text_of(path).splitlines()) for path in files(PARTS + ('tests',), CODE)}
    none_left([f'{path}: {lines} lines' for path, lines in lengths.items() if lines > 600], 'too long')


@check('one kind of comment, none that promises work')
def _(tools):
    wrong = []
    for path in files(PARTS, ('.c', '.h')):
        bare = re.sub(r'"(?:\\.|[^"\\\n])*"|/\*.*?\*/', lambda m: re.sub(r'[^\n]', ' ', m.group(0)), text_of(path),
                      flags=re.S)
        wrong += places(path, r'//', bare)
    for path in files(PARTS, CODE):
        wrong += places(path, r'\b(XXX|TODO|FIXME|HACK)\b')
    none_left(wrong, '`//` comments or promises')


@check('the environment is read in preload/config.c alone')
def _(tools):
    wrong = []
    for path in files(('preload', 'patcher', 'common'), ('.c', '.h')):
        wrong += places(path, r'\b(secure_)?getenv\b', without_comments(text_of(path)))
        if path not in ('preload/config.c', 'preload/init.c'):  # init.c is given it and hands it on
            wrong += places(path, r'\b(__)?environ\b', without_comments(text_of(path)))
    none_left(wrong, 'reads of the environment')


@check('what runs in the target calls no allocator, no stdio, no exit')
def _(tools):
    wrong = []
    banned = r'\b(malloc|calloc|realloc|strdup|printf|fprintf|vfprintf|puts|fputs|fopen|exit|_exit|abort|assert)\s*\('
    for path in files(('preload', 'patcher'), ('.c', '.h')):
        if path == 'preload/mem.c':
            continue  # it defines hidden allocators that give nothing, so that no library linked in reaches libc's
        wrong += places(path, banned, without_comments(text_of(path)))
    none_left(wrong, 'calls that are banned in the target')


@check('every header compiles alone, with gcc and clang')
def _(tools):
    headers = list(files(PARTS, ('.h',)))
    expect(len(headers) > 8, f'only {len(headers)} headers')
    wrong = []
    for path in headers:
        for compiler in ('gcc', 'clang'):
            done = subprocess.run([compiler, '-std=gnu11', '-D_GNU_SOURCE', '-Wall', '-Werror', '-I' + ROOT, '-fsyntax-only',
                                   '-Wno-unused-function', '-x', 'c', '-include', os.path.join(ROOT, path), '/dev/null'],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
            if done.returncode != 0:
                wrong.append(f'{path} ({compiler}): {done.stdout.decode()[:300]}')
    none_left(wrong, 'headers that need others before them')


@check('the public header serves C and C++ programs')
def _(tools):
    paths = [path for path in files(PARTS + ('include',), ('wtmtime.h',))]
    if not paths:
        raise Skipped('there is no wtmtime.h in this version')
    expect_equal(len(paths), 1, 'files named wtmtime.h')
    for command in (['gcc', '-std=c99', '-pedantic', '-x', 'c'], ['g++', '-std=c++11', '-x', 'c++'],
                    ['clang++', '-std=c++17', '-x', 'c++']):
        done = subprocess.run([*command, '-Wall', '-Wextra', '-Werror', '-fsyntax-only', '-include',
                               os.path.join(ROOT, paths[0]), '/dev/null'], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False)
        expect(done.returncode == 0, f"{' '.join(command)}: {done.stdout.decode()[:600]}")


@check('README tells of every setting, and of no other')
def _(tools):
    table = re.findall(r'\{"(WTM_[A-Z]+)",\s*(?:NULL|"(?:[^"\\]|\\.)*"),\s*(\w+)', text_of('preload/config.c'))
    read = {name for name, reader in table if reader != 'NULL'}  # without a reader: known, but not in this version
    told = set(re.findall(r'^\| `(WTM_[A-Z]+)`', text_of('README.md'), re.M))
    expect(len(read) >= 5, f'settings found in preload/config.c: {read}')
    expect_equal(told, read, 'settings in the table of README.md')


@check('files that README and CONTRIBUTING point to are there')
def _(tools):
    wrong = []
    for path in ('README.md', 'CONTRIBUTING.md'):
        for target in re.findall(r'\]\((?!http)([^)#]+)\)', text_of(path)):
            if not os.path.exists(os.path.join(ROOT, target)):
                wrong.append(f'{path}: {target}')
        for script in re.findall(r'\b(tests/[\w/]+\.sh|\.ci/\w+)\b', text_of(path)):
            if not os.path.exists(os.path.join(ROOT, script)):
                wrong.append(f'{path}: {script}')
    none_left(wrong, 'dead links')


@check('refusals are numbered once and in order')
def _(tools):
    numbers = [int(n) for n in re.findall(r'^\s*X\(\w+, (\d+),', text_of('common/status.h'), re.M)]
    expect(len(numbers) > 20, f'only {len(numbers)} refusals')
    expect_equal(numbers, list(range(len(numbers))), 'numbers of the refusals')
