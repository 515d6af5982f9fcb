/* SPDX-License-Identifier: MIT
 * Times that are known: outer sleeps 20 ms itself and 30 ms in inner; worker works 40 ms; descend(5) sleeps 10 ms at the
 * bottom of six levels; left and right call shared. Prints how long each took by the program's own clock. */
#include <stdio.h>
#include "clock.h"
#include "target.h"

REAL void inner(void) { IMPURE; sleep_ms(30); }
REAL void outer(void) { sleep_ms(20); inner(); IMPURE; }
REAL void worker(void) { IMPURE; work_ms(40); }
REAL int descend(int n) { int r = n ? descend(n - 1) : (sleep_ms(10), 0); IMPURE; return r + 1; }
REAL int shared(int n) { IMPURE; return n; }
REAL int left(void) { int s = 0; for (int i = 0; i < 7; i++) s += shared(i); IMPURE; return s; }
REAL int right(void) { int s = 0; for (int i = 0; i < 5; i++) s += shared(i); IMPURE; return s; }

int main(void)
{
    long long start = clock_ns(CLOCK_MONOTONIC);
    outer();
    printf("outer %lld\n", clock_ns(CLOCK_MONOTONIC) - start);
    start = clock_ns(CLOCK_MONOTONIC);
    worker();
    printf("worker %lld\n", clock_ns(CLOCK_MONOTONIC) - start);
    start = clock_ns(CLOCK_MONOTONIC);
    int levels = descend(5);
    printf("descend %lld\n", clock_ns(CLOCK_MONOTONIC) - start);
    int sum = 0;
    for (int i = 0; i < 10; i++)
        sum += left() + right();
    printf("levels %d sum %d\n", levels, sum);
    return 0;
}
