# SPDX-License-Identifier: MIT
"""Starts programs with and without the library, and reads what it wrote about them."""
import fnmatch
import glob
import json
import os
import re
import shutil
import signal
import subprocess

from suite.results import Failed, Skipped

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def refusal_names():
    """Number, short name and sentence of each refusal, out of common/status.h."""
    with open(os.path.join(ROOT, 'common', 'status.h'), encoding='utf-8') as file:
        return {text: name for name, text in re.findall(r'X\((\w+), \d+, "([^"]*)"\)', file.read())}


class Report:
    """What `wtm report --json` tells of one profile."""

    def __init__(self, data, path):
        self.data, self.path = data, path
        self.functions = data['functions']
        self.not_found = data.get('not_found', [])
        sentences = refusal_names()
        self.refused = [dict(row, reason=sentences.get(row['reason'], row['reason'])) for row in data.get('refused', [])]

    @staticmethod
    def _names(row):
        aliases = row.get('aliases') or []
        if isinstance(aliases, str):
            aliases = [alias.strip() for alias in aliases.split(',')]
        return [row['name'], *aliases]

    @classmethod
    def _match(cls, row, pattern):
        return any(name == pattern or fnmatch.fnmatchcase(name, pattern) for name in cls._names(row))

    def rows(self, *patterns):
        return [row for row in self.functions if any(self._match(row, p) for p in patterns)]

    def sum(self, field, *patterns):
        return sum(row[field] for row in self.rows(*patterns))

    def one(self, name):
        rows = self.rows(name)
        if len(rows) != 1:
            raise Failed(f'expected one row of {name}, got {len(rows)}: {self.brief()}')
        return rows[0]

    def refusals(self, *patterns):
        return [row for row in self.refused if any(self._match(row, p) for p in patterns)]

    def brief(self):
        rows = [f"{r['name']} calls={r['calls']} recursive={r['recursive']} abnormal={r['abnormal']} open={r['open']}"
                for r in self.functions]
        rows += [f"{r['name']} refused {r['reason']}" for r in self.refused]
        rows += [f"{r['pattern']} not found" for r in self.not_found]
        return '; '.join(rows) or 'an empty report'


class Run:
    """One run of a program: what came out, and which profiles it left."""

    def __init__(self, tools, folder, pid, status, out, err):
        self.tools, self.folder, self.pid = tools, folder, pid
        self.status, self.out, self.err = status, out, err

    def profile_paths(self):
        return {int(re.search(r'\.(\d+)\.prof$', path).group(1)): path
                for path in glob.glob(os.path.join(self.folder, 'out.*.prof'))}

    def report(self, pid=None):
        pid = pid or self.pid
        paths = self.profile_paths()
        if pid not in paths:
            raise Failed(f'no profile of process {pid} in {self.folder}; its stderr ends: {self.err[-600:]!r}')
        return self.tools.report(paths[pid])

    def children(self, empty_allowed=False):
        """Reports of the other processes, in no special order. A limit on the size of files may leave an empty one."""
        return [self.tools.report(path) for pid, path in sorted(self.profile_paths().items())
                if pid != self.pid and not (empty_allowed and os.path.getsize(path) == 0)]

    def tables(self):
        """Text of the table files, by process."""
        texts = {}
        for path in glob.glob(os.path.join(self.folder, 'table.*.txt')):
            with open(path, encoding='utf-8', errors='replace') as file:
                texts[int(path.rsplit('.', 2)[1])] = file.read()
        return texts


