# SPDX-License-Identifier: MIT
"""libFuzzer over everything that reads what others wrote: the same effort and the same random numbers each time; with --full
minutes each, and other random numbers each time. What was found is kept where it was found: tests/fuzz/finds/NAME."""
import glob
import os
import subprocess

from suite import build
from suite.registry import Suite
from suite.results import Failed, Skipped, expect
from suite.target import ROOT, need

FOLDER = os.path.dirname(os.path.abspath(__file__))
SECONDS = 300  # with --full
EFFORTS = {  # runs of the short form, longest input
    'patcher': (400, 1200), 'settings': (15000, 3000), 'patterns': (15000, 3000), 'profile': (150, 1 << 20), 'elf': (150, 200000)}

SETTINGS = (
    b'WTM_TIME=foo,@x,bar*\0WTM_OUT=/a/%e.%p.%h.%%.%z\0WTM_TABLE=t%p\0WTM_SIGNALS=arm=RTMIN+10,reset=USR1,disarm=46,dump=none\0\0'
    b'# c\nfoo\n!lib.so:b*\n/re(x|y)/\n',
    b'WTM_START=disarmed\0WTM_RECURSION=nest\0WTM_CPU=rseq\0WTM_VERBOSE=1\0WTM_SLOW=3\0WTM_FOO=1\0'
    b'WTM_TIME=0x401234=h,lib.so+0x12=k,ns::B::get(int, int)\0\0x')
PATTERNS = (b'foo*,!bar,/re(a|b)+[c-d]{2,3}/,ns::Box<int>::get(int),0x12=h,lib.so:x\n_ZN2ns3Box3getEi\nfoo1\n_RNvC1a1b\n',)


def seeds_of_settings(tools, folder):
    return list(SETTINGS)


def seeds_of_patterns(tools, folder):
    return list(PATTERNS)


def text_section(path):
    listing = subprocess.run(['readelf', '-SW', path], capture_output=True, text=True, check=True).stdout
    fields = next(line.split(']')[1].split() for line in listing.splitlines() if ' .text ' in line)
    with open(path, 'rb') as file:
        file.seek(int(fields[3], 16))
        return file.read(int(fields[4], 16))


def seeds_of_patcher(tools, folder):
    """The library's own functions and the shell's, as one function with a next one behind it."""
    seeds = []
    for path in (tools.lib, '/bin/bash'):
        text = text_section(path)
        starts = [at for at in range(16, len(text) - 256, 16) if text[at - 1] in (0xc3, 0, 0x90, 0xcc)]
        for number, at in enumerate(starts[::max(1, len(starts) // 100)]):
            options = bytearray(32)
            options[0], options[1], options[6] = number % 2, number % 4, 2
            options[10] = options[18] = (3, 8, 40, 120, 200)[number % 5]  # the size, and the next start
            seeds.append(bytes(options) + text[at:at + 200])
    return seeds


def seeds_of_profile(tools, folder):
    program = os.path.join(folder, 'program')
    source = os.path.join(ROOT, 'tests', 'programs', 'steps.c')
    subprocess.run(['gcc', '-O2', '-pthread', '-o', program, source], check=True)
    for number, steps in enumerate((['c10'], ['c10', 't5', 'c1'])):
        tools.run([program, *steps], folder, time='work,malloc,nothing,vfork', env={'WTM_OUT': f'{folder}/{number}.prof'})
    seeds = []
    for path in glob.glob(f'{folder}/*.prof'):
        with open(path, 'rb') as file:
            whole = file.read()
        seeds += [whole, whole[:60000]]
    return seeds


def seeds_of_elf(tools, folder):
    paths = glob.glob(os.path.join(tools.build, 'tests', 'unit', 'symbols', 'symbols-fixtures.stamp.p', 'objects', '*'))
    seeds = []
    for path in paths:
        if os.path.isfile(path) and os.path.getsize(path) < 200000:
            with open(path, 'rb') as file:
                seeds.append(file.read())
    expect(seeds, 'the objects that the unit tests read are not built')
    return seeds


SEEDS = {'patcher': seeds_of_patcher, 'settings': seeds_of_settings, 'patterns': seeds_of_patterns,
         'profile': seeds_of_profile, 'elf': seeds_of_elf}


def fuzz(tools, name, full):
    folder = build_folder(tools)
    program = os.path.join(folder, 'tests', 'fuzz', f'fuzz_{name}')
    if not os.path.exists(program):
        raise Skipped(f'fuzz_{name} was not built: libzydis-dev is missing')
    work, corpus = tools.folder('fuzz', name), tools.folder('fuzz', name, 'corpus')
    seeds = SEEDS[name](tools, work)
    finds = sorted(glob.glob(os.path.join(FOLDER, 'finds', name, '*')))
    for path in finds:
        with open(path, 'rb') as file:
            seeds.append(file.read())
    for number, seed in enumerate(seeds):
        with open(os.path.join(corpus, f'seed-{number:04}'), 'wb') as file:
            file.write(seed)
    runs, longest = EFFORTS[name]
    effort = [f'-max_total_time={SECONDS}'] if full else [f'-runs={runs + len(seeds)}', '-seed=1']
    done = subprocess.run([program, f'-max_len={longest}', '-timeout=60', '-rss_limit_mb=4000', '-print_final_stats=1',
                           f'-artifact_prefix={work}/', *effort, corpus], cwd=work, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=tools.environment(), check=False,
                          timeout=SECONDS * 4)
    text = done.stdout.decode(errors='replace')
    if done.returncode:
        found = [line for line in text.splitlines() if 'fuzz_' in line or 'ERROR' in line or 'error:' in line or ' in wtm_' in line]
        raise Failed(f'status {done.returncode}, input kept in {work}:\n' + '\n'.join(found[:30] or text.splitlines()[-30:]))
    executed = int(text.split('stat::number_of_executed_units:')[1].split()[0])
    expect(executed >= runs, f'only {executed} runs')
    return f'{executed} runs, {len(seeds)} seeds'


def build_folder(tools):
    return tools.build.rstrip('/') + '-fuzz'


def build_all(tools):
    need('clang')
    build.build(build_folder(tools), 'clang', '-Dfuzz=true')


def tests(tools, full=False):
    return [('fuzz: build with libFuzzer and sanitizers', lambda: build_all(tools))] + [
        (f'fuzz: {name}', lambda n=name: fuzz(tools, n, full)) for name in EFFORTS]
