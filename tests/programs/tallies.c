/* SPDX-License-Identifier: MIT
 * Recursion of every kind, and threads that end: `tallies KIND`. Each counts for itself and says what the report must say. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include "promise.h"

static volatile long sink;

/* ---- short functions that recurse much: the cost of measuring must not exceed what was measured ---- */
static long fibs, ackermanns, hanois;
/* By pointers, or compilers make loops of some of the calls. */
static long (*volatile to_fib)(long);
static long (*volatile to_ackermann)(long, long);
static long (*volatile to_hanoi)(long, int, int, int);
REAL long fib(long n) { fibs++; return n < 2 ? n : to_fib(n - 1) + to_fib(n - 2); }
REAL long ackermann(long m, long n)
{
    ackermanns++;
    if (!m)
        return n + 1;
    long result = n ? to_ackermann(m - 1, to_ackermann(m, n - 1)) : to_ackermann(m - 1, 1);
    IMPURE;
    return result;
}
REAL long hanoi(long n, int from, int to, int by)
{
    hanois++;
    if (!n)
        return 0;
    return to_hanoi(n - 1, from, by, to) + 1 + to_hanoi(n - 1, by, to, from);
}
REAL long parent(long n) { long sum = 0; for (long i = 0; i < n; i++) sum += fib(8); IMPURE; return sum; }
REAL long grandparent(long n) { long sum = parent(n) + parent(n); IMPURE; return sum; }
REAL long nothing(long n) { IMPURE; return n; }
REAL long many(long n) { for (long i = 0; i < n; i++) sink += nothing(i); return n; }

static void recursive(void)
{
    to_fib = fib;
    to_ackermann = ackermann;
    to_hanoi = hanoi;
    sink += fib(22) + ackermann(2, 300) + hanoi(16, 0, 1, 2);
    long outer = fibs;
    for (int i = 0; i < 200; i++)
        sink += grandparent(100);
    for (int i = 0; i < 200; i++)
        sink += many(1000);
    promise("fib", fibs, fibs - 1 - 200 * 200, 0, 0);
    promise("ackermann", ackermanns, ackermanns - 1, 0, 0);
    promise("hanoi", hanois, hanois - 1, 0, 0);
    promise("parent", 400, 0, 0, 0);
    promise("grandparent", 200, 0, 0, 0);
    promise("many", 200, 0, 0, 0);
    promise("nothing", 200000, 0, 0, 0);
    printf("%ld\n", outer);
}

/* ---- handlers that enter the functions they interrupt ---- */
static long works, enters, inside_works;
static volatile int in_work;
REAL long work(long n)
{
    works++;
    in_work++;
    long result = n;
    for (volatile int i = 0; i < 50; i++)
        result += i;
    in_work--;
    return result;
}
REAL void enter(int number)
{
    enters++;
    if (in_work)
        inside_works++;
    sink += work(number);
    if (enters % 3 == 0)
        raise(SIGUSR2);
    IMPURE;
}
static volatile long twos;
REAL void two(int number) { twos++; sink += work(number); IMPURE; }
REAL long interrupted(long n) { works++; in_work++; raise(SIGUSR1); in_work--; IMPURE; return n; }
static void handlers(void)
{
    struct sigaction first = {.sa_handler = enter}, second = {.sa_handler = two};
    sigaction(SIGUSR1, &first, NULL);
    sigaction(SIGUSR2, &second, NULL);
    for (int i = 0; i < 900; i++) {
        sink += interrupted(i);
        sink += work(i);
        raise(SIGUSR1);
    }
    promise("interrupted", 900, 0, 0, 0);
    promise("work", 900 + enters + twos, 0, 0, 0);
    promise("enter", enters, 0, 0, 0);
    promise("two", twos, 0, 0, 0);
}

/* a handler that recurses into itself, on the same stack */
static long deeps;
REAL void deeper(int number)
{
    deeps++;
    if (deeps % 5)
        raise(number);
    IMPURE;
}
static void nested_handlers(void)
{
    struct sigaction action = {.sa_handler = deeper, .sa_flags = SA_NODEFER};
    sigaction(SIGUSR1, &action, NULL);
    for (int i = 0; i < 500; i++)
        raise(SIGUSR1);
    promise("deeper", deeps, deeps - 500, 0, 0);
}

