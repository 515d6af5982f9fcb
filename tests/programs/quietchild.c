/* SPDX-License-Identifier: MIT
 * Children of fork that call nothing timed and end by exit(), while the parent goes on. */
#include "target.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

REAL int busy(int x)
{
    IMPURE;
    return x + 1;
}

int main(void)
{
    int sum = busy(1), status;
    for (int i = 0; i < 7; i++) {
        pid_t child = fork();
        if (child == 0)
            exit(3);
        if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 3)
            return 1;
    }
    usleep(30000);
    for (int i = 0; i < 12; i++)
        sum += busy(i);
    printf("sum %d\n", sum);
    return 0;
}
