/* SPDX-License-Identifier: MIT
 * System calls without libc. Whatever runs inside a target after start-up must not enter functions that may be patched
 * (read, write, mmap of libc), must not touch errno and must not be a cancellation point; so it comes here.
 * Each gives what the kernel gives: a result, or a negative errno. Any thread, signal-safe. */
#ifndef WTM_COMMON_SYS_H
#define WTM_COMMON_SYS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

static inline long wtm_syscall6(long nr, long a, long b, long c, long d, long e, long f)
{
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

static inline long wtm_syscall3(long nr, long a, long b, long c)
{
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(nr), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return result;
}

/* True for the kernel's error range, also when the result is an address. */
static inline int wtm_sys_failed(long result)
{
    return (unsigned long)result > -4096UL;
}

static inline long wtm_sys_mmap(void *at, size_t bytes, int prot, int flags, int fd, long offset)
{
    return wtm_syscall6(SYS_mmap, (long)at, (long)bytes, prot, flags, fd, offset);
}
static inline long wtm_sys_munmap(void *at, size_t bytes)
{
    return wtm_syscall3(SYS_munmap, (long)at, (long)bytes, 0);
}
static inline long wtm_sys_mprotect(void *at, size_t bytes, int prot)
{
    return wtm_syscall3(SYS_mprotect, (long)at, (long)bytes, prot);
}
static inline long wtm_sys_madvise(void *at, size_t bytes, int advice)
{
    return wtm_syscall3(SYS_madvise, (long)at, (long)bytes, advice);
}
static inline long wtm_sys_open(const char *path, int flags, int mode)
{
    return wtm_syscall6(SYS_openat, -100 /* AT_FDCWD */, (long)path, flags, mode, 0, 0);
}
static inline long wtm_sys_close(int fd)
{
    return wtm_syscall3(SYS_close, fd, 0, 0);
}
static inline long wtm_sys_read(int fd, void *to, size_t bytes)
{
    return wtm_syscall3(SYS_read, fd, (long)to, (long)bytes);
}
static inline long wtm_sys_pread(int fd, void *to, size_t bytes, long offset)
{
    return wtm_syscall6(SYS_pread64, fd, (long)to, (long)bytes, offset, 0, 0);
}
static inline long wtm_sys_write(int fd, const void *from, size_t bytes)
{
    return wtm_syscall3(SYS_write, fd, (long)from, (long)bytes);
}

#endif
