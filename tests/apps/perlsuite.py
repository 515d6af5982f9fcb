# SPDX-License-Identifier: MIT
"""Perl's core tests (t/ and lib/*.t of its source), run by the installed perl."""
import glob
import os
import re
import subprocess

from apps import outcomes, source
from suite.registry import Context
from suite.results import Skipped
from suite.target import need

# Not compared: random by intent, or over a thousand processes each.
LEFT_OUT = {
    'lib/charnames.t': 'chooses what, and how much, it tests at random', 'lib/warnings.t': 'a process for each of a thousand programs',
    're/uniprops': 'hours', 're/speed.t': 'measures time'}
GROUPS = ('base', 'cmd', 'comp', 'io', 'op', 'opbasic', 'mro', 'uni', 're', 'lib', '../lib')


def left_out(name):
    return any(part in name for part in LEFT_OUT)


def prepare(tools):
    """The source's own modules, completed by the installed ones (generated and compiled), and `perl` where tests look."""
    root = source.fetch(tools, 'perl')
    if not os.path.exists(os.path.join(root, 't', 'perl')):
        for folder in subprocess.run([need('perl'), '-e', 'print join "\\n", grep /^.usr.(lib|share).*perl(-base|.5\\.)/, @INC'],
                                     stdout=subprocess.PIPE, check=True).stdout.decode().splitlines():
            subprocess.run(f'cp -rnL {folder}/. {root}/lib/', shell=True, stderr=subprocess.DEVNULL, check=False)
        for link in ('perl', 't/perl'):
            os.symlink(need('perl'), os.path.join(root, link))
    return root


def parse(folder, text):
    """TAP: test number to outcome."""
    found = {}
    for line in text.splitlines():
        match = re.match(r'(not )?ok (\d+)(.*)', line)
        if match:
            directive = re.search(r'# (skip|todo)', match.group(3), re.I)
            found[match.group(2)] = ('fail' if match.group(1) else 'pass') if not directive else f'skip {directive.group(1).lower()}'
    return found


def one(tools, name):
    t = Context(tools, 'apps', f'perl {name}')
    root = prepare(tools)
    return outcomes.compare(t, ['./perl', name], parse, os.path.join(root, 't'))


def tests(tools):
    """One for each file. What is not there yet (the source) is only known when it is run, so it is fetched here."""
    try:
        root = prepare(tools)
    except Skipped as why:
        reason = str(why)

        def skip():
            raise Skipped(reason)
        return [('apps: perl: its core tests with everything timed', skip)]
    names = sorted(os.path.relpath(path, os.path.join(root, 't'))
                   for group in GROUPS for path in glob.glob(os.path.join(root, 't', group, '*.t')))
    return [(f'apps: perl: core test {name} with everything timed', lambda name=name: one(tools, name))
            for name in names if not left_out(name)]
