# SPDX-License-Identifier: MIT
"""Runs the test programs that meson knows, and counts the single tests inside those made with Criterion.

A Criterion program with no test in it passes (a linker option can do that): here it fails."""
import json
import os
import subprocess

from suite.results import Failed

OWN = 'whole'  # suite of tests/meson.build's entries that start this runner: not to be run from inside it


def known_tests(build):
    done = subprocess.run(['meson', 'introspect', '--tests', build], stdout=subprocess.PIPE, check=True)
    return [test for test in json.loads(done.stdout) if not any(s.endswith(OWN) for s in test['suite'])]


def uses_criterion(program):
    done = subprocess.run(['readelf', '-dW', program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    return b'libcriterion' in done.stdout


def run_test(results, test, work, title):
    env = dict(os.environ, **(test['env'] if isinstance(test['env'], dict) else {}))
    env.pop('MALLOC_PERTURB_', None)
    env['ASAN_OPTIONS'] = 'detect_leaks=0'  # for builds with sanitizers: Criterion keeps some memory until its end
    name, command, limit = f"{title}unit {test['name']}", test['cmd'], max(int(test['timeout'] or 30) * 4, 300)
    output = os.path.join(work, test['name'].replace('/', '-').replace(' ', '-') + '.json')
    if os.path.exists(output):
        os.unlink(output)
    criterion = uses_criterion(command[0])
    try:
        done = subprocess.run(command + ([f'--json={output}'] if criterion else []), env=env, cwd=test['workdir'],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                              timeout=limit)
    except subprocess.TimeoutExpired:
        results.add('fail', name, f'did not end within {limit} s')
        return
    tail = done.stdout.decode(errors='replace')[-3000:]
    if not criterion:
        if done.returncode == 77:
            results.add('skip', name, tail.strip().splitlines()[-1] if tail.strip() else 'it says so')
        else:
            results.add('pass' if done.returncode == 0 else 'fail', name, '' if done.returncode == 0 else tail)
        return
    try:
        with open(output, encoding='utf-8', errors='replace') as file:
            counts = json.load(file)
    except (OSError, ValueError) as why:
        results.add('fail', name, f'status {done.returncode} and no result ({why}): {tail}')
        return
    passed, failed, skipped = counts['passed'], counts['failed'], counts['skipped']
    lines = [line for line in tail.splitlines() if 'FAIL' in line or 'CRASH' in line or 'Assert' in line][:12]
    if passed + failed == 0:
        results.add('fail', name, 'holds no test')
    elif done.returncode != 0 and failed == 0:
        results.add('fail', name, f'status {done.returncode} though no test failed: {tail}')
    else:
        results.add_many(name, passed, failed, skipped, lines)


def run(results, build, work, title=''):
    tests = known_tests(build)
    if not tests:
        raise Failed('meson knows no unit test')
    os.makedirs(work, exist_ok=True)
    for test in tests:
        run_test(results, test, work, title)
