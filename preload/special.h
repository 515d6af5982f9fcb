/* SPDX-License-Identifier: MIT
 * Calls of which more is wanted than their times: single observations (WTM_SAMPLES), what disturbed them (WTM_NOISE), or
 * their time taken out of the functions around them (WTM_SUBTRACT). Their functions' stubs lead to wtm_entry_special, which
 * costs a compare while nothing is wanted and else takes the slow path; their records are marked, so that closing them
 * takes the slow path as well. Others do not notice. Rules of hot.h. */
#ifndef WTM_PRELOAD_SPECIAL_H
#define WTM_PRELOAD_SPECIAL_H

#include "preload/hot.h"

/* Bits of probe->special and local->special. */
enum wtm_special {
    WTM_SPECIAL_SAMPLED = 1,  /* until its samples are full */
    WTM_SPECIAL_SUBTRACT = 2, /* its time is none of its callers' */
    WTM_SPECIAL_COUNTED = 4,  /* page faults and switches are counted for each call */
    WTM_SPECIAL_HANDLER = 8,  /* a signal handler: its time is shown beside that of the functions it interrupts */
};

extern const char wtm_entry_special[] WTM_HIDDEN; /* hook of such functions */

/* A marked record's cpu_offset has bit 62 turned over: real ones lie far within +-2^61, so sign and bit are equal there. */
#define WTM_SPECIAL_MARK ((int64_t)1 << 62)
static inline int wtm_special_marked(int64_t cpu_offset)
{
    return ((uint64_t)cpu_offset >> 62 & 1) != (uint64_t)cpu_offset >> 63;
}

/* How many observations are kept of each function; 0: none. Set at start-up. */
extern uint32_t wtm_special_samples WTM_HIDDEN;

/* The record on top was pushed for a call of `probe`; what has passed since `begin` is no time of the program's. */
void wtm_special_open(struct wtm_thread *thread, struct wtm_probe *probe, uint64_t begin,
                      uint64_t counted) WTM_HIDDEN;
/* It has ended; before its statistics are touched. */
void wtm_special_end(struct wtm_thread *thread, const struct wtm_record *record) WTM_HIDDEN;
/* It is being closed, in wtm_close_switched(): corrected realtime and runtime in ticks; `known` 0: no runtime. */
void wtm_special_close(struct wtm_thread *thread, struct wtm_record *record, int64_t real, int64_t run, int known) WTM_HIDDEN;
/* A record moves: what is kept beside it moves as well. */
void wtm_special_moved(struct wtm_thread *thread, const struct wtm_record *to, const struct wtm_record *from) WTM_HIDDEN;

#endif
