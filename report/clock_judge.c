/* SPDX-License-Identifier: MIT
 * Bounds from ordered stamps. */
#include "report/clock_judge.h"
#include <stdlib.h>
#include <string.h>

static int begin_bounds(struct bounds *bounds, size_t cells)
{
    bounds->smallest = malloc(cells * sizeof *bounds->smallest);
    bounds->begin = bounds->end = 0;
    for (size_t i = 0; bounds->smallest && i < cells; i++)
        bounds->smallest[i] = INT64_MAX;
    return bounds->smallest ? 0 : -1;
}

int wtm_clock_judge_begin(struct wtm_clock_judge *judge, unsigned cpus)
{
    size_t cells = (size_t)cpus * cpus;
    memset(judge, 0, sizeof *judge);
    judge->cpus = cpus;
    judge->last = calloc(cpus, sizeof *judge->last);
    judge->seen = calloc(cells, sizeof *judge->seen);
    return begin_bounds(&judge->whole, cells) | begin_bounds(&judge->early, cells) | begin_bounds(&judge->late, cells) |
           (judge->last && judge->seen ? 0 : -1);
}

void wtm_clock_judge_end(struct wtm_clock_judge *judge)
{
    free(judge->last);
    free(judge->seen);
    free(judge->whole.smallest);
    free(judge->early.smallest);
    free(judge->late.smallest);
    memset(judge, 0, sizeof *judge);
}

/* Against the last stamp of each other CPU, not of the neighbour alone: all came before. */
static void bound(const struct wtm_clock_judge *judge, struct bounds *bounds, const struct wtm_stamp *stamp, unsigned cpu)
{
    if (!bounds->begin) {
        bounds->begin = stamp->ticks;
        bounds->first_order = stamp->order;
    }
    bounds->end = stamp->ticks;
    for (unsigned other = 0; other < judge->cpus; other++) {
        int64_t *smallest = &bounds->smallest[(size_t)judge->cpus * other + cpu];
        int64_t distance = (int64_t)(stamp->ticks - judge->last[other].ticks);
        if (other != cpu && judge->last[other].seen && judge->last[other].order >= bounds->first_order && distance < *smallest)
            *smallest = distance;
    }
}

static void add_neighbour(struct wtm_clock_judge *judge, const struct wtm_stamp *stamp, unsigned cpu, int part)
{
    const struct last *before = &judge->newest;
    if (!before->seen || before->order + 1 != stamp->order)
        return;
    uint64_t distance = stamp->ticks - before->ticks;
    if (judge->newest_cpu == cpu)
        return; /* its own thread has looked at it */
    judge->changes++;
    judge->part_changes[part]++;
    judge->seen[(size_t)judge->cpus * judge->newest_cpu + cpu]++;
    if ((int64_t)distance < 0) {
        judge->falls++;
        judge->deepest_fall = -distance > judge->deepest_fall ? -distance : judge->deepest_fall;
    } else {
        judge->distances[distance ? 63 - __builtin_clzll(distance) : 0]++;
    }
}

void wtm_clock_judge_add(struct wtm_clock_judge *judge, struct wtm_stamp stamp, unsigned cpu, int part)
{
    add_neighbour(judge, &stamp, cpu, part);
    bound(judge, &judge->whole, &stamp, cpu);
    if (part != 1)
        bound(judge, part ? &judge->late : &judge->early, &stamp, cpu);
    judge->last[cpu] = judge->newest = (struct last){stamp.order, stamp.ticks, 1};
    judge->newest_cpu = cpu;
}

void wtm_clock_judge_own(struct wtm_clock_judge *judge, const struct wtm_own_stamps *own)
{
    judge->stamps += own->stamps;
    judge->falls += own->falls;
    judge->deepest_fall = own->deepest_fall > judge->deepest_fall ? own->deepest_fall : judge->deepest_fall;
    judge->longest_stand = own->longest_stand > judge->longest_stand ? own->longest_stand : judge->longest_stand;
}

