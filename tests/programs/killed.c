/* SPDX-License-Identifier: MIT
 * killed FILE THREADS HOW: threads t0, t1, ... call work without end; each keeps two counts in FILE, shared memory: calls begun
 * and calls done. A further thread starts short ones that do the same (counted together). HOW: wait (to be killed), or after a
 * line on stdin: segv, exit (_exit), abort. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "target.h"

struct counts {
    _Alignas(64) volatile uint64_t begun;
    volatile uint64_t done;
};
static struct counts *counts;

REAL int inner(int n) { IMPURE; return n + 1; }
REAL int work(int n) { IMPURE; return n & 3 ? n + 1 : inner(n); }

static void call(struct counts *mine, int n)
{
    mine->begun = mine->begun + 1;
    work(n);
    mine->done = mine->done + 1;
}

static void *lasting(void *argument)
{
    char name[16];
    snprintf(name, sizeof name, "t%d", (int)(intptr_t)argument);
    pthread_setname_np(pthread_self(), name);
    for (int n = 0;; n++)
        call(&counts[(intptr_t)argument], n);
    return NULL;
}

static void *shortly(void *argument)
{
    pthread_setname_np(pthread_self(), "short");
    for (int n = 0; n < 50; n++)
        call(argument, n);
    return NULL;
}

static void *starter(void *argument)
{
    for (;;) {
        pthread_t thread;
        if (!pthread_create(&thread, NULL, shortly, argument))
            pthread_join(thread, NULL);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int fd = argc > 3 ? open(argv[1], O_RDWR | O_CREAT, 0600) : -1;
    long threads = argc > 3 ? atol(argv[2]) : 0;
    pthread_t thread;
    if (fd < 0 || ftruncate(fd, 4096))
        return 2;
    counts = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    for (long i = 0; i < threads; i++)
        if (pthread_create(&thread, NULL, lasting, (void *)i))
            return 3;
    if (pthread_create(&thread, NULL, starter, &counts[threads]))
        return 4;
    puts("running");
    fflush(stdout);
    if (getchar() == EOF)
        pause();
    if (!strcmp(argv[3], "segv"))
        *(volatile int *)strtoul("8", NULL, 10) = 1;
    if (!strcmp(argv[3], "abort"))
        abort();
    _exit(5);
}
