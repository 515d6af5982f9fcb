/* SPDX-License-Identifier: MIT
 * Signal handlers set in several ways, before and while functions are timed, and in a child. */
#include "target.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t first, second;

REAL void on_first(int number)
{
    first++;
}

REAL void on_second(int number, siginfo_t *info, void *context)
{
    second += info->si_signo == SIGUSR2;
}

REAL void loop(void)
{
    for (int i = 0; i < 3; i++)
        raise(SIGUSR1);
    raise(SIGUSR2);
    raise(SIGUSR2);
}

int main(void)
{
    struct sigaction action;
    if (signal(SIGUSR1, on_first) == SIG_ERR)
        return 1;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_second;
    action.sa_flags = SA_SIGINFO;
    if (sigaction(SIGUSR2, &action, NULL) || sigaction(0, &action, NULL) != -1 || sigaction(65, (void *)8, NULL) != -1)
        return 2;
    loop();
    pid_t child = fork();
    if (child == 0) {
        raise(SIGUSR1);
        exit(first == 4 ? 0 : 3);
    }
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child || status)
        return 4;
    return first == 3 && second == 2 ? 0 : 5;
}
