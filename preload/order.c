/* SPDX-License-Identifier: MIT
 * The fences stand in the library's own text, so that nobody pays for a test:
 *   loose   none. The processor overlaps the readings with the call: it begins before the first has been taken, and the second is
 *           taken before the call's last work is done. A call of 80 ns was seen as 40 ns
 *   exit    the call begins after the first reading, and the second is taken when all its instructions have completed. With only
 *           the second of these two fences the 80 ns were seen as 62: what the first reading costs is subtracted, and was
 *           overlapped by the call
 *   strict  the first reading also waits for what the caller has in flight, which `exit` may charge to the call
 * lfence orders rdtsc on Intel's processors, and on AMD's where it serializes dispatch, as Linux sees to on all of them
 * (arch/x86/kernel/cpu/amd.c). */
#include "preload/order.h"
#include "common/profile_format.h"
#include "patcher/poke.h"

enum { FENCE_BYTES = 3, PLACES = 3 };

extern const char wtm_fence_before_entry[] WTM_HIDDEN, wtm_fence_after_entry[] WTM_HIDDEN, wtm_fence_before_exit[] WTM_HIDDEN;

int wtm_order_set(uint32_t order)
{
    static const uint8_t lfence[FENCE_BYTES] = {0x0f, 0xae, 0xe8}, nop[FENCE_BYTES] = {0x0f, 0x1f, 0x00};
    const struct {
        uintptr_t at;
        const uint8_t *bytes;
    } places[PLACES] = {{(uintptr_t)wtm_fence_before_entry, order >= WTM_ORDER_STRICT ? lfence : nop},
                        {(uintptr_t)wtm_fence_after_entry, order >= WTM_ORDER_EXIT ? lfence : nop},
                        {(uintptr_t)wtm_fence_before_exit, order >= WTM_ORDER_EXIT ? lfence : nop}};
    struct wtm_span spans[PLACES];
    struct wtm_text_access access;
    if (order == WTM_ORDER_EXIT)
        return 0; /* as built */
    for (size_t i = 0; i < PLACES; i++)
        spans[i] = (struct wtm_span){places[i].at, FENCE_BYTES};
    int result = wtm_text_open(&access, spans, PLACES, 1);
    if (result)
        return result;
    for (size_t i = 0; i < PLACES && !result; i++)
        if (!wtm_text_is_open(&access, places[i].at, FENCE_BYTES))
            result = -13; /* EACCES */
    for (size_t i = 0; i < PLACES && !result; i++)
        wtm_text_write(places[i].at, places[i].bytes, FENCE_BYTES);
    wtm_text_close(&access);
    return result;
}
