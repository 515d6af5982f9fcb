/* SPDX-License-Identifier: MIT
 * startup ROUNDS PRELOAD-A PRELOAD-B PROGRAM ARGS...: starts PROGRAM in turn with each library preloaded and waits for its
 * end. Prints the median difference B - A in ms, its quartiles, both medians, and the median difference of the CPU time that
 * they used (less disturbed by whatever else runs). */
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;
enum { MOST = 1001 };

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double run(const char *preload, char **argv, posix_spawn_file_actions_t *actions, double *cpu)
{
    struct rusage used;
    pid_t child;
    int status;
    setenv("LD_PRELOAD", preload, 1);
    double start = now_ms();
    if (posix_spawn(&child, argv[0], actions, NULL, argv, environ) != 0 || wait4(child, &status, 0, &used) != child ||
        !WIFEXITED(status) || WEXITSTATUS(status) == 127) {
        fprintf(stderr, "startup: %s does not run with %s\n", argv[0], preload);
        exit(1);
    }
    double end = now_ms();
    *cpu = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e3 +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e3;
    return end - start;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    static double first[MOST], second[MOST], difference[MOST], cpu[MOST];
    int rounds = argc > 4 ? atoi(argv[1]) : 0;
    if (rounds < 1 || rounds > MOST)
        return 2;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    for (int i = -3; i < rounds; i++) {
        double cpu_a, cpu_b;
        double a = run(argv[2], argv + 4, &actions, &cpu_a), b = run(argv[3], argv + 4, &actions, &cpu_b);
        if (i >= 0) {
            first[i] = a;
            second[i] = b;
            difference[i] = b - a;
            cpu[i] = cpu_b - cpu_a;
        }
    }
    qsort(first, (size_t)rounds, sizeof *first, by_value);
    qsort(second, (size_t)rounds, sizeof *second, by_value);
    qsort(difference, (size_t)rounds, sizeof *difference, by_value);
    qsort(cpu, (size_t)rounds, sizeof *cpu, by_value);
    printf("%.3f %.3f %.3f %.3f %.3f %.3f\n", difference[rounds / 2], difference[rounds / 4], difference[3 * rounds / 4],
           first[rounds / 2], second[rounds / 2], cpu[rounds / 2]);
    return 0;
}
