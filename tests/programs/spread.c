/* SPDX-License-Identifier: MIT
 * Functions whose durations are spread in different ways, on several threads.  spread THREADS   prints "NAME CALLS" a line. */
#include "target.h"
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { CALLS = 1500, MOST = 16 };
static volatile uint64_t sink;

static void spin(unsigned turns)
{
    for (unsigned i = 0; i < turns; i++)
        sink += i;
}

REAL void tiny(void)
{
    sink++;
}

REAL void flat(unsigned i) /* all durations alike */
{
    spin(i % 1000);
}

REAL void steep(unsigned i) /* many short, few long ones */
{
    spin(i % 7 ? 10 : 20 << (i * 7919 % 12));
}

REAL void twofold(unsigned i)
{
    spin(i % 2 ? 50 : 5000);
}

REAL void mixed(unsigned i) /* some wait */
{
    spin(i % 100);
    if (i % 50 == 0) {
        struct timespec t = {0, 20000};
        nanosleep(&t, NULL);
    }
}

static void *run(void *argument)
{
    for (unsigned i = 0; i < CALLS; i++) {
        tiny();
        flat(i);
        steep(i);
        twofold(i);
        mixed(i);
    }
    return argument;
}

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 1;
    pthread_t threads[MOST];
    if (count < 1 || count > MOST)
        return 2;
    for (int i = 0; i < count; i++)
        if (pthread_create(&threads[i], NULL, run, NULL))
            return 1;
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    const char *const names[] = {"tiny", "flat", "steep", "twofold", "mixed"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        printf("%s %d\n", names[i], count * CALLS);
    return 0;
}
