/* SPDX-License-Identifier: MIT
 * The fences are written into the library's own text, so that nobody pays for a test:
 *   loose   none. The entry's reading may come before what the caller still has in flight, the exit's before the last work of
 *           the call is done: an interval of some microseconds was seen up to 25 ns short
 *   exit    lfence before the exit's reading: all of the call's instructions have completed
 *   strict  the entry's reading also waits for what came before it, and the call for the reading
 * lfence orders rdtsc on Intel's processors, and on AMD's where it serializes dispatch, as Linux sees to on all of them
 * (arch/x86/kernel/cpu/amd.c). */
#include "preload/order.h"
#include "common/profile_format.h"
#include "patcher/poke.h"

enum { FENCE_BYTES = 3 };

extern const char wtm_fence_before_entry[] WTM_HIDDEN, wtm_fence_after_entry[] WTM_HIDDEN, wtm_fence_before_exit[] WTM_HIDDEN;

int wtm_order_set(uint32_t order)
{
    static const uint8_t lfence[FENCE_BYTES] = {0x0f, 0xae, 0xe8};
    const uintptr_t places[] = {(uintptr_t)wtm_fence_before_exit, (uintptr_t)wtm_fence_before_entry,
                                (uintptr_t)wtm_fence_after_entry};
    size_t count = order == WTM_ORDER_LOOSE ? 0 : order == WTM_ORDER_EXIT ? 1 : 3;
    struct wtm_span spans[3];
    struct wtm_text_access access;
    if (!count)
        return 0;
    for (size_t i = 0; i < count; i++)
        spans[i] = (struct wtm_span){places[i], FENCE_BYTES};
    int result = wtm_text_open(&access, spans, count, 1);
    if (result)
        return result;
    for (size_t i = 0; i < count && !result; i++)
        if (!wtm_text_is_open(&access, places[i], FENCE_BYTES))
            result = -13; /* EACCES */
    for (size_t i = 0; i < count && !result; i++)
        wtm_text_write(places[i], lfence, FENCE_BYTES);
    wtm_text_close(&access);
    return result;
}
