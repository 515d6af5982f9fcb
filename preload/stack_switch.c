/* SPDX-License-Identifier: MIT
 * greenlet runs all its coroutines on the thread's own stack: what is suspended lies in copies on the heap, and several of them
 * belong to the very same addresses. A copy that holds our return point could not tell which way back is its own. So before
 * each switch all return addresses are put back in their places, and what is copied is the program's alone.
 *
 * The function is static and stripped as a rule. Its body is inline assembly that has been the same since Stackless Python
 * (platform/switch_amd64_unix.h): it stores the x87 and SSE control words and adds a difference to rsp. */
#include "preload/stack_switch.h"
#include "patcher/extent.h"
#include "preload/describe.h"
#include "preload/records.h"
#include "preload/thread.h"
#include <string.h>

enum { MOST_BYTES = 1024, CONTROL_WORDS_APART = 16 };

/* stmxcsr m32 is 0f ae /3, fnstcw m16 is d9 /7; both in memory, so the upper bits of the ModRM byte are not 11. */
static int stores_sse_control(const uint8_t *at)
{
    return at[0] == 0x0f && at[1] == 0xae && (at[2] & 0x38) == 0x18 && at[2] < 0xc0;
}

static int stores_x87_control(const uint8_t *at)
{
    return at[0] == 0xd9 && (at[1] & 0x38) == 0x38 && at[1] < 0xc0;
}

/* add r64, %rsp: REX.W 01 /r with rsp as the destination */
static int moves_stack(const uint8_t *at)
{
    return (at[0] == 0x48 || at[0] == 0x4c) && at[1] == 0x01 && (at[2] & 0xc7) == 0xc4;
}

static int has_any(uintptr_t low, uintptr_t high, int (*test)(const uint8_t *))
{
    for (uintptr_t at = low; at + 3 <= high; at++)
        if (test((const uint8_t *)at))
            return 1;
    return 0;
}

static uintptr_t find_in(const struct wtm_code_module *module, struct wtm_code_range text, size_t *size)
{
    for (uintptr_t at = text.start; at + 3 <= text.end; at++) {
        struct wtm_extent extent;
        if (!stores_sse_control((const uint8_t *)at) || wtm_extent_find(module, at, &extent) || at >= extent.end ||
            extent.end > text.end || extent.end - extent.start > MOST_BYTES)
            continue;
        uintptr_t low = at - extent.start > CONTROL_WORDS_APART ? at - CONTROL_WORDS_APART : extent.start;
        if (!has_any(low, at, stores_x87_control) || !has_any(at, extent.end, moves_stack))
            continue;
        *size = extent.end - extent.start;
        return extent.start;
    }
    return 0;
}

uintptr_t wtm_stack_switch_find(const struct wtm_object *object, size_t *size)
{
    struct wtm_arena arena = {0};
    struct wtm_code_module module;
    uintptr_t found = 0;
    if (strncmp(object->name, "_greenlet.", 10) && strncmp(object->name, "greenlet.", 9))
        return 0;
    wtm_describe_module(object, &module, &arena);
    for (unsigned i = 0; i < module.text_count && !found; i++)
        found = find_in(&module, module.text[i], size);
    wtm_arena_free(&arena);
    return found;
}

void wtm_stack_switch_enter(uint64_t sp)
{
    struct wtm_thread *thread = wtm_thread;
    if (thread == &wtm_muted_thread || thread == &wtm_no_thread)
        return;
    if (thread->generation != wtm_generation.value) {
        struct wtm_thread *synced = wtm_thread_sync();
        thread = synced ? synced : thread;
    }
    wtm_records_release(thread, sp, 0);
}
