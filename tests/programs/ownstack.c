/* SPDX-License-Identifier: MIT
 * A coroutine whose stack is an array in main's frame: by the order of stack pointers its open calls look left whenever
 * main calls something, yet they return. Prints its result. */
#include "target.h"
#include <stdio.h>
#include <ucontext.h>

static ucontext_t outside, inside;
static unsigned sum;

REAL int pause_here(int x)
{
    swapcontext(&inside, &outside);
    return x + 1;
}

REAL int around(int x)
{
    return pause_here(x) * 2;
}

REAL int plain(int x)
{
    return x + 3;
}

static void body(void)
{
    for (int i = 0;; i++)
        sum += (unsigned)around(i);
}

int main(void)
{
    char stack[65536];
    getcontext(&inside);
    inside.uc_stack.ss_sp = stack;
    inside.uc_stack.ss_size = sizeof stack;
    makecontext(&inside, body, 0);
    for (int i = 0; i < 101; i++) {
        sum += (unsigned)plain(i);
        swapcontext(&outside, &inside);
        sum += (unsigned)plain(i);
    }
    printf("%u\n", sum);
    return 0;
}
