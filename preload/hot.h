/* SPDX-License-Identifier: MIT
 * The structures that a timed call touches, and the few words of global state it reads. trampoline.S knows their layout;
 * every offset it uses is asserted below.
 *
 * Invariants, which hold between any two instructions, because a signal may come there:
 * - Records above a thread's `top` have sp == WTM_SP_NONE and local == NULL, as fresh memory has. So a record that is
 *   reserved and not yet filled is known as such, and is nobody's call.
 * - A record that interrupted code is working on is never moved: it is reserved (sp NONE), or being closed
 *   (thread->closing), or closed and about to be popped (local NULL).
 * - The handler may also jump away, and the interrupted code never goes on: abandoned.c. So a reserved record says in
 *   `start` for which stack pointer it is, and one that is being closed which other one was being closed before.
 * - A record's return address is in the record from before the call of the body until after it stands in its stack
 *   slot again; the unwinder's rule (unwind_rule.py) finds it by sp.
 * - local->idle is the cell while the function is not open in this thread, else NULL: one test tells "go ahead".
 * - Blocks of threads are never unmapped: any thread may walk them at any time.
 * Code that runs with these structures is built with -mgeneral-regs-only and calls nothing outside preload's hot and
 * slow files: no vector register, errno, lock or libc function is touched. */
#ifndef WTM_PRELOAD_HOT_H
#define WTM_PRELOAD_HOT_H

#include <stddef.h>
#include <stdint.h>
#include "common/profile_format.h"

#define WTM_HIDDEN  __attribute__((visibility("hidden")))
#define WTM_LIKELY(x)   __builtin_expect(!!(x), 1)
#define WTM_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define WTM_NAME_BYTES 16      /* of a thread's name, as the kernel keeps it, with its NUL */
#define WTM_SP_NONE 0          /* unused, or reserved and not yet filled */
#define WTM_SP_HOLE 1          /* closed in the middle, waiting to be squeezed out */
#define WTM_SP_ADOPTED 2       /* it returned in another thread; its owner takes it out */
#define WTM_SP_BASE UINT64_MAX /* the sentinel below the first record */

struct wtm_record;
struct wtm_ways;
struct perf_event_mmap_page;
struct wtm_counts;

/* One function in one thread: private memory, indexed by probe. */
struct wtm_local {
    struct wtm_cell *idle;   /* cell, or NULL while open (withdrawn) or before the first call */
    struct wtm_record *open; /* innermost open call */
    struct wtm_cell *cell;   /* in the profile, or NULL before the first call */
    uint32_t index;          /* of the function; set with cell */
    uint32_t special;        /* of its open call whose record is marked; see special.h */
};

/* One open call. */
struct wtm_record {
    uint64_t return_minus_1;  /* unwinders take the address behind a signal frame as exact, so it is kept less 1 */
    uint64_t sp;              /* stack pointer of the caller after the return; the CFA. Its slot is at sp - 8 */
    struct wtm_local *local;  /* NULL once closed */
    uint32_t start_low, start_high; /* TSC, stored as it comes */
    int64_t child_ticks;      /* corrected realtime of closed timed children */
    uint64_t spent_ticks;     /* thread's spent_ticks at entry */
    int64_t cpu_offset;       /* thread's cpu_offset at entry */
    struct wtm_record *outer; /* next older open call of the same function in this thread */
};

