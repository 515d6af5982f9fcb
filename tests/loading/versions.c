/* SPDX-License-Identifier: MIT
 * A library with two versions of one function, and a weak one. */
#include "../programs/target.h"

int old_body(int value), new_body(int value), weak_one(int value);
REAL int old_body(int value) { IMPURE; return value + 1; }
REAL int new_body(int value) { IMPURE; return value + 2; }
REAL __attribute__((weak)) int weak_one(int value) { IMPURE; return value + 5; }
__asm__(".symver old_body,versioned@V1");
__asm__(".symver new_body,versioned@@V2");
