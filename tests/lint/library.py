# SPDX-License-Identifier: MIT
"""Rules on libwtmtime.so as it was built: what it shows to the program, what it needs, and what its hot path may touch."""
import os
import re
import subprocess

from suite.results import Failed, expect, expect_equal
from suite.target import ROOT

CHECKS = []
VECTOR = r'%(?:[xyz]mm\d|mm[0-7]|st\b|st\()|\bk[0-7]\b'
X87 = r'\t(?:f[a-z]+|emms|v[a-z]+)\b'


def check(title):
    def keep(function):
        CHECKS.append((title, function))
        return function
    return keep


def tool(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                          env=dict(os.environ, LC_ALL='C'))
    if done.returncode != 0:
        raise Failed(f"{' '.join(command)} gave {done.returncode}: {done.stderr.decode()[:300]}")
    return done.stdout.decode(errors='replace')


@check('the library shows wtmtime_* symbols of its map alone')
def _(tools):
    shown = {name.split('@')[0] for name in re.findall(r' [A-TV-Zuvw] (\S+)$', tool('nm', '-D', '--defined-only', tools.lib), re.M)}
    shown = {name for name in shown if not name.startswith('WTM_')}  # the version's own name
    expect(all(name.startswith('wtmtime_') for name in shown), f'foreign symbols: {sorted(shown)[:20]}')
    maps = [name for name in os.listdir(os.path.join(ROOT, 'preload')) if name.endswith('.map')]
    expect_equal(len(maps), 1, 'version scripts in preload/')
    with open(os.path.join(ROOT, 'preload', maps[0]), encoding='utf-8') as file:
        listed = set(re.findall(r'\b(wtmtime_\w+);', file.read()))
    expect_equal(shown, listed, 'symbols shown, and those of the map')


@check('the library needs libc alone')
def _(tools):
    needed = set(re.findall(r'\(NEEDED\).*\[(.+)\]', tool('readelf', '-dW', tools.lib)))
    expect(needed <= {'libc.so.6', 'ld-linux-x86-64.so.2'}, f'needed: {needed}')


@check('no symbol of libc newer than glibc 2.36')
def _(tools):
    versions = {tuple(map(int, v.split('.'))) for v in re.findall(r'GLIBC_(\d+\.\d+(?:\.\d+)?)', tool('readelf', '-VW', tools.lib))}
    expect(versions and max(versions) <= (2, 36), f'versions: {sorted(versions)}')


@check('no executable stack, no text relocation, no page both writable and executable, no search path')
def _(tools):
    headers, dynamic = tool('readelf', '-lW', tools.lib), tool('readelf', '-dW', tools.lib)
    expect(re.search(r'GNU_STACK.* RW +0x', headers), 'GNU_STACK is not RW')
    expect(not re.search(r'LOAD.* RWE ', headers), 'a segment is writable and executable')
    for word in ('TEXTREL', 'RPATH', 'RUNPATH', 'INITFIRST'):
        expect(word not in dynamic, f'{word} is set')
    for word in ('NODELETE', 'NOW'):
        expect(word in dynamic, f'{word} is not set')


@check('fewer than 5000 relocations')
def _(tools):
    count = len(re.findall(r' R_X86_64_\w+', tool('readelf', '-rW', tools.lib)))
    expect(count < 5000, f'{count} relocations')
    return str(count)


@check('thread-local storage of at most 256 bytes, in the static model')
def _(tools):
    match = re.search(r'^ +TLS +\S+ +\S+ +\S+ +\S+ +(0x[0-9a-f]+)', tool('readelf', '-lW', tools.lib), re.M)
    size = int(match.group(1), 16) if match else 0
    expect(0 < size <= 256, f'{size} bytes')
    code = tool('objdump', '-d', '--no-show-raw-insn', tools.lib)
    expect(not re.search(r'call\s.*__tls_get_addr', code), 'a thread-local variable is found by a call')
    return f'{size} bytes'


