/* SPDX-License-Identifier: MIT
 * plain A B C [STATUS]: calls alpha A times, alphabet B times and beta C times, prints a sum and ends with STATUS. */
#include <stdio.h>
#include <stdlib.h>
#include "target.h"

REAL long alpha(long n) { IMPURE; return n + 1; }
REAL long alphabet(long n) { IMPURE; return n + 2; }
REAL long beta(long n) { IMPURE; return n + 3; }

int main(int argc, char **argv)
{
    long sum = 0, times[3] = {0, 0, 0};
    for (int i = 0; i < 3 && i + 1 < argc; i++)
        times[i] = atol(argv[i + 1]);
    for (long i = 0; i < times[0]; i++)
        sum += alpha(i);
    for (long i = 0; i < times[1]; i++)
        sum += alphabet(i);
    for (long i = 0; i < times[2]; i++)
        sum += beta(i);
    printf("sum %ld\n", sum);
    return argc > 4 ? atoi(argv[4]) : 0;
}
