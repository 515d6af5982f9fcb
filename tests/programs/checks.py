# SPDX-License-Identifier: MIT
"""Small programs of known counts and times, under every setting and pattern that a user can give."""
from programs import (clocks, command, company, control, counted, forking, hostile, inside, killed, live, manual, noise, patterns, place, process,
                      processes, promises, running, settings, threads, times, walkers)


def tests(tools, full=False):
    modules = (settings, patterns, times, process, forking, hostile, company, control, live, inside, command, clocks, running,
               processes, threads, killed, place, manual, noise, promises, walkers,
               counted)
    suites = [module.SUITE for module in modules]
    if full:
        suites += [module.LONG for module in modules if hasattr(module, 'LONG')]
    return [test for suite in suites for test in suite.tests(tools)]
