/* SPDX-License-Identifier: MIT
 * Signals against the entry and exit code: handlers on signal stacks that are arrays in a frame
 * (altlocal...), that raise their own signal, that come in storms, that jump out of whatever they interrupted
 * (jumpout, jumpalt: on a signal stack), that catch the end of the stack in the midst of a call (overflows);
 * a program that owns every signal (ownall) or waits for each (waits). */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#include <errno.h>
#include "counted.h"
static volatile long works, ticks, outers;
#define INC(x) __atomic_add_fetch(&(x), 1, __ATOMIC_RELAXED)
REAL long work(long n)
{
    INC(works);
    IMPURE;
    return n + 1;
}
REAL void tick(int s)
{
    INC(ticks);
    work(s);
    IMPURE;
}
REAL void outer(int s)
{
    INC(outers);
    raise(s);
    IMPURE;
}
REAL void deep(int n, int s)
{
    char pad[200];
    IMPURE;
    if (n)
        deep(n - 1, s);
    else
        outer(s);
    IMPURE;
    pad[0] = 0;
}
static void timer(long us)
{
    struct itimerval t = {{0, us}, {0, us}};
    CHECK(!setitimer(ITIMER_REAL, &t, NULL));
}

static void altlocal(void)
{
    char alt[1 << 16];
    stack_t ss = {.ss_sp = alt, .ss_size = sizeof alt};
    struct sigaction a = {.sa_handler = tick, .sa_flags = SA_ONSTACK};
    CHECK(!sigaltstack(&ss, NULL) && !sigaction(SIGUSR1, &a, NULL));
    for (int i = 0; i < 1000; i++)
        deep(3, SIGUSR1);
    ss.ss_flags = SS_DISABLE;
    sigaltstack(&ss, 0);
    printf("count work 1000\ncount tick 1000\ncount outer 1000\ncount deep 4000 3000\n");
}
static void *altthread(void *x)
{
    char alt[1 << 16];
    stack_t ss = {.ss_sp = alt, .ss_size = sizeof alt};
    CHECK(!sigaltstack(&ss, NULL));
    for (int i = 0; i < 1000; i++)
        deep(3, SIGUSR1);
    ss.ss_flags = SS_DISABLE;
    sigaltstack(&ss, 0);
    return 0;
}
static void altlocalthread(void)
{
    struct sigaction a = {.sa_handler = tick, .sa_flags = SA_ONSTACK};
    CHECK(!sigaction(SIGUSR1, &a, NULL));
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], 0, altthread, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    printf("count work 2000\ncount tick 2000\ncount outer 2000\ncount deep 8000 6000\n");
}
static int left;
REAL void again(int s)
{
    INC(ticks);
    IMPURE;
    if (left-- > 0)
        raise(s);
    IMPURE;
}
static void nodefer(void)
{
    struct sigaction a = {.sa_handler = again, .sa_flags = SA_NODEFER};
    CHECK(!sigaction(SIGUSR1, &a, NULL));
    for (int i = 0; i < 100; i++) {
        left = 50;
        outer(SIGUSR1);
    }
    printf("count again 5100 5000\ncount outer 100\n");
}
static volatile int stop;
static long mine[4];
static void *spin(void *i)
{
    long n = 0, v = 0;
    while (!stop) {
        v = work(v);
        n++;
    }
    mine[(long)i] = n;
    return 0;
}
static void storm(void)
{
    static char alt[4][1 << 16];
    struct sigaction a = {.sa_handler = tick, .sa_flags = SA_NODEFER | SA_RESTART},
                     b = {.sa_handler = tick, .sa_flags = SA_RESTART};
    CHECK(!sigaction(SIGUSR1, &a, NULL) && !sigaction(SIGALRM, &b, NULL) &&
          !sigaction(SIGRTMIN + 3, &b, NULL));
    pthread_t t[4];
    for (long i = 0; i < 4; i++)
        pthread_create(&t[i], 0, spin, (void *)i);
    timer(100);
    for (int i = 0; i < 20000; i++) {
        pthread_kill(t[i & 3], i & 4 ? SIGUSR1 : SIGRTMIN + 3);
        if (i % 16 == 0)
            sched_yield();
    }
    timer(0);
    stop = 1;
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], 0);
    printf("count work %ld 0..%ld\ncount tick %ld 0..%ld\n", works, ticks, ticks, ticks);
}
static sigjmp_buf env;
static volatile int armed;
static volatile long jumps;
static void on_jump(int s)
{
    if (armed) {
        armed = 0;
        jumps++;
        siglongjmp(env, 1);
    }
}
REAL long inner(long n)
{
    INC(works);
    IMPURE;
    return n ^ 5;
}
REAL long middle(long n)
{
    IMPURE;
    n = inner(n);
    IMPURE;
    return n + 1;
}
/* One shot, once there is a place to go to: a timer that goes on may leave no time for anything between two
 * of its signals. */
static void shoot(long microseconds)
{
    struct itimerval once = {{0, 0}, {0, microseconds}};
    CHECK(!setitimer(ITIMER_REAL, &once, NULL));
}

static void jump_out_often(long rounds, int flags)
{
    static char alt[1 << 16];
    stack_t ss = {.ss_sp = alt, .ss_size = sizeof alt};
    struct sigaction a = {.sa_handler = on_jump, .sa_flags = flags};
    CHECK(!sigaltstack(&ss, NULL) && !sigaction(SIGALRM, &a, NULL));
    volatile long done = 0, v = 0;
    while (jumps < rounds) {
        if (!sigsetjmp(env, 1)) {
            armed = 1;
            shoot(20 + jumps % 50);
            for (;;) {
                v = middle(v);
                done++;
            }
        }
    }
    for (int i = 0; i < 1000; i++)
        v = middle(v);
    printf("count middle %ld..%ld 0 0..%ld 0\ncount inner %ld..%ld 0 0..%ld 0\n", done + 1000,
           done + jumps + 1000, jumps, works, works + jumps, jumps);
}

