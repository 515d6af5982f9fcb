# SPDX-License-Identifier: MIT
"""Python's regression tests (package libpython3.11-testsuite), compared test by test, skips and failures by name."""
import glob
import os
import xml.etree.ElementTree as tree

from apps import outcomes
from suite.registry import Context
from suite.results import Skipped

PYTHON = '/usr/bin/python3'
FOLDER = '/usr/lib/python3.11/test'
# A few seconds, and of all kinds: processes, threads, signals, foreign functions, generated frames, C extensions.
SHORT = 'test_fork1 test_thread test_gc test_coroutines test_select test_struct test_pyexpat test_hashlib test_context'.split()

# Files of many minutes are run in parts: patterns of test names, or of names to leave out (!). Each part ends within five
# minutes without the library.
PARTS = {
    'test_socket': ['!*VSOCK*'],  # in many virtual machines a socket of that kind never gets its connection
    'test_concurrent_futures': ['*ThreadPool* FutureTests', 'ProcessPoolForkProcessPool*', 'ProcessPoolFork[WAE]* *Initializer*',
                                'ProcessPoolSpawn*', 'ProcessPoolForkserver*'],
    **{f'test_multiprocessing_{how}': ['!With*', 'WithThreads*', 'WithManager*', 'WithProcesses*'] for how in ('fork', 'forkserver', 'spawn')}}

# Not run in the long form, for these reasons.
LEFT_OUT = {
    'test_lib2to3': 'minutes of pure Python',
    'test_tools': 'builds a Python', 'test_peg_generator': 'builds C extensions', 'test_cppext': 'builds C++ extensions',
    'test_distutils': 'builds C extensions', 'test_gdb': 'needs a Python with debugging information', 'test_venv': 'installs pip',
    'test_ensurepip': 'installs pip', 'test_idle': 'needs a screen', 'test_bigmem': 'gigabytes of memory',
    'test_zipfile64': 'gigabytes of disk', 'test_largefile': 'gigabytes of disk', 'test_regrtest': 'runs the others again',
    'test_capi': 'needs _testcapi, which Debian leaves out', 'test_crashers': 'programs that crash'}


def parse(folder, text):
    path, found = os.path.join(folder, 'results.xml'), {}
    if not os.path.exists(path):  # it ended early: its status tells
        return found
    for case in tree.parse(path).iter('testcase'):
        outcome = 'pass'
        for child in case:
            if child.tag in ('failure', 'error'):
                outcome = 'fail'
            elif child.tag == 'skipped':
                outcome = f'skip {child.text}'
        name = case.get('name')
        while name in found:
            name += "'"
        found[name] = outcome
    return found


def one(tools, module, part=''):
    if not os.path.exists(os.path.join(FOLDER, 'test_json')):
        raise Skipped('libpython3.11-testsuite is not installed')
    t = Context(tools, 'apps', f'python {module} {part}')
    choice = [word for name in part.split() for word in (('-i', name[1:]) if name[0] == '!' else ('-m', name))]
    return outcomes.compare(t, [PYTHON, '-m', 'test', '--timeout', '1200', '--junit-xml', 'FOLDER/results.xml', *choice, module], parse)


def modules():
    names = {os.path.splitext(os.path.basename(path))[0] for path in glob.glob(os.path.join(FOLDER, 'test_*'))
             if path.endswith('.py') or os.path.isdir(path)}
    return sorted(names - LEFT_OUT.keys())


def tests(tools, full=False):
    wanted = [(module, part) for module in (modules() if full else SHORT) for part in PARTS.get(module, [''])]
    return [(f'apps: python3: its own {module} {part}'.rstrip() + ' with everything timed',
             lambda module=module, part=part: one(tools, module, part)) for module, part in wanted]
