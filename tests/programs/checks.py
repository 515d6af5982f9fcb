# SPDX-License-Identifier: MIT
"""Small programs of known counts and times, under every setting and pattern that a user can give."""
from programs import command, company, control, forking, hostile, inside, live, patterns, process, settings, times


def tests(tools, full=False):
    modules = (settings, patterns, times, process, forking, hostile, company, control, live, inside, command)
    return [test for module in modules for test in module.SUITE.tests(tools)] + (forking.LONG.tests(tools) if full else [])
