/* SPDX-License-Identifier: MIT
 * Stacks where no rule expects them: `shared KIND`. Prints what the report must say. */
#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>
#include "../programs/promise.h"

enum { COROUTINES = 64, ROUNDS = 200, BYTES = 16384 };

static ucontext_t outside, contexts[COROUTINES];
static int current;
static volatile long sink;

REAL long plain(long n) { IMPURE; return n + 1; }
REAL void pause_here(long n)
{
    int me = current;
    swapcontext(&contexts[me], &outside);
    sink += n;
}
REAL void third(long n) { pause_here(n); IMPURE; }
REAL void second(long n) { third(n); IMPURE; }
REAL void first(long n) { char space[64]; memset(space, (int)n, sizeof space); second(n + space[3]); IMPURE; }
REAL void body(void)
{
    for (long i = 0; i < ROUNDS; i++)
        first(i);
}

static void make(int i, char *stack, size_t bytes, void (*start)(void))
{
    getcontext(&contexts[i]);
    contexts[i].uc_stack.ss_sp = stack;
    contexts[i].uc_stack.ss_size = bytes;
    contexts[i].uc_link = &outside;
    makecontext(&contexts[i], start, 0);
}

static void run_all(char *stacks)
{
    for (int i = 0; i < COROUTINES; i++)
        make(i, stacks + (size_t)i * BYTES, BYTES, body);
    for (int round = 0; round <= ROUNDS; round++)
        for (int i = 0; i < COROUTINES; i++) {
            current = (i * 5 + round) % COROUTINES;
            sink += plain(i);
            swapcontext(&outside, &contexts[current]);
        }
    promise("body", COROUTINES, 0, 0, 0);
    promise("first", COROUTINES * ROUNDS, 0, 0, 0);
    promise("second", COROUTINES * ROUNDS, 0, 0, 0);
    promise("third", COROUTINES * ROUNDS, 0, 0, 0);
    promise("pause_here", COROUTINES * ROUNDS, 0, 0, 0);
    promise("plain", COROUTINES * (ROUNDS + 1), 0, 0, 0);
}

/* all of them in one array in a frame of the thread's own stack */
static void array(void)
{
    char stacks[COROUTINES * BYTES] __attribute__((aligned(64)));
    run_all(stacks);
}
static void *array_in_thread(void *unused)
{
    array();
    return unused;
}
static void threaded(void)
{
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 4 << 20);
    if (pthread_create(&thread, &attributes, array_in_thread, NULL) || pthread_join(thread, NULL))
        exit(2);
}

/* megabytes by alloca, calls below, again and again at other depths */
REAL long large(long n)
{
    size_t bytes = (size_t)(n % 5 + 1) << 20;
    char *space = alloca(bytes);
    for (size_t at = 0; at < bytes; at += 65536)
        space[at] = (char)n;
    __asm__ volatile("" : : "r"(space) : "memory");
    long result = plain(n);
    return result + space[65536];
}
static void megabytes(void)
{
    for (long i = 0; i < ROUNDS; i++)
        sink += large(i);
    promise("large", ROUNDS, 0, 0, 0);
    promise("plain", ROUNDS, 0, 0, 0);
}

/* stacks that are given back while calls on them are open, and new ones at the same place */
static char *reused;
REAL void abandon(long n)
{
    sink += plain(n);
    swapcontext(&contexts[0], &outside);
    IMPURE;
}
static void start_abandon(void) { abandon(1); }
static void abandoned(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        reused = mmap(reused, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        make(0, reused, 65536, start_abandon);
        swapcontext(&outside, &contexts[0]);
        munmap(reused, 65536);
        sink += plain(i);
    }
    promise("abandon", ROUNDS, 0, ROUNDS - 1, 1);
    promise("plain", 2 * ROUNDS, 0, 0, 0);
}

/* A scheduler in a signal handler switches stacks at any instruction, in entry and exit code too. */
static volatile long counts[2][3], switches;
static volatile int finished;
REAL long small(long n) { IMPURE; return n + 1; }
REAL long middle(long n) { long result = small(n); IMPURE; return result; }
static void preempt(int number)
{
    int me = current;
    if (finished)
        return;
    current = !me;
    switches = switches + 1;
    swapcontext(&contexts[me], &contexts[current]);
}
static void spin(void)
{
    int me = current;
    while (switches < 3000) {
        for (int i = 0; i < 100; i++) {
            sink += middle(i);
            counts[me][0]++;
            sink += small(i);
            counts[me][1]++;
        }
    }
    finished = 1;
}
static void preempted(void)
{
    struct sigaction action = {.sa_handler = preempt};
    struct itimerval each = {{0, 100}, {0, 100}}, none = {{0, 0}, {0, 0}};
    sigaction(SIGALRM, &action, NULL);
    for (int i = 0; i < 2; i++)
        make(i, mmap(NULL, 1 << 18, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1 << 18, spin);
    setitimer(ITIMER_REAL, &each, NULL);
    swapcontext(&outside, &contexts[0]);
    setitimer(ITIMER_REAL, &none, NULL);
    fprintf(stderr, "%ld %ld\n", counts[0][0] + counts[1][0], counts[0][1] + counts[1][1]);
}

int main(int count, char **words)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } kinds[] = {{"array", array}, {"threaded", threaded}, {"megabytes", megabytes}, {"abandoned", abandoned}, {"preempted", preempted}};
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (count > 1 && !strcmp(words[1], kinds[i].name)) {
            kinds[i].run();
            return 0;
        }
    return 2;
}
