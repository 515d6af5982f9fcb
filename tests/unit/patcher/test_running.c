/* SPDX-License-Identifier: MIT
 * Functions whose first bytes other threads are running all the time: patched and reverted without stopping anybody. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ucontext.h>
#include <unistd.h>
#include "own_module.h"

/* WTM_TEST_ROUNDS gives another number; 10,000 is the long form. */
enum { THREADS = 8, ROUNDS = 150, STAY_THREADS = 4 };

/* Each gives its argument plus one. In the order of `functions`: the usual beginning (threads can stand at 1 and 4); pushes
 * (2, 4); the same across two cache lines; a short one with padding (4); a loop to the entry; one instruction. */
__asm__(".text\n.p2align 6, 0xcc\n"
        ".macro running name\n.type \\name, @function\n\\name:\n.endm\n"
        ".macro over name\n.size \\name, . - \\name\n.p2align 6, 0xcc\n.endm\n"
        "running run_usual\npush %rbp; mov %rsp, %rbp; lea 1(%rdi), %rax; pop %rbp; ret\nover run_usual\n"
        "running run_pushes\npush %r15; push %r14; push %r13; lea 1(%rdi), %rax; pop %r13; pop %r14; pop %r15; ret\n"
        "over run_pushes\n.skip 62, 0xcc\n"
        "running run_lines\npush %r15; push %r14; push %r13; lea 1(%rdi), %rax; pop %r13; pop %r14; pop %r15; ret\n"
        "over run_lines\n"
        "running run_short\nlea 1(%rdi), %rax; ret\nover run_short\n"
        "running run_loop\nlea 0(%rdi), %rax; nop; xor $1, %cl; nop; nop; nop; nop\n"
        "test $1, %cl; .byte 0x0f, 0x84; .long run_loop - (. + 4); inc %rax; ret\nover run_loop\n"
        "running run_single\nlea 0x12345(%rdi), %rax; sub $0x12344, %rax; ret\nover run_single\n");
#define EACH(X) X(run_usual) X(run_pushes) X(run_lines) X(run_short) X(run_loop) X(run_single)
#define DECLARE(name) uintptr_t name(uintptr_t);
#define NAME(name) name,
EACH(DECLARE)
void wtm_test_hook(void);

static uintptr_t (*const functions[])(uintptr_t) = {EACH(NAME)};
enum { FUNCTIONS = sizeof functions / sizeof *functions, LINES = 2 };
static struct context {
    uint64_t count;
    uintptr_t body;
} contexts[FUNCTIONS];
static struct wtm_patch patches[FUNCTIONS];
static struct wtm_patch_request requests[FUNCTIONS];
static struct own_module own;
static volatile int stop;
static pthread_t threads[THREADS];
static unsigned traps, wrong;