@check('nothing is imported that the target may have patched or that could end it')
def _(tools):
    imported = {name.split('@')[0] for name in re.findall(r' [Uw] (\S+)$', tool('nm', '-D', '--undefined-only', tools.lib), re.M)}
    banned = {'exit', '_exit', 'abort', 'quick_exit', '__assert_fail', 'getenv', 'setenv', 'printf', 'fprintf', 'puts', 'fopen',
              'malloc', 'dlopen', 'dlsym', 'pthread_create', 'pthread_mutex_lock', 'signal', 'sigaction', 'read', 'write',
              'open', 'close', 'mmap', 'mprotect', '_Unwind_Backtrace', '_Unwind_Resume', 'backtrace'}
    # __stack_chk_fail stays: Debian's capstone, liblzma and libiberty are built with it; it is reached only when their
    # stack was overwritten, and there is nothing better to do then.
    expect(not imported & banned, f'imported: {sorted(imported & banned)}')
    return ' '.join(sorted(imported))


class Disassembly:
    """Functions of the library and who calls whom directly."""

    def __init__(self, path):
        self.lines, self.targets = {}, {}
        name = None
        for line in tool('objdump', '-d', '--no-show-raw-insn', '-w', path).splitlines():
            head = re.match(r'^[0-9a-f]+ <(.+)>:$', line)
            if head:
                name = head.group(1)
                self.lines[name], self.targets[name] = [], set()
            elif name and '\t' in line:
                self.lines[name].append(line.strip())
                jump = re.search(r'\t(?:call|jmp|j\w+)\s+[0-9a-f]+ <([^+>]+)', line)
                if jump:
                    self.targets[name].add(jump.group(1))

    def reachable(self, roots):
        todo, seen = list(roots), set()
        while todo:
            name = todo.pop()
            if name not in seen:
                seen.add(name)
                todo += self.targets.get(name, ())
        return seen


def hot_roots(code):
    """The functions of preload/trampoline.S, but not the one that the loader calls when it has loaded something."""
    with open(os.path.join(ROOT, 'preload', 'trampoline.S'), encoding='utf-8') as file:
        names = set(re.findall(r'^\s*\.type\s+(\w+),\s*@function', file.read(), re.M)) - {'wtm_watch_entry'}
    expect(len(names) >= 2 and names <= set(code.lines), f'functions of the trampoline: {names}, not all in the library')
    return names

@check('nothing on the way of a timed call uses vector or x87 registers, or libc')
def _(tools):
    """All code that direct calls and jumps reach from the trampoline, the first call of a thread included."""
    code = Disassembly(tools.lib)
    roots = hot_roots(code)
    reached = code.reachable(roots)
    expect(len(reached) >= 3, f'only {reached} are reached from {roots}')
    wrong = [f'{name}: calls {target}' for name in sorted(reached) for target in sorted(code.targets.get(name, ()))
             if '@plt' in target]
    for name in sorted(reached):
        wrong += [f'{name}: {line}' for line in code.lines.get(name, ())
                  if re.search(VECTOR, line) or re.search(X87, line)]
    expect(not wrong, 'on the way of a timed call:\n' + '\n'.join(wrong[:20]))
    return f'{len(reached)} functions'

@check('nothing on the way of a timed call has a big stack frame')
def _(tools):
    code = Disassembly(tools.lib)
    wrong = []
    rare = {'wtm_process_forked': 8192, 'wtm_profile_recreate': 8192}  # once in a forked child: names of files are built
    for name in code.reachable(hot_roots(code)):
        for line in code.lines.get(name, ()):
            match = re.search(r'\tsub +\$(0x[0-9a-f]+),%rsp', line)
            if match and int(match.group(1), 16) > rare.get(name, 1024):
                wrong.append(f'{name}: {line}')
    expect(not wrong, 'frames over 1 KiB:\n' + '\n'.join(sorted(wrong)))
