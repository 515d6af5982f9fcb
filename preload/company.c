/* SPDX-License-Identifier: MIT */
#include "preload/company.h"
#include "common/sys.h"
#include "preload/kernel_signal.h"
#include "preload/process.h"
#include "preload/trap.h"
#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>

static int single_threaded(void)
{
    char text[512];
    long fd = wtm_sys_open("/proc/self/stat", O_RDONLY | O_CLOEXEC, 0);
    if (wtm_sys_failed(fd))
        return 1;
    long got = wtm_sys_read((int)fd, text, sizeof text - 1);
    wtm_sys_close((int)fd);
    if (got <= 0)
        return 1;
    text[got] = 0;
    const char *p = strrchr(text, ')'); /* "pid (name) state ..."; num_threads is field 20, see proc(5) */
    for (int field = 2; p && field < 20; field++)
        p = strchr(p + 1, ' ');
    return !p || (p[1] == '1' && p[2] == ' ');
}

/* In a process of one thread nobody stands anywhere but in frames of this one. A return address inside the bytes would be
 * somewhere on its stack; whatever looks like one counts. */
static int stand_clear(void *context, const struct wtm_code_range *bytes, uint8_t *busy, size_t count)
{
    const struct wtm_process *process = context;
    uintptr_t here = (uintptr_t)__builtin_frame_address(0) & ~(uintptr_t)7;
    if (here < process->stack_low || here >= process->stack_high)
        return -1;
    uintptr_t top = (uintptr_t)getauxval(AT_RANDOM); /* above the first frame; the page behind it may be missing */
    for (const uintptr_t *word = (const uintptr_t *)here; (uintptr_t)word < top; word++)
        for (size_t i = 0; i < count; i++)
            busy[i] |= *word > bytes[i].start && *word < bytes[i].end;
    return 0;
}

static int on_native_stack(void)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    return here >= wtm_process.stack_low && here < wtm_process.stack_high;
}

/* Signals stay blocked where the process has one thread: a handler could run into a breakpoint of the steps in between. */
enum wtm_company wtm_company_begin(struct wtm_company_state *state)
{
    struct wtm_patch_live still = {.stand_clear = stand_clear, .context = &wtm_process};
    struct wtm_patch_live running = {.traps = 1};
    *state = (struct wtm_company_state){0};
    if (single_threaded() && on_native_stack()) {
        state->blocked = !wtm_sys_failed(wtm_signals_block(&state->signals));
        wtm_patch_set_live(state->blocked ? &still : NULL);
        return WTM_COMPANY_STILL;
    }
    wtm_patch_set_live(wtm_trap_install() == 0 ? &running : NULL);
    return WTM_COMPANY_RUNS;
}

void wtm_company_end(const struct wtm_company_state *state)
{
    wtm_patch_set_live(NULL);
    if (state->blocked)
        wtm_signals_restore(&state->signals);
}

void wtm_company_hold_back(enum wtm_company company, struct wtm_patch_request *requests, size_t count)
{
    unsigned worst = WTM_TRAPS_NOBODY;
    if (company != WTM_COMPANY_RUNS)
        return;
    for (size_t i = 0; i < count; i++) {
        unsigned one = requests[i].refusal ? WTM_TRAPS_NOBODY : wtm_patch_trapped(requests[i].patch);
        worst = one > worst ? one : worst;
    }
    unsigned least = WTM_TRAPS_CALLERS + 1; /* that is refused */
    if (worst == WTM_TRAPS_CALLERS && wtm_trap_is_blocked(1))
        least = WTM_TRAPS_CALLERS;
    if (worst >= WTM_TRAPS_INSIDE && wtm_trap_is_blocked(0))
        least = WTM_TRAPS_INSIDE;
    for (size_t i = 0; i < count; i++)
        if (!requests[i].refusal && wtm_patch_trapped(requests[i].patch) >= least)
            requests[i].refusal = WTM_REFUSED_TRAP_BLOCKED;
}
