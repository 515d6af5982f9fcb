/* SPDX-License-Identifier: MIT
 * Descriptors of ours have numbers that programs do not count on. */
#ifndef WTM_PRELOAD_DESCRIPTOR_H
#define WTM_PRELOAD_DESCRIPTOR_H

#include <fcntl.h>
#include <sys/resource.h>
#include "common/sys.h"

enum { WTM_HIGH_DESCRIPTOR = 500, WTM_FEW_DESCRIPTORS = 64 };

/* A duplicate of `fd` with a high number, closed on exec; near the limit where that is low. Negative errno where the limit
 * is so low that the program may need each of them. Any thread, signal-safe. */
static inline int wtm_descriptor_high(int fd)
{
    struct rlimit limit = {0, 0};
    long least = WTM_HIGH_DESCRIPTOR;
    if (!wtm_sys_failed(wtm_syscall6(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, (long)&limit, 0, 0))) {
        if (limit.rlim_cur < WTM_FEW_DESCRIPTORS)
            return -24; /* EMFILE */
        if (limit.rlim_cur < WTM_HIGH_DESCRIPTOR + 8)
            least = (long)limit.rlim_cur - 8;
    }
    return (int)wtm_syscall3(SYS_fcntl, fd, F_DUPFD_CLOEXEC, least);
}

#endif