struct wtm_thread {
    struct wtm_record *top;
    struct wtm_thread *next;   /* list of all blocks, newest first */
    struct wtm_record *base;   /* sentinel: sp WTM_SP_BASE, local NULL */
    struct wtm_local *locals;
    uint64_t generation;       /* of what this thread has seen; see wtm_generation */
    uint64_t spent_ticks;      /* measuring done in this thread so far */
    int64_t cpu_offset;        /* CPU time of this thread in ticks, less the TSC: constant until it is switched out */
    const volatile uint64_t *switch_word; /* changes when the thread is switched out ... */
    uint64_t switch_expected;             /* ... and until then it is this */
    struct wtm_record *limit;  /* first address behind the records */
    uint64_t stack_low, stack_high; /* native stack, high exclusive; equal when unknown */
    struct wtm_edge **edges;   /* hash table over (caller, callee) */
    uint64_t edge_shift;       /* 64 - log2 of its size */
    struct wtm_record *closing; /* being closed right now */
    /* cold from here */
    uint64_t edge_count;
    struct wtm_edges_chunk *edge_chunk; /* the one with room */
    uint64_t fs_base;          /* thread pointer of the owner: unique among living threads */
    struct wtm_thread_chunk *shared;
    uint64_t *rseq_cs;         /* of this thread's rseq area, or NULL */
    struct perf_event_mmap_page *perf_page; /* of this thread's event, or NULL */
    int64_t hidden_wait;       /* ticks of waits inside calls that were taken out: part of cpu_offset */
    uint64_t own_faults;       /* minor page faults that were ours, as far as they are known */
    struct wtm_counts *counts; /* beside each record, or NULL; see special.c */
    uint32_t index, tid;
    uint32_t busy;             /* inside a slow path: a signal handler's events must not reorder records */
    uint32_t local_capacity;
    uint64_t epoch;            /* of counts; see wtm_hot.epoch */
    uint64_t switch_never;     /* a word that never equals switch_expected, for sources without a cheap sign */
    uint64_t renewals;
    uint32_t ended, reserved;
    struct wtm_ways *ways; /* see ways.h */
    uint64_t thrown_sp; /* where this thread last threw an exception off its native stack, or 0 */
    uint64_t owner;      /* see reuse.c */
    char born[WTM_NAME_BYTES]; /* name at the first event: a pattern where several names share the block */
    uint64_t owners;     /* threads that have had it so far */
    uint64_t mover; /* block of the thread that moves or adopts records here, or 0; see records.c */
    uint32_t has_guests; /* other tasks may run with the owner's thread pointer; see guest.c */
    uint32_t guest;      /* id of the task whose calls are counted here, or 0 */
    uint64_t alt_low, alt_high;  /* the thread's alternate signal stack, high exclusive; equal when there is none */
    uint64_t busy_sp, locked_sp; /* stack pointers of the code that set `busy`, or holds some block's `mover`; 0: none */
};

/* A timed function that is watched as well: its gate stays open. */
enum wtm_probe_flags {
    WTM_PROBE_PRCTL = 1, WTM_PROBE_SYSCALL, WTM_PROBE_JUMP, WTM_PROBE_THROW, WTM_PROBE_CATCH, WTM_PROBE_SIGNAL_STACK, WTM_PROBE_CONTEXT,
    WTM_PROBE_INITIALIZER,
    WTM_PROBE_LOOKS /* at its return address: refused, so never timed; see watch.h */
};

/* One timed function: what its stub hands over in r11. */
struct wtm_probe {
    uint32_t local_offset; /* of its wtm_local from thread->locals, in bytes */
    uint32_t index;
    uintptr_t body;        /* runs the function without us */
    struct wtm_patch *patch;
    uint64_t flags; /* enum wtm_probe_flags */
    uint32_t special, reserved;  /* enum wtm_special: what is wanted of its calls now; changes at any time */
    struct wtm_samples *samples; /* its chunk, or NULL */
};

/* `start` of a record as one word, while it is no time. */
static inline uint64_t wtm_record_place(const struct wtm_record *record)
{
    return record->start_low | (uint64_t)record->start_high << 32;
}
static inline void wtm_record_set_place(struct wtm_record *record, uint64_t place)
{
    __builtin_memcpy(&record->start_low, &place, sizeof place);
}

/* One instruction, so that a signal handler's own addition is not lost, and no reordering around it. */
static inline void wtm_increment(uint64_t *count)
{
    __asm__ volatile("incq %0" : "+m"(*count) : : "cc", "memory");
}

