/* SPDX-License-Identifier: MIT
 * Does what its arguments say, in order: cN calls work N times; sN raises SIGRTMIN+N; tN calls work N times in a new
 * thread; fN calls it in a forked child and waits; m prints a mark on stderr; k ends by SIGKILL; a by SIGABRT; wN
 * sleeps N ms; h prints "here" and waits for a line on stdin. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "clock.h"
#include "target.h"

REAL int work(int n) { IMPURE; return n + 1; }

static void *calls(void *times)
{
    long sum = 0;
    for (long i = 0; i < (long)times; i++)
        sum += work((int)i);
    return (void *)sum;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        long n = atol(argv[i] + 1);
        pthread_t thread;
        pid_t child;
        switch (argv[i][0]) {
        case 'c': calls((void *)n); break;
        case 's': raise(SIGRTMIN + (int)n); break;
        case 't':
            if (pthread_create(&thread, NULL, calls, (void *)n) || pthread_join(thread, NULL))
                return 3;
            break;
        case 'f':
            child = fork();
            if (child == 0) {
                calls((void *)n);
                _exit(0);
            }
            if (child < 0 || waitpid(child, NULL, 0) != child)
                return 4;
            break;
        case 'm': fputs("--mark--\n", stderr); break;
        case 'k': raise(SIGKILL); break;
        case 'a': abort();
        case 'w': sleep_ms(n); break;
        case 'h':
            puts("here");
            fflush(stdout);
            if (getchar() == EOF)
                return 5;
            break;
        default: return 6;
        }
    }
    puts("end");
    return 0;
}
