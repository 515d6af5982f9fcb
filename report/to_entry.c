/* SPDX-License-Identifier: MIT
 * A traced child up to its entry point.
 *
 * The kernel tells the loader by AT_ENTRY, on the new program's stack, where to jump when all is loaded. An
 * address where nothing can be is written there, so that this jump is a fault that the tracer sees.
 * Breakpoints were discarded: an int3 would stand in bytes that the patcher looks at, and debug registers do
 * nothing in some virtual machines. */
#include "report/to_entry.h"
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

static int fails(char *reason, size_t bytes, const char *words)
{
    snprintf(reason, bytes, "%s", words);
    return -1;
}

static void child(const char *path, char *const *argv)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null >= 0) {
        dup2(null, STDIN_FILENO);
        dup2(null, STDOUT_FILENO);
    }
    if (!ptrace(PTRACE_TRACEME, 0, NULL, NULL))
        execvp(path, argv);
    _exit(127);
}

/* In the first page, where nothing is mapped. */
enum { NOWHERE = 16, MOST_WORDS = 1 << 20 };

static int peek(pid_t pid, uint64_t at, uint64_t *word)
{
    errno = 0;
    *word = (uint64_t)ptrace(PTRACE_PEEKDATA, pid, at, NULL);
    return errno ? -1 : 0;
}

/* On the stack at exec: argc, argv and NULL, environment and NULL, pairs of the auxiliary vector. */
static int redirect_entry(pid_t pid)
{
    struct user_regs_struct registers;
    uint64_t word, at;
    if (ptrace(PTRACE_GETREGS, pid, NULL, &registers) || peek(pid, registers.rsp, &word) || word > MOST_WORDS)
        return -1;
    at = registers.rsp + (word + 2) * sizeof word;
    for (unsigned words = 0; !peek(pid, at, &word) && word; at += sizeof word)
        if (++words > MOST_WORDS)
            return -1;
    for (at += sizeof word; !peek(pid, at, &word) && word != AT_NULL; at += 2 * sizeof word)
        if (word == AT_ENTRY)
            return ptrace(PTRACE_POKEDATA, pid, at + sizeof word, (long)NOWHERE) ? -1 : 0;
    return -1;
}

static int is_there(pid_t pid)
{
    struct user_regs_struct registers;
    return !ptrace(PTRACE_GETREGS, pid, NULL, &registers) && registers.rip == NOWHERE;
}

static int wait_for(pid_t pid, int *status)
{
    pid_t got;
    do
        got = waitpid(pid, status, 0);
    while (got < 0 && errno == EINTR);
    return got == pid ? 0 : -1;
}

/* `ended`: set when there is no process any more. */
static int follow(pid_t pid, int *ended, char *reason, size_t bytes)
{
    int status = 0;
    *ended = wait_for(pid, &status) || !WIFSTOPPED(status);
    if (*ended)
        return fails(reason, bytes, "cannot be executed, or cannot be traced here");
    if (ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_EXITKILL) || redirect_entry(pid))
        return fails(reason, bytes, "cannot be stopped at its entry");
    for (long deliver = 0;;) {
        if (ptrace(PTRACE_CONT, pid, NULL, deliver) || wait_for(pid, &status))
            return fails(reason, bytes, "was lost");
        *ended = !WIFSTOPPED(status);
        if (*ended)
            return fails(reason, bytes, "ended before its own code began");
        deliver = WSTOPSIG(status);
        if (deliver == SIGSEGV && is_there(pid))
            return 0;
    }
}

int wtm_run_to_entry(const char *path, char *const *argv, char *reason, size_t reason_bytes)
{
    int status, ended = 0;
    fflush(NULL);
    pid_t pid = fork();
    if (pid < 0)
        return fails(reason, reason_bytes, "no process can be made");
    if (!pid)
        child(path, argv);
    int result = follow(pid, &ended, reason, reason_bytes);
    if (!ended && !kill(pid, SIGKILL))
        wait_for(pid, &status);
    return result;
}
