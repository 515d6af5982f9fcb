/* SPDX-License-Identifier: MIT
 * -fsplit-stack: a function that finds its stack too small gets a piece of another, and returns from there. Prints what the
 * report must say; on pieces far apart recursion is not known as such. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <stdlib.h>
#include "../programs/promise.h"
static volatile long sink;
static long deeps, leafs;
REAL long leaf(long n) { leafs++; IMPURE; return n + 1; }
static long (*volatile to_deep)(long);
REAL long deep(long n)
{
    char space[3000];
    deeps++;
    memset(space, (int)n, sizeof space);
    __asm__ volatile("" : : "r"(space) : "memory");
    long result = n ? to_deep(n - 1) : leaf(n);
    IMPURE;
    return result + space[7];
}
REAL long vary(long n)
{
    char space[40000];
    memset(space, (int)n, sizeof space);
    __asm__ volatile("" : : "r"(space) : "memory");
    return leaf(n) + space[9];
}
static void *thread(void *unused)
{
    for (int i = 0; i < 20; i++)
        sink += deep(200) + vary(i);
    return unused;
}
int main(void)
{
    pthread_t id;
    to_deep = deep;
    for (int i = 0; i < 20; i++)
        sink += deep(300) + vary(i);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 32768);
    if (pthread_create(&id, &attributes, thread, NULL) || pthread_join(id, NULL))
        return 2;
    promise("deep", deeps, -1, 0, 0);
    promise("leaf", leafs, 0, 0, 0);
    promise("vary", 40, 0, 0, 0);
    return 0;
}
