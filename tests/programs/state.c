/* SPDX-License-Identifier: MIT
 * What a program may notice of a profiler in its process: errno over a thread's first timed call, numbers of descriptors,
 * signal mask and handlers, the file mode mask, pages both writable and executable, threads, timers. Everything is
 * printed: the output must be the same with and without the library. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>
#include "target.h"

REAL int work(int n) { IMPURE; return n + 1; }

static void *first_call(void *unused)
{
    errno = 1234;
    work(1);
    return (void *)(long)errno;
}

/* Entries of a folder of /proc whose number is below a limit: descriptors that are kept out of the way do not count. */
static int count_entries(const char *path, long below)
{
    int count = 0;
    DIR *dir = opendir(path);
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        count += entry->d_name[0] != '.' && atol(entry->d_name) < below;
    if (dir)
        closedir(dir);
    return count;
}

static int writable_code(void)
{
    char line[600], rights[8];
    int count = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps))
        if (sscanf(line, "%*s %7s", rights) == 1 && rights[1] == 'w' && rights[2] == 'x')
            count++;
    if (maps)
        fclose(maps);
    return count;
}

int main(void)
{
    void *seen[20];
    pthread_t thread;
    sigset_t mask;
    struct sigaction action;
    struct itimerval timer;

    errno = 77;
    work(0);
    printf("errno %d\n", errno);
    for (int i = 0; i < 20; i++) {
        if (pthread_create(&thread, NULL, first_call, NULL) || pthread_join(thread, &seen[i]))
            return 2;
        printf("thread's errno %ld\n", (long)seen[i]);
    }
    printf("descriptors %d first free %d\n", count_entries("/proc/self/fd", 100), open("/dev/null", O_RDONLY));
    printf("threads %d\n", count_entries("/proc/self/task", 1L << 40));
    printf("pages writable and executable %d\n", writable_code());
    sigprocmask(SIG_SETMASK, NULL, &mask);
    for (int i = 1; i < 32; i++) {
        sigaction(i, NULL, &action);
        printf("signal %d blocked %d handler %s\n", i, sigismember(&mask, i),
               action.sa_handler == SIG_DFL ? "default" : action.sa_handler == SIG_IGN ? "ignore" : "set");
    }
    for (int which = 0; which < 3; which++) {
        getitimer(which, &timer);
        printf("timer %d %ld %ld\n", which, (long)timer.it_value.tv_sec, (long)timer.it_value.tv_usec);
    }
    mode_t old = umask(0);
    printf("file mode mask %o\n", (unsigned)old);
    printf("work %d\n", work(41));
    return 0;
}
