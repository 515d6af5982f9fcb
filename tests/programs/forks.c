/* SPDX-License-Identifier: MIT
 * Calls work 10 times, forks, prints "child PID", waits for a line; then the child calls work 20 times and ends, the
 * parent prints "child done", waits for another line and calls it 30 times. */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#include "target.h"

REAL int work(int n) { IMPURE; return n + 1; }

static void calls(int times)
{
    for (int i = 0; i < times; i++)
        work(i);
}

int main(void)
{
    int go[2];
    char c;
    calls(10);
    if (pipe(go))
        return 2;
    pid_t child = fork();
    if (child == 0) {
        if (read(go[0], &c, 1) != 1)
            return 3;
        calls(20);
        return 0;
    }
    printf("child %d\n", (int)child);
    fflush(stdout);
    if (getchar() == EOF || write(go[1], "g", 1) != 1 || waitpid(child, NULL, 0) != child)
        return 4;
    puts("child done");
    fflush(stdout);
    if (getchar() == EOF)
        return 5;
    calls(30);
    return 0;
}
