/* SPDX-License-Identifier: MIT
 * A table of granules, direct-mapped by address, that say to which stack they belong. */
#include "preload/stacks.h"
#include "preload/records_internal.h"
#include "preload/thread.h"

/* Small stacks are told apart to a kilobyte, large ones cost few entries. */
enum { TABLE_LOG2 = 15, TABLE_SIZE = 1 << TABLE_LOG2, FINE_SHIFT = 10, COARSE_SHIFT = 16, MOST_GRANULES = 1 << 10 };

struct granule {
    uint64_t key; /* number of the granule and its shift; 0: not in use */
    uint64_t low, high; /* of the stack, high exclusive */
    uint64_t kind;
};
static struct granule table[TABLE_SIZE];

static uint64_t key_of(uint64_t address, unsigned shift)
{
    return (address >> shift) << 8 | shift;
}

static struct granule *at(uint64_t address, unsigned shift)
{
    return &table[(address >> shift) & (TABLE_SIZE - 1)];
}

/* The key goes first and comes last: who reads meanwhile finds nothing. */
static void put(struct granule *granule, uint64_t key, uint64_t low, uint64_t high, enum wtm_stack_kind kind)
{
    __atomic_store_n(&granule->key, 0, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    __atomic_store_n(&granule->low, low, __ATOMIC_RELAXED);
    __atomic_store_n(&granule->high, high, __ATOMIC_RELAXED);
    __atomic_store_n(&granule->kind, kind, __ATOMIC_RELAXED);
    __atomic_store_n(&granule->key, key, __ATOMIC_RELEASE);
}

/* The stack that holds the byte at `address`; kind UNKNOWN when none is known to. */
static struct granule stack_of(uint64_t address)
{
    static const unsigned shifts[] = {FINE_SHIFT, COARSE_SHIFT};
    for (unsigned i = 0; i < 2; i++) {
        const struct granule *granule = at(address, shifts[i]);
        uint64_t key = key_of(address, shifts[i]);
        if (__atomic_load_n(&granule->key, __ATOMIC_ACQUIRE) != key)
            continue;
        struct granule found = {key, __atomic_load_n(&granule->low, __ATOMIC_RELAXED),
                                __atomic_load_n(&granule->high, __ATOMIC_RELAXED),
                                __atomic_load_n(&granule->kind, __ATOMIC_RELAXED)};
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (__atomic_load_n(&granule->key, __ATOMIC_RELAXED) == key && address >= found.low && address < found.high)
            return found;
    }
    return (struct granule){0, 0, 0, WTM_STACK_UNKNOWN};
}

/* A stack's top is used first, its lowest bytes last if ever: a granule that two share belongs to the lower one. */
static void learn(uint64_t low, uint64_t high, enum wtm_stack_kind kind)
{
    unsigned shift = (high - low) >> FINE_SHIFT < MOST_GRANULES / 4 ? FINE_SHIFT : COARSE_SHIFT;
    uint64_t granules = (high - low) >> shift, step = (uint64_t)1 << shift, address = high - 1;
    for (uint64_t i = 0; i <= granules && i < MOST_GRANULES && address >= low; i++) {
        struct granule *granule = at(address, shift);
        uint64_t key = key_of(address, shift), start = address >> shift << shift;
        if (start >= low || granule->key != key || (granule->high > low && granule->low < high))
            put(granule, key, low, high, kind);
        if (start < step)
            return;
        address = start - 1;
    }
}

void wtm_stacks_learn(uint64_t low, uint64_t bytes, enum wtm_stack_kind kind)
{
    uint64_t high = low + bytes;
    if (!low || bytes < 512 || high < low || high >> 47)
        return;
    learn(low, high, kind);
    struct wtm_thread *thread = wtm_thread;
    if (thread == &wtm_no_thread || thread->generation != wtm_generation.value)
        thread = wtm_thread_sync();
    if (kind == WTM_STACK_SIGNAL)
        wtm_thread_alternate(low, high);
    else if (thread && low >= thread->stack_low && high <= thread->stack_high)
        thread->stack_low = high;
}

int wtm_stacks_same(uint64_t sp, uint64_t other)
{
    struct granule first = stack_of(sp - 1), second = stack_of(other - 1);
    if (!first.kind && !second.kind)
        return -1;
    return first.kind && second.kind && first.low == second.low && first.high == second.high;
}

uint64_t wtm_stacks_left_to(const struct wtm_thread *thread, uint64_t from, uint64_t to, int thrown)
{
    struct granule stack = stack_of(from - 1), goal = stack_of(to - 1);
    /* From elsewhere into a handler's stack: nobody does that but who makes coroutines out of such stacks. */
    if (!thrown && goal.kind == WTM_STACK_SIGNAL && (goal.low != stack.low || goal.high != stack.high))
        learn(goal.low, goal.high, WTM_STACK_CONTEXT);
    if (stack.kind && to > stack.low && to <= stack.high)
        return to > from ? to : 0;
    if (stack.kind == WTM_STACK_SIGNAL || (stack.kind && thrown))
        return stack.high;
    if (stack.kind || goal.kind)
        return 0;
    if (!wtm_on_native(thread, to) && to > from && (thrown || to - from < WTM_SAME_STACK_BYTES))
        return to;
    return thrown ? from + WTM_SAME_STACK_BYTES : 0; /* a stack that the unwinder passed and we know nothing of */
}
