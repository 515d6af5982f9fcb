/* SPDX-License-Identifier: MIT
 * Gives up all system calls but read, write, exit, exit_group and rt_sigreturn by the way that argv[1] names, and goes on
 * calling timed functions, some for the first time, while a timer's signals come between. Then it ends by exit().
 *   sandbox none|prctl|seccomp|sysprctl|strict|open|probe|fork|threads CALLS */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include "target.h"

REAL int work(int n) { IMPURE; return n + 1; }
REAL int late(int n) { IMPURE; return n + 2; }
REAL int in_handler(int n) { IMPURE; return n + 3; }
REAL int spin(int n) { for (volatile int i = 0; i < n; i++) { } return n; }
REAL int last(int n) { IMPURE; return n + 4; }

static volatile sig_atomic_t alarms;
static void on_alarm(int sig) { alarms += in_handler(0) == 3; }

#define ALLOW(name) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
static struct sock_filter narrow[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    ALLOW(read), ALLOW(write), ALLOW(exit), ALLOW(exit_group), ALLOW(rt_sigreturn),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)};
static struct sock_filter with_fork[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    ALLOW(read), ALLOW(write), ALLOW(exit), ALLOW(exit_group), ALLOW(rt_sigreturn), ALLOW(clone), ALLOW(wait4),
    ALLOW(set_robust_list), ALLOW(gettid), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)};
static struct sock_filter wide[] = { /* all but one that nobody here uses */
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_reboot, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};

#define KILL(name) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
static struct sock_filter with_threads[] = { /* all but what only the library uses */
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    KILL(clock_gettime), KILL(gettid), KILL(tgkill), KILL(fallocate), KILL(ftruncate), KILL(mremap), KILL(memfd_create),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};

static int install(const char *how)
{
    struct sock_fprog narrow_program = {sizeof narrow / sizeof *narrow, narrow};
    struct sock_fprog wide_program = {sizeof wide / sizeof *wide, wide};
    struct sock_fprog threads_program = {sizeof with_threads / sizeof *with_threads, with_threads};
    struct sock_fprog fork_program = {sizeof with_fork / sizeof *with_fork, with_fork};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        return -1;
    if (!strcmp(how, "prctl"))
        return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &narrow_program);
    if (!strcmp(how, "seccomp"))
        return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &narrow_program);
    if (!strcmp(how, "sysprctl"))
        return (int)syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &narrow_program);
    if (!strcmp(how, "strict"))
        return prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    if (!strcmp(how, "open"))
        return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &wide_program);
    if (!strcmp(how, "fork"))
        return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &fork_program);
    if (!strcmp(how, "threads"))
        return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &threads_program);
    if (!strcmp(how, "probe")) /* is there such a thing? The kernel says EFAULT if so */
        return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, (void *)8) == -1 && errno == EFAULT ? 0 : -1;
    return 0;
}

/* Without stdio: it asks what descriptor 1 is. */
static void say(const char *text) { if (write(1, text, strlen(text)) < 0) _exit(9); }

/* Half of the calls in threads that live at once and begin under the filter, one after the other in each. */
static pthread_barrier_t all_there;
static void *body(void *calls)
{
    int sum = 0;
    for (int i = 0; i < *(int *)calls; i++)
        sum += work(0) + late(0);
    pthread_barrier_wait(&all_there);
    return (void *)(long)sum;
}
static int threads(int calls)
{
    enum { COUNT = 5 };
    pthread_t ids[COUNT];
    int sum = 0, each = calls / COUNT;
    pthread_barrier_init(&all_there, NULL, COUNT);
    for (int i = 0; i < COUNT; i++)
        if (pthread_create(&ids[i], NULL, body, &each))
            _exit(10);
    for (int i = 0; i < COUNT; i++) {
        void *result = NULL;
        pthread_join(ids[i], &result);
        sum += (int)(long)result;
    }
    return sum;
}

int main(int argc, char **argv)
{
    int calls = atoi(argv[2]), sum = 0;
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    struct itimerval timer = {{0, 1000}, {0, 1000}};
    for (int i = 0; i < 10; i++)
        sum += work(0);
    sigaction(SIGALRM, &action, NULL);
    if (setitimer(ITIMER_REAL, &timer, NULL) || install(argv[1]))
        return 8;
    if (!strcmp(argv[1], "threads"))
        sum += threads(calls);
    for (int i = 0; i < calls && strcmp(argv[1], "threads"); i++)
        sum += work(0) + late(0);
    for (int i = 0; i < 20; i++)
        spin(2000000);
    while (alarms < 3)
        spin(1000);
    if (!strcmp(argv[1], "fork")) {
        pid_t child = fork();
        int status = -1;
        if (child == 0) {
            for (int i = 0; i < 1000; i++)
                sum += work(0) + last(0);
            _exit(sum & 1 ? 77 : 76);
        }
        say(waitpid(child, &status, 0) == child && WIFEXITED(status) ? "child came back\n" : "child lost\n");
    }
    say(sum == 10 + calls * 3 ? "right\n" : "wrong\n");
    last(0);
    exit(5);
}
