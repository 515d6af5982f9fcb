/* SPDX-License-Identifier: MIT
 * Loads plug-ins: `loader HOW ROUNDS FILE...` with HOW one of again (one after the other, by one thread), deep (the same with
 * RTLD_DEEPBIND), threads (a thread for each file, while as many call `busy` without a pause), shared (all threads load the
 * first), spaces (dlmopen: each in a name space of its own). Each time `work` is called ten times. Prints the sum, and on
 * stderr the number of calls of `busy`. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../programs/target.h"

enum { MOST = 8, CALLS = 10 };

int host_function(int value);
int both(int value);
REAL int host_function(int value) { IMPURE; return value + 1; }
REAL int both(int value) { IMPURE; return value + 1; }
REAL int busy(int value) { IMPURE; return value ^ 1; }

static const char *how;
static long rounds;
static volatile int stop;

static long use(void *library)
{
    int (*work)(int) = library ? (int (*)(int))dlsym(library, "work") : NULL;
    long sum = 0;
    if (!work) {
        fprintf(stderr, "%s\n", dlerror());
        exit(3);
    }
    for (int i = 0; i < CALLS; i++)
        sum += work(i);
    return sum;
}

static void *load(void *file)
{
    int flags = !strcmp(how, "deep") ? RTLD_NOW | RTLD_DEEPBIND : RTLD_LAZY;
    long sum = 0;
    for (long i = 0; i < rounds; i++) {
        void *library = !strcmp(how, "spaces") ? dlmopen(LM_ID_NEWLM, file, RTLD_NOW) : dlopen(file, flags);
        sum += use(library);
        if (dlclose(library))
            exit(4);
    }
    return (void *)sum;
}

static void *call_busy(void *unused)
{
    long count = 0;
    int value = 0;
    while (!stop) {
        value = busy(value);
        count++;
    }
    return (void *)(count + 0 * value);
}

int main(int count, char **words)
{
    how = words[1];
    rounds = atol(words[2]);
    char **files = words + 3;
    int file_count = count - 3, threaded = !strcmp(how, "threads") || !strcmp(how, "shared");
    pthread_t loaders[MOST], callers[MOST];
    long sum = 0, calls = 0;
    void *result;
    for (int i = 0; !threaded && i < file_count; i++)
        sum += (long)load(files[i]);
    for (int i = 0; threaded && i < file_count; i++)
        if (pthread_create(&callers[i], NULL, call_busy, NULL) ||
            pthread_create(&loaders[i], NULL, load, files[!strcmp(how, "shared") ? 0 : i]))
            return 2;
    for (int i = 0; threaded && i < file_count; i++) {
        pthread_join(loaders[i], &result);
        sum += (long)result;
    }
    stop = 1;
    for (int i = 0; threaded && i < file_count; i++) {
        pthread_join(callers[i], &result);
        calls += (long)result;
    }
    printf("%ld\n", sum);
    fprintf(stderr, "busy %ld\n", calls);
    return 0;
}
