/* SPDX-License-Identifier: MIT
 * A chain of calls, main > one > two > three > four > five > walk, for any unwinder. Every second one is timed, or all;
 * three calls itself once (a recursive call is not timed, its frame must be seen all the same). */
#ifndef WTM_TESTS_CHAIN_H
#define WTM_TESTS_CHAIN_H

#define FRAME __attribute__((noinline, used, optimize("no-optimize-sibling-calls")))
#if defined(__clang__)
#undef FRAME
#define FRAME __attribute__((noinline, used))
#endif
#define IMPURE __asm__ volatile("" ::: "memory")

void walk(void); /* prints the frames it sees, innermost first, one a line: `frame NAME` */

FRAME int five(int n);
FRAME int four(int n);
FRAME int three(int n);
FRAME int two(int n);
FRAME int one(int n);
FRAME int five(int n) { walk(); IMPURE; return n + 1; }
FRAME int four(int n) { int r = five(n); IMPURE; return r + 1; }
FRAME int three(int n) { int r = n ? three(0) : four(n); IMPURE; return r + 1; }
FRAME int two(int n) { int r = three(n); IMPURE; return r + 1; }
FRAME int one(int n) { int r = two(n); IMPURE; return r + 1; }

#endif
