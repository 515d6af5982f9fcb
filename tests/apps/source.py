# SPDX-License-Identifier: MIT
"""Source packages of what is tested, for the tests that only the source holds. From the place where this machine's binary
packages come from, with lists of its own: the machine's are not changed."""
import glob
import os
import shutil
import subprocess
import threading

from suite.results import Skipped
from suite.target import need

_lock = threading.Lock()
_missing = {}  # package: why its source cannot be had; it is not tried again for each test


def _run(argv, folder):
    try:
        done = subprocess.run(argv, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=900, check=False)
    except subprocess.TimeoutExpired:
        raise Skipped(f'{" ".join(argv)}: no end within 900 s') from None
    if done.returncode:
        raise Skipped(f'{" ".join(argv)}: {done.stdout.decode(errors="replace")[-200:]!r}')
    return done.stdout.decode(errors='replace')


def _unpacked(folder):
    found = glob.glob(os.path.join(folder, 'upstream', '*', 'README*'))
    return os.path.dirname(found[0]) if found else None


def fetch(tools, package):
    """Path of the unpacked upstream source of a Debian package."""
    with _lock:
        folder = os.path.join(tools.work, 'sources', package)
        if _unpacked(folder):
            return _unpacked(folder)
        try:
            if package not in _missing:
                return _download(folder, package)
        except Skipped as why:
            _missing[package] = str(why)
        raise Skipped(f'the source of {package} cannot be fetched (is there a network, and a Debian mirror?): {_missing[package]}')


def _download(folder, package):
    os.makedirs(os.path.join(folder, 'lists', 'partial'), exist_ok=True)
    places = _run([need('apt-get'), 'indextargets', '--format', '$(REPO_URI) $(RELEASE) $(COMPONENT) $(ORIGIN)',
                   'Created-By: Packages'], folder)
    # The release itself, without its updates: these may lack their sources, and upstream's tests are the same.
    lines = [f'deb-src {line.rsplit(" ", 1)[0]}' for line in places.splitlines()
             if line.endswith(' main Debian') and '-' not in line.split()[1]]
    if not lines:
        raise Skipped('this machine has no Debian mirror to take sources from')
    with open(os.path.join(folder, 'sources.list'), 'w', encoding='utf-8') as file:
        file.write('\n'.join(lines) + '\n')
    apt = ['apt-get', '-q', '-o', f'Dir::Etc::sourcelist={folder}/sources.list', '-o', 'Dir::Etc::sourceparts=-',
           '-o', f'Dir::State::Lists={folder}/lists']
    _run([*apt, '-o', 'APT::Update::Error-Mode=any', 'update'], folder)
    _run([*apt, '--download-only', 'source', package], folder)
    parts = os.path.join(folder, 'unpacking')
    shutil.rmtree(parts, ignore_errors=True)
    os.mkdir(parts)
    for path in glob.glob(os.path.join(folder, '*.orig.tar.*')):
        if not path.endswith('.asc'):
            _run(['tar', 'xf', path], parts)
    os.rename(parts, os.path.join(folder, 'upstream'))  # only when it is whole
    if not _unpacked(folder):
        raise Skipped(f'the source package of {package} has no README')
    return _unpacked(folder)
