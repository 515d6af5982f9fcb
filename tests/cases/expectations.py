# SPDX-License-Identifier: MIT
"""What the report of each case must say, exactly. The words are in suite/expect.py; the cases say in their `expect:` line
why. Where that line allows alternatives, either() demands that one of them holds completely, and the run names which.

expect:    checks on the process's own report
children:  check on the reports of the processes it forked
varies:    what differs between two runs of the program itself
also_time: further patterns
may_complain: the library may say on stderr why it cannot write"""
import re

from suite.expect import between, calls, either, every, not_found, refused, unreturned
from suite.target import cpu_flags

FLAGS = cpu_flags()
MEMCPY = ('__memcpy_*', '__memmove_*', 'memmove')  # what the chosen bodies of libc's memcpy and memmove are called
STRLEN = ('__strlen_*',)


def all_of(names, number, **more):
    return [calls(name, number, **more) for name in names.split()]


def each_or_refused(names, number, *reasons):
    return [either(calls(name, number), refused(name, *reasons)) for name in names.split()]


def printed(word, run):
    """A number that the program printed as `word N`."""
    return int(re.search(rf'^{word} (\d+)$', run.out, re.M).group(1))


def equals_printed(name, word, plus=0, most_recursive=0):
    """Calls as many as the program says; the recursive ones up to a bound."""
    def check(report, run):
        number = printed(word, run) + plus
        problems = calls(name, number, recursive=None)(report, run)
        if report.sum('recursive', name) > most_recursive + (printed(word, run) if most_recursive else 0):
            problems.append(f'{name}: recursive={report.sum("recursive", name)} is more than there were interruptions')
        return problems
    check.label = f'{name} equals {word}'
    return check


def once_within_wall(*names):
    """A recursive function's time is that of its outermost calls: it cannot exceed the run."""
    def check(report, run):
        wall = report.data['process']['wall_ns']
        return [f"{name}: total {row['realtime']['total_ns']} ns in a run of {wall} ns"
                for name in names for row in report.rows(name) if row['realtime']['total_ns'] > wall]
    check.label = 'time counted once'
    return check


def one_or_four_rows(report, run):
    """36: either a row for each of the four bodies or one row of all their calls; never a part without a word."""
    seen = sorted(row['calls'] for row in report.rows('twin'))
    run.notes.append('a row each' if len(seen) > 1 else 'one row')
    if seen not in ([10, 20, 30, 40], [100]):
        return [f'twin: rows of {seen} calls, expected [10, 20, 30, 40] or [100]']
    if len(seen) > 1 and len({(row['module'], row['address']) for row in report.rows('twin')}) != 4:
        return ['twin: rows that module and address do not tell apart']
    return []


def a_row_a_file(name, *counts):
    """One row for each file that a function was loaded from, with these calls in the order of the files' names."""
    def check(report, run):
        seen = [(row['module'], row['calls'], row['open']) for row in report.rows(name)]
        wanted = [(number, 0) for number in counts]
        return [] if [row[1:] for row in sorted(seen)] == wanted else [f'{name}: rows {seen}, expected calls and open {wanted}']
    return check


def one_body(report, run):
    """48: one row of 600 that knows its other names, or the same 600 under each name."""
    rows = report.rows('real_fn', 'strong_alias', 'weak_alias')
    counts = [row['calls'] for row in rows]
    if counts not in ([600], [600, 600, 600]):
        return [f'rows of {counts} calls, expected one of 600 (or the same under each of three names)']
    if len({row['address'] for row in rows}) != 1:
        return ['one body under several addresses']
    return []


def both_or_neither(report, run):
    """62: dlopen and dlsym are both counted or both refused."""
    if report.refusals('dlopen') and report.refusals('dlsym'):
        return []
    return between('dlopen', 20)(report, run) + between('dlsym', 20)(report, run)


def by_address(address, number):
    def check(report, run):
        rows = [row for row in report.functions if int(str(row['address']), 0) == address]
        if [row['calls'] for row in rows] != [number]:
            return [f'{address:#x}: expected a row of {number} calls, the report has {report.brief()}']
        return []
    check.label = f'{address:#x} calls={number}'
    return check


