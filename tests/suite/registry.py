# SPDX-License-Identifier: MIT
"""Collects test functions by decorator, and gives each one its folder and short forms."""
import os
import threading
import zlib

from suite import compile as compiling

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Context:
    """What a test function gets."""
    _lock = threading.Lock()
    _locks, _done = {}, set()

    def __init__(self, tools, suite, name):
        self.tools, self.suite = tools, suite
        self.folder = tools.folder(suite, f'{zlib.crc32(name.encode()):08x}-{name}')

    def build(self, source, *flags, compiler='gcc', name=None):
        """Builds tests/SUITE/SOURCE once, and gives the program's path."""
        name = name or os.path.splitext(source)[0]
        key = (self.tools.work, self.suite, source, name, flags, compiler)
        with Context._lock:
            lock = Context._locks.setdefault(key, threading.Lock())
        with lock:
            folder = os.path.join(self.tools.work, self.suite, 'bin', compiler)
            os.makedirs(folder, exist_ok=True)
            out = os.path.join(folder, name)
            if key not in Context._done:
                compiling.program(os.path.join(TESTS, self.suite, source), out, *flags, compiler=compiler)
                Context._done.add(key)
            return out

    def sub(self, name):
        """A further folder, for a second run in one test."""
        path = os.path.join(self.folder, name)
        os.makedirs(path)
        return path

    def run(self, argv, time=None, folder=None, **more):
        return self.tools.run(argv, folder or self.folder, time=time, **more)

    def report_of(self, argv, time, folder=None, **more):
        """Runs and gives (run, report); the run must succeed."""
        run = self.run(argv, time, folder, **more)
        if run.status != 0:
            raise AssertionError(f'{argv[0]} gave {run.status}: {run.err[-400:]}')
        return run, run.report()


class Suite:
    def __init__(self, name):
        self.name, self.entries = name, []

    def test(self, title):
        def keep(function):
            self.entries.append((title, function))
            return function
        return keep

    def tests(self, tools):
        return [(f'{self.name}: {title}', lambda f=function, n=title: f(Context(tools, self.name, n)))
                for title, function in self.entries]
