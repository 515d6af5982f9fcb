/* SPDX-License-Identifier: MIT
 * Functions in every kind of text section, one of them with a cold part, and both versions of a library's function. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include "../programs/target.h"

int versioned(int value), older(int value), weak_one(int value);
__asm__(".symver older,versioned@V1");

REAL __attribute__((section("odd.text"))) int elsewhere(int value) { IMPURE; return value * 3; }
REAL __attribute__((hot)) int often(int value) { IMPURE; return value * 5; }
REAL __attribute__((cold)) int seldom(int value) { IMPURE; return value * 7; }
REAL int split(int value)
{
    if (__builtin_expect(value < 0, 0)) {
        printf("below %d\n", value);
        if (value == -5)
            abort();
        return seldom(value) + 1;
    }
    IMPURE;
    return value + 1;
}

int main(void)
{
    int sum = split(-1);
    for (int i = 0; i < 100; i++) {
        sum += versioned(i) + elsewhere(i) + often(i) + split(i);
        if (i % 2)
            sum += older(i) + weak_one(i);
        if (i % 4 == 0)
            sum += seldom(i);
    }
    int (*found)(int) = (int (*)(int))dlvsym(RTLD_DEFAULT, "versioned", "V1");
    printf("sum %d\n", sum + (found ? found(1) : 0));
    return 0;
}
