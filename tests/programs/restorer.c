/* SPDX-License-Identifier: MIT
 * Gives the return trampoline of the library's signal handler to a handler of its own, and walks the stack from there by
 * the C++ runtime's unwinder. Prints how many signal frames it passed, and whether it came to main. Status 0. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <unwind.h>

struct kernel_sigaction {
    void (*handler)(int);
    unsigned long flags;
    void (*restorer)(void);
    unsigned long mask;
};

static int signal_frames, saw_main;
static volatile int kept = 1;
int main(void);

static _Unwind_Reason_Code each(struct _Unwind_Context *context, void *none)
{
    int exact = 0;
    _Unwind_GetIPInfo(context, &exact);
    signal_frames += exact;
    saw_main |= _Unwind_GetRegionStart(context) == (_Unwind_Ptr)main;
    return _URC_NO_REASON;
}

static void walk(int number)
{
    _Unwind_Backtrace(each, NULL);
}

int main(void)
{
    struct kernel_sigaction action = {0};
    if (syscall(SYS_rt_sigaction, SIGRTMIN + 10, NULL, &action, 8) || !action.restorer)
        return 2;
    action.handler = walk;
    action.flags = 0x04000000; /* SA_RESTORER */
    if (syscall(SYS_rt_sigaction, SIGRTMIN + 10, &action, NULL, 8))
        return 3;
    for (int i = 0; i < 3 * kept; i++)
        raise(SIGRTMIN + 10);
    printf("%d signal frames, main %d\n", signal_frames, saw_main);
    return 0;
}
