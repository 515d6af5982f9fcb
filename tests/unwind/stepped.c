/* SPDX-License-Identifier: MIT
 * The program that stepper.c single-steps: two calls of caller() between breakpoints (the first one of a thread also
 * builds its records). caller is not timed; timed, inner and tail are. How: plain, recursive, tail. With -DV8 its names are
 * those of a runtime like V8, and caller is code that this generated: its calls of timed are counted only. */
#include <string.h>

#define FRAME __attribute__((noinline, used))
#define IMPURE __asm__ volatile("" ::: "memory")

#ifdef V8
int inner(int n) __asm__("_Z5inneri");
int timed(int n) __asm__("_Z5timedi");
int caller(int how) __asm__("Builtins_caller");
void isolate(void) __asm__("_ZN2v87Isolate8AllocateEv");
FRAME void isolate(void) {}
#endif

FRAME int leaf(int n) { IMPURE; return n + 1; }
FRAME int inner(int n) { int r = leaf(n); IMPURE; return r + 1; }
FRAME int tail(int n) { IMPURE; return inner(n); }
FRAME int timed(int n) { int r = n > 10 ? timed(n - 10) : inner(n); IMPURE; return r + 1; }
FRAME int caller(int how) { int r = how == 2 ? tail(3) : timed(how == 1 ? 23 : 3); IMPURE; return r + 1; }

int main(int argc, char **argv)
{
    int how = argc > 1 && !strcmp(argv[1], "recursive") ? 1 : argc > 1 && !strcmp(argv[1], "tail") ? 2 : 0;
    for (int i = 0; i < 2; i++) {
        __asm__ volatile("int3");
        int r = caller(how);
        __asm__ volatile("int3");
        if (r != (how == 0 ? 7 : how == 1 ? 9 : 6))
            return 1;
    }
    return 0;
}
