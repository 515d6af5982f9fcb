# SPDX-License-Identifier: MIT
"""Programs that count their own calls and print what the report must say (programs/promise.h)."""
from suite.results import expect, expect_equal

FIELDS = ('calls', 'recursive', 'abnormal', 'open')


def promises_of(text):
    """name -> the words behind it."""
    lines = [line.split()[1:] for line in text.splitlines() if line.startswith('promise ')]
    return {words[0]: words[1:] for words in lines}


def check(report, promises, what):
    for name, words in promises.items():
        if words[0] == 'refused':
            reasons = {row['reason'] for row in report.refusals(name)}
            expect_equal((reasons, report.sum('calls', name)), ({words[1]}, 0), f'{what}: {name}: refusals and calls')
            continue
        if words[0] == 'missing':
            expect_equal(report.sum('calls', name), 0, f'{what}: calls of {name}, which is no function')
            expect('*' in what or name in {row['pattern'] for row in report.not_found}, f'{what}: {name} is not told as not found')
            continue
        seen = [report.sum(field, name) for field in FIELDS]
        wanted = [got if word == '-1' else int(word) for word, got in zip(words, seen)]
        expect_equal(seen, wanted, f"{what}: {name}: {', '.join(FIELDS)}")


def keeps(t, argv, every=True, env=None, folder='', **more):
    """Without the library, with the promised functions timed, and, unless told not to, with all functions, libc's too: the same
    output and status, and a report as promised. Gives the reports."""
    plain = t.run(argv, folder=t.sub(f'plain{folder}'), **more)
    expect_equal(plain.status, 0, f'status without the library ({plain.out[-300:]}{plain.err[-300:]})')
    promises, reports = promises_of(plain.out), []
    expect(promises, f'{argv[-1]} promises nothing')
    for number, time in enumerate([','.join(promises)] + ['*'] * every):
        run = t.run(argv, time, t.sub(f'{number}{folder}'), env=env, **more)
        expect_equal((run.status, run.out), (0, plain.out), f'status and stdout when timing {time} ({run.err[-300:]})')
        reports.append(run.report())
        check(reports[-1], promises, f'timing {time}')
    return reports
