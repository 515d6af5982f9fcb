/* SPDX-License-Identifier: MIT
 * The TSC forbidden and allowed by the program. The rule is a thread's own and inherited by those it starts; arming is the
 * whole process's, so one thread that may not read the TSC disarms all. */
#include "preload/tsc.h"
#include "common/sys.h"
#include "preload/clock.h"
#include "preload/install.h"
#include "preload/process.h"
#include "preload/profile.h"
#include "preload/records.h"
#include "preload/thread.h"
#include <sys/prctl.h>

void wtm_tsc_change(int mode, uintptr_t slot)
{
    if (!wtm_process.ready || !wtm_profile_header() || (mode != PR_TSC_SIGSEGV && mode != PR_TSC_ENABLE))
        return;
    if (mode == PR_TSC_ENABLE) {
        if (!wtm_process.tsc_off || wtm_sys_failed(wtm_syscall3(SYS_prctl, PR_SET_TSC, PR_TSC_ENABLE, 0)))
            return;
        wtm_process.tsc_off = 0;
        wtm_install_arm((int)wtm_process.armed); /* as is wanted by now */
        return;
    }
    if (wtm_process.tsc_off)
        return;
    wtm_clock_hold();
    wtm_process.tsc_off = 1;
    if (!wtm_clock_is_barred()) /* the kernel's clock, by system calls from now on */
        return;
    wtm_install_arm((int)wtm_process.armed); /* the gates close, what is wanted stays */
    wtm_profile_note("the program forbade itself the TSC (PR_SET_TSC): nothing was timed from then on until it allowed it again");
    struct wtm_thread *thread = wtm_thread;
    if (thread != &wtm_muted_thread && thread->generation == wtm_generation.value)
        wtm_records_release(thread, slot + 8, 1);
}

int wtm_tsc_allow(void)
{
    if (!wtm_process.tsc_off || wtm_process.sandboxed)
        return 0;
    int mode = PR_TSC_ENABLE;
    wtm_syscall3(SYS_prctl, PR_GET_TSC, (long)&mode, 0);
    if (mode == PR_TSC_SIGSEGV)
        wtm_syscall3(SYS_prctl, PR_SET_TSC, PR_TSC_ENABLE, 0);
    return mode == PR_TSC_SIGSEGV;
}

void wtm_tsc_forbid_again(int was)
{
    if (was)
        wtm_syscall3(SYS_prctl, PR_SET_TSC, PR_TSC_SIGSEGV, 0);
}
