/* SPDX-License-Identifier: MIT
 * A thousand functions f_000 .. f_999, each of which adds one, and a table of them. */
#ifndef WTM_TESTS_THOUSAND_H
#define WTM_TESTS_THOUSAND_H

#include "target.h"

#define ONE(n)  long f_##n(long x); REAL long f_##n(long x) { IMPURE; return x + 1; }
#define TEN(n)  ONE(n##0) ONE(n##1) ONE(n##2) ONE(n##3) ONE(n##4) ONE(n##5) ONE(n##6) ONE(n##7) ONE(n##8) ONE(n##9)
#define HUNDRED(n) TEN(n##0) TEN(n##1) TEN(n##2) TEN(n##3) TEN(n##4) TEN(n##5) TEN(n##6) TEN(n##7) TEN(n##8) TEN(n##9)
#define ALL HUNDRED(0) HUNDRED(1) HUNDRED(2) HUNDRED(3) HUNDRED(4) HUNDRED(5) HUNDRED(6) HUNDRED(7) HUNDRED(8) HUNDRED(9)
ALL

#undef ONE
#define ONE(n) f_##n,
static long (*const all[])(long) = {ALL};

#endif
