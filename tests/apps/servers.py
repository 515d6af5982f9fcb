# SPDX-License-Identifier: MIT
"""Servers of several processes with everything timed: what clients get, what the server leaves, and how it ends."""
import os
import subprocess

from apps.everything import same, script
from suite.registry import Suite
from suite.results import Skipped
from suite.target import need

LONG = Suite('apps')


def need_user(tools, name):
    """The other user must be able to read the library; a build in root's home cannot be used."""
    done = subprocess.run([need('runuser'), '-u', name, '--', 'test', '-r', tools.lib], stderr=subprocess.DEVNULL, check=False)
    if done.returncode:
        raise Skipped(f'not root, or no user {name} who can read {tools.lib}')


@LONG.test('everything timed: nginx, compression and TLS and a proxy, with new workers while it serves')
def _(t):
    need('curl')
    return same(t, 'nginx', script('nginx.sh', need('nginx')), 8000, 1200)


@LONG.test('everything timed: postgres, initdb and pgbench and compiled queries and a crash')
def _(t):
    if not os.path.isdir('/usr/lib/postgresql'):
        raise Skipped('postgresql is not installed')
    need_user(t.tools, 'postgres')
    return same(t, 'postgres', script('postgres.sh'), 10000, 1800)


def tests(tools):
    return LONG.tests(tools)
