/* SPDX-License-Identifier: MIT
 * How threads and processes begin and end: code before and after main, an allocator that calls timed
 * functions, destructors of thread-specific data, the first thread ending before the others, two exits at
 * once, timers whose handlers are threads, fork handlers, mutexes whose owner is gone, the smallest stacks,
 * cancellation at any instruction. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>
#include "counted.h"
static volatile long works;
REAL long work(long n)
{
    __atomic_add_fetch(&works, 1, __ATOMIC_RELAXED);
    IMPURE;
    return n + 1;
}
REAL void early(int n)
{
    work(n);
    IMPURE;
}
/* preinit, init array, constructors by priority, fini */
static void pre(int c, char **v, char **e)
{
    early(1);
}
__attribute__((section(".preinit_array"), used)) static void (*preinit)(int, char **, char **) = pre;
__attribute__((constructor(101))) static void first(void)
{
    early(2);
}
__attribute__((constructor)) static void second(void)
{
    early(3);
}
__attribute__((destructor(101))) static void last(void)
{
    work(9);
}
static void starts(void)
{
    printf("count early 2..3\n");
}
/* malloc interposed, calls timed functions */
REAL void *own_alloc(size_t n)
{
    static char heap[1 << 24];
    static size_t at;
    size_t a = __atomic_fetch_add(&at, (n + 31) & ~15ul, __ATOMIC_RELAXED);
    IMPURE;
    *(size_t *)(heap + a) = n;
    return heap + a + 16;
}
/* Allocates from a timed function, which is called before anything is ready. */
void *malloc(size_t bytes)
{
    work(0);
    return own_alloc(bytes);
}
void free(void *block)
{
    work(0);
}
void *calloc(size_t count, size_t bytes)
{
    return memset(malloc(count * bytes), 0, count * bytes);
}
void *realloc(void *block, size_t bytes)
{
    void *grown = malloc(bytes);
    return block ? memcpy(grown, block, bytes < ((size_t *)block)[-2] ? bytes : ((size_t *)block)[-2])
                 : grown;
}
static void allocs(void)
{
    for (int i = 0; i < 100; i++) {
        char *p = malloc(100);
        snprintf(p, 100, "%d", i);
        free(realloc(p, 200));
    }
    printf("count work %ld..%ld\n", works - 60, works + 60);
}
/* TLS destructors */
static pthread_key_t key;
static tss_t tkey;
REAL void destroy(void *n)
{
    work((long)n);
    if ((long)n > 1)
        pthread_setspecific(key, (void *)((long)n - 1));
    IMPURE;
}
REAL void *body(void *n)
{
    pthread_setspecific(key, n);
    work(1);
    IMPURE;
    return n;
}
REAL void *leaving(void *n)
{
    pthread_setspecific(key, n);
    work(1);
    pthread_exit(n);
    IMPURE;
    return n;
}
static void keys(void)
{
    pthread_t t;
    void *r;
    pthread_key_create(&key, destroy);
    long before = works;
    for (int i = 0; i < 50; i++) {
        pthread_create(&t, 0, i & 1 ? body : leaving, (void *)3);
        pthread_join(t, &r);
        CHECK(r == (void *)3);
    }
    printf("count destroy 150\ncount body 25\ncount leaving 25 0 25\n");
}
/* main ends by pthread_exit while others run */
static void *goes_on(void *x)
{
    struct timespec t = {0, 30000000};
    nanosleep(&t, 0);
    for (int i = 0; i < 1000; i++)
        work(i);
    exit(5);
}
static void *idle(void *x)
{
    for (;;) {
        struct timespec t = {1, 0};
        nanosleep(&t, 0);
    }
}
static void mainexit(void)
{
    pthread_t t;
    pthread_create(&t, 0, goes_on, 0);
    pthread_exit(0);
}
static void *busy2(void *x)
{
    long v = 0;
    for (;;)
        v = work(v);
}
static void detached(void)
{
    pthread_t t;
    for (int i = 0; i < 4; i++) {
        pthread_create(&t, 0, i & 1 ? idle : busy2, 0);
        pthread_detach(t);
    }
    struct timespec s = {0, 20000000};
    nanosleep(&s, 0);
    printf("count early 2..3\n");
}
static void *exiter(void *x)
{
    work(1);
    exit((int)(long)x);
}
static void twoexits(void)
{
    pthread_t t;
    printf("count work - - - 0..2\n");
    fflush(stdout);
    pthread_create(&t, 0, exiter, (void *)6);
    pthread_create(&t, 0, exiter, (void *)6);
    exit(6);
}
static void on_e(int s, void *a)
{
    work(s);
}
static void onexit(void)
{
    puts("count early 2..3");
    fflush(stdout);
    on_exit(on_e, 0);
    on_exit(on_e, 0);
    atexit((void (*)(void))body);
    exit(3);
}
static void qe(void)
{
    work(1);
    work(2);
}
static void quick(void)
{
    at_quick_exit(qe);
    printf("x\n");
    fflush(stdout);
    quick_exit(4);
}
/* timers whose handler is a thread */
static volatile int fired;
REAL void on_time(union sigval v)
{
    work(1);
    __atomic_add_fetch(&fired, 1, __ATOMIC_RELAXED);
    IMPURE;
}
static void timers(void)
{
    struct sigevent e = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = on_time};
    struct itimerspec it = {{0, 1000000}, {0, 1000000}}, z = {{0}};
    timer_t t;
    CHECK(!timer_create(CLOCK_MONOTONIC, &e, &t) && !timer_settime(t, 0, &it, 0));
    while (fired < 100) {
        struct timespec s = {0, 1000000};
        nanosleep(&s, 0);
    }
    timer_settime(t, 0, &z, 0);
    struct timespec s = {0, 100000000};
    nanosleep(&s, 0);
    printf("count on_time %d\n", fired);
}
/* atfork handlers */
REAL void prepare(void)
{
    work(1);
    IMPURE;
}
REAL void parent(void)
{
    work(1);
    IMPURE;
}
REAL void child(void)
{
    work(1);
    IMPURE;
}
static void atforks(void)
{
    pthread_atfork(prepare, parent, child);
    pthread_t t;
    pthread_create(&t, 0, busy2, 0);
    for (int i = 0; i < 40; i++) {
        pid_t p = fork();
        if (!p) {
            work(1);
            _exit(0);
        }
        int st;
        CHECK(waitpid(p, &st, 0) == p && !st);
    }
    printf("count prepare 40\ncount parent 40\ncount child 0\n");
}
/* robust mutex left by a thread that ends inside a timed call */
static pthread_mutex_t robust;
REAL void *owner(void *x)
{
    pthread_mutex_lock(&robust);
    pthread_exit(0);
    IMPURE;
    return x;
}
static void robustly(void)
{
    pthread_mutexattr_t a;
    pthread_mutexattr_init(&a);
    pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&robust, &a);
    for (int i = 0; i < 20; i++) {
        pthread_t t;
        pthread_create(&t, 0, owner, 0);
        pthread_join(t, 0);
        CHECK(pthread_mutex_lock(&robust) == EOWNERDEAD);
        pthread_mutex_consistent(&robust);
        pthread_mutex_unlock(&robust);
    }
    printf("count owner 20 0 20\n");
}
/* the smallest stacks */
REAL void *tiny(void *n)
{
    for (int i = 0; i < 100; i++)
        work(i);
    IMPURE;
    return n;
}
static void tinystacks(void)
{
    pthread_attr_t a;
    pthread_attr_init(&a);
    pthread_attr_setstacksize(&a, 16384);
    pthread_t t[20];
    for (int r = 0; r < 10; r++) {
        for (int i = 0; i < 20; i++)
            CHECK(!pthread_create(&t[i], &a, tiny, 0));
        for (int i = 0; i < 20; i++)
            pthread_join(t[i], 0);
    }
    static char st[3][16384] __attribute__((aligned(4096)));
    for (int i = 0; i < 3; i++) {
        pthread_attr_setstack(&a, st[i], 16384);
        CHECK(!pthread_create(&t[i], &a, tiny, 0));
    }
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], 0);
    char here[1 << 17];
    pthread_attr_setstack(&a, here, sizeof here);
    CHECK(!pthread_create(&t[0], &a, tiny, 0));
    pthread_join(t[0], 0);
    printf("count tiny 204\n");
}
static once_flag once = ONCE_FLAG_INIT;
REAL void once_only(void)
{
    work(1);
    IMPURE;
}
static int cthread(void *x)
{
    call_once(&once, once_only);
    work(1);
    thrd_exit(7);
}
static void cthreads(void)
{
    thrd_t t;
    int r;
    for (int i = 0; i < 30; i++) {
        thrd_create(&t, cthread, 0);
        thrd_join(t, &r);
        CHECK(r == 7);
    }
    printf("count once_only 1\n");
}
/* cancel storms */
REAL void *victim(void *x)
{
    int o;
    pthread_setcanceltype((long)x & 1 ? PTHREAD_CANCEL_ASYNCHRONOUS : PTHREAD_CANCEL_DEFERRED, &o);
    for (;;) {
        work(1);
        if (!((long)x & 1))
            pthread_testcancel();
    }
    IMPURE;
    return x;
}
static void cancels(void)
{
    pthread_t t[8];
    for (int r = 0; r < 25; r++) {
        for (long i = 0; i < 8; i++)
            pthread_create(&t[i], 0, victim, (void *)i);
        for (int i = 0; i < 8; i++) {
            sched_yield();
            pthread_cancel(t[i]);
        }
        for (int i = 0; i < 8; i++) {
            void *v;
            pthread_join(t[i], &v);
            CHECK(v == PTHREAD_CANCELED);
        }
    }
    printf("count victim 0..200 0 0..200 0\ncount work - 0 0..200 0\n");
}
int main(int count, char **words)
{
    static const struct mode modes[] = {
        MODE(starts),   MODE(allocs),     MODE(keys),     MODE(mainexit), MODE(detached),
        MODE(twoexits), MODE(onexit),     MODE(quick),    MODE(timers),   MODE(atforks),
        MODE(robustly), MODE(tinystacks), MODE(cthreads), MODE(cancels),  {NULL, NULL},
    };
    return run_mode(modes, count, words);
}
