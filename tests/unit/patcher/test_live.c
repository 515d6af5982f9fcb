/* SPDX-License-Identifier: MIT
 * Patches and reverts functions that other threads call all the time. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/ucontext.h>
#include <time.h>
#include <unistd.h>
#include "own_module.h"

enum { THREADS = 2, FUNCTIONS = 6, ROUNDS = 12 };

/* Several instructions in the first five bytes; one that spans them; one whose bytes cross a cache line; a short one with padding; a loop to the entry
 * that is re-aimed, its displacement aligned; one with the loop's displacement across two cache lines. */
__asm__(".text\n.p2align 6, 0xcc\n"
        ".type live_several, @function\nlive_several: nop; nop; nop; lea 1(%rdi), %rax; ret\n"
        ".size live_several, . - live_several\n.p2align 6, 0xcc\n"
        ".type live_single, @function\nlive_single: lea 0x12345(%rdi), %rax; sub $0x12344, %rax; ret\n"
        ".size live_single, . - live_single\n.p2align 6, 0xcc\n.skip 61, 0xcc\n"
        ".type live_crossing, @function\nlive_crossing: lea 0x12345(%rdi), %rax; sub $0x12344, %rax; ret\n"
        ".size live_crossing, . - live_crossing\n.p2align 6, 0xcc\n"
        ".type live_short, @function\nlive_short: jmp live_crossing\n.size live_short, . - live_short\n.p2align 6, 0xcc\n"
        ".type live_loop, @function\nlive_loop: lea 0(%rdi), %rax; nop; xor $1, %cl; nop; nop; nop; nop\n"
        "test $1, %cl; .byte 0x0f, 0x84; .long live_loop - (. + 4); inc %rax; ret\n"
        ".size live_loop, . - live_loop\n.p2align 6, 0xcc\n.skip 48, 0xcc\n"
        ".type live_torn, @function\nlive_torn: lea 0(%rdi), %rax; nop; nop; xor $1, %cl; test $1, %cl\n"
        ".byte 0x0f, 0x84; .long live_torn - (. + 4); inc %rax; ret\n"
        ".size live_torn, . - live_torn\n");
uintptr_t live_several(uintptr_t), live_single(uintptr_t), live_crossing(uintptr_t), live_short(uintptr_t),
    live_loop(uintptr_t), live_torn(uintptr_t);
void wtm_test_hook(void);

static uintptr_t (*const functions[FUNCTIONS])(uintptr_t) = {live_several, live_single, live_crossing,
                                                             live_short,   live_loop,   live_torn};
static struct context {
    uint64_t count;
    uintptr_t body;
} contexts[FUNCTIONS];
static struct wtm_patch patches[FUNCTIONS];
static struct wtm_patch_request requests[FUNCTIONS];
static struct own_module own;
static volatile int stop;
static pthread_t threads[THREADS];
static uintptr_t seen[THREADS];
static unsigned asked, traps, wrong;
static __thread int self;

