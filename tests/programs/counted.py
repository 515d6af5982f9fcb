# SPDX-License-Identifier: MIT
"""Programs that know their own counts, in surroundings of every kind: same output and status, and the report says what they say."""
import re

from suite.registry import Suite
from suite.results import Failed, expect_equal

SUITE = Suite('programs')
FIELDS = ('calls', 'recursive', 'abnormal', 'open')
COUNT = re.compile(r'^count (\w+) (.*)\n', re.M)

# Program, its modes; exit status of those that do not end with 0.
PROGRAMS = {
    'interrupted.c': ('altlocal', 'altlocalthread', 'nodefer', 'storm', 'jumpout', 'jumpalt', 'overflows', 'ownall', 'waits',
                      'exithandler'),
    'endings.c': ('starts', 'allocs', 'keys', 'mainexit', 'detached', 'twoexits', 'onexit', 'quick', 'timers', 'atforks', 'robustly',
                  'tinystacks', 'cthreads', 'cancels'),
    'surroundings.c': ('clonevm', 'clonevmwait', 'vforks', 'doublefork', 'handlerfork', 'spawn', 'loopexec 5', 'fexec', 'traceme',
                       'dumpable', 'names', 'dropuid', 'unsharing', 'ranges', 'limits', 'locked', 'text', 'dontneed', 'wiped',
                       'affinity', 'aslr', 'cleared', 'zerostack'),
}
STATUS = {'exithandler': 7, 'mainexit': 5, 'twoexits': 6, 'onexit': 3, 'quick': 4}
SPEAKS = ('limits', 'dropuid')  # the table's folder cannot be written to, and that is said


def holds(wanted, found):
    if wanted == '-':
        return True
    low, _, high = wanted.partition('..')
    return int(low) <= found <= int(high or low)


def judge(report, out):
    for name, text in COUNT.findall(out):
        wanted = (text.split() + ['0'] * len(FIELDS))[:len(FIELDS)]
        found = [report.sum(field, name) for field in FIELDS]
        if not all(map(holds, wanted, found)):
            raise Failed(f'{name}: {found}, wanted {wanted} ({", ".join(FIELDS)})')


def counted(source, mode):
    @SUITE.test(f'{source}, {mode}: as without the library, and the counts that it tells')
    def _(t):
        word = mode.split()[0]
        for compiler in ('gcc', 'clang') if source == 'interrupted.c' else ('gcc',):
            argv = [t.build(source, '-pthread', '-fno-builtin', '-w', compiler=compiler), *mode.split()]
            plain = t.run(argv, folder=t.sub(f'{compiler} plain'))
            expect_equal(plain.status, STATUS.get(word, 0), f'{compiler}: status without the library ({plain.err[-300:]})')
            names = [f'main:{name}' for name, _ in COUNT.findall(plain.out)]
            for number, time in enumerate((','.join(names or ['main:work']), '*')[:2 if compiler == 'gcc' else 1]):
                run = t.run(argv, time, t.sub(f'{compiler} {number}'))
                expect_equal((run.status, COUNT.sub('', run.out)), (plain.status, COUNT.sub('', plain.out)),
                             f'{compiler}, timing {time}: status and stdout ({run.err[-300:]})')
                if word not in SPEAKS:
                    expect_equal(run.err, plain.err, f'{compiler}, timing {time}: stderr')
                judge(run.report(), run.out)


for _source, _modes in PROGRAMS.items():
    for _mode in _modes:
        counted(_source, _mode)
