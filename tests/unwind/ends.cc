/* SPDX-License-Identifier: MIT
 * Calls that never return, over and over: `ends HOW ROUNDS` with HOW one of throw, jump, exit (pthread_exit), cancel (at a
 * cancellation point), async (at any instruction), uncaught (an exception that ends at the thread's start routine's own
 * handler), sigjump (siglongjmp out of a signal handler). The second half must need no more memory than the first. Prints the
 * number of rounds, and by how many pages the second half grew. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "../programs/target.h"

static volatile long inner_calls; /* by one thread at a time */
static volatile int running;
static jmp_buf back;
static sigjmp_buf signal_back;

struct guard {
    int *count;
    ~guard() { ++*count; }
};
static int guards;

REAL long inner(long value) { IMPURE; return value + 1; }

REAL long thrower(long value)
{
    guard local = {&guards};
    if (inner(value) != value)
        throw value;
    return value;
}

REAL long jumper(long value)
{
    if (inner(value) != value)
        longjmp(back, 1);
    return value;
}

REAL void leaver(void)
{
    guard local = {&guards};
    inner(1);
    pthread_exit(nullptr);
}

REAL void waiter(void)
{
    guard local = {&guards};
    inner(1);
    for (;;)
        pause();
}

/* Entries and exits of `inner` are where it is cancelled, most of the time. */
REAL void spinner(void)
{
    running = 1;
    for (long value = 0;;) {
        value = inner(value);
        inner_calls = inner_calls + 1;
    }
}

REAL void outer(void (*what)(void))
{
    guard local = {&guards};
    what();
    IMPURE;
}

REAL long middle(long (*what)(long), long value)
{
    guard local = {&guards};
    long result = what(value);
    IMPURE;
    return result;
}

static void *thread(void *what)
{
    if (what == (void *)spinner)
        pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, nullptr);
    outer((void (*)(void))what);
    return nullptr;
}

static void *catching(void *argument)
{
    try {
        middle(thrower, 1);
    } catch (long) {
        return argument;
    }
    return nullptr;
}

static void run_thread(void *(*start)(void *), void *argument, int cancel)
{
    pthread_t id;
    running = 0;
    if (pthread_create(&id, nullptr, start, argument))
        abort();
    while (cancel && argument == (void *)spinner && !running)
        ;
    if (cancel)
        pthread_cancel(id);
    pthread_join(id, nullptr);
}

static void jump_out(int) { siglongjmp(signal_back, 1); }

REAL void raiser(void)
{
    inner(1);
    raise(SIGUSR1);
}

static void once(const char *how)
{
    if (!strcmp(how, "throw")) {
        try {
            middle(thrower, 1);
        } catch (long) {
        }
    } else if (!strcmp(how, "jump")) {
        if (!setjmp(back))
            middle(jumper, 1);
    } else if (!strcmp(how, "sigjump")) {
        if (!sigsetjmp(signal_back, 1))
            outer(raiser);
    } else if (!strcmp(how, "exit")) {
        run_thread(thread, (void *)leaver, 0);
    } else if (!strcmp(how, "cancel")) {
        run_thread(thread, (void *)waiter, 1);
    } else if (!strcmp(how, "async")) {
        run_thread(thread, (void *)spinner, 1);
    } else if (!strcmp(how, "uncaught")) {
        run_thread(catching, nullptr, 0);
    } else {
        exit(2);
    }
}

static long resident_pages()
{
    long size = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld %ld", &size, &resident) != 2)
        abort();
    fclose(file);
    return resident;
}

int main(int, char **words)
{
    long rounds = atol(words[2]), half = 0;
    signal(SIGUSR1, jump_out);
    for (long i = 0; i < rounds; i++) {
        if (i == rounds / 2)
            half = resident_pages();
        once(words[1]);
    }
    fprintf(stderr, "grown %ld\ninner %ld\n", resident_pages() - half, inner_calls);
    printf("rounds %ld guards %s\n", rounds, guards ? "ran" : "none");
    return 0;
}
