/* SPDX-License-Identifier: MIT
 * A switch of stacks by hand, as libco and many runtimes have it: callee-saved registers pushed, rsp exchanged. Stacks are small,
 * each with a missing page below it, so that whoever needs much of them faults. Arguments: rounds, bytes of a stack, and `deep`
 * to recurse as far as the stack allows. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "../programs/target.h"

enum { COROUTINES = 64, PAGE = 4096 };

void switch_stacks(void **from, void *to);
__asm__(".text\n"
        ".globl switch_stacks\n.type switch_stacks,@function\n"
        "switch_stacks:\n"
        "    push %rbp\n    push %rbx\n    push %r12\n    push %r13\n    push %r14\n    push %r15\n"
        "    mov %rsp, (%rdi)\n"
        "    mov %rsi, %rsp\n"
        "    pop %r15\n    pop %r14\n    pop %r13\n    pop %r12\n    pop %rbx\n    pop %rbp\n"
        "    ret\n"
        ".size switch_stacks, .-switch_stacks\n");

static struct coroutine {
    void *own, *resumer;
    long value;
    int done;
} coroutines[COROUTINES];
static struct coroutine *current;
static long rounds;

REAL long leave(long value)
{
    struct coroutine *me = current;
    me->value = value;
    switch_stacks(&me->own, me->resumer);
    IMPURE;
    return value;
}

REAL long plain(long value) { IMPURE; return value ^ 1; }

REAL long generate(long count)
{
    long sum = 0;
    for (long i = 0; i < count; i++)
        sum += leave(plain(i));
    return sum;
}

REAL void resume(struct coroutine *coroutine)
{
    current = coroutine;
    switch_stacks(&coroutine->resumer, coroutine->own);
    IMPURE;
}

static void entry(void)
{
    long sum = generate(rounds);
    current->value = sum;
    current->done = 1;
    switch_stacks(&current->own, current->resumer);
    abort();
}

static void make(struct coroutine *coroutine, size_t bytes)
{
    size_t mapped = (bytes + PAGE - 1) / PAGE * PAGE;
    char *stack = mmap(NULL, mapped + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack == MAP_FAILED || mprotect(stack, PAGE, PROT_NONE))
        exit(2);
    void **top = (void **)(stack + PAGE + bytes / 16 * 16);
    *--top = NULL; /* the stack is as behind a call */
    *--top = (void *)(uintptr_t)entry;
    top -= 6;
    memset(top, 0, 6 * sizeof *top);
    coroutine->own = top;
}

int main(int count, char **words)
{
    rounds = count > 1 ? atol(words[1]) : 100;
    size_t bytes = count > 2 ? (size_t)atol(words[2]) : 65536;
    long sum = 0;
    for (int i = 0; i < COROUTINES; i++)
        make(&coroutines[i], bytes);
    for (long round = 0; round <= rounds; round++)
        for (int i = 0; i < COROUTINES; i++) {
            struct coroutine *coroutine = &coroutines[(i * 5 + round) % COROUTINES];
            if (coroutine->done)
                continue;
            resume(coroutine);
            sum += coroutine->value;
        }
    printf("%ld\n", sum);
    return 0;
}
