# SPDX-License-Identifier: MIT
"""Counts of single tests, printed as they end: plainly, or as TAP for meson."""
import sys
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor


class Failed(Exception):
    """A check did not hold. The text says what was expected and what was seen."""


class Skipped(Exception):
    """The check could not be made here; the text says what is missing."""


def expect(condition, text):
    if not condition:
        raise Failed(text)


def expect_equal(seen, wanted, what):
    if seen != wanted:
        raise Failed(f'{what}: expected {wanted!r}, got {seen!r}')


class OffTime(Failed):
    """A time is not what it should be. A preemption in a few of our instructions can do that; to a count nothing may."""


def expect_time(condition, text):
    if not condition:
        raise OffTime(text)


def unless_disturbed(check, runs=3):
    """What is wrong with a time is wrong in each run. Each run gets its number."""
    for number in range(runs):
        try:
            return check(number)
        except OffTime:
            if number == runs - 1:
                raise
    return None


class Results:
    def __init__(self, tap=False, verbose=False):
        self.passed = self.failed = self.skipped = 0
        self.tap, self.verbose = tap, verbose
        self.failures = []
        self._lock = threading.Lock()

    def _say(self, text):
        print(text, flush=True)

    def add(self, verdict, name, text=''):
        """verdict: 'pass', 'fail' or 'skip'; text: which outcome was seen, what went wrong, or what is missing."""
        with self._lock:
            number = self.passed + self.failed + self.skipped + 1
            if verdict == 'pass':
                self.passed += 1
            elif verdict == 'skip':
                self.skipped += 1
            else:
                self.failed += 1
                self.failures.append((name, text))
            if self.tap:
                mark = 'not ok' if verdict == 'fail' else 'ok'
                self._say(f'{mark} {number} - {name}' + (f' # SKIP {text}' if verdict == 'skip' else ''))
                if verdict == 'fail':
                    for line in text.splitlines():
                        self._say(f'# {line}')
            elif verdict == 'fail':
                self._say(f'FAIL  {name}')
                for line in text.splitlines():
                    self._say(f'      {line}')
            elif verdict == 'skip':
                self._say(f'SKIP  {name}: {text}')
            elif self.verbose or text:
                self._say(f'pass  {name}' + (f': {text}' if text else ''))

    def add_many(self, name, passed, failed, skipped, failures=()):
        """Counts of a test program that holds many tests of its own."""
        if self.tap:
            self.add('fail' if failed or passed == 0 else 'pass', name, '\n'.join(failures))
            return
        with self._lock:
            self.passed += passed
            self.failed += failed
            self.skipped += skipped
            self._say(f"{'FAIL' if failed else 'pass'}  {name}: {passed} passed, {failed} failed, {skipped} skipped")
            for line in failures:
                self.failures.append((name, line))
                self._say(f'      {line}')

    def run(self, name, function):
        try:
            note = function()
            self.add('pass', name, note or '')
        except Skipped as why:
            self.add('skip', name, str(why))
        except Failed as why:
            self.add('fail', name, str(why))
        except Exception:  # a fault of the test itself counts as a failure, never as a pass
            self.add('fail', name, traceback.format_exc(limit=6))

    def run_all(self, tests, workers=1):
        """tests: (name, function) pairs."""
        if workers == 1:
            for name, function in tests:
                self.run(name, function)
            return
        with ThreadPoolExecutor(workers) as pool:
            for future in [pool.submit(self.run, name, function) for name, function in tests]:
                future.result()

    def close(self):
        """Prints the summary, the counts alone on the last line. Gives the exit status."""
        total = self.passed + self.failed + self.skipped
        if self.tap:
            self._say(f'1..{total}')
        else:
            if self.failures:
                self._say('\nfailed:')
                for name, text in self.failures:
                    first = text.splitlines()[0] if text else ''
                    self._say(f'  {name}: {first}')
            if self.passed + self.failed == 0:
                self._say('no test ran: this counts as a failure')
            self._say('')
            self._say(f'{self.passed} passed, {self.failed} failed' + (f', {self.skipped} skipped' if self.skipped else ''))
        sys.stdout.flush()
        return 1 if self.failed or self.passed == 0 else 0