/* ---- chains of tail calls that come back to one's own function, with calls below them ---- */
typedef long step(long n);
static long evens, odds, thirds;
REAL long even(long n);
REAL long odd(long n);
REAL long third(long n);
static step *volatile to_even = even, *volatile to_odd = odd, *volatile to_third = third;
REAL long below(long n) { IMPURE; return n; }
REAL long even(long n) { evens++; sink += below(n); return n ? to_odd(n - 1) : 0; }
REAL long odd(long n) { odds++; return n ? to_third(n - 1) : 1; }
REAL long third(long n) { thirds++; if (n % 4 == 1) { long r = to_even(n - 1); IMPURE; return r; } return n ? to_even(n - 1) : 2; }
static void chains(void)
{
    for (int i = 0; i < 300; i++)
        sink += even(i);
    promise("below", evens, 0, 0, 0);
#if defined(__OPTIMIZE__)
    promise("even", evens, evens - 300, 0, 0);
    promise("odd", odds, odds - 299, 0, 0);
    promise("third", thirds, thirds - 298, 0, 0);
#endif
}

/* ---- threads that end in each way while calls are open, many after one another and at once ---- */
enum { THREADS = 300 };
REAL long counted(long n) { IMPURE; return n + 1; }
REAL void ends(long n)
{
    sink += counted(n);
    if (n % 3 == 0)
        pthread_exit(NULL);
    if (n % 3 == 1) {
        pthread_cancel(pthread_self());
        pthread_testcancel();
    }
    IMPURE;
}
REAL void *start(void *argument)
{
    long n = (long)argument;
    for (long i = 0; i < n % 17; i++)
        sink += counted(i);
    ends(n);
    return NULL;
}
static void threads(void)
{
    pthread_t ids[THREADS];
    long sum = 0, left = 0;
    for (long i = 0; i < THREADS; i++) {
        if (pthread_create(&ids[i % 20], NULL, start, (void *)i))
            exit(2);
        sum += i % 17 + 1;
        left += i % 3 != 2;
        if (i % 20 == 19)
            for (int j = 0; j < 20; j++)
                pthread_join(ids[j], NULL);
    }
    promise("start", THREADS, 0, left, 0);
    promise("ends", THREADS, 0, left, 0);
    promise("counted", sum, 0, 0, 0);
}

/* ---- one function, open in coroutines and recursing within each ---- */
static ucontext_t outside, contexts[8];
static char stacks[8][1 << 17];
static int current;
REAL long climb(long n)
{
    int me = current;
    if (!n) {
        swapcontext(&contexts[me], &outside);
        return 0;
    }
    long result = climb(n - 1);
    IMPURE;
    return result + 1;
}
static void body(void)
{
    for (long i = 0; i < 50; i++)
        sink += climb(i);
}
static void across(void)
{
    for (int i = 0; i < 8; i++) {
        getcontext(&contexts[i]);
        contexts[i].uc_stack.ss_sp = stacks[i];
        contexts[i].uc_stack.ss_size = sizeof stacks[i];
        contexts[i].uc_link = &outside;
        makecontext(&contexts[i], body, 0);
    }
    for (int round = 0; round <= 50; round++)
        for (int i = 0; i < 8; i++) {
            current = (i * 3 + round) % 8;
            swapcontext(&outside, &contexts[current]);
        }
    promise("climb", 8 * (50 * 51 / 2), 8 * (50 * 51 / 2 - 50), 0, 0);
}

int main(int count, char **words)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } kinds[] = {{"recursive", recursive}, {"handlers", handlers}, {"nested_handlers", nested_handlers}, {"chains", chains},
                 {"threads", threads}, {"across", across}};
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (count > 1 && !strcmp(words[1], kinds[i].name)) {
            kinds[i].run();
            return 0;
        }
    return 2;
}
