/* SPDX-License-Identifier: MIT
 * Eight threads that run through the same functions all the time, while what is timed changes. Each thread counts its calls
 * of each function itself; the functions give wrong results when anything goes wrong in them.
 *
 * Lines on stdin: "pause" stops all threads outside the functions and prints the sums of calls per function, "go" lets them
 * run on, "time F" / "untime F" / "reset" do that from inside, "rounds N" does N rounds of time and untime of two functions
 * while the threads run, "end" ends. With argv[1] "blocked", the threads block SIGTRAP. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "target.h"
#include "preload/wtmtime.h"

enum { THREADS = 8, FUNCTIONS = 5 };
typedef long function(long);

REAL long usual(long n) { IMPURE; return n + 1; }
REAL long saves(long n)
{
    long a = n, b = n + 1, c = n + 2, d = n + 3;
    __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d) : : "rbx", "r12", "r13", "r14", "r15", "memory");
    return a + 1 + (d - c) - (b - a);
}
REAL long calls(long n) { long m = usual(n); IMPURE; return m; }
REAL long branches(long n) { IMPURE; if (n & 1) { IMPURE; return n + 1; } IMPURE; return n + 1; }
REAL long floats(long n) { double x = (double)(n & 0xffff); IMPURE; return n + 1 + (x < 0); }

static function *const functions[FUNCTIONS] = {usual, saves, calls, branches, floats};
static const char *const names[FUNCTIONS] = {"usual", "saves", "calls", "branches", "floats"};
static long counts[THREADS][FUNCTIONS];
static pthread_barrier_t barrier;
static int stop, end, blocked;

static void *body(void *argument)
{
    long *mine = counts[(long)argument];
    if (blocked) {
        sigset_t trap;
        sigemptyset(&trap);
        sigaddset(&trap, SIGTRAP);
        pthread_sigmask(SIG_BLOCK, &trap, NULL);
    }
    for (long n = 0;; n++) {
        if (__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
            pthread_barrier_wait(&barrier);
            pthread_barrier_wait(&barrier);
            if (end)
                return NULL;
        }
        for (int f = 0; f < FUNCTIONS; f++) {
            if (functions[f](n) != n + 1) {
                fprintf(stderr, "%s(%ld) is wrong\n", names[f], n);
                exit(9);
            }
            mine[f]++;
        }
        mine[0]++; /* by calls() */
    }
}

static void stop_all(void)
{
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    pthread_barrier_wait(&barrier);
}

static void go_on(void)
{
    __atomic_store_n(&stop, 0, __ATOMIC_RELEASE);
    pthread_barrier_wait(&barrier);
}

static void print_sums(void)
{
    for (int f = 0; f < FUNCTIONS; f++) {
        long sum = 0;
        for (int t = 0; t < THREADS; t++)
            sum += counts[t][f];
        printf("%s=%ld%c", names[f], sum, f + 1 < FUNCTIONS ? ' ' : '\n');
    }
}

static void rounds(long count)
{
    long bad = 0;
    for (long i = 0; i < count; i++) {
        const char *name = names[i & 1];
        bad += wtmtime_time(name) != 1;
        bad += wtmtime_untime(name) != 1;
    }
    printf("%ld rounds, %ld bad\n", count, bad);
}

int main(int argc, char **argv)
{
    char line[256];
    pthread_t threads[THREADS];
    blocked = argc > 1 && !strcmp(argv[1], "blocked");
    pthread_barrier_init(&barrier, NULL, THREADS + 1);
    for (long t = 0; t < THREADS; t++)
        pthread_create(&threads[t], NULL, body, (void *)t);
    setlinebuf(stdout);
    puts("running");
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = 0;
        if (!strcmp(line, "pause")) {
            stop_all();
            print_sums();
        } else if (!strcmp(line, "go")) {
            go_on();
            puts("gone on");
        } else if (!strncmp(line, "time ", 5)) {
            int result = wtmtime_time(line + 5);
            printf("%d %s\n", result, result < 0 ? wtmtime_why(result) : "");
        } else if (!strncmp(line, "untime ", 7)) {
            printf("%d\n", wtmtime_untime(line + 7));
        } else if (!strcmp(line, "reset")) {
            printf("%d\n", wtmtime_reset());
        } else if (!strncmp(line, "rounds ", 7)) {
            rounds(atol(line + 7));
        } else {
            break;
        }
    }
    end = 1; /* they are paused */
    go_on();
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    puts("end");
    return 0;
}
