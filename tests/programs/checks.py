# SPDX-License-Identifier: MIT
"""Small programs of known counts and times, under every setting and pattern that a user can give."""
from programs import (command, company, control, hostile, inside, killed, live, manual, patterns, place, process, processes,
                      settings, threads, times)


def tests(tools):
    modules = (settings, patterns, times, process, hostile, company, control, live, inside, command, processes,
               threads, killed, place, manual)
    return [test for module in modules for test in module.SUITE.tests(tools)]
