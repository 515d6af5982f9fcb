/* SPDX-License-Identifier: MIT
 * Forbids itself the time-stamp counter while timed functions are open, calls others, and allows it again.
 *   forbidden prctl|syscall|tail */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "target.h"

REAL int work(int n) { IMPURE; return n + 1; }
static const char *how;
static int set(int mode)
{
    return *how == 's' ? (int)syscall(SYS_prctl, PR_SET_TSC, mode, 0, 0, 0) : prctl(PR_SET_TSC, mode, 0, 0, 0);
}
REAL int forbid(int n) { IMPURE; int r = set(PR_TSC_SIGSEGV); IMPURE; return r + n; }
REAL int forbid_by_tail(int mode) { return prctl(PR_SET_TSC, mode); }
REAL int outer(int n)
{
    IMPURE;
    int r = *how == 't' ? forbid_by_tail(PR_TSC_SIGSEGV) : forbid(0);
    for (int i = 0; i < 1000; i++)
        r += work(0);
    return r + n;
}

int main(int argc, char **argv)
{
    how = argv[1];
    int sum = 0;
    for (int i = 0; i < 100; i++)
        sum += work(0);
    for (int round = 0; round < 3; round++) {
        sum += outer(0);
        if (strcmp(how, "stay"))
            sum += set(PR_TSC_ENABLE);
        for (int i = 0; i < 10; i++)
            sum += work(0);
    }
    printf("%d\n", sum);
    return 4;
}
