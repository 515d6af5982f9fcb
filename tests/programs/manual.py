# SPDX-License-Identifier: MIT
"""What the command tells about itself: info, help, manual, completion, exit statuses."""
import json
import os
import re
import subprocess

from suite.registry import Suite
from suite.results import expect, expect_equal
from suite.target import ROOT

SUITE = Suite('programs')


def commands(t):
    text = t.tools.command('--help').stdout.decode()
    found = re.findall(r'^  ([a-z]+) +\S', text.split('Commands:')[1], re.M)
    expect(len(found) > 8, f'commands in {text}')
    return found


def options(t, command):
    text = t.tools.command(command, '--help').stdout.decode().split('Options:')[1].split('Examples:')[0]
    return {match.group(2): (match.group(1), match.group(3))
            for match in re.finditer(r'^  (?:-(\w),|   ) --([a-z-]+)(?: ([A-Z]+))?', text, re.M)}


@SUITE.test('wtm info: who, clock, cost, settings, signals, threads, modules, refusals, what is missing')
def _(t):
    run = t.run([t.build('people.c', '-pthread'), 'c10', 'treader:20'], 'work,vfork,nowhere,libc.so.6:getpid',
                env={'WTM_SIGNALS': 'arm=USR2,reset=none,disarm=RTMIN+3,dump=none', 'WTM_RECURSION': 'nest'})
    text = t.tools.command('info', run.profile_paths()[run.pid]).stdout.decode()
    for pattern in (rf'^process +people, pid {run.pid}, child of {os.getpid()}, on \S+$', r'^time +began 20\d\d-.* UTC, ran ',
                    r'^state +armed, 0 resets, 1 table printed$', r'^clock +tsc \d\.\d{6} GHz, (not )?trusted', r'^cpu time +\w+',
                    r'^cost +[\d.]+ ns inside and [\d.]+ ns outside each call', r'^recursion +nest', r'^signals +arm=USR2,disarm=RTMIN\+3$',
                    r'^calls +30 of 1 function; 1 timed and never called$', r'people: 1 function, 1 called$',
                    r'libc\S*: 1 function, 0 called$', r'^threads +people: 1 at once', r'^ +reader: 1 at once',
                    r'^refused +1: pops its own return address$', r'^not found +1 pattern$', r'^missing +nothing$'):
        expect(re.search(pattern, text, re.M), f'no {pattern!r} in\n{text}')
    killed = t.run([t.build('steps.c', '-pthread'), 'c10', 'k'], 'work', t.sub('killed'))
    text = t.tools.command('info', killed.profile_paths()[killed.pid]).stdout.decode()
    expect('no word of its end' in text, text)
    expect_equal([t.tools.command('info', *args, check=False).returncode for args in ((), ('a', 'b'), ('absent',))], [2, 2, 3],
                 'statuses of wrong usage')


@SUITE.test('names with control characters, newlines, bidirectional marks and UTF-8: escaped on the terminal, whole in JSON')
def _(t):
    name = 'e\033[31m\n\u202ex\u00e9'
    program = os.path.join(t.folder, name)
    subprocess.run(['cp', t.build('people.c', '-pthread'), program], check=True)
    env = dict(t.tools.settings(t.folder, 'main:work'), WTM_TABLE='none', WTM_OUT=f'{t.folder}/p.prof')
    thread = 't\033]0;x\007\n\u00e9'
    subprocess.run([program, 'c1', f't{thread}:2'], env=t.tools.environment(env), check=True)
    for args in (('report',), ('report', '--by', 'thread,program,module,process,host'), ('report', '--csv', '--by', 'thread,process'),
                 ('report', '-v'), ('info',), ('info', '-v')):
        text = t.tools.command(*args, f'{t.folder}/p.prof').stdout.decode()
        expect(not re.search('[\x00-\x09\x0b-\x1f\x7f\u202e]', text), f'{args}: a control character in {text!r}')
        expect('\n\u00e9' not in text and '\nx' not in text, f'{args}: a name breaks a line: {text!r}')
        if '--by' in args or 'info' in args:
            expect('\u00e9' in text, f'{args}: letters were lost in {text!r}')
    data = json.loads(t.tools.command('report', '--json', '--by', 'thread,program', f'{t.folder}/p.prof').stdout.decode())
    expect_equal({(f['program'], f['thread']) for f in data['functions'] if f['calls']}, {(name, name.encode()[:15].decode()), (name, thread)}, 'names')


