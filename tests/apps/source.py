# SPDX-License-Identifier: MIT
"""Source packages of what is tested, for the tests that only the source holds. From the place where this machine's binary
packages come from, with lists of its own: the machine's are not changed."""
import glob
import os
import subprocess
import threading

from suite.results import Skipped
from suite.target import need

_lock = threading.Lock()


def _run(argv, folder):
    done = subprocess.run(argv, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=900, check=False)
    if done.returncode:
        raise Skipped(f'{" ".join(argv)}: {done.stdout.decode(errors="replace")[-200:]!r}')
    return done.stdout.decode(errors='replace')


def fetch(tools, package):
    """Path of the unpacked upstream source of a Debian package."""
    with _lock:
        folder = os.path.join(tools.work, 'sources', package)
        done = glob.glob(os.path.join(folder, '*', 'README*'))
        if done:
            return os.path.dirname(done[0])
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
        _run([*apt, 'update'], folder)
        _run([*apt, '--download-only', 'source', package], folder)
        for path in glob.glob(os.path.join(folder, '*.orig.tar.*')):
            if not path.endswith('.asc'):
                _run(['tar', 'xf', path], folder)
        done = glob.glob(os.path.join(folder, '*', 'README*'))
        if not done:
            raise Skipped(f'the source package of {package} has no README')
        return os.path.dirname(done[0])
