/* SPDX-License-Identifier: MIT
 * notsc [-STEPS] PROGRAM ARGS...: runs PROGRAM and single-steps it while it has forbidden itself the time-stamp counter, looking for
 * an instruction that reads it. (Virtual machines need not enforce the rule, so the fault itself proves nothing.) Prints
 * `stepped N, read M`, and ends with the program's status, or 99 when the counter was read. After STEPS it runs on unwatched.
 * One thread. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t child;

static int go(int request)
{
    int status;
    if (ptrace(request, child, NULL, NULL) || waitpid(child, &status, 0) != child)
        exit(98);
    if (WIFEXITED(status) || WIFSIGNALED(status))
        return status;
    return -1;
}

/* Lets it run. A popf under single steps makes the kernel take the trap flag for the program's own and leave it set. */
static int run_on(int request)
{
    struct user_regs_struct r;
    if (ptrace(PTRACE_GETREGS, child, NULL, &r))
        exit(93);
    r.eflags &= ~0x100ULL;
    ptrace(PTRACE_SETREGS, child, NULL, &r);
    return go(request);
}

static int reads_counter(unsigned long rip)
{
    unsigned long bytes = (unsigned long)ptrace(PTRACE_PEEKTEXT, child, (void *)rip, NULL);
    return (bytes & 0xffff) == 0x310f || (bytes & 0xffffff) == 0xf9010f;
}

/* The mode that a PR_SET_TSC at `rip` is about to set, else 0. */
static int sets_mode(const struct user_regs_struct *r)
{
    unsigned long bytes = (unsigned long)ptrace(PTRACE_PEEKTEXT, child, (void *)r->rip, NULL);
    return (bytes & 0xffff) == 0x050f && r->rax == SYS_prctl && r->rdi == PR_SET_TSC ? (int)r->rsi : 0;
}

int main(int argc, char **argv)
{
    struct user_regs_struct r;
    long stepped = 0, read = 0, most = argv[1][0] == '-' ? -atol(argv[1]) : 0;
    int status = -1, forbidden = 0;
    argv += most != 0;
    child = fork();
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        execv(argv[1], argv + 1);
        _exit(97);
    }
    if (waitpid(child, &status, 0) != child)
        return 96;
    for (status = -1; status == -1;) {
        if (most && stepped >= most) {
            status = run_on(PTRACE_CONT);
            continue;
        }
        if (!forbidden) {
            status = run_on(PTRACE_SYSCALL); /* at an entry or an exit; the number is known at both */
            if (status != -1 || ptrace(PTRACE_GETREGS, child, NULL, &r))
                continue;
            forbidden = r.orig_rax == SYS_prctl && r.rdi == PR_SET_TSC && r.rsi == PR_TSC_SIGSEGV && r.rax == 0;
            continue;
        }
        if (ptrace(PTRACE_GETREGS, child, NULL, &r))
            return 95;
        if (reads_counter(r.rip)) {
            read++;
            fprintf(stderr, "read at %#lx\n", (unsigned long)r.rip);
        }
        forbidden = sets_mode(&r) != PR_TSC_ENABLE;
        stepped++;
        status = go(PTRACE_SINGLESTEP);
    }
    printf("stepped %ld, read %ld\n", stepped, read);
    return read ? 99 : WIFEXITED(status) ? WEXITSTATUS(status) : 94;
}
