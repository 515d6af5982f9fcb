/* SPDX-License-Identifier: MIT
 * crowd HOW COUNT: COUNT threads, four at a time, each of which calls work twice. HOW: same (one name), sizes (stacks of
 * many sizes, so that thread pointers rarely come again), names (each has a name of its own), kinds (three names in turn), late
 * (named between the two calls), pool (two threads that live on, named by main after their first call, beside short ones). */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "target.h"

enum { AT_ONCE = 4 };
static const char *how;
static sem_t called, named;

REAL int work(int n) { IMPURE; return n + 1; }

static void *body(void *argument)
{
    long number = (long)argument;
    char name[16];
    snprintf(name, sizeof name, "%s", "crowd-member");
    if (!strcmp(how, "names") || !strcmp(how, "late"))
        snprintf(name, sizeof name, "member-%ld", number);
    if (!strcmp(how, "kinds"))
        snprintf(name, sizeof name, "kind-%c", (char)('a' + number % 3));
    if (!strcmp(how, "late"))
        work(0);
    pthread_setname_np(pthread_self(), name);
    if (strcmp(how, "late"))
        work(1);
    work(2);
    return NULL;
}

static void *lasting(void *argument)
{
    for (int i = 0; i < 100; i++)
        work(i);
    sem_post(&called);
    sem_wait(&named);
    for (int i = 0; i < 100; i++)
        work(i);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[AT_ONCE], pool[2];
    long count = argc > 2 ? atol(argv[2]) : 0;
    how = argc > 1 ? argv[1] : "same";
    sem_init(&called, 0, 0);
    sem_init(&named, 0, 0);
    for (int i = 0; i < 2 && !strcmp(how, "pool"); i++) {
        if (pthread_create(&pool[i], NULL, lasting, NULL))
            return 2;
        sem_wait(&called);
        pthread_setname_np(pool[i], i ? "pool-b" : "pool-a");
    }
    for (long done = 0; done < count; done += AT_ONCE) {
        for (long i = 0; i < AT_ONCE; i++) {
            pthread_attr_t attributes;
            pthread_attr_init(&attributes);
            pthread_attr_setstacksize(&attributes, (size_t)(strcmp(how, "sizes") ? 16 : 16 + (done + i) * 37 % 5000) * 4096);
            if (pthread_create(&threads[i], &attributes, body, (void *)(done + i)))
                return 3;
            pthread_attr_destroy(&attributes);
        }
        for (int i = 0; i < AT_ONCE; i++)
            pthread_join(threads[i], NULL);
    }
    for (int i = 0; i < 2 && !strcmp(how, "pool"); i++)
        sem_post(&named);
    for (int i = 0; i < 2 && !strcmp(how, "pool"); i++)
        pthread_join(pool[i], NULL);
    puts("done");
    return 0;
}