static void jumpout(void)
{
    jump_out_often(1500, 0);
}

static void jumpalt(void)
{
    jump_out_often(1500, SA_ONSTACK);
}

static volatile long depth_reached;
REAL long sink(long n)
{
    char pad[64];
    pad[n & 63] = 1;
    IMPURE;
    depth_reached++;
    long r = sink(n + 1) + pad[n & 7];
    IMPURE;
    return r;
}
REAL long other(long n)
{
    IMPURE;
    return n;
}
REAL long ping(long n);
REAL long pong(long n)
{
    char pad[40];
    pad[n & 31] = 1;
    IMPURE;
    long r = ping(n + 1) + pad[0];
    IMPURE;
    return r;
}
REAL long ping(long n)
{
    char pad[40];
    pad[n & 31] = 1;
    IMPURE;
    depth_reached++;
    long r = other(n) + pong(n + 1) + pad[0];
    IMPURE;
    return r;
}
static void on_segv(int s)
{
    siglongjmp(env, 1);
}
/* Begins a little deeper each time, so that the stack ends at every place of the entry and exit code. */
__attribute__((noinline)) static void fall(int round)
{
    volatile char *skew = alloca((size_t)round * 8 + 8);
    skew[0] = 1;
    if (sigsetjmp(env, 1))
        return;
    if (round & 1)
        ping(0);
    else
        sink(0);
    IMPURE; /* no tail call: the frame must be there when it is jumped to */
}

static void *overflowing(void *unused)
{
    char *alt = malloc(1 << 16);
    stack_t ss = {.ss_sp = alt, .ss_size = 1 << 16};
    struct sigaction a = {.sa_handler = on_segv, .sa_flags = SA_ONSTACK};
    CHECK(alt && !sigaltstack(&ss, NULL) && !sigaction(SIGSEGV, &a, NULL));
    for (int i = 0; i < 300; i++)
        fall(i);
    for (int i = 0; i < 20000; i++)
        other(i);
    ss.ss_flags = SS_DISABLE;
    sigaltstack(&ss, NULL);
    free(alt);
    return unused;
}

static void overflows(void)
{
    pthread_attr_t at;
    pthread_t t;
    pthread_attr_init(&at);
    pthread_attr_setstacksize(&at, 64 << 10);
    for (int i = 0; i < 3; i++) {
        CHECK(!pthread_create(&t, &at, overflowing, 0));
        pthread_join(t, 0);
    }
    printf("count other 60000..9000000 0 0..900 0\ncount sink 450..90000000 - 450 0\ncount ping - - 0..450 "
           "0\ncount pong - - 0..450 0\n");
}
static volatile long handled;
REAL void own(int s)
{
    handled++;
    IMPURE;
}
static void ownall(void)
{
    struct sigaction a = {.sa_handler = own, .sa_flags = SA_RESTART}, old;
    int sent = 0;
    for (int s = 1; s <= 64; s++) {
        if (s == SIGKILL || s == SIGSTOP || s == 32 || s == 33)
            continue;
        CHECK(!sigaction(s, &a, &old));
    }
    for (int r = 0; r < 10; r++)
        for (int s = 1; s <= 64; s++) {
            if (s == SIGKILL || s == SIGSTOP || s == 32 || s == 33)
                continue;
            raise(s);
            sent++;
            CHECK(handled == sent);
        }
    __asm__ volatile("int3");
    sent++;
    CHECK(handled == sent);
    printf("handled %ld\ncount own %ld\n", handled, handled);
}
static void waits(void)
{
    sigset_t all;
    siginfo_t info;
    struct timespec zero = {0, 0};
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, 0);
    int fd = signalfd(-1, &all, 0);
    struct signalfd_siginfo si;
    long n = 0;
    for (int s = 1; s <= 64; s++) {
        if (s == SIGKILL || s == SIGSTOP || s == 32 || s == 33)
            continue;
        work(s);
        kill(getpid(), s);
        if (s & 1)
            CHECK(sigwaitinfo(&all, &info) == s);
        else {
            CHECK(read(fd, &si, sizeof si) == sizeof si && si.ssi_signo == s);
        }
        n++;
    }
    CHECK(sigtimedwait(&all, &info, &zero) == -1 && errno == EAGAIN);
    for (int s = 1; s <= 64; s++) {
        struct sigaction o;
        if (s == 32 || s == 33)
            continue;
        CHECK(!sigaction(s, 0, &o));
        if (s < 44 || s > 47)
            CHECK(o.sa_handler == SIG_DFL);
    }
    printf("waited %ld\ncount work %ld\n", n, works);
}
static void on_exit_signal(int s)
{
    work(1);
    exit(7);
}
static void at(void)
{
    work(2);
}
static void exithandler(void)
{
    signal(SIGUSR1, on_exit_signal);
    atexit(at);
    printf("count work 2 0 0 0\ncount outer 1 0 0 1\n");
    fflush(stdout);
    outer(SIGUSR1);
}
int main(int count, char **words)
{
    static const struct mode modes[] = {
        MODE(altlocal),  MODE(altlocalthread), MODE(nodefer), MODE(storm),       MODE(jumpout), MODE(jumpalt),
        MODE(overflows), MODE(ownall),         MODE(waits),   MODE(exithandler), {NULL, NULL},
    };
    return run_mode(modes, count, words);
}
