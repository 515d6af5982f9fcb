/* SPDX-License-Identifier: MIT
 * Ways out of calls that are no returns, where stacks other than the thread's own are involved: `jumps KIND`. Prints what the
 * report must say. Each round ends with a timed call, so that whoever learns of an exit late has learnt of all but the last. */
#include <csetjmp>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
#include "promise.h"

enum { ROUNDS = 500 };

static sigjmp_buf back, inner_back;
static jmp_buf plain_back;
static volatile long sink, handled;

extern "C" {
REAL long leaf(long n) { IMPURE; return n + 1; }
REAL void leave(int how)
{
    sink += leaf(how);
    if (how == 1)
        siglongjmp(back, 1);
    if (how == 2)
        siglongjmp(inner_back, 1);
    if (how == 3)
        throw how;
    if (how == 4)
        longjmp(plain_back, 1);
}
/* Takes more stack than what was left before. */
REAL long deep(long n)
{
    char space[512];
    memset(space, (int)n, sizeof space);
    __asm__ volatile("" : : "r"(space) : "memory");
    return leaf(n) + space[5];
}
}

static void on_alternate(void (*handler)(int), int number, int flags)
{
    static char *stack;
    if (!stack)
        stack = (char *)mmap(nullptr, 1 << 18, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    stack_t alternate = {};
    alternate.ss_sp = stack;
    alternate.ss_size = 1 << 18;
    sigaltstack(&alternate, nullptr);
    struct sigaction action = {};
    action.sa_handler = handler;
    action.sa_flags = SA_ONSTACK | flags;
    sigaction(number, &action, nullptr);
}

extern "C" {
REAL void handler_jumps(int) { leave(1); }
REAL void handler_nests(int) { handled = handled + 1; raise(SIGUSR2); IMPURE; }
REAL void handler_throws(int) { leave(3); }
REAL void handler_jumps_within(int)
{
    if (!sigsetjmp(inner_back, 1))
        leave(2);
    sink += deep(1);
}
REAL void outer(int number) { raise(number); IMPURE; }
}

/* out of a handler on its own stack, down to the thread's */
static void alternate()
{
    on_alternate(handler_jumps, SIGUSR1, 0);
    for (int i = 0; i < ROUNDS; i++)
        if (!sigsetjmp(back, 1))
            outer(SIGUSR1);
    promise("handler_jumps", ROUNDS, 0, ROUNDS, 0);
    promise("leave", ROUNDS, 0, ROUNDS, 0);
    promise("outer", ROUNDS, 0, ROUNDS, 0);
    promise("leaf", ROUNDS, 0, 0, 0);
}

/* over two handlers at once, both on the alternate stack */
static void levels()
{
    on_alternate(handler_nests, SIGUSR1, 0);
    on_alternate(handler_jumps, SIGUSR2, 0);
    for (int i = 0; i < ROUNDS; i++) {
        if (!sigsetjmp(back, 1))
            outer(SIGUSR1);
        sink += deep(i);
    }
    promise("handler_nests", ROUNDS, 0, ROUNDS, 0);
    promise("handler_jumps", ROUNDS, 0, ROUNDS, 0);
    promise("leave", ROUNDS, 0, ROUNDS, 0);
    promise("outer", ROUNDS, 0, ROUNDS, 0);
    promise("deep", ROUNDS, 0, 0, 0);
    promise("leaf", 2 * ROUNDS, 0, 0, 0);
}

/* a jump that stays on the alternate stack, and calls that lie deeper than what it left */
static void within()
{
    on_alternate(handler_jumps_within, SIGUSR1, 0);
    for (int i = 0; i < ROUNDS; i++)
        outer(SIGUSR1);
    promise("handler_jumps_within", ROUNDS, 0, 0, 0);
    promise("leave", ROUNDS, 0, ROUNDS, 0);
    promise("outer", ROUNDS, 0, 0, 0);
    promise("deep", ROUNDS, 0, 0, 0);
    promise("leaf", 2 * ROUNDS, 0, 0, 0);
}

/* an exception out of a handler on the alternate stack, while calls of other threads are open */
static pthread_barrier_t barrier;
static volatile int finish;
extern "C" {
REAL void waits(void)
{
    pthread_barrier_wait(&barrier);
    while (!finish)
        usleep(200);
    sink += leaf(1);
}
REAL void *waiter(void *) { waits(); IMPURE; return nullptr; }
}
static void thrown()
{
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    on_alternate(handler_throws, SIGUSR1, SA_NODEFER);
    pthread_barrier_init(&barrier, nullptr, THREADS + 1);
    for (pthread_t &thread : threads)
        pthread_create(&thread, nullptr, waiter, nullptr);
    pthread_barrier_wait(&barrier);
    long caught = 0;
    for (int i = 0; i < ROUNDS; i++)
        try {
            outer(SIGUSR1);
        } catch (int) {
            caught++;
        }
    finish = 1;
    for (pthread_t &thread : threads)
        pthread_join(thread, nullptr);
    printf("caught %ld\n", caught);
    promise("handler_throws", ROUNDS, 0, ROUNDS, 0);
    promise("outer", ROUNDS, 0, ROUNDS, 0);
    promise("leave", ROUNDS, 0, ROUNDS, 0);
    promise("waits", THREADS, 0, 0, 0);
    promise("waiter", THREADS, 0, 0, 0);
    promise("leaf", ROUNDS + THREADS, 0, 0, 0);
}

/* the same, in threads whose alternate stack lies above their own */
static void *throws_high(void *stack)
{
    stack_t alternate = {};
    alternate.ss_sp = stack;
    alternate.ss_size = 1 << 16;
    sigaltstack(&alternate, nullptr);
    for (int i = 0; i < ROUNDS; i++)
        try {
            outer(SIGUSR1);
        } catch (int) {
        }
    for (int i = 0; i < ROUNDS; i++)
        if (!sigsetjmp(back, 1))
            outer(SIGUSR2);
    alternate.ss_flags = SS_DISABLE;
    sigaltstack(&alternate, nullptr);
    return nullptr;
}
static void high()
{
    on_alternate(handler_throws, SIGUSR1, SA_NODEFER);
    on_alternate(handler_jumps, SIGUSR2, 0);
    for (int i = 0; i < 2; i++) {
        char *both = (char *)mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        pthread_attr_t attributes;
        pthread_t thread;
        pthread_attr_init(&attributes);
        pthread_attr_setstack(&attributes, both + (i << 19), 1 << 19);
        if (pthread_create(&thread, &attributes, throws_high, both + (!i << 19)))
            exit(2);
        pthread_join(thread, nullptr);
        munmap(both, 1 << 20);
    }
    promise("handler_throws", 2 * ROUNDS, 0, 2 * ROUNDS, 0);
    promise("handler_jumps", 2 * ROUNDS, 0, 2 * ROUNDS, 0);
    promise("outer", 4 * ROUNDS, 0, 4 * ROUNDS, 0);
    promise("leave", 4 * ROUNDS, 0, 4 * ROUNDS, 0);
    promise("leaf", 4 * ROUNDS, 0, 0, 0);
}

/* errors by longjmp within coroutines that switch in between */
static ucontext_t main_context, contexts[4];
static int current;
extern "C" {
REAL void pass(void)
{
    int me = current;
    swapcontext(&contexts[me], &main_context);
    IMPURE;
}
REAL long guarded(long n)
{
    jmp_buf mine, saved;
    memcpy(&saved, &plain_back, sizeof saved);
    if (!setjmp(mine)) {
        memcpy(&plain_back, &mine, sizeof mine);
        leave(4);
    }
    long result = deep(n);
    memcpy(&plain_back, &saved, sizeof saved);
    return result;
}
REAL void coroutine(void)
{
    for (long i = 0; i < ROUNDS; i++) {
        sink += guarded(i);
        pass();
    }
}
}
static void coroutines()
{
    for (int i = 0; i < 4; i++) {
        getcontext(&contexts[i]);
        contexts[i].uc_stack.ss_sp = mmap(nullptr, 1 << 17, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        contexts[i].uc_stack.ss_size = 1 << 17;
        contexts[i].uc_link = &main_context;
        makecontext(&contexts[i], coroutine, 0);
    }
    for (int round = 0; round <= ROUNDS; round++)
        for (current = 0; current < 4; current++)
            swapcontext(&main_context, &contexts[current]);
    promise("coroutine", 4, 0, 0, 0);
    promise("guarded", 4 * ROUNDS, 0, 0, 0);
    promise("pass", 4 * ROUNDS, 0, 0, 0);
    promise("leave", 4 * ROUNDS, 0, 4 * ROUNDS, 0);
    promise("deep", 4 * ROUNDS, 0, 0, 0);
    promise("leaf", 8 * ROUNDS, 0, 0, 0);
}

/* setcontext and the compiler's own longjmp: nobody tells */
static ucontext_t way_out;
static void *words[5];
extern "C" {
REAL void by_context(void) { sink += leaf(1); setcontext(&way_out); }
REAL void by_builtin(void) { sink += leaf(1); __builtin_longjmp(words, 1); }
REAL void builtin_round(long n)
{
    if (!__builtin_setjmp(words))
        by_builtin();
    sink += leaf(n);
}
}
static void untold()
{
    for (volatile int i = 0; i < ROUNDS; i = i + 1) {
        volatile int again = 0;
        getcontext(&way_out);
        if (!again) {
            again = 1;
            by_context();
        }
        builtin_round(i);
    }
    promise("by_context", ROUNDS, 0, ROUNDS, 0);
    promise("by_builtin", ROUNDS, 0, ROUNDS, 0);
    promise("builtin_round", ROUNDS, 0, 0, 0);
    promise("leaf", 3 * ROUNDS, 0, 0, 0);
}

/* deep recursion, and back by one jump; on a second way the same functions at other depths */
extern "C" {
REAL long sink_down(long depth)
{
    if (depth == 0) {
        sink += depth;
        if (sink != -1)
            longjmp(plain_back, 1);
        return 0;
    }
    long result = sink_down(depth - 1);
    IMPURE;
    return result + 1;
}
REAL long other_way(long depth) { long result = depth ? other_way(depth - 1) : sink_down(50); IMPURE; return result; }
}
static void recursion()
{
    for (volatile int i = 0; i < ROUNDS; i = i + 1) {
        if (!setjmp(plain_back))
            sink_down(i % 7 * 300);
        if (!setjmp(plain_back))
            other_way(i % 11 * 30);
    }
    long down = 0, other = 0;
    for (int i = 0; i < ROUNDS; i++)
        down += i % 7 * 300 + 1 + 51, other += i % 11 * 30 + 1;
    promise("sink_down", down, down - 2 * ROUNDS, 2 * ROUNDS, 0);
    promise("other_way", other, other - ROUNDS, ROUNDS, 0);
}

int main(int count, char **words)
{
    static const struct {
        const char *name;
        void (*run)();
    } kinds[] = {{"alternate", alternate}, {"levels", levels}, {"within", within}, {"thrown", thrown}, {"high", high},
                 {"coroutines", coroutines}, {"untold", untold}, {"recursion", recursion}};
    for (const auto &kind : kinds)
        if (count > 1 && !strcmp(words[1], kind.name)) {
            kind.run();
            return 0;
        }
    return 2;
}
