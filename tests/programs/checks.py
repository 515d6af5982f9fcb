# SPDX-License-Identifier: MIT
"""Small programs of known counts and times, under every setting and pattern that a user can give."""
from programs import command, company, control, hostile, patterns, process, settings, times


def tests(tools):
    return [test for module in (settings, patterns, times, process, hostile, company, control, command) for test in module.SUITE.tests(tools)]
