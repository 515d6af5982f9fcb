/* SPDX-License-Identifier: MIT
 * Two threads for each processor call a very short function: they are preempted everywhere, also between the library's own
 * readings. */
#include "target.h"
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { MOST = 64, CALLS = 1000003 };

REAL int brief(int x)
{
    return x + 1;
}

static void *work(void *argument)
{
    volatile int sum = 0;
    for (int i = 0; i < CALLS; i++)
        sum += brief(i);
    return argument;
}

int main(void)
{
    pthread_t threads[MOST];
    long count = sysconf(_SC_NPROCESSORS_ONLN) * 2;
    count = count > MOST ? MOST : count;
    for (long i = 0; i < count; i++)
        if (pthread_create(&threads[i], NULL, work, NULL))
            return 1;
    for (long i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    printf("calls %ld\n", count * CALLS);
    return 0;
}
