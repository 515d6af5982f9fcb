/* SPDX-License-Identifier: MIT
 * Forks inside of a timed function: the child returns from it, goes on calling, maps memory where it likes, and forks again. */
#include "target.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CALLS = 1000, MAPS = 64 };
static volatile unsigned sink;

REAL void work(void)
{
    sink++;
}

REAL pid_t split(void)
{
    pid_t child = fork();
    /* A page that the parent's library had here and the child has not may be taken by the program. */
    for (int i = 0; child == 0 && i < MAPS; i++)
        if (mmap(NULL, 4096, i % 2 ? PROT_NONE : PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
            abort();
    return child;
}

static void generation(int left)
{
    for (int i = 0; i < CALLS; i++)
        work();
    if (!left)
        return;
    pid_t child = split();
    if (child < 0)
        abort();
    if (child == 0) {
        generation(left - 1);
        exit(0);
    }
    int status;
    if (waitpid(child, &status, 0) != child || status)
        abort();
    for (int i = 0; i < CALLS; i++)
        work();
}

int main(void)
{
    generation(2);
    puts("done");
    return 0;
}
