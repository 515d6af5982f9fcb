# SPDX-License-Identifier: MIT
"""Greenlets that switch within Python code called from C (a sort's key), in a changing order: their stacks are copied away and
back to the same addresses. Arguments: greenlets, rounds."""
import sys

import greenlet

COUNT, ROUNDS = int(sys.argv[1]), int(sys.argv[2])


def turn(number):
    total = 0
    for i in range(ROUNDS):
        key = lambda value, i=i: (main.switch(i) if value == i and i % 3 == 0 else value) or value
        total += sorted([number, i, total % 7], key=key)[1]
        main.switch(total)
    return total


main = greenlet.getcurrent()
greenlets = [greenlet.greenlet(turn) for _ in range(COUNT)]
alive, state, result = list(range(COUNT)), 12345, 0
while alive:
    state = (state * 1103515245 + 12345) & 0x7fffffff
    which = alive[state % len(alive)]
    result += greenlets[which].switch(which) or 0
    if greenlets[which].dead:
        alive.remove(which)
print(result)
