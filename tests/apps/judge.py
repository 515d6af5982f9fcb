# SPDX-License-Identifier: MIT
"""An independent count of calls: breakpoints of gdb at the functions' first bytes, in a run without the library. Input and
output are of the same kinds as in the timed run (a file or /dev/null, and pipes), since programs look."""
import re
import shlex
import subprocess

from suite.results import Failed
from suite.target import need

ENDLESS = 1000000000  # "ignore the next so many hits": gdb counts and goes on


def count(tools, argv, symbols, cwd, stdin='/dev/null', status=0):
    """Hits of each symbol (as in the symbol table) while argv runs."""
    command = [need('gdb'), '-q', '-nx', '-batch', '-ex', 'set startup-with-shell on', '-ex', 'set pagination off',
               '-ex', 'handle all nostop noprint pass', '-ex', 'handle SIGTRAP stop nopass']
    for number, symbol in enumerate(symbols, 1):
        command += ['-ex', f'break *{symbol}', '-ex', f'ignore {number} {ENDLESS}']
    command += ['-ex', 'run ' + ' '.join(shlex.quote(word) for word in argv[1:]) + f' <{stdin}',
                '-ex', 'info breakpoints', argv[0]]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env=tools.environment({'SHELL': '/bin/sh'}), cwd=cwd, timeout=300, check=False)
    text = done.stdout.decode(errors='replace')
    ended = 'exited normally' if status == 0 else f'exited with code {status:02o}'
    if ended not in text:
        raise Failed(f'gdb did not see {argv[0]} end as expected: {text[-600:]}')
    counts = {}
    for number, symbol in enumerate(symbols, 1):
        if not re.search(rf'^{number} +breakpoint ', text, re.M):
            raise Failed(f'gdb knows no {symbol} in {argv[0]}: {text[:600]}')
        hits = re.search(rf'^{number} +breakpoint .*\n\s+breakpoint already hit (\d+) time', text, re.M)
        counts[symbol] = int(hits.group(1)) if hits else 0
    return counts
