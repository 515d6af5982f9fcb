/* SPDX-License-Identifier: MIT
 * Coroutines that are resumed by a different thread each time: a timed call begins in one thread and returns in another,
 * with others open beside it. Prints the sum of what they gave back. */
#include "target.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

enum { FIBERS = 16, THREADS = 4, ROUNDS = 50, STACK_BYTES = 96 * 1024 };

struct fiber {
    ucontext_t own;
    ucontext_t *resumer;
    int id, done;
    long sum;
};

static struct fiber fibers[FIBERS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int waiting[FIBERS], first, count = FIBERS;

REAL long leave(struct fiber *fiber, long x)
{
    IMPURE;
    swapcontext(&fiber->own, fiber->resumer);
    IMPURE;
    return x + 1;
}

REAL long step(struct fiber *fiber, long x)
{
    long got = leave(fiber, x);
    IMPURE;
    return got * 2;
}

REAL long between(long x)
{
    IMPURE;
    return x ^ 1;
}

static void run(int id)
{
    struct fiber *fiber = &fibers[id];
    for (long i = 0; i < ROUNDS; i++)
        fiber->sum += step(fiber, i + id);
    fiber->done = 1;
    swapcontext(&fiber->own, fiber->resumer);
}

static struct fiber *take(void)
{
    struct fiber *fiber = NULL;
    pthread_mutex_lock(&lock);
    if (count) {
        fiber = &fibers[waiting[first]];
        first = (first + 1) % FIBERS;
        count--;
    }
    pthread_mutex_unlock(&lock);
    return fiber;
}

static void put(const struct fiber *fiber)
{
    pthread_mutex_lock(&lock);
    waiting[(first + count++) % FIBERS] = fiber->id;
    pthread_mutex_unlock(&lock);
}

/* noinline: the thread must not be looked up before the switch and used behind it */
static __attribute__((noinline)) void resume(struct fiber *fiber)
{
    ucontext_t here;
    fiber->resumer = &here;
    swapcontext(&here, &fiber->own);
}

static void *work(void *argument)
{
    long x = 0;
    for (struct fiber *fiber; (fiber = take());) {
        x = between(x);
        resume(fiber);
        x = between(x);
        if (!fiber->done)
            put(fiber);
    }
    return argument;
}

int main(void)
{
    pthread_t threads[THREADS];
    volatile long sum = 0; /* getcontext returns twice */
    for (int i = 0; i < FIBERS; i++) {
        fibers[i].id = waiting[i] = i;
        getcontext(&fibers[i].own);
        fibers[i].own.uc_stack.ss_sp = malloc(STACK_BYTES);
        fibers[i].own.uc_stack.ss_size = STACK_BYTES;
        makecontext(&fibers[i].own, (void (*)(void))run, 1, i);
    }
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, work, NULL))
            return 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    work(NULL); /* what is left when threads found the list empty for a moment */
    for (int i = 0; i < FIBERS; i++)
        sum += fibers[i].sum;
    printf("%ld\n", sum);
    return 0;
}
