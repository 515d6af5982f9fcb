# SPDX-License-Identifier: MIT
"""Rules of the house that a machine can check: on the sources, and on the library as it was built."""
from lint import library, sources


def tests(tools):
    return [(f'lint: {title}', lambda f=function: f(tools)) for title, function in sources.CHECKS + library.CHECKS]
