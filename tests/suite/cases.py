# SPDX-License-Identifier: MIT
"""The hostile cases: each is built from its header, run without and with the library, and its counts are judged.

A header line is `// key: value`: time (WTM_TIME), build, run, needs (a compiler), expect (in words; the exact form is in
cases/expectations.py)."""
import glob
import os
import re
import shlex
import string

from cases.expectations import EXPECTATIONS
from suite import compile as compiling
from suite.expect import sane
from suite.results import Failed, Skipped, expect, expect_equal

FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'cases')
SMOKE = ('01', '04', '05', '11', '14', '17', '18', '20', '22', '25', '32', '35', '42')  # for the other compiler's library


def header(source):
    with open(source, encoding='utf-8') as file:
        return dict(re.findall(r'^// (time|build|run|needs|expect): *(.*)$', file.read(), re.M))


def sources():
    return sorted(path for path in glob.glob(os.path.join(FOLDER, '[0-9][0-9]-*')) if path.endswith(('.c', '.cpp', '.S')))


def judge(tools, source, compiler):
    head, key = header(source), os.path.basename(source)[:2]
    if head.get('needs') == 'gcc' and compiler != 'gcc':
        raise Skipped('needs gcc')
    wanted = EXPECTATIONS[key]
    name = os.path.splitext(os.path.basename(source))[0]
    plain, timed = tools.folder('cases', compiler, name, 'plain'), tools.folder('cases', compiler, name, 'timed')
    out = compiling.shell_build(head['build'], source, os.path.join(os.path.dirname(plain), name), compiler)
    argv = shlex.split(string.Template(head['run']).substitute(OUT=out, DIR=FOLDER, SRC=source))

    without = tools.run(argv, plain)
    expect(without.status == 0 and without.out.endswith('ok\n'),
           f'it fails without the library already: status {without.status}, {without.err[-300:]}')
    run = tools.run(argv, timed, time=head['time'] + wanted.get('also_time', ''))
    run.notes = []
    expect_equal(run.status, 0, f'exit status (stderr ends {run.err[-600:]!r})')
    forget = wanted.get('varies')  # a number of the program's own that differs from run to run
    shown = [re.sub(forget, '', text) if forget else text for text in (run.out, without.out)]
    expect_equal(shown[0], shown[1], 'stdout')
    if not wanted.get('may_complain'):
        expect_equal(run.err, without.err, 'stderr (the table goes to a file)')

    report = run.report()
    problems = sane(report, run)
    for check in wanted['expect']:
        problems += check(report, run)
    if 'children' in wanted:
        problems += wanted['children'](run.children(wanted.get('may_complain', False)), run)
    problems += table_problems(run)
    if problems:
        raise Failed('\n'.join(problems))
    return '; '.join(run.notes)


def table_problems(run):
    """The table is written once, whole, and names what the report names."""
    text = run.tables().get(run.pid, '')
    if text.count('wtm: ') < 1 or not text.endswith('\n'):
        return [f'no table, or not a whole one: {text!r}']
    if len(re.findall(r'^ *function +calls', text, re.M)) > 1:
        return ['the table was written more than once']
    return []


def tests(tools, compilers=('gcc', 'clang'), only=None):
    missing = {os.path.basename(path)[:2] for path in sources()} ^ set(EXPECTATIONS)
    if missing:
        raise Failed(f'cases and expectations do not match: {sorted(missing)}')
    return [(f'case {os.path.basename(path)} by {compiler}', lambda p=path, c=compiler: judge(tools, p, c))
            for compiler in compilers for path in sources() if only is None or os.path.basename(path)[:2] in only]
