/* SPDX-License-Identifier: MIT
 * Processes of every kind, and what may be done to one: children that share memory, or a thread pointer too
 * (clonevm), vfork, double fork, fork in a handler, spawn, programs that execute themselves or a memfd,
 * tracing, rights and names given up, namespaces, all descriptors closed or taken, all limits at zero, no
 * memory to be had (locked), the program's own text written, copied or dropped. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include "counted.h"
extern char **environ;
REAL long work(long n)
{
    IMPURE;
    return n + 1;
}
REAL long late(long n)
{
    IMPURE;
    return n + 1;
}
static long calls(long n)
{
    long s = 0;
    for (long i = 0; i < n; i++)
        s += work(i);
    return s;
}
static char *self, *first_word;
static int step;
static void nothing(void) {}
static void ended(pid_t p, int want)
{
    int st;
    CHECK(p > 0 && waitpid(p, &st, 0) == p);
    if (st != want) {
        fprintf(stderr, "status %x wanted %x\n", st, want);
        _exit(98);
    }
}
static void *thread_calls(void *n)
{
    return (void *)calls((long)n);
}
static void in_thread(long n)
{
    pthread_t t;
    CHECK(!pthread_create(&t, 0, thread_calls, (void *)n));
    pthread_join(t, 0);
}

/* clone with shared memory and the same thread pointer, both running at once */
static volatile int go, child_done;
static int vm_child(void *n)
{
    long s = 0;
    go = 1;
    for (long i = 0; i < (long)n; i++)
        s += work(i);
    child_done = 1;
    return s == (long)n * ((long)n + 1) / 2 ? 0 : 1;
}
static void clonevm(void)
{
    char *stack = mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    long v = 0;
    for (int i = 0; i < 20; i++) {
        go = child_done = 0;
        pid_t p =
            clone(vm_child, stack + (1 << 20), CLONE_VM | CLONE_FS | CLONE_FILES | SIGCHLD, (void *)4000);
        while (!child_done)
            v = late(v);
        ended(p, 0);
    }
    printf("count work 80000 0 0 0\ncount late %ld\n", v);
}
static void clonevmwait(void)
{
    char *stack = mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 50; i++) {
        pid_t p = clone(vm_child, stack + (1 << 20), CLONE_VM | SIGCHLD, (void *)1000);
        ended(p, 0);
        calls(10);
    }
    printf("count work 50500\n");
}
REAL void by_vfork(int i)
{
    pid_t p = vfork();
    if (!p) {
        if (i & 1)
            execl("/bin/true", "true", (char *)0);
        _exit(0);
    }
    int st;
    while (waitpid(p, &st, 0) != p)
        ;
    IMPURE;
}
static void *vforker(void *x)
{
    for (int i = 0; i < 30; i++) {
        by_vfork(i);
        calls(100);
    }
    return 0;
}
static void vforks(void)
{
    pthread_t t[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], 0, vforker, 0);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], 0);
    printf("count by_vfork 120\ncount work 12000\n");
}
static void doublefork(void)
{
    pid_t p = fork();
    if (!p) {
        setsid();
        calls(7);
        p = fork();
        if (!p) {
            calls(9);
            _exit(calls(1) == 1 ? 0 : 5);
        }
        int st;
        waitpid(p, &st, 0);
        exit(st ? 9 : 0);
    }
    ended(p, 0);
    calls(3);
    printf("count work 3\n");
}
static volatile int forked;
REAL void fork_in_handler(int s)
{
    if (forked >= 30)
        return;
    pid_t p = fork();
    if (!p) {
        calls(5);
        _exit(3);
    }
    ended(p, 0x300);
    forked++;
    IMPURE;
}
static void handlerfork(void)
{
    signal(SIGALRM, fork_in_handler);
    struct itimerval t = {{0, 3000}, {0, 3000}}, z = {{0}};
    setitimer(ITIMER_REAL, &t, 0);
    long n = 0, v = 0;
    while (forked < 30) {
        v = work(v);
        n++;
    }
    setitimer(ITIMER_REAL, &z, 0);
    printf("count work %ld 0..0 0..0 0\n", n);
}
REAL int spawned(char *const *argv, const posix_spawn_file_actions_t *f)
{
    pid_t p;
    int st;
    CHECK(!posix_spawn(&p, argv[0], f, 0, argv, environ));
    waitpid(p, &st, 0);
    IMPURE;
    return st;
}
static void spawn(void)
{
    posix_spawn_file_actions_t f;
    int ends[2];
    char text[100] = "";
    CHECK(!pipe(ends));
    posix_spawn_file_actions_init(&f);
    posix_spawn_file_actions_adddup2(&f, ends[1], 1);
    for (int i = 0; i < 2; i++)
        posix_spawn_file_actions_addclose(&f, ends[i]);
    posix_spawn_file_actions_addclosefrom_np(&f, 3);
    char *argv[] = {"/bin/echo", "hello", 0};
    for (int i = 0; i < 10; i++) {
        CHECK(spawned(argv, &f) == 0);
        CHECK(read(ends[0], text, sizeof text) == 6);
    }
    char *no[] = {"/nonexistent", 0};
    pid_t p;
    CHECK(posix_spawn(&p, no[0], 0, 0, no, environ) == ENOENT);
    printf("%s", text);
    printf("count spawned 10\n");
}
static void loopexec(void)
{
    int n = step;
    char num[20];
    calls(n);
    if (n) {
        sprintf(num, "%d", n - 1);
        execl(self, self, "loopexec", num, (char *)0);
        CHECK(0);
    }
    calls(4);
    printf("count work 4\n");
}
static void fexec(void)
{
    int n = step;
    if (n == 0) {
        int fd = memfd_create("mem \xff\n name", 0), in = open("/proc/self/exe", O_RDONLY);
        char b[65536];
        long k;
        while ((k = read(in, b, sizeof b)) > 0)
            CHECK(write(fd, b, k) == k);
        char *argv[] = {"me", "fexec", "1", 0};
        calls(3);
        fexecve(fd, argv, environ);
        CHECK(0);
    }
    calls(8);
    printf("count work 8\n");
}
static void traceme(void)
{
    calls(2);
    pid_t p = fork();
    if (!p) {
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        calls(5);
        raise(SIGUSR1);
        calls(6);
        _exit(0);
    }
    int st;
    CHECK(waitpid(p, &st, 0) == p && WIFSTOPPED(st) && WSTOPSIG(st) == SIGUSR1);
    CHECK(!ptrace(PTRACE_CONT, p, 0, 0));
    ended(p, 0);
    CHECK(ptrace(PTRACE_TRACEME, 0, 0, 0) == 0 || 1);
    calls(10);
    in_thread(10);
    printf("count work 22\n");
}
static void dumpable(void)
{
    prctl(PR_SET_DUMPABLE, 0);
    calls(5);
    in_thread(5);
    pid_t p = fork();
    if (!p) {
        calls(9);
        in_thread(3);
        exit(0);
    }
    ended(p, 0);
    printf("count work 10\n");
}
static void *named(void *n)
{
    prctl(PR_SET_NAME, n);
    calls(10);
    return 0;
}
static void names(void)
{
    char *odd[] = {"",
                   "\n\t\1\x7f",
                   "\xff\xfe\x80",
                   "a b,c\"d'\\",
                   "%s%n%p",
                   "<b>&amp;",
                   "\xe2\x80\xae"
                   "abc",
                   "0123456789abcde"};
    pthread_t t;
    for (int i = 0; i < 8; i++) {
        pthread_create(&t, 0, named, odd[i]);
        pthread_join(t, 0);
    }
    named("\r\033[2J\xc3");
    printf("count work 90\n");
}
static void dropuid(void)
{
    if (getuid()) {
        printf("count work 20\n");
        calls(20);
        return;
    }
    calls(5);
    in_thread(5);
    CHECK(!setgid(65534) && !setuid(65534));
    calls(5);
    in_thread(5);
    pid_t p = fork();
    if (!p) {
        calls(9);
        exit(0);
    }
    ended(p, 0);
    printf("count work 20\n");
}
static void unsharing(void)
{
    calls(5);
    int r = unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWPID | CLONE_NEWNET);
    sethostname("other%p", 7);
    calls(5);
    pid_t p = fork();
    if (!p) {
        CHECK(r || getpid() == 1);
        calls(4);
        in_thread(6);
        pid_t q = fork();
        if (!q) {
            calls(2);
            exit(0);
        }
        ended(q, 0);
        exit(0);
    }
    ended(p, 0);
    printf("count work 10\n");
}
static void ranges(void)
{
    calls(5);
    close_range(3, ~0u, 0);
    calls(5);
    in_thread(5);
    int fd = open("/dev/zero", O_RDWR);
    printf("%d\n", fd);
    int n = 0;
    struct rlimit r;
    getrlimit(RLIMIT_NOFILE, &r);
    char name[] = "/tmp/wtm-ranges-XXXXXX";
    fd = mkstemp(name);
    unlink(name);
    for (int i = 3; i < 1024; i++)
        if (i != fd && dup2(fd, i) == i)
            n++;
    calls(5);
    for (int i = 0; i < 50; i++)
        in_thread(5);
    pid_t p = fork();
    if (!p) {
        calls(9);
        in_thread(2);
        exit(0);
    }
    ended(p, 0);
    struct stat st;
    fstat(fd, &st);
    printf("%d %ld\n", n, (long)st.st_size);
    n = 0;
    for (int i = 3; i < 1024; i++)
        n += fcntl(i, F_GETFD) >= 0;
    printf("%d\n", n);
    printf("count work 270\n");
}
static void limits(void)
{
    calls(5);
    for (int i = 0; i < RLIM_NLIMITS; i++) {
        if (i == RLIMIT_CPU || i == RLIMIT_STACK || i == RLIMIT_RTTIME)
            continue;
        struct rlimit r = {0, 0};
        pid_t p = fork();
        if (!p) {
            CHECK(!setrlimit(i, &r));
            calls(5);
            pthread_t t;
            if (!pthread_create(&t, 0, thread_calls, (void *)5))
                pthread_join(t, 0);
            _exit(calls(2) != 3);
        }
        ended(p, 0);
        p = fork();
        if (!p) {
            calls(1);
            CHECK(!setrlimit(i, &r));
            calls(5);
            pthread_t t;
            if (!pthread_create(&t, 0, thread_calls, (void *)5))
                pthread_join(t, 0);
            exit(calls(2) != 3);
        }
        ended(p, 0);
    }
    for (int i = 0; i < RLIM_NLIMITS; i++) {
        struct rlimit r = {0, 0};
        if (i == RLIMIT_CPU || i == RLIMIT_STACK || i == RLIMIT_RTTIME)
            continue;
        setrlimit(i, &r);
    }
    calls(5);
    printf("count work 10\n");
}
static void locked(void)
{
    calls(5);
    pid_t p = fork();
    if (!p) {
        struct rlimit r = {64 << 10, 64 << 10};
        setrlimit(RLIMIT_MEMLOCK, &r);
        prctl(PR_SET_KEEPCAPS, 0);
        if (!getuid())
            CHECK(!setuid(65534));
        mlockall(MCL_FUTURE);
        calls(3);
        pthread_t t;
        if (!pthread_create(&t, 0, thread_calls, (void *)5))
            pthread_join(t, 0);
        _exit(0);
    }
    ended(p, 0);
    mlockall(MCL_CURRENT | MCL_FUTURE | 4);
    in_thread(5);
    munlockall();
    calls(5);
    printf("count work 15\n");
}
/* the program's own text: rights, advice, copies */
static void text(void)
{
    uintptr_t page = (uintptr_t)work & -4096;
    long n = 0;
    calls(5);
    CHECK(!mprotect((void *)page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC));
    calls(5);
    CHECK(!mprotect((void *)page, 8192, PROT_READ | PROT_EXEC));
    calls(5);
    mlock((void *)page, 8192);
    munlock((void *)page, 8192);
    madvise((void *)page, 8192, MADV_HUGEPAGE);
    madvise((void *)page, 8192, MADV_COLD);
    madvise((void *)page, 8192, MADV_PAGEOUT);
    calls(5);
    void *copy = mmap(0, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(copy, (void *)page, 8192);
    CHECK(!mprotect(copy, 8192, PROT_READ | PROT_EXEC));
    CHECK(mremap(copy, 8192, 8192, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)page) == (void *)page);
    calls(5);
    printf("count work 25\n");
}
static void dontneed(void)
{
    uintptr_t page = (uintptr_t)work & -4096;
    calls(5);
    CHECK(!madvise((void *)page, 8192, MADV_DONTNEED));
    calls(5);
    in_thread(5);
    printf("count work 5..15\n");
}
static void wiped(void)
{
    calls(5);
    pid_t p = fork();
    if (!p) {
        calls(5);
        p = syscall(SYS_fork);
        if (!p) {
            calls(5);
            _exit(0);
        }
        ended(p, 0);
        p = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
        if (!p) {
            calls(1);
            _exit(0);
        }
        ended(p, 0);
        exit(0);
    }
    ended(p, 0);
    printf("count work 5\n");
}
static void affinity(void)
{
    cpu_set_t s, o;
    sched_getaffinity(0, sizeof o, &o);
    for (int i = 0; i < 200; i++) {
        CPU_ZERO(&s);
        CPU_SET(i % 2, &s);
        sched_setaffinity(0, sizeof s, &s);
        calls(10);
        nice(0);
    }
    sched_setaffinity(0, sizeof o, &o);
    struct sched_param sp = {0};
    sched_setscheduler(0, SCHED_BATCH, &sp);
    calls(10);
    printf("count work 2010\n");
}
static void aslr(void)
{
    int n = step;
    if (!n) {
        personality(ADDR_NO_RANDOMIZE | ADDR_COMPAT_LAYOUT);
        calls(3);
        execl(self, self, "aslr", "1", (char *)0);
    }
    if (n == 1) {
        personality(READ_IMPLIES_EXEC | ADDR_NO_RANDOMIZE);
        calls(3);
        execl(self, self, "aslr", "2", (char *)0);
    }
    if (n == 2) {
        struct rlimit r = {RLIM_INFINITY, RLIM_INFINITY};
        setrlimit(RLIMIT_STACK, &r);
        personality(0);
        execl(self, self, "aslr", "3", (char *)0);
    }
    calls(5);
    in_thread(5);
    printf("count work 10\n");
}
static void cleared(void)
{
    calls(2);
    char *argv[] = {self, "nothing", 0}, *none[] = {0};
    int st;
    pid_t p = fork();
    if (!p) {
        execve(self, argv, none);
        _exit(1);
    }
    ended(p, 0);
    clearenv();
    calls(2);
    p = fork();
    if (!p) {
        calls(2);
        _exit(0);
    }
    ended(p, 0);
    printf("count work 4\n");
}
static void zerostack(void)
{
    /* environment and arguments overwritten, as setproctitle does */
    char *end = first_word;
    for (char **e = environ; *e; e++)
        end = *e + strlen(*e);
    environ = calloc(1, sizeof *environ);
    memset(first_word, 'x', end - first_word);
    prctl(PR_SET_MM, PR_SET_MM_ARG_START, 0, 0, 0);
    calls(3);
    pid_t p = fork();
    if (!p) {
        calls(2);
        exit(0);
    }
    ended(p, 0);
    calls(3);
    printf("count work 6\n");
}
int main(int count, char **words)
{
    static const struct mode modes[] = {
        MODE(clonevm), MODE(clonevmwait), MODE(vforks),    MODE(doublefork), MODE(handlerfork),
        MODE(spawn),   MODE(loopexec),    MODE(fexec),     MODE(traceme),    MODE(dumpable),
        MODE(names),   MODE(dropuid),     MODE(unsharing), MODE(ranges),     MODE(limits),
        MODE(locked),  MODE(text),        MODE(dontneed),  MODE(wiped),      MODE(affinity),
        MODE(aslr),    MODE(cleared),     MODE(zerostack), MODE(nothing),    {NULL, NULL},
    };
    static char path[4096];
    if (readlink("/proc/self/exe", path, sizeof path - 1) < 0)
        return 3;
    self = path;
    step = count > 2 ? atoi(words[2]) : 0;
    first_word = words[0];
    return run_mode(modes, count, words);
}