/* The direction flag may be set in the program, and C wants it clear: slow paths that the exit code reaches begin and end
 * with these. (Built with -mno-red-zone, so that the push is safe.) */
static inline uint64_t wtm_direction_clear(void)
{
    uint64_t flags;
    __asm__ volatile("pushfq\n\tpop %0\n\tcld" : "=r"(flags) : : "memory");
    return flags & 0x400;
}
static inline void wtm_direction_restore(uint64_t direction)
{
    if (WTM_UNLIKELY(direction))
        __asm__ volatile("std" : : : "memory");
}

/* What the hot path reads; written at start-up and by slow paths only. */
struct wtm_hot {
    int64_t inside_ticks;    /* of each timed call, inside its interval */
    int64_t total_ticks;     /* inside + outside */
    int64_t recursive_ticks; /* of a withdrawn call */
    uint64_t epoch;          /* counts resets */
    uint32_t nest;           /* WTM_RECURSION=nest */
};
extern struct wtm_hot wtm_hot WTM_HIDDEN;

/* In a page of its own that the kernel wipes in a child (MADV_WIPEONFORK): 0 there. Otherwise it changes whenever
 * threads must look at something: functions added, counts reset. A thread whose generation differs takes the slow
 * path once. */
struct wtm_generation_page {
    uint64_t value;
    char rest[4088];
};
extern struct wtm_generation_page wtm_generation WTM_HIDDEN;

/* Never NULL: threads begin with the address of wtm_no_thread, whose generation never matches. */
extern __thread struct wtm_thread *wtm_thread __attribute__((tls_model("initial-exec"))) WTM_HIDDEN;
extern struct wtm_thread wtm_no_thread WTM_HIDDEN;    /* this thread has no block yet */
extern struct wtm_thread wtm_muted_thread WTM_HIDDEN; /* our own code runs: its calls are not the program's */
extern struct wtm_thread *wtm_threads WTM_HIDDEN;     /* list head; the unwinder's rule starts here */

/* trampoline.S */
extern const char wtm_entry[] WTM_HIDDEN;        /* hook of a timed function */
extern const char wtm_return_point[] WTM_HIDDEN; /* where timed functions return to */
/* trampoline_clocked.S: the same where the clock is the kernel's */
extern const char wtm_entry_clocked[] WTM_HIDDEN, wtm_return_clocked[] WTM_HIDDEN;
extern uintptr_t wtm_timed_entry WTM_HIDDEN; /* which of the two hooks is used; set before anything is patched */
static inline int wtm_is_return_point(uint64_t address)
{
    return address == (uintptr_t)wtm_return_point || address == (uintptr_t)wtm_return_clocked;
}
extern const char wtm_watch_entry[] WTM_HIDDEN;  /* hook of a function that we only want to hear of */
extern const char wtm_watch_filtered[] WTM_HIDDEN; /* the same for prctl and syscall: goes on at once when nothing concerns us */
extern const char wtm_watch_looking[] WTM_HIDDEN;  /* the same for functions that look at their return address: acts where that is ours */
extern const char wtm_watch_timed[] WTM_HIDDEN;    /* the same when the user times them as well */
extern uint32_t wtm_watch_bypass WTM_HIDDEN;       /* 1: disarmed, wtm_watch_timed goes to the body */

/* What the slow path tells the entry code to do. */
enum wtm_entry_action {
    WTM_ENTRY_BODY = 0,  /* run the body untimed */
    WTM_ENTRY_RETRY = 1, /* state was mended: take the fast path again */
    WTM_ENTRY_PUSHED = 2 /* a record was pushed and completed but for its start */
};

