/* SPDX-License-Identifier: MIT
 * Messages. The descriptor is a duplicate with a high number, so that programs which redirect or close 2 neither lose
 * our table nor find it in their files; its identity is checked before each write, since some close everything. */
#include "preload/log.h"
#include "common/sys.h"
#include "common/text.h"
#include "preload/descriptor.h"
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

static struct {
    int fd;
    uint64_t device, inode, special;
    int sealed, width; /* sealed: identity cannot be checked any more */
} err = {.fd = -1};

void wtm_log_open(void)
{
    struct stat st;
    int fd = wtm_descriptor_high(2);
    if (fd < 0) /* a low limit of descriptors: the program may need all of them */
        fd = 2;
    if (wtm_sys_failed(wtm_syscall3(SYS_fstat, fd, (long)&st, 0)))
        return;
    err.fd = fd;
    err.device = st.st_dev;
    err.inode = st.st_ino;
    err.special = st.st_rdev;
}

void wtm_log_release(void)
{
    if (err.fd > 2)
        wtm_sys_close(err.fd);
    err.fd = 2;
}

static int is_it(int fd)
{
    struct stat st;
    if (fd < 0 || wtm_sys_failed(wtm_syscall3(SYS_fstat, fd, (long)&st, 0)))
        return 0;
    return st.st_dev == err.device && st.st_ino == err.inode && st.st_rdev == err.special;
}

/* Where the duplicate was closed, 2 itself may still be what it was. */
static int still_there(void)
{
    if (err.sealed || err.fd < 0)
        return err.fd >= 0;
    if (is_it(err.fd))
        return 1;
    if (!is_it(2))
        return 0;
    err.fd = 2; /* ours was closed, the program's own is still what it was */
    return 1;
}

/* Writing beyond RLIMIT_FSIZE would end the program by SIGXFSZ. The end of the file is where we write, or behind it. */
static int beyond_limit(int fd, size_t bytes)
{
    struct stat st;
    struct rlimit limit;
    if (err.sealed)
        return 0;
    if (wtm_sys_failed(wtm_syscall3(SYS_fstat, fd, (long)&st, 0)) || !S_ISREG(st.st_mode))
        return 0;
    if (wtm_sys_failed(wtm_syscall6(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, (long)&limit, 0, 0)))
        return 0;
    return limit.rlim_cur != RLIM_INFINITY && (uint64_t)st.st_size + bytes > limit.rlim_cur;
}

/* A write to a pipe that nobody reads raises SIGPIPE in the thread that wrote; it would end a program that might not have
 * written to it any more. Blocked meanwhile, and taken away after, unless one was pending before. */
static const uint64_t pipe_signal = (uint64_t)1 << (SIGPIPE - 1);

static int quiet_begin(uint64_t *mask)
{
    uint64_t pending = 0;
    wtm_syscall6(SYS_rt_sigprocmask, SIG_BLOCK, (long)&pipe_signal, (long)mask, sizeof *mask, 0, 0);
    wtm_syscall3(SYS_rt_sigpending, (long)&pending, sizeof pending, 0);
    return !(pending & pipe_signal);
}

static void quiet_end(int take_away, int broken, const uint64_t *mask)
{
    struct timespec now = {0, 0};
    if (take_away && broken)
        wtm_syscall6(SYS_rt_sigtimedwait, (long)&pipe_signal, 0, (long)&now, sizeof pipe_signal, 0, 0);
    wtm_syscall6(SYS_rt_sigprocmask, SIG_SETMASK, (long)mask, 0, sizeof *mask, 0, 0);
}

/* Some set their standard error to non-blocking. A reader that takes nothing for a while is not waited for. */
static int wait_writable(int fd)
{
    struct pollfd poll = {.fd = fd, .events = POLLOUT};
    return wtm_syscall3(SYS_poll, (long)&poll, 1, 200) == 1;
}

int wtm_log_write(const char *text, size_t bytes)
{
    return still_there() ? wtm_log_write_to(err.fd, text, bytes) : -9;
}

int wtm_log_write_to(int fd, const char *text, size_t bytes)
{
    if (beyond_limit(fd, bytes))
        return -27; /* EFBIG */
    uint64_t mask;
    int quiet = err.sealed ? 0 : quiet_begin(&mask), patience = 10;
    long wrote = 0;
    while (bytes) {
        wrote = wtm_sys_write(fd, text, bytes);
        if (wrote == -4 || (wrote == -11 && patience-- && wait_writable(fd)))
            continue;
        if (wtm_sys_failed(wrote))
            break;
        text += wrote;
        bytes -= (size_t)wrote;
    }
    if (!err.sealed)
        quiet_end(quiet, wrote == -32, &mask);
    return bytes ? (int)wrote : 0;
}

static int sink(void *context, const char *text, size_t bytes)
{
    return wtm_log_write(text, bytes);
}

void wtm_log_parts(const char *const *parts)
{
    char buffer[1024];
    struct wtm_text text;
    wtm_text_init(&text, buffer, sizeof buffer, sink, NULL);
    wtm_text_string(&text, "wtm: ");
    for (; *parts; parts++)
        wtm_text_name(&text, *parts);
    wtm_text_char(&text, '\n', 1);
    wtm_text_flush(&text);
}

void wtm_log_seal(int may_write)
{
    err.width = wtm_log_width();
    /* A low number may become a file of the program's, which could no longer be noticed. A limit on file sizes would
     * have to be asked for at each write. */
    if (!may_write || err.fd <= 2 || !still_there() || beyond_limit(err.fd, 1 << 20))
        err.fd = -1;
    err.sealed = 1;
}

int wtm_log_descriptor(void)
{
    return err.fd;
}

int wtm_log_width(void)
{
    struct winsize size = {0};
    if (err.sealed)
        return err.width;
    if (!still_there() || wtm_sys_failed(wtm_syscall3(SYS_ioctl, err.fd, TIOCGWINSZ, (long)&size)))
        return 0;
    return size.ws_col;
}
