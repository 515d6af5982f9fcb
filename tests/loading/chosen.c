/* SPDX-License-Identifier: MIT
 * A plug-in whose function is an IFUNC. The resolver looks at a variable that it finds through the global offset table, so it
 * must not run before this library is relocated. With -DQUIET there is no constructor. */
#include "../programs/target.h"

int chosen_level = 2;

REAL static int small(int value) { IMPURE; return value + 2; }
REAL static int large(int value) { IMPURE; return value + 3; }

static int (*choose(void))(int) { return chosen_level == 2 ? large : small; }
int pick(int value) __attribute__((ifunc("choose")));
int pick_again(int value) __attribute__((ifunc("choose")));

#ifndef QUIET
static int sum;
__attribute__((constructor)) static void begin(void) { sum = pick(1); }
__attribute__((constructor)) static void begin_again(void) { sum += pick_again(1); }
#endif

int work(int value);
int work(int value) { return pick(value) + pick(1) - 1; }
