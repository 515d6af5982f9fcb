/* SPDX-License-Identifier: MIT
 * Functions that compute, sleep, block on a mutex, read a pipe and get preempted, on several threads. Each measures its own CPU
 * time by the kernel's clock, from its first to its last line; what a pair of readings costs is measured as well, since half
 * of each reading lies inside and the timed function holds all of both.
 *   cpukinds THREADS ROUNDS   prints "NAME CALLS CPU_NS" a line, "reading NS" first */
#define _GNU_SOURCE
#include "target.h"
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { COMPUTE, SLEEP, LOCK, PIPE, PREEMPTED, BRIEF, KINDS, MOST_THREADS = 16 };
static const char *const names[] = {"compute", "nap", "block", "drain", "preempted", "brief"};

struct totals {
    uint64_t calls, ns;
};
struct worker {
    pthread_t thread;
    int rounds, pipe[2];
    struct totals totals[KINDS];
};
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile uint64_t sink;

static uint64_t cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void count(struct totals *totals, uint64_t begin)
{
    totals->ns += cpu_ns() - begin;
    totals->calls++;
}

static void work(int turns)
{
    for (int i = 0; i < turns; i++)
        sink += (uint64_t)i;
}

REAL void compute(struct totals *totals)
{
    uint64_t begin = cpu_ns();
    work(150000);
    count(totals, begin);
}

REAL void nap(struct totals *totals)
{
    uint64_t begin = cpu_ns();
    struct timespec t = {0, 300000};
    nanosleep(&t, NULL);
    count(totals, begin);
}

REAL void block(struct totals *totals)
{
    uint64_t begin = cpu_ns();
    pthread_mutex_lock(&mutex);
    struct timespec t = {0, 100000};
    nanosleep(&t, NULL); /* so that the others do block */
    work(5000);
    pthread_mutex_unlock(&mutex);
    count(totals, begin);
}

REAL void drain(struct totals *totals, int fd)
{
    uint64_t begin = cpu_ns();
    char byte;
    for (int i = 0; i < 5; i++)
        if (read(fd, &byte, 1) != 1)
            abort();
    count(totals, begin);
}

/* Longer than a time slice, on one processor with all the others. */
REAL void preempted(struct totals *totals)
{
    uint64_t begin = cpu_ns();
    work(4000000);
    count(totals, begin);
}

REAL void brief(struct totals *totals)
{
    uint64_t begin = cpu_ns();
    work(10);
    count(totals, begin);
}

static void *feed(void *argument)
{
    struct worker *worker = argument;
    for (int i = 0; i < worker->rounds * 5; i++) {
        struct timespec t = {0, 50000};
        nanosleep(&t, NULL);
        if (write(worker->pipe[1], "x", 1) != 1)
            abort();
    }
    return NULL;
}

static void *run(void *argument)
{
    struct worker *worker = argument;
    struct totals *totals = worker->totals;
    pthread_t feeder;
    if (pipe(worker->pipe) || pthread_create(&feeder, NULL, feed, worker))
        abort();
    for (int i = 0; i < worker->rounds; i++) {
        compute(&totals[COMPUTE]);
        nap(&totals[SLEEP]);
        block(&totals[LOCK]);
        drain(&totals[PIPE], worker->pipe[0]);
        for (int j = 0; j < 20; j++)
            brief(&totals[BRIEF]);
        if (i % 10 == 0)
            preempted(&totals[PREEMPTED]);
    }
    pthread_join(feeder, NULL);
    close(worker->pipe[0]);
    close(worker->pipe[1]);
    return NULL;
}

int main(int argc, char **argv)
{
    static struct worker workers[MOST_THREADS];
    int threads = argc > 1 ? atoi(argv[1]) : 1, rounds = argc > 2 ? atoi(argv[2]) : 50;
    cpu_set_t one;
    if (threads < 1 || threads > MOST_THREADS)
        return 2;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < 1000; i++) {
        uint64_t begin = cpu_ns(), took = cpu_ns() - begin;
        least = took < least ? took : least;
    }
    printf("reading %lu\n", (unsigned long)least);
    for (int i = 0; i < threads; i++) {
        workers[i].rounds = rounds;
        if (pthread_create(&workers[i].thread, NULL, run, &workers[i]))
            return 1;
    }
    for (int i = 0; i < threads; i++)
        pthread_join(workers[i].thread, NULL);
    for (int kind = 0; kind < KINDS; kind++) {
        struct totals all = {0, 0};
        for (int i = 0; i < threads; i++) {
            all.calls += workers[i].totals[kind].calls;
            all.ns += workers[i].totals[kind].ns;
        }
        printf("%s %lu %lu\n", names[kind], (unsigned long)all.calls, (unsigned long)all.ns);
    }
    return 0;
}
