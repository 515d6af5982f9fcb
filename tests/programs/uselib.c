/* SPDX-License-Identifier: MIT
 * Its own alpha runs 11 times, the library's 13 times (the library is linked with -Bsymbolic). */
#include <stdio.h>
#include "target.h"

long in_library(long n);
static long alpha(long n);
REAL static long alpha(long n) { IMPURE; return n; }

int main(void)
{
    long sum = 0;
    for (long i = 0; i < 11; i++)
        sum += alpha(i);
    for (long i = 0; i < 13; i++)
        sum += in_library(i);
    printf("sum %ld\n", sum);
    return 0;
}