class Tools:
    """The built library and command, and a folder for what the tests write."""

    def __init__(self, build, work):
        self.build, self.work = os.path.abspath(build), os.path.abspath(work)
        self.lib = os.environ.get('WTM_LIB') or os.path.join(self.build, 'preload', 'libwtmtime.so')
        self.wtm = os.path.join(self.build, 'report', 'wtm')
        self.full = False  # the long forms of tests

    def folder(self, *names):
        """A new, empty folder for one test."""
        path = os.path.join(self.work, *[re.sub(r'[^\w.+-]+', '-', name)[:80] for name in names])
        shutil.rmtree(path, ignore_errors=True)
        os.makedirs(path)
        return path

    @staticmethod
    def environment(extra=None):
        """A small, known environment: meson's MALLOC_PERTURB_ and the user's own settings stay out."""
        env = {name: os.environ[name] for name in ('HOME', 'USER', 'TMPDIR') if name in os.environ}
        env.update(PATH='/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LANG='C.UTF-8', LC_ALL='C.UTF-8')
        env.update(extra or {})
        return env

    def settings(self, folder, time, extra=None):
        """Environment for a timed run. A setting given as None is left out."""
        env = {'LD_PRELOAD': self.lib, 'WTM_TIME': time, 'WTM_OUT': os.path.join(folder, 'out.%p.prof'),
               'WTM_TABLE': os.path.join(folder, 'table.%p.txt')}
        env.update(extra or {})
        return {name: value for name, value in env.items() if value is not None}

    def run(self, argv, folder, time=None, env=None, stdin=None, cwd=None, timeout=120):
        """Runs argv, under the library when `time` (its patterns) is given. Output is bytes decoded as Latin-1."""
        full = self.environment(self.settings(folder, time, env) if time is not None else env)
        if time is not None and not os.path.exists(self.lib):
            raise Failed(f'the library was not built: {self.lib}')
        source = subprocess.DEVNULL if stdin is None else subprocess.PIPE
        child = subprocess.Popen(argv, stdin=source, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=full,
                                 cwd=cwd or folder, start_new_session=True)
        try:
            out, err = child.communicate(stdin.encode() if stdin is not None else None, timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            out, err = child.communicate()
            raise Failed(f'{argv[0]} did not end within {timeout} s; stderr ends: {err[-600:]!r}') from None
        absent = re.search(rb'^wtm: (WTM_\w+): not in this version', err, re.M)
        if absent:  # the library says so itself: nothing to judge, and nothing to pass
            raise Skipped(f'{absent.group(1).decode()} is not in this version of the library')
        return Run(self, folder, child.pid, child.returncode, out.decode('latin-1'), err.decode('latin-1'))

    def command(self, *args, env=None, cwd=None, timeout=60, check=True):
        """Runs the `wtm` command."""
        if not os.path.exists(self.wtm):
            raise Failed(f'the command was not built: {self.wtm}')
        done = subprocess.run([self.wtm, *args], capture_output=True, env=self.environment(env), cwd=cwd,
                              timeout=timeout, check=False, stdin=subprocess.DEVNULL)
        if check and done.returncode != 0:
            raise Failed(f"wtm {' '.join(args)} gave {done.returncode}: {done.stderr.decode()[-600:]}")
        return done

    def report(self, *paths):
        done = self.command('report', '--json', *paths, check=False)
        if done.returncode not in (0, 1):  # 1: nothing was called
            raise Failed(f'wtm report --json {paths[0]} gave {done.returncode}: {done.stderr.decode()[-600:]}')
        text = done.stdout.decode()
        try:
            data = json.loads(text)
        except ValueError as why:
            raise Failed(f'wtm report --json {paths[0]} wrote no JSON ({why}): {text[:200]!r}') from None
        if data.get('schema') != 'wtm-report/1':
            raise Failed(f"unexpected schema {data.get('schema')!r} in the report of {paths[0]}")
        report = Report(data, paths[0])
        if (done.returncode == 1) != (report.sum('calls', '*') == 0):
            raise Failed(f'wtm report --json {paths[0]} gave {done.returncode}, and the report has {report.brief()}')
        return report


def need(program):
    """Path of a program that a test needs, or a loud skip."""
    path = shutil.which(program, path='/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin')
    if path is None:
        raise Skipped(f'{program} is not installed')
    return path


def cpu_flags():
    with open('/proc/cpuinfo', encoding='ascii', errors='replace') as file:
        for line in file:
            if line.startswith('flags'):
                return set(line.split(':', 1)[1].split())
    return set()
