# SPDX-License-Identifier: MIT
"""Ordinary Python work: parsing, sorting, exceptions, generators, threads. Prints a line that must not change."""
import json
import re
import threading


def numbers(limit):
    for number in range(limit):
        try:
            if number % 7 == 0:
                raise ValueError(number)
            yield int(str(number))
        except ValueError:
            continue


data = list(numbers(200))
text = json.dumps({'k%d' % n: [n, str(n)] for n in range(100)}, sort_keys=True)
assert json.loads(text)['k7'] == [7, '7']
sums = [0] * 4


def add(which):
    sums[which] = sum(n * which for n in numbers(500))


threads = [threading.Thread(target=add, args=(n,)) for n in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(text), sum(data), sums, sorted(re.findall(r'k\d', text))[-1])