static void on_trap(int signal, siginfo_t *info, void *context)
{
    greg_t *ip = &((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
    uintptr_t resume = wtm_patch_trap((uintptr_t)*ip - 1);
    if (!resume)
        _exit(99);
    __atomic_add_fetch(&traps, 1, __ATOMIC_RELAXED);
    *ip = (greg_t)resume;
}

static void on_ask(int signal, siginfo_t *info, void *context)
{
    __atomic_store_n(&seen[self], (uintptr_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP], __ATOMIC_RELEASE);
}

static int stand_clear(void *context, const struct wtm_code_range *bytes, uint8_t *busy, size_t count)
{
    asked++;
    for (unsigned t = 0; t < THREADS; t++) {
        __atomic_store_n(&seen[t], 0, __ATOMIC_RELEASE);
        pthread_kill(threads[t], SIGUSR1);
        while (!__atomic_load_n(&seen[t], __ATOMIC_ACQUIRE))
            sched_yield();
        for (size_t i = 0; i < count; i++)
            if (seen[t] >= bytes[i].start && seen[t] < bytes[i].end)
                busy[i] = 1;
    }
    return 0;
}

static void *worker(void *argument)
{
    self = (int)(intptr_t)argument;
    for (uintptr_t i = 0; !stop; i++)
        for (unsigned f = 0; f < FUNCTIONS; f++)
            if (functions[f](i) != i + 1)
                __atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
    return NULL;
}

static void begin(void)
{
    struct sigaction trap = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_NODEFER};
    struct sigaction ask = {.sa_sigaction = on_ask, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigaction(SIGTRAP, &trap, NULL);
    sigaction(SIGUSR1, &ask, NULL);
    own_module_read("", &own);
    for (unsigned f = 0; f < FUNCTIONS; f++) {
        size_t i = 0;
        while (own.functions[i].address != (uintptr_t)functions[f])
            i++;
        requests[f] = (struct wtm_patch_request){.entry = own.functions[i].address, .size = own.functions[i].size,
                                                 .hook = (uintptr_t)wtm_test_hook, .context = &contexts[f],
                                                 .patch = &patches[f]};
    }
    cr_assert_eq(wtm_patch_prepare(&own.module, requests, FUNCTIONS), 0);
    for (unsigned f = 0; f < FUNCTIONS; f++) {
        cr_assert_eq(requests[f].refusal, WTM_REFUSED_NONE, "%u: %s", f, wtm_refusal_name(requests[f].refusal));
        cr_assert_eq(patches[f].method, f == 3 ? WTM_PATCH_PADDED : WTM_PATCH_JUMP5);
        contexts[f].body = patches[f].body;
        wtm_patch_open(&patches[f]);
    }
    for (intptr_t t = 0; t < THREADS; t++)
        cr_assert_eq(pthread_create(&threads[t], NULL, worker, (void *)t), 0);
}

static void end(void)
{
    stop = 1;
    for (unsigned t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    cr_expect_eq(wrong, 0, "%u wrong results", wrong);
}

/* One commit, tried until no thread is in the way. */
static unsigned commit_one(unsigned f)
{
    for (unsigned attempt = 1;; attempt++) {
        cr_assert_lt(attempt, 10000, "always busy");
        requests[f].refusal = WTM_REFUSED_NONE;
        cr_assert_eq(wtm_patch_commit(&requests[f], 1, 0), 0);
        if (requests[f].refusal == WTM_REFUSED_NONE)
            return attempt;
        cr_assert_eq(requests[f].refusal, WTM_REFUSED_BUSY);
        cr_assert_eq(patches[f].committed, 0);
    }
}

static void revert_one(unsigned f)
{
    struct wtm_patch *patch = &patches[f];
    int result = -1;
    for (unsigned attempt = 0; attempt < 10000 && result < 0; attempt++)
        result = wtm_patch_revert(&patch, 1, 0);
    cr_assert_eq(result, 0);
    cr_assert_eq(patch->committed, 0);
    cr_assert_eq(memcmp((void *)patch->site, patch->original, patch->window), 0);
}

Test(live, with_traps, .timeout = 60)
{
    const struct wtm_patch_live live = {.stand_clear = stand_clear};
    begin();
    wtm_patch_set_live(&live);
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned f = 0; f < FUNCTIONS - 1; f++)
            commit_one(f);
        for (unsigned f = 0; f < FUNCTIONS - 1; f++)
            revert_one(f);
    }
    requests[FUNCTIONS - 1].refusal = WTM_REFUSED_NONE;
    cr_assert_eq(wtm_patch_commit(&requests[FUNCTIONS - 1], 1, 0), 0);
    cr_expect_eq(requests[FUNCTIONS - 1].refusal, WTM_REFUSED_BUSY, "a loop's displacement across two cache lines");
    end();
    cr_expect_geq(asked, 4 * ROUNDS, "several, loop, and the one across two lines both ways");
    cr_expect_gt(traps, 0, "no thread ever trapped: the test shows nothing");
    for (unsigned f = 0; f < FUNCTIONS - 1; f++)
        cr_expect_gt(contexts[f].count, 0, "%u was never counted", f);
}

/* Without help only single instructions in one cache line can be changed, padding behind them included. */
Test(live, without_traps, .timeout = 60)
{
    begin();
    for (unsigned round = 0; round < ROUNDS; round++) {
        cr_assert_eq(commit_one(1), 1);
        revert_one(1);
    }
    for (unsigned f = 0; f < FUNCTIONS; f++) {
        requests[f].refusal = WTM_REFUSED_NONE;
        cr_assert_eq(wtm_patch_commit(&requests[f], 1, 0), 0);
        cr_expect_eq(requests[f].refusal, f == 1 || f == 3 ? WTM_REFUSED_NONE : WTM_REFUSED_BUSY, "%u",
                     f);
    }
    /* The threads may not have had a turn yet; they must come through the patched bytes before it ends. */
    for (unsigned waited_ms = 0; !__atomic_load_n(&contexts[1].count, __ATOMIC_ACQUIRE) && waited_ms < 20000; waited_ms++)
        usleep(1000);
    end();
    cr_expect_gt(contexts[1].count, 0);
}
