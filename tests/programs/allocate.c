/* SPDX-License-Identifier: MIT
 * Four threads allocate and free by turns, N times each; sizes from tiny to what comes straight from the kernel. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "target.h"

REAL char *grab(size_t size) { char *p = malloc(size); IMPURE; return p; }
REAL void drop(char *p) { IMPURE; free(p); IMPURE; }

static void *body(void *arg)
{
    char *kept[16] = {NULL};
    long bad = 0;
    for (long i = 0; i < (long)arg; i++) {
        size_t size = i % 500 == 0 ? 300000 : (size_t)(i * 37 % 2000) + 1;
        char **p = &kept[i % 16];
        bad += *p && (*p)[0] != (char)(i - 16);
        drop(*p);
        *p = grab(size);
        memset(*p, (char)i, size);
    }
    for (int i = 0; i < 16; i++)
        drop(kept[i]);
    return (void *)bad;
}

int main(int argc, char **argv)
{
    pthread_t threads[4];
    long n = atol(argv[1]), bad = 0;
    for (int i = 0; i < 4; i++)
        if (pthread_create(&threads[i], NULL, body, (void *)n))
            return 2;
    for (int i = 0; i < 4; i++) {
        void *result = NULL;
        pthread_join(threads[i], &result);
        bad += (long)result;
    }
    printf("%ld bad\n", bad);
    return 0;
}
