/* SPDX-License-Identifier: MIT
 * Meets a hostile surrounding of the kind that argv[1] names, then calls timed functions in threads (so that room for their
 * counts is needed) and opens files. Prints what it got.
 *   pressed many|closefrom|reuse|nofile|chroot|as|fsize|pipe|raise|masked CALLS */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "target.h"

REAL int work(int n) { IMPURE; return n + 1; }
static void *body(void *arg)
{
    long sum = 0;
    for (long i = 0; i < (long)arg; i++)
        sum += work(0);
    return (void *)sum;
}

/* As many threads at once as need more room than a profile begins with. */
enum { MANY = 400 };
static pthread_barrier_t all_there;
static void *together(void *arg)
{
    void *sum = body(arg);
    pthread_barrier_wait(&all_there);
    return sum;
}
static long many(long calls)
{
    pthread_t threads[MANY];
    pthread_attr_t small;
    void *result = NULL;
    long sum = 0;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 32 << 10);
    pthread_barrier_init(&all_there, NULL, MANY);
    for (int i = 0; i < MANY; i++)
        if (pthread_create(&threads[i], &small, together, (void *)calls))
            exit(5);
    for (int i = 0; i < MANY; i++)
        sum += pthread_join(threads[i], &result) ? 0 : (long)result;
    return sum;
}

static int limit(int what, rlim_t most)
{
    struct rlimit r = {most, most};
    return setrlimit(what, &r);
}

/* Files of the program's own under all the numbers from 3 to 600; gives how many were written to by others. */
static int files[601], spoilt;
static void take_numbers(void)
{
    char name[] = "/tmp/wtm-pressed-XXXXXX";
    limit(RLIMIT_NOFILE, 700);
    for (int fd = mkstemp(name); fd >= 0 && fd <= 600; fd = open(name, O_RDWR | O_CREAT | O_EXCL, 0600)) {
        unlink(name);
        files[fd] = 1;
    }
}
static void look_at_numbers(void)
{
    struct stat st;
    for (int fd = 3; fd <= 600; fd++)
        spoilt += files[fd] && (fstat(fd, &st) || st.st_size);
    printf("%d taken, %d spoilt\n", files[3] + files[500] + files[501] + files[600], spoilt);
}

static int meet(const char *what)
{
    int ends[2];
    if (!strcmp(what, "closefrom"))
        closefrom(3);
    if (!strcmp(what, "reuse")) {
        closefrom(3);
        take_numbers();
    }
    if (!strcmp(what, "nofile"))
        return limit(RLIMIT_NOFILE, 3);
    if (!strcmp(what, "as"))
        return limit(RLIMIT_AS, 64 << 20);
    if (!strcmp(what, "fsize"))
        return limit(RLIMIT_FSIZE, 0);
    if (!strcmp(what, "chroot"))
        return chdir("/proc/self/fd") || mkdir("/tmp/wtm-empty", 0700) < -1 || chroot("/tmp/wtm-empty") || rmdir("/");
    if (!strcmp(what, "pipe") || !strcmp(what, "masked")) { /* standard error becomes a pipe that nobody reads */
        if (!strcmp(what, "masked")) {
            sigset_t set;
            sigemptyset(&set);
            sigaddset(&set, SIGPIPE);
            sigprocmask(SIG_BLOCK, &set, NULL);
            raise(SIGPIPE);
        }
        return pipe(ends) || close(ends[0]) || dup2(ends[1], 2) != 2 || close(ends[1]);
    }
    return 0;
}

int main(int argc, char **argv)
{
    long calls = atol(argv[2]), sum = 0;
    if (meet(argv[1]) && strcmp(argv[1], "chroot"))
        return 8;
    if (!strcmp(argv[1], "many"))
        sum = many(calls);
    for (int i = 0; i < 40 && strcmp(argv[1], "many"); i++) {
        pthread_t thread;
        pthread_attr_t small;
        void *result = NULL;
        pthread_attr_init(&small);
        pthread_attr_setstacksize(&small, 128 << 10);
        if (pthread_create(&thread, &small, body, (void *)calls) || pthread_join(thread, &result))
            return 7;
        sum += (long)result;
    }
    if (!strcmp(argv[1], "reuse"))
        look_at_numbers();
    printf("%ld\n", sum);
    fflush(stdout);
    return 6;
}
