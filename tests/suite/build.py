# SPDX-License-Identifier: MIT
"""Builds the project with each compiler; a warning is a failure."""
import os
import shutil
import subprocess

from suite.results import Failed
from suite.target import ROOT


def build(folder, compiler, *options, strict=True):
    """`strict`: a warning is a failure. Not with sanitizers: gcc's own manual tells of false warnings with them."""
    cxx = {'gcc': 'g++', 'clang': 'clang++'}[compiler]
    env = dict(os.environ, CC=compiler, CXX=cxx)
    if not os.path.exists(os.path.join(folder, 'build.ninja')):
        shutil.rmtree(folder, ignore_errors=True)
        step(['meson', 'setup', folder, ROOT, *(['--werror'] if strict else []), *options], env)
    else:  # the demonstration's folder has no tests, and the packages for them may have come since
        step(['meson', 'configure', folder, '-Dtests=true'], env)
    step(['ninja', '-C', folder], env)


def step(command, env):
    done = subprocess.run(command, env=env, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False)
    if done.returncode != 0:
        raise Failed(f"{' '.join(command)} gave {done.returncode}:\n{done.stdout.decode(errors='replace')[-4000:]}")
