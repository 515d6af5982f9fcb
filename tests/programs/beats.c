/* SPDX-License-Identifier: MIT
 * Calls beat(), which sleeps for a millisecond, for so many milliseconds; then ends, or is killed.
 *   beats MILLISECONDS [kill] */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "clock.h"
#include "target.h"

REAL int beat(int n)
{
    IMPURE;
    usleep(1000);
    return n + 1;
}

int main(int argc, char **argv)
{
    long long end = clock_ns(CLOCK_MONOTONIC) + atoll(argv[1]) * 1000000;
    int beats = 0;
    while (clock_ns(CLOCK_MONOTONIC) < end)
        beats = beat(beats);
    if (argc > 2)
        raise(SIGKILL);
    printf("%d beats\n", beats);
    return 0;
}
