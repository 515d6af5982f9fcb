#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Runs the test suites and prints one line of counts at the end.

  main.py [--build DIR] [--only SUITE[,SUITE]] [--match WORD] [--clock CLOCK] [--full] [--tap] [--verbose]

Suites: build, unit, lint, cases, programs, unwind, stacks, loading, clocked, differential, apps, fuzz, clang; threads and
sanitize (with --full). Without --only: all of them, in this order."""
import argparse
import os
import signal
import sys

sys.dont_write_bytecode = True
sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # tests/, not tests/suite/

from suite import build, cases, unit  # noqa: E402
from suite.results import Results  # noqa: E402
from suite.target import ROOT, Tools  # noqa: E402

WORKERS = max(1, min(4, os.cpu_count() or 1))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--build', default=os.path.join(ROOT, 'build'), help='build folder (gcc)')
    parser.add_argument('--only', default='', help='comma-separated suites')
    parser.add_argument('--match', default='', help='only tests with this word in their name')
    parser.add_argument('--clock', default='', help='WTM_CLOCK of all timed runs that do not set it')
    parser.add_argument('--full', action='store_true', help='long forms: more rounds, sanitizers, valgrind')
    parser.add_argument('--tap', action='store_true', help='TAP on stdout (for meson)')
    parser.add_argument('--verbose', action='store_true', help='also name the tests that pass')
    return parser.parse_args()


def select(tests, word):
    return [test for test in tests if word in test[0]]


def suite_build(results, options, tools):
    results.run('build with gcc, without warnings', lambda: build.build(options.build, 'gcc'))


def suite_unit(results, options, tools):
    unit.run(results, options.build, os.path.join(tools.work, 'unit'))


def suite_lint(results, options, tools):
    from lint import checks
    results.run_all(select(checks.tests(tools), options.match))


def suite_cases(results, options, tools):
    results.run_all(select(cases.tests(tools), options.match), WORKERS)


def suite_programs(results, options, tools):
    from programs import checks
    results.run_all(select(checks.tests(tools, options.full), options.match), WORKERS)


def suite_unwind(results, options, tools):
    from unwind import checks
    results.run_all(select(checks.tests(tools, options.full), options.match), WORKERS)


def suite_stacks(results, options, tools):
    from stacks import checks
    results.run_all(select(checks.tests(tools, options.full), options.match), WORKERS)


def suite_loading(results, options, tools):
    from loading import checks
    results.run_all(select(checks.tests(tools, options.full), options.match), WORKERS)


def suite_fuzz(results, options, tools):
    from fuzz import checks
    results.run_all(select(checks.tests(tools, options.full), options.match))


def suite_differential(results, options, tools):
    from differential import checks
    results.run_all(select(checks.tests(tools, options.full), options.match), WORKERS)


def suite_apps(results, options, tools):
    from apps import checks
    results.run_all(select(checks.tests(tools, options.full), options.match), WORKERS)


def suite_clocked(results, options, tools):
    """Timed by the kernel's clock, which has an entry and an exit of its own: what the TSC's have to stand."""
    from unwind import checks
    other = Tools(options.build, os.path.join(options.build, 'tests-work', 'clocked'))
    other.defaults['WTM_CLOCK'] = 'monotonic'
    tests = cases.tests(other, ('gcc', 'clang') if options.full else ('gcc',)) + checks.tests(other)
    results.run_all(select([(f'{name}, by the monotonic clock', test) for name, test in tests], options.match), WORKERS)


def suite_clang(results, options, tools):
    """The library as clang builds it: without warnings, and right in a part of the cases."""
    folder = options.build.rstrip('/') + '-clang'
    results.run('build with clang, without warnings', lambda: build.build(folder, 'clang'))
    other = Tools(folder, os.path.join(folder, 'tests-work'))
    tests = cases.tests(other, ('gcc',), None if options.full else cases.SMOKE)
    results.run_all(select([(f"{name}, library by clang", test) for name, test in tests], options.match), WORKERS)


def suite_threads(results, options, tools):
    """Only with --full: what many threads share, with the thread sanitizer."""
    from threads import checks
    results.run_all(select(checks.tests(tools), options.match))


def suite_sanitize(results, options, tools):
    """Only with --full: unit and golden tests with the address and undefined behaviour sanitizers, by both compilers."""
    for compiler in ('gcc', 'clang'):
        folder = f"{options.build.rstrip('/')}-sanitize-{compiler}"
        results.run(f'build with sanitizers by {compiler}', lambda: build.build(
            folder, compiler, '-Db_sanitize=address,undefined', '-Db_lundef=false',
            '-Dc_args=-fno-sanitize-recover=undefined -fno-sanitize=alignment',  # hostile ELF files are misaligned
            *(['-Dc_link_args=-static-libasan -static-libubsan'] if compiler == 'gcc' else []), strict=False))
        unit.run(results, folder, os.path.join(folder, 'tests-work', 'unit'), f'{compiler}, sanitizers: ')


SUITES = {'build': suite_build, 'unit': suite_unit, 'lint': suite_lint, 'cases': suite_cases,
          'programs': suite_programs, 'unwind': suite_unwind, 'stacks': suite_stacks, 'loading': suite_loading, 'clocked': suite_clocked,
          'differential': suite_differential, 'apps': suite_apps, 'fuzz': suite_fuzz, 'clang': suite_clang,
          'threads': suite_threads, 'sanitize': suite_sanitize}


def main():
    own = (signal.SIGPIPE, signal.SIGXFSZ)  # which Python ignores, and gives back to what it starts
    for number in signal.valid_signals():  # a background job and nohup begin with some ignored, and so would what is tested
        if signal.getsignal(number) == signal.SIG_IGN and number not in own:
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    options = arguments()
    chosen = [name for name in options.only.split(',') if name] or [
        name for name in SUITES if name not in ('threads', 'sanitize') or options.full]
    unknown = [name for name in chosen if name not in SUITES]
    if unknown:
        sys.exit(f"no such suite: {', '.join(unknown)}; there are {', '.join(SUITES)}")
    results = Results(options.tap, options.verbose)
    tools = Tools(options.build, os.path.join(options.build, 'tests-work'))
    tools.full = options.full
    if options.clock:
        tools.defaults['WTM_CLOCK'] = options.clock
    for name in chosen:
        if not options.tap:
            print(f'== {name}', flush=True)
        try:
            SUITES[name](results, options, tools)
        except Exception as why:  # a suite that cannot begin is a failure, not an absence
            results.add('fail', f'{name}: the suite itself', f'{type(why).__name__}: {why}')
    return results.close()


if __name__ == '__main__':
    sys.exit(main())
