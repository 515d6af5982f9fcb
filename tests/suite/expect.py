# SPDX-License-Identifier: MIT
"""Words for what a report must say. Each gives a check: check(report, run) -> list of problems, empty when it holds."""


def _label(check, text):
    check.label = text
    return check


def calls(name, number, recursive=0, abnormal=0, open=0, aliases=()):
    """Exact counts of a function, summed over all bodies of that name."""
    wanted = dict(calls=number, recursive=recursive, abnormal=abnormal, open=open)

    def check(report, run):
        if not report.rows(name, *aliases):
            return [f'{name}: no row; the report has {report.brief()}']
        seen = {field: report.sum(field, name, *aliases) for field in wanted}
        return [f'{name}: {field}={seen[field]}, expected {value}'
                for field, value in wanted.items() if value is not None and seen[field] != value]
    return _label(check, f'{name} calls={number}')


def between(name, least, most=None, recursive=None, aliases=()):
    """At least so many calls, and not more than `most`."""
    def check(report, run):
        if not report.rows(name, *aliases):
            return [f'{name}: no row; the report has {report.brief()}']
        seen, problems = report.sum('calls', name, *aliases), []
        if seen < least or (most is not None and seen > most):
            problems.append(f"{name}: calls={seen}, expected {least} to {'any' if most is None else most}")
        if recursive is not None and report.sum('recursive', name, *aliases) != recursive:
            problems.append(f"{name}: recursive={report.sum('recursive', name, *aliases)}, expected {recursive}")
        return problems
    return _label(check, f'{name} calls>={least}')


def unreturned(name, number):
    """Entered so often and never returned: left abnormally or still open, as the case may be."""
    def check(report, run):
        problems = calls(name, number, abnormal=None, open=None)(report, run)
        if not problems and report.sum('abnormal', name) + report.sum('open', name) != number:
            problems.append(f'{name}: some of its {number} calls are told to have returned: {report.brief()}')
        return problems
    return _label(check, f'{name} unreturned={number}')


def refused(name, *reasons, aliases=()):
    """Refused by name, with one of these reasons (any when none is given), and not timed as well."""
    def check(report, run):
        rows = report.refusals(name, *aliases)
        if not rows:
            return [f'{name}: not refused; the report has {report.brief()}']
        if reasons and not any(row['reason'] in reasons for row in rows):
            return [f"{name}: refused as {rows[0]['reason']}, expected {' or '.join(reasons)}"]
        if not all(row['reason'] for row in rows):
            return [f'{name}: refused without a reason']
        if any(row['calls'] for row in report.rows(name)):
            return [f'{name}: refused and yet counted']
        return []
    return _label(check, f'{name} refused')


def not_found(pattern):
    def check(report, run):
        if any(row['pattern'] == pattern for row in report.not_found):
            return []
        return [f'{pattern}: not told as not found; the report has {report.brief()}']
    return _label(check, f'{pattern} not found')


def every(*checks):
    def check(report, run):
        return [problem for one in checks for problem in one(report, run)]
    return _label(check, ', '.join(one.label for one in checks))


def either(*checks):
    """One of the alternatives holds completely. Which one is noted in the run."""
    def check(report, run):
        problems = []
        for one in checks:
            found = one(report, run)
            if not found:
                run.notes.append(one.label)
                return []
            problems += found
        return ['none of the allowed outcomes holds: ' + ' | '.join(problems)]
    return _label(check, ' or '.join(one.label for one in checks))


def sane(report, run):
    """Holds for every report: counts add up, times are ordered, nothing is missing."""
    problems = []
    for key in ('process', 'clock', 'cpu', 'cost', 'functions', 'refused', 'not_found'):
        if key not in report.data:
            problems.append(f'the report has no {key}')
    wall = report.data['process']['wall_ns']
    for row in report.functions:
        name = row['name']
        if row['recursive'] + row['abnormal'] + row['open'] > row['calls']:
            problems.append(f'{name}: recursive + abnormal + open exceed calls')
        if any(row[field] < 0 for field in ('calls', 'recursive', 'abnormal', 'open')):
            problems.append(f'{name}: a count below zero')
        times = row['realtime']
        if times['total_ns'] is None:  # no call of it has ended
            if row['calls'] > row['recursive'] + row['abnormal'] + row['open'] + row.get('late', 0):
                problems.append(f'{name}: calls have ended, yet there are no times')
            continue
        order = [times[field] for field in ('min_ns', 'p50_ns', 'p90_ns', 'p99_ns', 'p999_ns', 'max_ns')]
        slack = [abs(value) * 0.04 + 50 for value in order]  # a bucket is 1/32 wide; small values are noise
        if any(low > high + gap for low, high, gap in zip(order, order[1:], slack)):
            problems.append(f'{name}: min, percentiles and max are not in order: {order}')
        if times['max_ns'] > wall * 1.02 + 1e6:
            problems.append(f"{name}: one call of {times['max_ns']} ns in a process of {wall} ns")
    return problems