def hard_exits(children, run):
    """27: each of four children has left a profile with its one call, still open, whatever ended it."""
    open_calls = sorted(row['name'] for child in children for row in child.functions if row['calls'])
    if open_calls != ['by_abort', 'by_exit', 'by_kill', 'by_quick']:
        return [f'children: {open_calls}, expected one call of each of the four: {[c.brief() for c in children]}']
    return [f"{row['name']}: {row}" for child in children for row in child.functions
            if row['calls'] and (row['calls'], row['open'] + row['abnormal']) != (1, 1)]


def forked(children, run):
    """32: twenty children; each ran spin a thousand times; calls that began in the parent are the parent's or, returned,
    the child's, but the same rule for all."""
    problems = []
    if len(children) != 20:
        problems.append(f'{len(children)} profiles of children, expected 20')
    for child in children:
        problems += calls('spin', 1000)(child, run)
        inherited = (child.sum('calls', 'forker'), child.sum('calls', 'nest'))
        if inherited not in ((0, 0), (1, 1)) or child.sum('open', 'forker') + child.sum('open', 'nest'):
            problems.append(f'a child counts forker and nest {inherited}: {child.brief()}')
    return problems[:4]


def limited(children, run):
    """54: a limit may cost the report, never add to it; where nothing is in the way the count is exact."""
    counts = [child.sum('calls', 'work') for child in children]
    if any(count > 20000 for count in counts):
        return [f'children count {counts}, more than the 20000 calls they made']
    if counts.count(20000) < 3:  # locked memory, processor time and stack limits are no obstacle
        return [f'children count {counts}: 20000 were expected where the limit is harmless']
    return []