/* Called by trampoline.S only. `slot`: address of the return address; `probe`: from the stub. */
enum wtm_entry_action wtm_entry_slow(uint64_t *slot, struct wtm_probe *probe) WTM_HIDDEN;
/* Closes what returns to `sp`; gives the record, on top of the calling thread's, that the exit code pops. */
struct wtm_record *wtm_close(uint64_t sp, uint64_t now) WTM_HIDDEN;
/* The record on top, whatever the generation. */
struct wtm_record *wtm_close_top(struct wtm_thread *thread, struct wtm_record *record, uint64_t now) WTM_HIDDEN;
struct wtm_record *wtm_close_slow(struct wtm_thread *thread, uint64_t sp, uint64_t now) WTM_HIDDEN;
/* Called by trampoline_clocked.S only: no PUSHED is given without a start, no RETRY at all. */
enum wtm_entry_action wtm_entry_by_clock(uint64_t *slot, struct wtm_probe *probe) WTM_HIDDEN;
struct wtm_record *wtm_close_by_clock(uint64_t sp) WTM_HIDDEN;
/* All registers are saved around it. */
/* Gives 1 when the call is to be timed as well. */
int wtm_watch(uint64_t *slot, struct wtm_probe *probe, const uint64_t *registers) WTM_HIDDEN;

_Static_assert(WTM_ENTRY_PUSHED == 2, "trampoline.S and trampoline_clocked.S know PUSHED");
#define WTM_ASSERT_AT(type, field, at) _Static_assert(offsetof(type, field) == (at), "trampoline.S knows " #field)
WTM_ASSERT_AT(struct wtm_local, idle, 0);
WTM_ASSERT_AT(struct wtm_local, open, 8);
WTM_ASSERT_AT(struct wtm_local, cell, 16);
WTM_ASSERT_AT(struct wtm_record, return_minus_1, 0);
WTM_ASSERT_AT(struct wtm_record, sp, 8);
WTM_ASSERT_AT(struct wtm_record, local, 16);
WTM_ASSERT_AT(struct wtm_record, start_low, 24);
WTM_ASSERT_AT(struct wtm_record, child_ticks, 32);
WTM_ASSERT_AT(struct wtm_record, spent_ticks, 40);
WTM_ASSERT_AT(struct wtm_record, cpu_offset, 48);
WTM_ASSERT_AT(struct wtm_record, outer, 56);
_Static_assert(sizeof(struct wtm_record) == 64, "trampoline.S and unwind_rule.py step by 64");
_Static_assert(sizeof(struct wtm_local) == 32, "probe->local_offset is index * 32");
WTM_ASSERT_AT(struct wtm_thread, top, 0);
WTM_ASSERT_AT(struct wtm_thread, next, 8);
WTM_ASSERT_AT(struct wtm_thread, base, 16);
WTM_ASSERT_AT(struct wtm_thread, locals, 24);
WTM_ASSERT_AT(struct wtm_thread, generation, 32);
WTM_ASSERT_AT(struct wtm_thread, spent_ticks, 40);
WTM_ASSERT_AT(struct wtm_thread, cpu_offset, 48);
WTM_ASSERT_AT(struct wtm_thread, switch_word, 56);
WTM_ASSERT_AT(struct wtm_thread, switch_expected, 64);
WTM_ASSERT_AT(struct wtm_thread, limit, 72);
WTM_ASSERT_AT(struct wtm_thread, stack_low, 80);
WTM_ASSERT_AT(struct wtm_thread, stack_high, 88);
WTM_ASSERT_AT(struct wtm_probe, local_offset, 0);
WTM_ASSERT_AT(struct wtm_probe, body, 8);
WTM_ASSERT_AT(struct wtm_probe, special, 32);
WTM_ASSERT_AT(struct wtm_hot, recursive_ticks, 16);
WTM_ASSERT_AT(struct wtm_hot, nest, 32);
WTM_ASSERT_AT(struct wtm_cell, entered, 24);
WTM_ASSERT_AT(struct wtm_cell, recursive, 32);

#endif
