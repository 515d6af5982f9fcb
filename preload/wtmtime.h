/* SPDX-License-Identifier: MIT
 * wtmtime.h: timing from inside the program that is timed.
 *
 * Nothing needs to be linked. When the program runs under libwtmtime.so (LD_PRELOAD, or wtm run), these calls reach the
 * library; when it does not, each is a no-op that gives -ENOSYS (or NULL). C99, C++11; gcc and clang; x86-64 Linux, elsewhere
 * all are no-ops.
 *
 * Results: 0 or a count, a negative errno, or below WTMTIME_REFUSED: the function cannot be timed; wtmtime_why() tells why
 * in words. -ENODEV: the library is here and nothing is timed yet (no WTM_TIME, no wtmtime_time() so far).
 *
 * Any thread may call them, but not from a signal handler, and not from a callback of wtmtime_walk(). */
#ifndef WTMTIME_H
#define WTMTIME_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WTMTIME_REFUSED (-4096)

/* ns; meaningless while calls is 0. */
struct wtmtime_times {
    uint64_t calls; /* closed calls, that these are of */
    double total_ns, mean_ns, min_ns, max_ns, deviation_ns, p50_ns, p90_ns, p99_ns, p999_ns;
};

struct wtmtime_function {
    const char *name, *module; /* in wtmtime_walk(), until the callback returns; NULL in wtmtime_get() */
    const void *address;
    uint64_t calls;     /* entries, recursive ones included */
    uint64_t recursive; /* entries while an earlier call of the function was open on the same stack */
    uint64_t abnormal;  /* left by longjmp, exception or the end of a thread */
    uint64_t open;      /* still running */
    double self_ns;     /* realtime less that of timed functions called */
    struct wtmtime_times realtime, runtime; /* runtime.calls 0: no source of CPU time */
};

/* Non-zero ends the walk and is what it gives. */
typedef int wtmtime_callback(const struct wtmtime_function *function, void *context);

/* A weak symbol by way of the global offset table: so it may be missing in programs of every kind (static, fixed address). */
#if defined(__x86_64__) && defined(__LP64__) && defined(__linux__)
#define WTMTIME_FIND_(name, result, parameters)                                                              \
    static __inline__ result(*wtmtime_find_##name(void)) parameters                                          \
    {                                                                                                        \
        result(*found) parameters;                                                                           \
        __asm__(".weak wtmtime_1_" #name "\n\tmovq wtmtime_1_" #name "@GOTPCREL(%%rip), %0" : "=r"(found));   \
        return found;                                                                                        \
    }
#else
#define WTMTIME_FIND_(name, result, parameters)                                                              \
    static __inline__ result(*wtmtime_find_##name(void)) parameters                                          \
    {                                                                                                        \
        return NULL;                                                                                         \
    }
#endif

WTMTIME_FIND_(time, int, (const char *))
WTMTIME_FIND_(time_address, int, (const void *, const char *))
WTMTIME_FIND_(untime, int, (const char *))
WTMTIME_FIND_(untime_address, int, (const void *))
WTMTIME_FIND_(untime_all, int, (void))
WTMTIME_FIND_(control, int, (int))
WTMTIME_FIND_(get, int, (const char *, const void *, struct wtmtime_function *, size_t))
WTMTIME_FIND_(walk, int, (wtmtime_callback *, void *))
WTMTIME_FIND_(why, const char *, (int))

#define WTMTIME_CALL_(name, arguments) (wtmtime_find_##name() ? wtmtime_find_##name() arguments : -ENOSYS)

/* 1 under the library. */
static __inline__ int wtmtime_present(void)
{
    return wtmtime_find_time() != NULL;
}

/* Times what a pattern finds in what is loaded now (one pattern, as in WTM_TIME: a name, glob*, lib.so:name, ns::name). Gives
 * how many functions of it are timed now, those timed before included; -ENOENT when it finds nothing; when all are refused,
 * the first refusal. Other threads go on meanwhile. From the first time on that threads run, SIGTRAP is handled by the library
 * and passed on to the program's handler; threads that run with SIGTRAP blocked make it refuse. */
static __inline__ int wtmtime_time(const char *pattern)
{
    return WTMTIME_CALL_(time, (pattern));
}

/* Times the function at an address, under this name in the report. 1 or a refusal. */
static __inline__ int wtmtime_time_address(const void *function, const char *name)
{
    return WTMTIME_CALL_(time_address, (function, name));
}

/* Calls that begin from now on are not timed; counts stay. By the name in the report, or a pattern. Gives how many
 * functions that was; -ENOENT when none of that name is timed. */
static __inline__ int wtmtime_untime(const char *name)
{
    return WTMTIME_CALL_(untime, (name));
}
static __inline__ int wtmtime_untime_address(const void *function)
{
    return WTMTIME_CALL_(untime_address, (function));
}
static __inline__ int wtmtime_untime_all(void)
{
    return WTMTIME_CALL_(untime_all, ());
}

/* All functions that are timed: count from where they stood; from zero; not any more. Print the table so far. */
static __inline__ int wtmtime_arm(void)
{
    return WTMTIME_CALL_(control, (0));
}
static __inline__ int wtmtime_reset(void)
{
    return WTMTIME_CALL_(control, (1));
}
static __inline__ int wtmtime_disarm(void)
{
    return WTMTIME_CALL_(control, (2));
}
static __inline__ int wtmtime_dump(void)
{
    return WTMTIME_CALL_(control, (3));
}

/* The numbers of one function so far, by the name in the report (the first of that name) or by address. 0 or -ENOENT. */
static __inline__ int wtmtime_get(const char *name, struct wtmtime_function *function)
{
    return WTMTIME_CALL_(get, (name, NULL, function, sizeof *function));
}
static __inline__ int wtmtime_get_address(const void *address, struct wtmtime_function *function)
{
    return WTMTIME_CALL_(get, (NULL, address, function, sizeof *function));
}

/* All functions, largest total first. 0, what the callback gave, or a negative errno. */
static __inline__ int wtmtime_walk(wtmtime_callback *callback, void *context)
{
    return WTMTIME_CALL_(walk, (callback, context));
}

/* A negative result in words; NULL for others, and without the library. */
static __inline__ const char *wtmtime_why(int result)
{
    return wtmtime_find_why() ? wtmtime_find_why()(result) : NULL;
}

#ifdef __cplusplus
}
#endif

#endif
