/* SPDX-License-Identifier: MIT
 * Judges stamps of which the true order is known. Each was taken after the one before it, so with s the shift of a CPU's
 * counter against true time: a stamp of A followed by one of B bounds s(B) - s(A) from above by their difference, and the
 * smallest difference seen bounds it best. A -> B and B -> A together give an interval. It is of what the counters show, at
 * a moment between the two stamps; so their granularity is in it. Wherever it does not hold 0 the counters differ, and that
 * is proven by a single pair of stamps; how good a bound can become takes many. Pure. */
#ifndef WTM_REPORT_CLOCK_JUDGE_H
#define WTM_REPORT_CLOCK_JUDGE_H

#include <stddef.h>
#include <stdint.h>

struct wtm_stamp {
    uint64_t order; /* position in the true order: unique, rising */
    uint64_t ticks;
};

struct wtm_pair_bound {
    int64_t low, high; /* of the second CPU's shift against the first one's; INT64_MIN, INT64_MAX: not seen */
    uint64_t changes;  /* neighbours in the order that bounded it, both ways */
};

/* One method's stamps, part after part. */
struct wtm_clock_judge {
    unsigned cpus;
    uint64_t stamps, changes;             /* taken; neighbours of two CPUs among them */
    uint64_t part_changes[3];             /* of those, by part of the run */
    uint64_t falls;                       /* neighbours of which the later one is the lower */
    uint64_t deepest_fall;
    uint64_t longest_stand;               /* readings of one CPU in a row with one value */
    uint64_t distances[64];               /* between neighbours of two CPUs, by their highest bit */
    struct last {
        uint64_t order, ticks;
        int seen;
    } *last;                              /* by CPU */
    struct last newest;
    unsigned newest_cpu;
    struct bounds {
        int64_t *smallest;                /* [cpus * first + second]: difference of a stamp of first and a later one of second */
        uint64_t begin, end;              /* ticks that the stamps span */
        uint64_t first_order;
    } whole, early, late;
    uint64_t *seen;                       /* [cpus * first + second]: immediate neighbours */
};

/* 0, or -1 without memory. */
int wtm_clock_judge_begin(struct wtm_clock_judge *judge, unsigned cpus);
void wtm_clock_judge_end(struct wtm_clock_judge *judge);
/* The next stamp in the order. `part`: 0 early, 1 between, 2 late in the run. */
void wtm_clock_judge_add(struct wtm_clock_judge *judge, struct wtm_stamp stamp, unsigned cpu, int part);
/* Stamps of one CPU as they are taken: what needs no order. Kept by the thread that takes them. */
struct wtm_own_stamps {
    uint64_t stamps, falls, deepest_fall, stand, longest_stand, before;
};
void wtm_clock_judge_own(struct wtm_clock_judge *judge, const struct wtm_own_stamps *own);
static inline void wtm_own_stamp(struct wtm_own_stamps *own, uint64_t ticks)
{
    if (own->stamps++) {
        uint64_t distance = ticks - own->before;
        if ((int64_t)distance < 0) {
            own->falls++;
            own->deepest_fall = -distance > own->deepest_fall ? -distance : own->deepest_fall;
        }
        own->stand = distance ? 0 : own->stand + 1;
        own->longest_stand = own->stand > own->longest_stand ? own->stand : own->longest_stand;
    }
    own->before = ticks;
}

/* Ask when all are in. Of the pair of CPUs that is worst known: the widest interval, or the one furthest off 0. */
struct wtm_shift {
    int64_t low, high;        /* of the shift of `second` against `first`; low > high: they contradict each other */
    unsigned first, second;
    int is_fault;             /* 1: an interval does not hold 0 within `tolerated` */
    uint64_t fewest_changes;  /* between two CPUs */
    int64_t most;             /* no shift between any two CPUs is larger; INT64_MAX: nothing is known */
};
struct wtm_shift wtm_clock_judge_shift(const struct wtm_clock_judge *judge, int64_t tolerated);

struct wtm_drift {
    double low_ppb, high_ppb; /* of the rate of `second` against that of `first`: the pair that is worst known */
    unsigned first, second;
    int is_fault, is_known;
};
struct wtm_drift wtm_clock_judge_drift(const struct wtm_clock_judge *judge);

/* What 99 in 100 neighbours of two CPUs are nearer than, to a factor of 2; 0: there were none. */
uint64_t wtm_clock_judge_distance(const struct wtm_clock_judge *judge);

/* Does a counter of this step stand still? Some readings in a row within one step are none. */
int wtm_clock_judge_stands(const struct wtm_clock_judge *judge, uint32_t step_256);

#endif