static struct wtm_pair_bound pair_of(const struct wtm_clock_judge *judge, const struct bounds *bounds, unsigned first,
                                     unsigned second)
{
    size_t there = (size_t)judge->cpus * first + second, back = (size_t)judge->cpus * second + first;
    int64_t high = bounds->smallest[there], low = bounds->smallest[back];
    return (struct wtm_pair_bound){low == INT64_MAX ? INT64_MIN : -low, high, judge->seen[there] + judge->seen[back]};
}

static int64_t size_of(int64_t value)
{
    return value == INT64_MIN ? INT64_MAX : value < 0 ? -value : value;
}

/* How far the interval is off 0; below 0: how far 0 is inside. */
static int64_t distance_from_zero(const struct wtm_pair_bound *pair)
{
    if (pair->low == INT64_MIN || pair->high == INT64_MAX)
        return INT64_MIN;
    return pair->low > -pair->high ? pair->low : -pair->high;
}

struct wtm_shift wtm_clock_judge_shift(const struct wtm_clock_judge *judge, int64_t tolerated)
{
    struct wtm_shift worst = {.fewest_changes = UINT64_MAX};
    int64_t furthest = 0, widest = -1;
    for (unsigned first = 0; first < judge->cpus; first++) {
        for (unsigned second = first + 1; second < judge->cpus; second++) {
            struct wtm_pair_bound pair = pair_of(judge, &judge->whole, first, second);
            int64_t off = distance_from_zero(&pair), bound_size;
            int fault = off > 0 && off > tolerated;
            bound_size = size_of(pair.low) > size_of(pair.high) ? size_of(pair.low) : size_of(pair.high);
            worst.most = bound_size > worst.most ? bound_size : worst.most;
            worst.fewest_changes = pair.changes < worst.fewest_changes ? pair.changes : worst.fewest_changes;
            if (fault ? !worst.is_fault || off > furthest : !worst.is_fault && bound_size > widest) {
                worst.low = pair.low;
                worst.high = pair.high;
                worst.first = first;
                worst.second = second;
                furthest = off;
                widest = bound_size;
            }
            worst.is_fault |= fault;
        }
    }
    if (judge->cpus < 2)
        worst.most = INT64_MAX;
    return worst;
}

/* From the shift early and late in the run. A shift that moves out of its own interval proves that the rates differ. */
struct wtm_drift wtm_clock_judge_drift(const struct wtm_clock_judge *judge)
{
    struct wtm_drift worst = {0};
    double apart = (double)(int64_t)(judge->late.begin / 2 + judge->late.end / 2 - judge->early.begin / 2 - judge->early.end / 2);
    double shortest = (double)(int64_t)(judge->late.begin - judge->early.end);
    if (!(shortest > 0))
        return worst;
    for (unsigned first = 0; first < judge->cpus; first++) {
        for (unsigned second = first + 1; second < judge->cpus; second++) {
            struct wtm_pair_bound early = pair_of(judge, &judge->early, first, second),
                                  late = pair_of(judge, &judge->late, first, second);
            if (distance_from_zero(&early) == INT64_MIN || distance_from_zero(&late) == INT64_MIN)
                continue;
            double low = ((double)late.low - (double)early.high) / apart * 1e9,
                   high = ((double)late.high - (double)early.low) / apart * 1e9;
            int fault = low > 0 || high < 0;
            if (!worst.is_known || fault > worst.is_fault || (fault == worst.is_fault && high - low > worst.high_ppb - worst.low_ppb)) {
                worst = (struct wtm_drift){low, high, first, second, fault || worst.is_fault, 1};
            }
        }
    }
    return worst;
}

uint64_t wtm_clock_judge_distance(const struct wtm_clock_judge *judge)
{
    uint64_t all = 0, so_far = 0;
    for (int i = 0; i < 64; i++)
        all += judge->distances[i];
    for (int i = 0; all && i < 63; i++) {
        so_far += judge->distances[i];
        if (so_far >= all - all / 100)
            return (uint64_t)2 << i;
    }
    return 0;
}

int wtm_clock_judge_stands(const struct wtm_clock_judge *judge, uint32_t step_256)
{
    enum { LEAST_TICKS = 8, SPARE = 4 }; /* a fenced reading and a locked addition take more than so many ticks */
    return judge->longest_stand > SPARE + (uint64_t)step_256 / 256 / LEAST_TICKS;
}