static void on_trap(int signal, siginfo_t *info, void *context)
{
    greg_t *ip = &((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
    uintptr_t resume = wtm_patch_trap((uintptr_t)*ip - 1);
    if (!resume)
        _exit(99);
    __atomic_add_fetch(&traps, 1, __ATOMIC_RELAXED);
    *ip = (greg_t)resume;
}

static void handle_traps(void)
{
    static const struct wtm_patch_live live = {.traps = 1};
    struct sigaction trap = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigaction(SIGTRAP, &trap, NULL);
    wtm_patch_set_live(&live);
}

static void prepare(void)
{
    own_module_read("", &own);
    for (unsigned f = 0; f < FUNCTIONS; f++) {
        size_t i = 0;
        while (own.functions[i].address != (uintptr_t)functions[f])
            i++;
        requests[f] = (struct wtm_patch_request){.entry = own.functions[i].address, .size = own.functions[i].size,
                                                 .hook = (uintptr_t)wtm_test_hook, .context = &contexts[f],
                                                 .running = 1, .patch = &patches[f]};
    }
    cr_assert_eq(wtm_patch_prepare(&own.module, requests, FUNCTIONS), 0);
    for (unsigned f = 0; f < FUNCTIONS; f++) {
        cr_assert_eq(requests[f].refusal, WTM_REFUSED_NONE, "%u: %s", f, wtm_refusal_name(requests[f].refusal));
        cr_expect_eq(wtm_patch_trapped(&patches[f]),
                     f == LINES        ? WTM_TRAPS_CALLERS
                     : f + 1 < FUNCTIONS ? WTM_TRAPS_INSIDE
                                         : WTM_TRAPS_NOBODY, "%u", f);
        contexts[f].body = patches[f].body;
        wtm_patch_open(&patches[f]);
    }
}

static void commit_and_revert(unsigned f, int stay)
{
    struct wtm_patch *patch = &patches[f];
    requests[f].refusal = WTM_REFUSED_NONE;
    cr_assert_eq(wtm_patch_commit(&requests[f], 1, 0), 0);
    cr_assert_eq(requests[f].refusal, WTM_REFUSED_NONE, "%u: %s", f, wtm_refusal_name(requests[f].refusal));
    cr_assert_eq(memcmp((void *)patch->site, patch->replacement, patch->changed), 0);
    if (stay)
        usleep(1000);
    if (f == LINES)
        return; /* taken back, a jump across two lines needs somebody who says that nobody is at its first byte */
    cr_assert_eq(wtm_patch_revert(&patch, 1, 0), 0);
    cr_assert_eq(memcmp((void *)patch->site, patch->original, patch->window), 0);
}

static void *worker(void *argument)
{
    for (uintptr_t i = 0; !stop; i++)
        for (unsigned f = 0; f < FUNCTIONS; f++)
            if (functions[f](i) != i + 1)
                __atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
    return NULL;
}

Test(running, eight_threads, .timeout = 600)
{
    handle_traps();
    prepare();
    for (unsigned t = 0; t < THREADS; t++)
        cr_assert_eq(pthread_create(&threads[t], NULL, worker, NULL), 0);
    const char *asked = getenv("WTM_TEST_ROUNDS");
    unsigned rounds = asked ? (unsigned)atoi(asked) : ROUNDS;
    for (unsigned round = 0; round < rounds; round++)
        for (unsigned f = 0; f < FUNCTIONS; f++)
            if (f != LINES || !round)
                commit_and_revert(f, round % 50 == 0);
    stop = 1;
    for (unsigned t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    cr_expect_eq(wrong, 0, "%u wrong results", wrong);
    for (unsigned f = 0; f < FUNCTIONS; f++)
        cr_expect_gt(contexts[f].count, 0, "%u was never counted", f);
}

/* Threads that stand in front of a certain instruction, for as long as it takes: they are stopped there by a single step. */
static uintptr_t stand_at[STAY_THREADS];
static int standing, go_on;

static void on_step(int signal, siginfo_t *info, void *context)
{
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    uintptr_t ip = (uintptr_t)registers[REG_RIP], resume = wtm_patch_trap(ip - 1);
    if (!(registers[REG_EFL] & 0x100)) { /* no step: a trap */
        if (!resume)
            _exit(99);
        __atomic_add_fetch(&traps, 1, __ATOMIC_RELAXED);
        registers[REG_RIP] = (greg_t)resume;
        return;
    }
    for (unsigned t = 0; t < STAY_THREADS; t++) {
        if (ip != stand_at[t])
            continue;
        stand_at[t] = 0;
        registers[REG_EFL] &= ~(greg_t)0x100;
        __atomic_add_fetch(&standing, 1, __ATOMIC_SEQ_CST);
        while (!__atomic_load_n(&go_on, __ATOMIC_SEQ_CST))
            sched_yield();
        return;
    }
}

static void *stand(void *function)
{
    uintptr_t result;
    __asm__ volatile("sub $128, %%rsp; pushfq; orq $0x100, (%%rsp); popfq; call *%1\n\t"
                     "pushfq; andq $~0x100, (%%rsp); popfq; add $128, %%rsp"
                     : "=a"(result)
                     : "r"(function), "D"((uintptr_t)41)
                     : "rcx", "memory", "cc");
    return (void *)result;
}

/* Every place inside the first five bytes of a usual function and of pushes, with a thread at it. */
Test(running, threads_inside, .timeout = 60)
{
    static const struct wtm_patch_live live = {.traps = 1};
    struct sigaction step = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO | SA_NODEFER};
    pthread_t standers[STAY_THREADS];
    sigaction(SIGTRAP, &step, NULL);
    wtm_patch_set_live(&live);
    prepare();
    const uintptr_t places[STAY_THREADS] = {(uintptr_t)run_usual + 1, (uintptr_t)run_usual + 4,
                                            (uintptr_t)run_pushes + 2, (uintptr_t)run_pushes + 4};
    for (unsigned t = 0; t < STAY_THREADS; t++) {
        __atomic_store_n(&stand_at[t], places[t], __ATOMIC_SEQ_CST);
        pthread_create(&standers[t], NULL, stand, t < 2 ? (void *)run_usual : (void *)run_pushes);
        while (__atomic_load_n(&standing, __ATOMIC_SEQ_CST) <= (int)t)
            sched_yield();
    }
    for (unsigned f = 0; f < 2; f++) {
        requests[f].refusal = WTM_REFUSED_NONE;
        cr_assert_eq(wtm_patch_commit(&requests[f], 1, 0), 0);
        cr_assert_eq(requests[f].refusal, WTM_REFUSED_NONE);
        cr_expect_eq(functions[f](41), 42);
    }
    __atomic_store_n(&go_on, 1, __ATOMIC_SEQ_CST);
    for (unsigned t = 0; t < STAY_THREADS; t++) {
        void *result;
        pthread_join(standers[t], &result);
        cr_expect_eq((uintptr_t)result, 42, "the thread at place %u", t);
    }
    cr_expect_eq(traps, STAY_THREADS);
}
