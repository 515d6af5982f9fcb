# SPDX-License-Identifier: MIT
"""Builds single-file test programs, by the compilers under test."""
import os
import subprocess

from suite.results import Failed

COMPILERS = {'gcc': ('gcc', 'g++'), 'clang': ('clang', 'clang++')}


def shell_build(recipe, source, out, compiler):
    """Runs a `build:` line of a case. $CC $CXX $SRC $OUT $DIR are set for it."""
    cc, cxx = COMPILERS[compiler]
    env = dict(os.environ, CC=cc, CXX=cxx, SRC=source, OUT=out, DIR=os.path.dirname(source))
    done = subprocess.run(['sh', '-c', recipe], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False, timeout=300)
    if done.returncode != 0:
        raise Failed(f'{os.path.basename(source)} does not build with {compiler}: {done.stdout.decode()[-1500:]}')
    if b'warning:' in done.stdout:
        raise Failed(f'{os.path.basename(source)} builds with warnings by {compiler}: {done.stdout.decode()[-1500:]}')
    return out


def program(source, out, *flags, compiler='gcc'):
    """Compiles and links one source. A source newer than the result, or other flags, build it again."""
    cc, cxx = COMPILERS[compiler]
    tool = cxx if source.endswith(('.cc', '.cpp')) else cc
    command = [tool, '-O2', '-g', '-Wall', '-Wextra', '-Wno-unused-parameter', '-Werror', '-o', out, source, *flags]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False, timeout=300)
    if done.returncode != 0:
        raise Failed(f'{os.path.basename(source)} does not build: {done.stdout.decode()[-1500:]}')
    return out
