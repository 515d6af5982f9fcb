/* SPDX-License-Identifier: MIT
 * Processes that come and end in every way, from within timed calls: `forking HOW [NUMBER [FOLDER]]`.
 *   storm N FOLDER  eight threads call work without a pause while the ninth forks N times, by turns through fork() and by the
 *                   bare system call; each child calls work three times. Of a hundred profiles of children one is kept.
 *   daemon          goes on as a daemon, which calls work 20 times
 *   exec N          N further images of itself, one after the other, each from within a timed call
 *   shared          children that share the memory: clone with CLONE_VM | CLONE_VFORK, on a stack of their own
 *   exit, quick, hard, thread-exit, thread-quick, thread-hard   ends within a timed call, of the first or another thread
 * Prints how often this process has called work. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "target.h"

enum { THREADS = 8, KEPT = 100, STACK = 65536 };

REAL int work(int value) { IMPURE; return value + 1; }

static volatile int stop;

static void calls(int times)
{
    for (int i = 0; i < times; i++)
        work(i);
}

static void *keep_calling(void *unused)
{
    long count = 0;
    for (int value = 0; !stop; count++)
        value = work(value);
    return (void *)count;
}

static void check(int holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "%s\n", what);
    _exit(9);
}

REAL void by_fork(int number, const char *folder)
{
    pid_t child = number % 2 ? fork() : (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    int status;
    IMPURE;
    if (child == 0) {
        char path[4096];
        calls(3);
        snprintf(path, sizeof path, "%s/out.%d.prof", folder, (int)getpid());
        if (number % KEPT && unlink(path))
            _exit(8);
        _exit(7);
    }
    check(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7, "a child failed");
}

static long storm(int times, const char *folder)
{
    pthread_t threads[THREADS];
    long sum = 0;
    for (int i = 0; i < THREADS; i++)
        check(!pthread_create(&threads[i], NULL, keep_calling, NULL), "no thread");
    for (int i = 0; i < times; i++)
        by_fork(i, folder);
    stop = 1;
    for (int i = 0; i < THREADS; i++) {
        void *count;
        pthread_join(threads[i], &count);
        sum += (long)count;
    }
    return sum;
}

REAL void become_daemon(void)
{
    check(!daemon(1, 1), "no daemon");
    IMPURE;
}

REAL void next_image(char **words)
{
    execv("/proc/self/exe", words);
    check(0, "no exec");
}

static long exec_chain(char **words)
{
    static char number[16];
    int left = atoi(words[2]);
    calls(left + 1);
    if (left) {
        snprintf(number, sizeof number, "%d", left - 1);
        next_image((char *[]){words[0], words[1], number, NULL});
    }
    return left + 1;
}

static int shared_child(void *unused)
{
    calls(5);
    return 0;
}

REAL void share_memory(void)
{
    static char stack[STACK] __attribute__((aligned(16)));
    int status;
    pid_t child = clone(shared_child, stack + STACK, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
    check(child > 0 && waitpid(child, &status, 0) == child && status == 0, "a child that shares the memory failed");
    IMPURE;
}

REAL void ender(const char *how)
{
    calls(10);
    printf("10\n");
    fflush(stdout);
    if (!strcmp(how, "exit"))
        exit(0);
    if (!strcmp(how, "quick"))
        quick_exit(0);
    _exit(0);
}

static void *end_here(void *how)
{
    ender(how);
    return NULL;
}

static void end(const char *how)
{
    pthread_t thread;
    if (strncmp(how, "thread-", 7))
        ender(how);
    check(!pthread_create(&thread, NULL, end_here, (void *)(how + 7)), "no thread");
    for (;;)
        pause();
}

int main(int count, char **words)
{
    const char *how = words[1];
    long called = 0;
    if (!strcmp(how, "storm")) {
        called = storm(atoi(words[2]), words[3]);
    } else if (!strcmp(how, "daemon")) {
        calls(10);
        become_daemon();
        calls(called = 20);
    } else if (!strcmp(how, "exec")) {
        called = exec_chain(words);
    } else if (!strcmp(how, "shared")) {
        for (int i = 0; i < 20; i++)
            share_memory();
        called = 100;
    } else {
        end(how);
    }
    printf("%ld\n", called);
    return 0;
}
