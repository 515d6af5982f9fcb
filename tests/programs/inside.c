/* SPDX-License-Identifier: MIT
 * Uses wtmtime.h and tells what came of it, a line a step. Compiled as C and as C++, linked in several ways, run with and
 * without the library. With an argument a second thread runs meanwhile. */
#include "preload/wtmtime.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "target.h"

#ifdef __cplusplus
#define PLAIN extern "C"
#else
#define PLAIN
#endif

PLAIN REAL int alpha(int n);
PLAIN REAL int alphabet(int n);
PLAIN REAL int beta(int n);
PLAIN REAL int alpha(int n) { IMPURE; return n + 1; }
PLAIN REAL int alphabet(int n) { IMPURE; return n + 2; }
PLAIN REAL int beta(int n) { IMPURE; return n + 3; }

static volatile int stop;
static void *other(void *arg)
{
    while (!stop)
        usleep(1000);
    return arg;
}

static void calls(int times)
{
    for (int i = 0; i < times; i++)
        if (alpha(i) + alphabet(i) + beta(i) != 3 * i + 6)
            exit(9);
}

static void tell(const char *step, int result)
{
    const char *why = wtmtime_why(result);
    printf("%s %d%s%s\n", step, result > WTMTIME_REFUSED ? result : -9999, why ? " " : "", why ? why : "");
}

static void count(const char *name)
{
    struct wtmtime_function f;
    int result = wtmtime_get(name, &f);
    if (result)
        tell(name, result);
    else
        /* A call can come out below zero by noise, and then the self time of its caller is more than the total. */
        printf("%s %d calls %d open %d timed %d sane\n", name, (int)f.calls, (int)f.open, (int)f.realtime.calls,
               f.realtime.total_ns == f.realtime.total_ns && f.realtime.min_ns <= f.realtime.max_ns && f.self_ns <= f.realtime.total_ns + 100.0 * (double)f.calls);
}

static int each(const struct wtmtime_function *function, void *context)
{
    alpha(1); /* a callback's own calls count */
    return strcmp(function->name, "alphabet") ? 0 : ++*(int *)context;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    int seen = 41;
    if (argc > 1 && pthread_create(&thread, NULL, other, NULL))
        return 2;
    printf("present %d\n", wtmtime_present());
    calls(5);
    tell("time alpha*", wtmtime_time("main:alpha*"));
    calls(10);
    tell("time alpha", wtmtime_time("main:alpha"));
    tell("time nothing", wtmtime_time("no_such_function"));
    tell("time vfork", wtmtime_time("vfork"));
    tell("time beta", wtmtime_time_address((const void *)beta, "the handle"));
    tell("time data", wtmtime_time_address(&seen, "data"));
    calls(10);
    count("alpha");
    count("the handle");
    tell("untime", wtmtime_untime("alphabet"));
    tell("untime again", wtmtime_untime("alphabet"));
    calls(10);
    count("alphabet");
    tell("walk", wtmtime_walk(each, &seen));
    tell("time again", wtmtime_time("alphabet"));
    tell("disarm", wtmtime_disarm());
    calls(10);
    tell("arm", wtmtime_arm());
    calls(10);
    count("alphabet");
    tell("reset", wtmtime_reset());
    calls(7);
    count("alpha");
    tell("untime pointer", wtmtime_untime_address((const void *)beta));
    tell("dump", wtmtime_dump());
    tell("untime all", wtmtime_untime_all());
    calls(10);
    count("alphabet");
    if (argc > 1) {
        stop = 1;
        pthread_join(thread, NULL);
    }
    return 0;
}
