/* SPDX-License-Identifier: MIT
 * Arm, reset, disarm, dump. */
#include "preload/control.h"
#include "common/sys.h"
#include "preload/clock.h"
#include "preload/exit_table.h"
#include "preload/install.h"
#include "preload/kernel_signal.h"
#include "preload/probes.h"
#include "preload/process.h"
#include "preload/profile.h"
#include "preload/thread.h"
#include <sys/mman.h>
#include <time.h>

enum { TABLE_STACK_BYTES = 256 << 10 };

int wtm_on_stack(int (*function)(int), int argument, void *stack_top) WTM_HIDDEN; /* stack.S */

int wtm_control_ready(void)
{
    if (!wtm_process.ready)
        return 0;
    if (!__atomic_load_n(&wtm_generation.value, __ATOMIC_ACQUIRE)) { /* a child that has called nothing yet */
        if (wtm_thread == &wtm_muted_thread || !wtm_thread_sync())
            return 0;
    }
    /* Between vfork and exec a child runs in its parent's memory: its signals are not for the parent. */
    return (uint32_t)wtm_syscall3(SYS_getpid, 0, 0, 0) == wtm_process.pid;
}

/* Threads zero their own cells at their next event. The header's epoch comes last: who sees it sees all of the reset. */
static int reset(void)
{
    struct wtm_profile_header *header = wtm_profile_header();
    if (!header) /* a child that had no memory for one */
        return -12;
    uint64_t epoch = __atomic_add_fetch(&wtm_hot.epoch, 1, __ATOMIC_SEQ_CST);
    header->start_realtime_ns = wtm_clock_ns(CLOCK_REALTIME);
    header->start_monotonic_ns = wtm_clock_ns(CLOCK_MONOTONIC);
    __atomic_store_n(&header->lost_calls, 0, __ATOMIC_RELAXED);
    wtm_generation_advance();
    wtm_install_arm(1);
    uint64_t told = __atomic_load_n(&header->epoch, __ATOMIC_RELAXED);
    while (told < epoch &&
           !__atomic_compare_exchange_n(&header->epoch, &told, epoch, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        continue;
    wtm_probes_resample();
    return 0;
}

/* On a stack of its own: that of the thread at hand may be small. No signal comes in between, so that the work is not
 * left half done by a handler that jumps away or ends the program. */
int wtm_control_aside(int (*work)(int), int argument, size_t stack_bytes)
{
    uint64_t before = 0;
    long blocked = wtm_signals_block(&before);
    long stack = wtm_sys_mmap(NULL, stack_bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    int result;
    if (wtm_sys_failed(stack)) {
        result = work(argument);
    } else {
        result = wtm_on_stack(work, argument, (char *)stack + stack_bytes);
        wtm_sys_munmap((void *)stack, stack_bytes);
    }
    if (!wtm_sys_failed(blocked))
        wtm_signals_restore(&before);
    return result;
}

int wtm_control(enum wtm_control what)
{
    if (!wtm_control_ready())
        return -19; /* ENODEV */
    if (wtm_process.sandboxed && (what == WTM_CONTROL_RESET || what == WTM_CONTROL_DUMP))
        return -1; /* EPERM: they need the clock and memory, and no system call may be made */
    switch (what) {
    case WTM_CONTROL_ARM: wtm_install_arm(1); return 0;
    case WTM_CONTROL_DISARM: wtm_install_arm(0); return 0;
    case WTM_CONTROL_RESET: return reset();
    case WTM_CONTROL_DUMP: return wtm_control_aside(wtm_exit_table, 0, TABLE_STACK_BYTES);
    case WTM_CONTROLS: break;
    }
    return -22;
}
