# SPDX-License-Identifier: MIT
"""Test suites of real programs, run without the library and with all functions timed, and compared test by test: a test that
passes, fails or is skipped without the library must do the same with it. How many fail anyhow does not matter."""
import glob
import os
import shutil
import signal
import subprocess
import tempfile

from suite.results import Failed, Skipped, expect

TRIES = 3  # tests with time limits of their own differ under load: what differs each time is believed


class Outcome:
    """status of the process (or 'timeout'), outcome of each test by name, the end of the output."""

    def __init__(self, status, tests, output, profiles):
        self.status, self.tests, self.output, self.profiles = status, tests, output, profiles


def run_once(t, argv, timed, parse, cwd=None, timeout=1800):
    """Runs a test program in a folder with a short path (sockets). parse(folder, output) gives {test: outcome}."""
    folder = tempfile.mkdtemp(prefix='wtm-apps-', dir='/tmp')
    settings = t.tools.settings(folder, '*', {'WTM_TABLE': 'none', 'WTM_OUT': os.path.join(folder, 'profiles', '%e.%p.prof')})
    env = t.tools.environment(dict(settings if timed else {}, TMPDIR=os.path.join(folder, 'tmp'), TZ='UTC'))
    for name in ('profiles', 'tmp', 'work'):
        os.mkdir(os.path.join(folder, name))
    try:
        with open(os.path.join(folder, 'output'), 'wb') as output:
            child = subprocess.Popen([word.replace('FOLDER', folder) for word in argv], env=env, stdin=subprocess.DEVNULL, stdout=output,
                                     stderr=subprocess.STDOUT, cwd=cwd or os.path.join(folder, 'work'), start_new_session=True)
            try:
                status = child.wait(timeout)
            except subprocess.TimeoutExpired:
                status = 'timeout'
            try:
                os.killpg(child.pid, signal.SIGKILL)  # also what a test left running
            except ProcessLookupError:
                pass
            child.wait()
        with open(os.path.join(folder, 'output'), encoding='utf-8', errors='replace') as file:
            text = file.read()
        return Outcome(status, parse(folder, text), text[-1500:], len(glob.glob(os.path.join(folder, 'profiles', '*.prof'))))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def differences(plain, timed):
    found = {name: (plain.tests.get(name, 'absent'), timed.tests.get(name, 'absent'))
             for name in plain.tests.keys() | timed.tests.keys() if plain.tests.get(name) != timed.tests.get(name)}
    if plain.status != timed.status:
        found['(exit status)'] = (plain.status, timed.status)
    return found


def compare(t, argv, parse, cwd=None):
    """Gives a note for the line of the test."""
    lasting, seen = None, set()
    for _ in range(TRIES):
        plain = run_once(t, argv, False, parse, cwd)
        if plain.status == 'timeout':
            raise Skipped('does not end without the library either')
        if not plain.tests:
            raise Skipped(f'tests nothing here, without the library either: {plain.output.strip()[-200:]!r}')
        timed = run_once(t, argv, True, parse, cwd)
        expect(plain.profiles == 0 and timed.profiles > 0, f'{timed.profiles} processes were timed')
        found = differences(plain, timed)
        seen |= found.keys()
        lasting = found if lasting is None else {name: found[name] for name in lasting.keys() & found.keys()}
        if not lasting:
            break
    if lasting:
        lines = '\n'.join(f'{name}: {pair[0]!r} without, {pair[1]!r} with the library' for name, pair in sorted(lasting.items())[:20])
        raise Failed(f'{len(lasting)} differ in each of {TRIES} runs\n{lines}\n{timed.output}')
    kinds = [sum(outcome.startswith(kind) for outcome in timed.tests.values()) for kind in ('pass', 'skip')]
    note = f'{kinds[0]} passed, {kinds[1]} skipped, {len(timed.tests) - sum(kinds)} failed, {timed.profiles} processes'
    return note + (f'; unsteady: {", ".join(sorted(seen)[:10])}' if seen else '')
