/* SPDX-License-Identifier: MIT
 * Eight threads in phases: in each of argv[1] phases every thread calls outer argv[2] times, which calls work; then all
 * stop at a barrier, the main thread prints "phase N" and waits for a line on stdin. With argv[3] "held" each thread stops
 * inside a call of held, three deep, and finishes it in the next phase. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "target.h"

enum { THREADS = 8 };
static pthread_barrier_t barrier;
static int phases, times, holds;

REAL int work(int n) { IMPURE; return n + 1; }
REAL int outer(int n) { IMPURE; return work(n) + 1; }
REAL int held(int depth)
{
    IMPURE;
    if (depth > 1) {
        int result = held(depth - 1) + 1;
        IMPURE; /* no loop in place of the calls */
        return result;
    }
    pthread_barrier_wait(&barrier); /* all are inside */
    pthread_barrier_wait(&barrier); /* the driver has had its turn */
    IMPURE;
    return 0;
}

static void *body(void *arg)
{
    for (int phase = 0; phase < phases; phase++) {
        errno = 77;
        for (int i = 0; i < times; i++)
            if (outer(i) != i + 2 || errno != 77)
                exit(9);
        if (holds) {
            held(3);
        } else {
            pthread_barrier_wait(&barrier);
            pthread_barrier_wait(&barrier);
        }
    }
    return arg;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    if (argc < 3)
        return 2;
    phases = atoi(argv[1]);
    times = atoi(argv[2]);
    holds = argc > 3 && !strcmp(argv[3], "held");
    pthread_barrier_init(&barrier, NULL, THREADS + 1);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, body, NULL))
            return 3;
    for (int phase = 0; phase < phases; phase++) {
        pthread_barrier_wait(&barrier);
        printf("phase %d\n", phase);
        fflush(stdout);
        if (getchar() == EOF)
            return 4;
        pthread_barrier_wait(&barrier);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    puts("end");
    return 0;
}
