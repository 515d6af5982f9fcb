/* SPDX-License-Identifier: MIT
 * A thousand functions f_000 .. f_999; f_NNN is called NNN times, so their sum is 499500. */
#include <stdio.h>
#include "thousand.h"

int main(void)
{
    long calls = 0;
    for (int i = 0; i < 1000; i++)
        for (int k = 0; k < i; k++)
            calls = all[i](calls);
    printf("calls %ld\n", calls);
    return 0;
}
