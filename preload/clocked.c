/* SPDX-License-Identifier: MIT
 * Timed calls by the kernel's clock instead of the TSC: what trampoline_clocked.S leaves to C. All entries come by the slow
 * path, which knows every case that the straight path of trampoline.S does. General registers only. */
#include "preload/clock.h"
#include "preload/hot.h"

enum wtm_entry_action wtm_entry_by_clock(uint64_t *slot, struct wtm_probe *probe)
{
    enum wtm_entry_action action;
    do
        action = wtm_entry_slow(slot, probe);
    while (action == WTM_ENTRY_RETRY);
    if (action == WTM_ENTRY_PUSHED) {
        uint64_t now = wtm_clock_monotonic();
        struct wtm_record *record = wtm_thread->top; /* ours again, whatever handlers did meanwhile */
        record->start_low = (uint32_t)now;
        record->start_high = (uint32_t)(now >> 32);
    }
    return action;
}

struct wtm_record *wtm_close_by_clock(uint64_t sp)
{
    uint64_t direction = wtm_direction_clear();
    uint64_t now = wtm_clock_monotonic();
    wtm_direction_restore(direction);
    return wtm_close(sp, now);
}
