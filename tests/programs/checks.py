# SPDX-License-Identifier: MIT
"""Small programs of known counts and times, under every setting and pattern that a user can give."""
from programs import command, company, control, hostile, inside, live, patterns, process, running, settings, times


def tests(tools, full=False):
    modules = (settings, patterns, times, process, hostile, company, control, live, inside, command, running)
    suites = [module.SUITE for module in modules] + ([running.LONG] if full else [])
    return [test for suite in suites for test in suite.tests(tools)]
