/* SPDX-License-Identifier: MIT */
#include "preload/trap.h"
#include "common/sys.h"
#include "patcher/patcher.h"
#include "preload/kernel_signal.h"
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <sys/ucontext.h>

enum { ATTEMPTS = 50, PAUSE_NS = 1000000 };

static struct wtm_kernel_sigaction before; /* what the program had */

/* As if there were no handler: the signal ends the program. It stays pending until the handler returns. */
static void end_by(siginfo_t *info)
{
    struct wtm_kernel_sigaction none = {0};
    wtm_sigaction(SIGTRAP, &none, NULL);
    long pid = wtm_syscall3(SYS_getpid, 0, 0, 0), tid = wtm_syscall3(SYS_gettid, 0, 0, 0);
    wtm_syscall6(SYS_rt_tgsigqueueinfo, pid, tid, SIGTRAP, (long)info, 0, 0);
}

static void on_trap(int number, siginfo_t *info, void *context)
{
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    uintptr_t resume = info->si_code > 0 ? wtm_patch_trap((uintptr_t)registers[REG_RIP] - 1) : 0;
    if (resume) {
        registers[REG_RIP] = (greg_t)resume;
        return;
    }
    if (before.handler == (void *)SIG_IGN && info->si_code <= 0)
        return; /* sent by somebody, and ignored; the kernel never ignores a trap */
    if (before.handler == (void *)SIG_DFL || before.handler == (void *)SIG_IGN) {
        end_by(info);
        return;
    }
    struct wtm_kernel_sigaction theirs = before;
    if (theirs.flags & SA_RESETHAND)
        before = (struct wtm_kernel_sigaction){0};
    theirs.handler(number, info, context);
}

/* Flags and mask are the program's, so that its handler is called as it would be without us. Without one of its own, a
 * trap on a thread with an alternate stack goes there. */
int wtm_trap_install(void)
{
    struct wtm_kernel_sigaction now, ours;
    long result = wtm_sigaction(SIGTRAP, NULL, &now);
    if (wtm_sys_failed(result))
        return (int)result;
    if (now.handler == on_trap)
        return 0;
    int own = now.handler != (void *)SIG_DFL && now.handler != (void *)SIG_IGN;
    ours = own ? now : (struct wtm_kernel_sigaction){.flags = SA_ONSTACK | SA_RESTART};
    ours.flags = (ours.flags & ~(unsigned long)SA_RESETHAND) | SA_SIGINFO | WTM_SA_RESTORER;
    ours.restorer = now.restorer && own ? now.restorer : wtm_signal_return;
    ours.handler = on_trap;
    before = now;
    return (int)wtm_sigaction(SIGTRAP, &ours, NULL);
}

static long read_file(const char *directory, const char *task, const char *name, char *to, size_t bytes)
{
    char path[128];
    size_t n = 0;
    const char *parts[] = {directory, task, name};
    for (int i = 0; i < 3; i++) {
        size_t length = strlen(parts[i]);
        if (n + length >= sizeof path)
            return -36; /* ENAMETOOLONG */
        memcpy(path + n, parts[i], length);
        n += length;
    }
    path[n] = 0;
    long fd = wtm_sys_open(path, O_RDONLY | O_CLOEXEC, 0);
    if (wtm_sys_failed(fd))
        return fd;
    long got = wtm_sys_read((int)fd, to, bytes - 1);
    wtm_sys_close((int)fd);
    to[got > 0 ? got : 0] = 0;
    return got;
}

static int blocks_trap(const char *status)
{
    const char *at = strstr(status, "\nSigBlk:\t");
    if (!at)
        return 1;
    at += 9;
    /* sixteen hexadecimal digits; SIGTRAP is 5, bit 4: the lowest bit of the second digit from the right */
    char digit = at[14];
    unsigned value = digit >= 'a' ? (unsigned)(digit - 'a' + 10) : (unsigned)(digit - '0');
    return (value & 1) != 0;
}

/* A thread that sleeps in a system call does not stand inside an instruction's window. What "syscall" says begins with the
 * call's number then; with "running" otherwise (proc(5)). */
static int is_obstacle(const char *task, int asleep_too)
{
    char text[4096];
    long got = read_file("/proc/self/task/", task, "/status", text, sizeof text);
    if (got == -2 || got == -3) /* ENOENT, ESRCH: it has ended */
        return 0;
    if (got <= 0)
        return 1;
    if (!blocks_trap(text) || strstr(text, "\nState:\tZ") || strstr(text, "\nState:\tX"))
        return 0;
    if (asleep_too)
        return 1;
    got = read_file("/proc/self/task/", task, "/syscall", text, sizeof text);
    return got > 0 ? text[0] == 'r' : got != -2 && got != -3;
}

struct entry { /* struct linux_dirent64 */
    uint64_t inode, offset;
    uint16_t bytes;
    uint8_t type;
    char name[];
};

static int is_self(const char *task)
{
    long number = 0, self = wtm_syscall3(SYS_gettid, 0, 0, 0);
    for (const char *p = task; *p >= '0' && *p <= '9'; p++)
        number = number * 10 + (*p - '0');
    return number == self;
}

static int any_obstacle(int asleep_too)
{
    char buffer[2048] __attribute__((aligned(8)));
    int found = 0;
    long got, fd = wtm_sys_open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (wtm_sys_failed(fd))
        return 1;
    while (!found && (got = wtm_syscall3(SYS_getdents64, fd, (long)buffer, sizeof buffer)) > 0)
        for (long at = 0; at < got && !found; at += ((struct entry *)(buffer + at))->bytes) {
            const char *name = ((struct entry *)(buffer + at))->name;
            found = name[0] != '.' && !is_self(name) && is_obstacle(name, asleep_too);
        }
    wtm_sys_close((int)fd);
    return found;
}

int wtm_trap_is_blocked(int asleep_too)
{
    const struct timespec pause = {0, PAUSE_NS};
    for (int i = 0; i < ATTEMPTS; i++) {
        if (!any_obstacle(asleep_too))
            return 0;
        wtm_syscall3(SYS_nanosleep, (long)&pause, 0, 0);
    }
    return 1;
}
