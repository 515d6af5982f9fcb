/* SPDX-License-Identifier: MIT
 * Eight threads call outer -> work without a pause until a line comes on stdin; each counts its calls since the start, and
 * a timer's handler calls ticked. Prints the sum of calls of outer. With argv[1] it also sets a handler of its own
 * for that signal first, and in the end prints how often it came. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include "target.h"

enum { THREADS = 8 };
static volatile int stop;
static volatile int came;
static long calls[THREADS][16];

REAL int work(int n) { IMPURE; return n + 1; }
REAL int outer(int n) { IMPURE; return work(n) + 1; }

REAL int ticked(int n) { IMPURE; return n + 2; }

static void tick(int number) { ticked(number); }
static void own(int number) { came++; }

static void *body(void *arg)
{
    long *count = arg;
    while (!stop) {
        if (outer(5) != 7)
            exit(9);
        ++*count;
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    struct itimerval every = {{0, 1000}, {0, 1000}};
    long sum = 0;
    if (argc > 1)
        signal(atoi(argv[1]), own);
    signal(SIGALRM, tick);
    setitimer(ITIMER_REAL, &every, NULL);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, body, calls[i]))
            return 3;
    puts("here");
    fflush(stdout);
    if (getchar() == EOF)
        return 5;
    stop = 1;
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        sum += calls[i][0];
    }
    printf("%ld %d\n", sum, came);
    return 0;
}