EXPECTATIONS = {
    '01': dict(expect=each_or_refused('tiny1 tiny2 tiny3 tiny4', 1000) + each_or_refused('tiny5', 1000)),
    '02': dict(expect=each_or_refused('loop0 loop2 loop3', 100)),
    '03': dict(expect=all_of('r_mov r_lea r_cmp r_tst r_sd r_jmp r_call r_inc', 1000) +
               all_of('r_avx', 1000 if 'avx' in FLAGS else 0)),
    '04': dict(expect=all_of('j_fwd j_rcx j_ecx j_loop j_short j_long j_jcc32', 200) + each_or_refused('j_in', 200)),
    '05': dict(expect=each_or_refused('c_plain c_next c_thunk c_after', 500)),
    '06': dict(expect=all_of('eb_add eb_mul', 1000) + each_or_refused('eb_bare', 1000)),
    # who_called reads its return address: timed it would see ours, so only its refusal leaves the program right
    '07': dict(expect=[calls('outer', 100), either(calls('who_called', 100), refused('who_called', 'READS_RETURN'))]),
    '09': dict(expect=all_of('sum_d mixed', 1000) + all_of('al_is', 256)),
    '10': dict(expect=all_of('ret_ii ret_dd ret_id ret_big ret_ld ret_cld ret_i128 ret_f ret_cd', 1000)),
    '11': dict(expect=all_of('v128', 1000) + all_of('v256', 1000 if 'avx' in FLAGS else 0) +
               all_of('v512', 1000 if 'avx512f' in FLAGS else 0)),
    '12': dict(expect=all_of('wide byval aligned', 1000)),
    '14': dict(expect=all_of('keepall', 1000)),
    '15': dict(expect=all_of('dot3 bump', 100000)),
    '16': dict(expect=all_of('rz5 rz_leaf rz_flags', 1000)),
    '17': dict(expect=all_of('first second third', 1000) + [either(
        every(calls('even', 2000001, recursive=2000000), calls('odd', 2000000, recursive=1999999)),
        every(calls('even', 2000001), calls('odd', 2000000)))]),
    '18': dict(expect=[calls('ping', 5010, recursive=5000), calls('pong', 5000, recursive=4990),
                       calls('fib', 21891, recursive=21890), calls('fact', 13, recursive=12),
                       once_within_wall('ping', 'pong', 'fib', 'fact')]),
    '19': dict(expect=[calls('deep', 2000002, recursive=2000000), once_within_wall('deep')]),
    '20': dict(expect=all_of('thrower middle', 1000000, abnormal=1000000) + all_of('keeper', 1000)),
    '22': dict(expect=[calls('thrower', 10000, abnormal=10000), calls('passer', 4000, abnormal=4000),
                       calls('catcher', 2000), calls('rethrower', 2000, abnormal=2000), calls('nester', 2000)]),
    '23': dict(expect=[unreturned(name, 1) for name in ('fence', 'thrower', 'on_terminate')]),
    '25': dict(expect=all_of('leaver deep_leaver sleeper', 100, abnormal=100) + all_of('cleanup', 200)),
    '26': dict(expect=all_of('level1 level2', 1, open=1) + all_of('late', 6)),
    '27': dict(expect=all_of('by_exit by_quick by_abort by_kill', 0), children=hard_exits),
    '29': dict(varies=r'ticks \d+', expect=[
        equals_printed('tick', 'ticks'), equals_printed('work', 'ticks', plus=2002000, most_recursive=2000)]),
    # the eighth coroutine is abandoned inside step, inside gen: open or abnormal, but never returned
    '30': dict(expect=[either(calls('gen', 8, abnormal=1), calls('gen', 8, open=1)),
                       either(calls('step', 750, abnormal=1), calls('step', 750, open=1))]),
    '32': dict(expect=all_of('forker nest', 20) + [between('spin', 1)], children=forked),
    '33': dict(expect=all_of('by_vfork', 30) + all_of('by_spawn', 10) + all_of('by_system by_popen', 3) + [
        either(calls('child_side', 30, abnormal=30), refused('child_side'))]),
    '35': dict(expect=all_of('host', 50) + [either(calls('plug', 500), not_found('plug'))]),
    '36': dict(expect=[one_or_four_rows]),
    '38': dict(expect=[calls('pick', 1000, aliases=('pick_other',)),
                       either(between('memcpy', 1000, aliases=MEMCPY), refused('memcpy', aliases=MEMCPY)),
                       between('strlen', 1000, aliases=STRLEN)]),
    '39': dict(expect=[between('read', 1000, 1020), between('write', 1000, 1020), between('malloc', 1000, 1100),
                       between('free', 1000, 1100), between('getpid', 1000, 1000), calls('labs', 1000),
                       either(between('time', 1000, 1000), refused('time', 'VDSO')), equals_printed('cmp', 'cmp')]),
    '40': dict(expect=[between('malloc', 80001, 80200, recursive=0), between('realloc', 80000, 80100),
                       between('free', 160000, 164000),  # an ending thread frees what its cache holds
                       between('calloc', 80000, 80100), between('posix_memalign', 8, 8)]),
    '42': dict(expect=all_of('shared', 8000000) + all_of('own0 own1 own2 own3', 2000)),
    '43': dict(expect=all_of('work', 20000) + all_of('body', 10000)),
    '45': dict(expect=all_of('work', 300)),
    '46': dict(expect=all_of('work', 2000)),
    '48': dict(expect=[one_body]),
    '50': dict(expect=all_of('line_fn page_fn', 400000)),
    '51': dict(also_time=',work', expect=[by_address(0x10000000, 500), by_address(0x10000040, 250), not_found('work')]),
    '52': dict(expect=all_of('work jumpy', 1000)),
    '54': dict(may_complain=True, expect=all_of('work', 0), children=limited),
    '56': dict(expect=all_of('percpu_add', 800000) + [either(calls('start_cs', 1000), refused('start_cs'),
                                                             calls('start_cs', 0))]),
    '58': dict(expect=all_of('main ctor dtor at_exit', 1) + all_of('body', 3)),
    '59': dict(expect=[calls('bail', 1000, abnormal=1000), calls('quit_thread', 10, abnormal=10), calls('die', 1, open=1)]),
    # second returns: `setjmp` itself is never called (the macro takes _setjmp); setcontext never returns
    '60': dict(expect=[
        either(refused('_setjmp'), calls('_setjmp', 200, abnormal=None)),
        either(refused('__sigsetjmp'), calls('__sigsetjmp', 200, abnormal=None)),
        either(refused('setjmp'), calls('setjmp', 0)), either(refused('vfork'), calls('vfork', 20)),
        either(refused('getcontext'), calls('getcontext', 200)),
        either(refused('setcontext'), unreturned('setcontext', 400)), either(refused('fork'), calls('fork', 20))]),
    '62': dict(expect=all_of('opener', 20) + [both_or_neither]),
    '66': dict(expect=[either(refused('memcpy', 'BRANCH_INSIDE', aliases=MEMCPY), between('memcpy', 2000, aliases=MEMCPY))]),
    '67': dict(expect=all_of('host', 40) + [a_row_a_file('plug', 400, 120), a_row_a_file('pin', 40, 80)]),
}

for _entry in EXPECTATIONS.values():
    for _check in _entry['expect']:
        if not hasattr(_check, 'label'):
            _check.label = _check.__doc__ or _check.__name__
