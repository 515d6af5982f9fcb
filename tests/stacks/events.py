# SPDX-License-Identifier: MIT
"""gevent: producers, consumers and greenlets that end by exceptions."""
import hashlib
import json
import sys

import gevent
import gevent.queue

queue, digests = gevent.queue.Queue(5), []


def produce(count):
    for i in range(count):
        queue.put(json.dumps({'a': i, 'b': [i] * 3}))
        if i % 10 == 0:
            gevent.sleep(0)


def consume():
    for text in iter(queue.get, None):
        digests.append(hashlib.md5(text.encode()).hexdigest())
        gevent.sleep(0)


def fail(number):
    gevent.sleep(0.001)
    if number % 3 == 0:
        raise ValueError(number)
    return number


producers = [gevent.spawn(produce, 200) for _ in range(5)]
consumers = [gevent.spawn(consume) for _ in range(3)]
failing = [gevent.spawn(fail, number) for number in range(30)]
with open('/dev/null', 'w', encoding='ascii') as sys.stderr:
    gevent.joinall(failing + producers)
    for _ in consumers:
        queue.put(None)
    gevent.joinall(consumers)
print(len(digests), sorted(digests)[0], sum(1 for one in failing if one.exception))
