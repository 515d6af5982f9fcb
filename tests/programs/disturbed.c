/* SPDX-License-Identifier: MIT
 * Calls that are disturbed in known ways: page faults, waits, a signal handler, a collector inside a collector.
 * Prints what it measured itself by CLOCK_MONOTONIC, "NAME NS" a line. */
#include "target.h"
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { PAGES = 500, WAITS = 20, COLLECTIONS = 30, MS = 1000000 };
static volatile uint64_t sink;
static volatile sig_atomic_t handled;
static uint64_t collected_ns, handled_ns, mutated_ns, interrupted_ns;

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void spin(uint64_t ns)
{
    for (uint64_t begin = now_ns(); now_ns() - begin < ns;)
        sink++;
}

REAL void touch(char *memory)
{
    for (int i = 0; i < PAGES; i++)
        memory[i * 4096] = 1;
}

REAL void rest(void)
{
    for (int i = 0; i < WAITS; i++) {
        struct timespec t = {0, 100000};
        nanosleep(&t, NULL);
    }
}

REAL void sweep(void) /* part of a collection; WTM_SUBTRACT may name it as well */
{
    spin(MS / 10);
    struct timespec t = {0, MS / 10}; /* collectors wait, too */
    nanosleep(&t, NULL);
}

REAL void collect(void)
{
    uint64_t begin = now_ns();
    spin(MS / 10);
    sweep();
    collected_ns += now_ns() - begin;
}

REAL void step(int i)
{
    spin(MS / 10);
    if (i % 2)
        collect();
}

REAL void mutate(void)
{
    uint64_t begin = now_ns();
    for (int i = 0; i < COLLECTIONS * 2; i++)
        step(i);
    mutated_ns += now_ns() - begin;
}

REAL void on_alarm(int number)
{
    uint64_t begin = now_ns();
    spin(MS);
    handled_ns += now_ns() - begin;
    handled++;
}

REAL void interrupted(void)
{
    uint64_t begin = now_ns();
    while (handled < 10)
        sink++;
    interrupted_ns += now_ns() - begin;
}

int main(void)
{
    char *memory = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct sigaction action, old;
    struct itimerval timer = {{0, 5000}, {0, 5000}}, none = {{0, 0}, {0, 0}};
    if (memory == MAP_FAILED || madvise(memory, PAGES * 4096, MADV_NOHUGEPAGE))
        return 1;
    touch(memory);
    touch(memory);
    rest();
    mutate();
    printf("mutate %lu\n", (unsigned long)mutated_ns);
    printf("collect %lu\n", (unsigned long)collected_ns);
    memset(&action, 0, sizeof action);
    action.sa_handler = on_alarm;
    action.sa_flags = SA_RESTART;
    if (sigaction(SIGALRM, &action, NULL) || sigaction(SIGALRM, NULL, &old) || old.sa_handler != on_alarm)
        return 2; /* whoever looks sees the program's own handler */
    setitimer(ITIMER_REAL, &timer, NULL);
    interrupted();
    setitimer(ITIMER_REAL, &none, NULL);
    printf("interrupted %lu\n", (unsigned long)interrupted_ns);
    printf("handled %lu\ncount %d\n", (unsigned long)handled_ns, (int)handled);
    return 0;
}