@SUITE.test('completion by bash knows every command, option and operand')
def _(t):
    def complete(*words):
        script = 'source <("$WTM" completion bash); COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _wtm; printf "%s\\n" "${COMPREPLY[@]}"'
        done = subprocess.run(['bash', '-c', script, 'bash', 'wtm', *words], env=dict(t.tools.environment(), WTM=t.tools.wtm),
                              cwd=t.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        expect_equal(done.stderr, '', f'stderr of completing {words}')
        return set(done.stdout.split('\n')) - {''}
    names = commands(t)
    expect(complete('') >= set(names) | {'help', '--version'}, f"of nothing: {complete('')}")
    for name in names:
        expect_equal(complete(name, '--'), {f'--{option}' for option in options(t, name)}, f'options of {name}')
    open(f'{t.folder}/one.prof', 'w', encoding='ascii').close()
    expect_equal(complete('report', 'on'), {'one.prof'}, 'a file')
    expect_equal(complete('report', '--by', 'thr'), {'thread'}, 'a key')
    expect_equal(complete('report', '-s', 'p9'), {'p90', 'p99', 'p99.9'}, 'a sort key')
    expect_equal(complete('run', '-o', 'on'), {'one.prof'}, 'an output file')
    expect_equal(complete('help', 'rep'), {'report'}, 'help')
    with subprocess.Popen([t.build('steps.c', '-pthread'), 'h'], env=t.tools.environment(t.tools.settings(t.folder, 'work')),
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        child.stdout.readline()
        expect(str(child.pid) in complete('top', ''), 'a running process under the library')
        child.stdin.write(b'\n')
        child.stdin.close()
        child.wait(30)


@SUITE.test('the manual has each command with just the options that its --help has, letters and arguments alike')
def _(t):
    with open(os.path.join(ROOT, 'docs', 'wtm.1'), encoding='utf-8') as file:
        text = file.read().replace('\\-', '-').replace('\\fI', '').replace('"', '')
    sections = dict(re.findall(r'^\.SS wtm (.*?)\n(.*?)(?=^\.S[SH] )', text, re.M | re.S))
    told = {name: body for names, body in sections.items() for name in re.split(r', ', names.split(' bash')[0])}
    for name in commands(t):
        expect(name in told, f'wtm {name} is not in the manual')
        body = ' '.join(line for line in told[name].splitlines() if line.startswith(('.B', '.BR', '.BI')))
        have = {}
        for option in re.findall(r'--([a-z-]+)', body):
            if option != 'help':
                have[option] = None
        wanted = {option for option in options(t, name) if option != 'help'}
        expect_equal(set(have), wanted, f'options of wtm {name} in the manual, and in --help')
        for option, (letter, _) in options(t, name).items():
            if letter:
                expect(re.search(rf'-{letter}\s*,\s*--{option}\b', body), f'-{letter} of --{option} of wtm {name} in the manual')


@SUITE.test('exit statuses are those of the manual: 0, 1, 2, 3, 126, 127')
def _(t):
    program = t.build('plain.c')
    run = t.run([program, '10', '0', '0'], 'alpha,beta')
    good = run.profile_paths()[run.pid]
    idle = t.run([program, '0', '0', '0'], 'alpha', t.sub('idle'))
    silent = idle.profile_paths()[idle.pid]
    with open(f'{t.folder}/text', 'w', encoding='ascii') as file:
        file.write('no profile\n')
    os.chmod(f'{t.folder}/text', 0o644)
    for status, args in ((0, ('report', good)), (1, ('report', silent)), (0, ('info', silent)), (2, ('report',)), (2, ('report', '--nonsense', good)),
                         (3, ('report', f'{t.folder}/text')), (3, ('report', good, f'{t.folder}/absent')), (3, ('top', '4194304')),
                         (3, ('arm', '4194304')), (126, ('run', '-t', 'alpha', '--', f'{t.folder}/text')), (127, ('run', '-t', 'alpha', '--', './absent')),
                         (2, ('run', '--', program)), (127, ('list', './absent')), (1, ('list', program, 'no_such_function_at_all')),
                         (0, ('list', program)), (2, ('nonsense',)), (0, ('help', 'run')), (0, ('--version',)), (2, ('completion', 'csh'))):
        done = t.tools.command(*args, check=False, cwd=t.folder)
        expect_equal(done.returncode, status, f"status of wtm {' '.join(args)} ({done.stderr.decode()})")
        expect(status < 2 or re.match(rb'wtm[ :]', done.stderr), f"wtm {' '.join(args)} says {done.stderr!r}")
