/* SPDX-License-Identifier: MIT
 * A program that counts its own calls says what the report must say of them: one line a function. */
#ifndef WTM_TESTS_PROMISE_H
#define WTM_TESTS_PROMISE_H

#include <stdio.h>
#include "target.h"

/* Recursive: entered while an earlier call of it was open on the same stack. Abnormal: left by a jump, an exception or the end
 * of its thread. Open: running when the program ends. -1: not known, or not judged. */
static inline void promise(const char *name, long calls, long recursive, long abnormal, long open)
{
    printf("promise %s %ld %ld %ld %ld\n", name, calls, recursive, abnormal, open);
}

/* It reads, moves or skips its own return address in some way that timing would change. */
static inline void promise_refused(const char *name, const char *reason)
{
    printf("promise %s refused %s\n", name, reason);
}

/* No function: a name that is not found. */
static inline void promise_missing(const char *name)
{
    printf("promise %s missing\n", name);
}

#endif
