/* SPDX-License-Identifier: MIT
 * A plug-in: a constructor and a destructor that call timed functions, its own and the program's, and a function that has the
 * same name in the program. */
#include <stddef.h>
#include "../programs/target.h"

int host_function(int value) __attribute__((weak));

REAL int plug(int value) { IMPURE; return value * 3; }
/* Under RTLD_DEEPBIND this one is called from here, otherwise the program's. */
REAL int both(int value) { IMPURE; return value + 1000; }

static int sum;

__attribute__((constructor)) static void begin(void)
{
    sum = plug(1);
    if (host_function)
        sum += host_function(sum);
}

__attribute__((destructor)) static void end(void) { sum += plug(sum); }

int work(int value);
int work(int value) { return plug(value) + both(value) + sum - sum; }
