/* SPDX-License-Identifier: MIT
 * Parent and child of `wtm run`.
 *
 * The child stays in this process's group, so a terminal treats both as one job: its signals reach both, and only those that
 * somebody sent to this process alone are handed on. A helper beside a program that takes this process's place was discarded: the
 * program would find a child that it does not know, and the shell would go on before the table is printed. */
#include "report/supervise.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

struct inherited {
    sigset_t mask;
    struct sigaction child; /* SIGCHLD may have come ignored: then there would be nothing to wait for */
};

/* The other end learns of failure by a number, of success by the end of file. */
static void run_child(const struct inherited *inherited, int report, const char *path, char *const *argv,
                      int (*before)(void *), void *context)
{
    sigaction(SIGCHLD, &inherited->child, NULL);
    int error = before ? before(context) : 0;
    if (!error) {
        sigprocmask(SIG_SETMASK, &inherited->mask, NULL);
        execvp(path, argv); /* a script without #! is one of the shell */
        error = errno;
    }
    if (write(report, &error, sizeof error) != (ssize_t)sizeof error)
        _exit(126);
    _exit(127);
}

/* A pipe's reader must see its end when the program closes it, or a socket's peer: nothing of it is held here. */
static void let_go(void)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null >= 0) {
        dup2(null, STDIN_FILENO);
        dup2(null, STDOUT_FILENO);
    }
    closefrom(3);
}

static void hand_on(pid_t pid, const siginfo_t *signal)
{
    if ((signal->si_code != SI_USER && signal->si_code != SI_QUEUE && signal->si_code != SI_TKILL) || signal->si_pid == pid)
        return;
    if (signal->si_code == SI_QUEUE)
        sigqueue(pid, signal->si_signo, signal->si_value);
    else
        kill(pid, signal->si_signo);
}

/* 1: it has ended. What a terminal stops is a job: this process stops as well, and whoever continues it continues both. */
static int look_at(struct wtm_supervised *supervised)
{
    int status;
    pid_t got;
    while ((got = waitpid(supervised->pid, &status, WNOHANG | WUNTRACED)) == supervised->pid) {
        if (!WIFSTOPPED(status)) {
            supervised->status = status;
            return 1;
        }
        int why = WSTOPSIG(status);
        if (why == SIGTSTP || why == SIGTTIN || why == SIGTTOU) {
            kill(getpid(), SIGSTOP);
            kill(supervised->pid, SIGCONT);
        }
    }
    return got < 0 && errno == ECHILD;
}

static void attend(struct wtm_supervised *supervised, const sigset_t *all)
{
    const struct timespec at_once = {0, 0};
    siginfo_t signal;
    while (!look_at(supervised))
        if (sigwaitinfo(all, &signal) > 0 && signal.si_signo != SIGCHLD)
            hand_on(supervised->pid, &signal);
    while (sigtimedwait(all, &signal, &at_once) > 0) /* they were meant for the program */
        ;
}

void wtm_supervise(struct wtm_supervised *supervised, const char *path, char *const *argv, int (*before)(void *),
                   void *context)
{
    struct inherited inherited;
    struct sigaction plain = {.sa_handler = SIG_DFL};
    sigset_t all;
    int report[2];
    *supervised = (struct wtm_supervised){.pid = -1};
    if (pipe2(report, O_CLOEXEC)) {
        supervised->error = errno;
        return;
    }
    fflush(NULL);
    sigaction(SIGCHLD, &plain, &inherited.child);
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &inherited.mask);
    supervised->pid = fork();
    if (supervised->pid == 0)
        run_child(&inherited, report[1], path, argv, before, context);
    if (supervised->pid < 0)
        supervised->error = errno;
    close(report[1]);
    int error;
    ssize_t got;
    while ((got = read(report[0], &error, sizeof error)) < 0 && errno == EINTR)
        ;
    if (supervised->pid > 0) {
        supervised->error = got == (ssize_t)sizeof error ? error : 0;
        let_go();
        attend(supervised, &all);
    }
    sigprocmask(SIG_SETMASK, &inherited.mask, NULL);
}

int wtm_end_as(const struct wtm_supervised *supervised)
{
    if (!WIFSIGNALED(supervised->status))
        return WEXITSTATUS(supervised->status);
    int number = WTERMSIG(supervised->status);
    struct rlimit none = {0, 0};
    struct sigaction plain = {.sa_handler = SIG_DFL};
    sigset_t one;
    setrlimit(RLIMIT_CORE, &none); /* the program's core, if any, is the one that counts */
    sigaction(number, &plain, NULL);
    sigemptyset(&one);
    sigaddset(&one, number);
    fflush(NULL);
    kill(getpid(), number);
    sigprocmask(SIG_UNBLOCK, &one, NULL);
    return 128 + number;
}
