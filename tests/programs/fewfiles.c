/* SPDX-License-Identifier: MIT
 * Threads that begin when no descriptor is free.  fewfiles THREADS   prints "cpu NS", the CPU time of all calls of work(). */
#define _GNU_SOURCE
#include "target.h"
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { CALLS = 10, MOST = 16, TURNS = 1000000 };
static volatile uint64_t sink;
static uint64_t used_ns[MOST];

static uint64_t cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

REAL void work(uint64_t *used)
{
    uint64_t begin = cpu_ns();
    for (int i = 0; i < TURNS; i++)
        sink += (uint64_t)i;
    *used += cpu_ns() - begin;
}

static void *run(void *argument)
{
    for (int i = 0; i < CALLS; i++)
        work(argument);
    return NULL;
}

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 1;
    pthread_t threads[MOST];
    struct rlimit limit = {100, 100};
    uint64_t all = 0;
    if (count > MOST || setrlimit(RLIMIT_NOFILE, &limit))
        return 1;
    while (open("/dev/null", O_RDONLY) >= 0)
        ;
    for (int i = 0; i < count; i++)
        if (pthread_create(&threads[i], NULL, run, &used_ns[i]))
            return 1;
    for (int i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
        all += used_ns[i];
    }
    printf("cpu %lu\n", (unsigned long)all);
    return 0;
}
