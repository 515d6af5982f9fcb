/* SPDX-License-Identifier: MIT
 * What a run of many processes can be made of, by words:
 *   cN  N calls of work()
 *   tNAME:N  a thread that names itself NAME, N calls in it; joined
 *   f(  a forked child that does the words up to ) and ends by _exit; waited for
 *   d   a child that leaves the terminal's group and goes on for as long as there is a file "stay"; not waited for
 *   xPATH  executes PATH with the rest of the words
 *   k9  kills itself by signal 9
 *   s   prints "ready", then waits for a signal; TERM ends it by exit(3), USR1 prints "usr1" and waits on
 *   e5  ends by exit(5) */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) int work(int n)
{
    __asm__ volatile("" : "+r"(n));
    return n + 1;
}

static void calls(int count)
{
    for (int i = 0; i < count; i++)
        work(i);
}

static void *named(void *word)
{
    char name[64];
    snprintf(name, sizeof name, "%s", (char *)word);
    char *colon = strchr(name, ':');
    *colon = 0;
    pthread_setname_np(pthread_self(), name);
    calls(atoi(colon + 1));
    return NULL;
}

static void linger(void)
{
    if (fork())
        return;
    setsid();
    for (int fd = 0; fd < 3; fd++)
        close(fd); /* a pipe there would be waited for */
    calls(5);
    while (!access("stay", F_OK))
        usleep(10000);
    exit(0);
}

static void wait_for_signals(void)
{
    sigset_t set;
    int number = 0;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    puts("ready");
    fflush(stdout);
    while (!sigwait(&set, &number) && number == SIGUSR1) {
        puts("usr1");
        fflush(stdout);
    }
    exit(3);
}

int main(int count, char **words)
{
    for (int i = 1; i < count; i++) {
        char *word = words[i];
        pthread_t thread;
        if (*word == 'c')
            calls(atoi(word + 1));
        else if (*word == 't' && !pthread_create(&thread, NULL, named, word + 1))
            pthread_join(thread, NULL);
        else if (*word == 'd')
            linger();
        else if (*word == 'x')
            execv(word + 1, &words[i]);
        else if (*word == 'k')
            kill(getpid(), atoi(word + 1));
        else if (*word == 's')
            wait_for_signals();
        else if (*word == 'e')
            exit(atoi(word + 1));
        else if (*word == ')')
            _exit(0);
        else if (!strcmp(word, "f(") && fork()) {
            wait(NULL);
            while (i < count && strcmp(words[i], ")"))
                i++;
        }
    }
    return 0;
}
