/* SPDX-License-Identifier: MIT
 * A library with a function of a name that the program has as well (alpha), and one of its own. */
#include "target.h"

long alpha(long n);
long in_library(long n);
REAL long alpha(long n) { IMPURE; return n * 2; }
REAL long in_library(long n) { IMPURE; return alpha(n) + 1; }
