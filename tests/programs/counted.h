/* SPDX-License-Identifier: MIT
 * Programs that know what a report of them must say. They print lines "count NAME CALLS [RECURSIVE [ABNORMAL
 * [OPEN]]]", each a number, a range LOW..HIGH, or - for anything; what is left out is 0. */
#ifndef WTM_TESTS_COUNTED_H
#define WTM_TESTS_COUNTED_H

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "target.h"

#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "%d: %s, errno %d\n", __LINE__, #condition, errno);                              \
            _exit(99);                                                                                       \
        }                                                                                                    \
    } while (0)

struct mode {
    const char *name;
    void (*run)(void);
};
#define MODE(function)                                                                                       \
    {                                                                                                        \
#function, function                                                                                  \
    }

static inline int run_mode(const struct mode *modes, int count, char **words)
{
    for (; count > 1 && modes->name; modes++) {
        if (strcmp(modes->name, words[1]))
            continue;
        modes->run();
        fflush(stdout);
        return 0;
    }
    return 2;
}

#endif
