/* SPDX-License-Identifier: MIT
 * Boost.Coroutine2: COROUTINES generators, resumed in a changing order; timed frames on both sides of every switch. The last
 * one is destroyed half-way, which unwinds its stack by an exception of the library's own; the one before throws to whoever
 * resumes it. Arguments: rounds. */
#include <boost/coroutine2/all.hpp>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <vector>
#include "../programs/target.h"

typedef boost::coroutines2::coroutine<long> coroutine;
enum { COROUTINES = 50 };

REAL long yield_one(coroutine::push_type &sink, long value)
{
    sink(value);
    IMPURE;
    return value;
}

REAL long thrower(long value)
{
    if (value >= 0)
        throw std::runtime_error("thrown");
    IMPURE;
    return value;
}

/* A throw and a catch within the coroutine, between two switches. */
REAL long attempt(long value)
{
    try {
        return thrower(value);
    } catch (const std::exception &) {
        return value + 1;
    }
}

REAL long produce(coroutine::push_type &sink, long rounds, bool throws)
{
    long sum = 0;
    for (long i = 0; i < rounds; i++) {
        sum += yield_one(sink, i);
        if (i % 100 == 0)
            sum += attempt(i);
    }
    if (throws)
        sum += thrower(1);
    return sum;
}

REAL long take(coroutine::pull_type &source)
{
    long value = source.get();
    source();
    IMPURE;
    return value;
}

int main(int count, char **words)
{
    long rounds = count > 1 ? atol(words[1]) : 100, sum = 0, caught = 0;
    std::vector<coroutine::pull_type *> sources;
    for (int i = 0; i < COROUTINES; i++)
        sources.push_back(new coroutine::pull_type(
            [=](coroutine::push_type &sink) { produce(sink, rounds, i == COROUTINES - 2); }));
    for (long round = 0; round < rounds; round++)
        for (int i = 0; i < COROUTINES; i++) {
            int which = (int)((i * 7 + round) % COROUTINES);
            if (which == COROUTINES - 1 && round >= rounds / 2)
                continue;
            try {
                sum += take(*sources[which]);
            } catch (const std::exception &) {
                caught++;
            }
        }
    for (coroutine::pull_type *source : sources)
        delete source;
    printf("%ld %ld\n", sum, caught);
    return 0;
}
