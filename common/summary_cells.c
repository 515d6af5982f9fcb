/* SPDX-License-Identifier: MIT
 * From cells to numbers: per function, all threads of all profiles added up.
 *
 * Only references to cells are kept while reading; a row is then computed with two histograms that all rows
 * use in turn, so that memory is a row per function and not a histogram. */
#include "common/histogram.h"
#include "common/statistics.h"
#include "common/summary_build.h"
#include <errno.h>

void wtm_summary_read_cell(struct wtm_builder *builder, const struct wtm_walk *walk,
                           const struct wtm_chunk *chunk)
{
    const struct wtm_profile_view *view = &builder->view;
    const struct wtm_cell *cell = (const struct wtm_cell *)chunk;
    uint32_t function = cell->function, thread = cell->thread;
    if (function >= view->limit || thread >= view->limit || !view->row_of[function] ||
        !view->counts[thread] || builder->cell_count == builder->room.cells)
        return;
    uint32_t row = wtm_summary_row_of(builder, function, thread, 1);
    if (!row)
        return;
    uint32_t *first = &builder->first_cell[row - 1];
    const struct wtm_switched *switched = wtm_walk_at(
        walk, __atomic_load_n(&cell->switched, __ATOMIC_ACQUIRE), WTM_CHUNK_SWITCHED, sizeof *switched);
    uint32_t was_reset = view->counts[thread] == WTM_CELLS_RESET;
    builder->cells[builder->cell_count] = (struct wtm_cell_ref){cell, switched, view->number, *first, was_reset};
    *first = (uint32_t)++builder->cell_count;
    if (was_reset)
        return;
    builder->summary->processes[view->number].calls += cell->entered + cell->recursive;

    const struct wtm_cost *cost = &view->header.cost;
    double timed = (double)cost->inside + (double)cost->outside;
    builder->summary->cost_ns +=
        ((double)cell->entered * timed + (double)cell->recursive * (double)cost->recursive) / 256 *
        view->rate.ns_per_tick;
}

/* Sums of one profile's cells of one function, and the distribution over all its profiles. */
struct distribution {
    struct wtm_sums sums;
    struct wtm_moments moments;
    struct wtm_histogram histogram; /* in ticks of the first profile */
    struct wtm_histogram one;       /* of one profile, where rates differ; else not used */
};

struct work {
    struct distribution real, run;
};

static int allocate(struct wtm_histogram *histogram, unsigned sub_bits, struct wtm_arena *arena)
{
    histogram->sub_bits = sub_bits;
    histogram->buckets = (WTM_HIST_MAX_BITS - sub_bits + 1) << sub_bits;
    histogram->counts = wtm_arena_alloc(arena, histogram->buckets * sizeof *histogram->counts);
    return histogram->counts ? 0 : -ENOMEM;
}

static int allocate_distribution(struct distribution *distribution, unsigned mixed, struct wtm_arena *arena)
{
    if (allocate(&distribution->histogram, mixed ? WTM_HIST_FINE_BITS : WTM_HIST_SUB_BITS, arena))
        return -ENOMEM;
    return mixed ? allocate(&distribution->one, WTM_HIST_SUB_BITS, arena) : 0;
}

static void begin_row(struct distribution *distribution)
{
    wtm_histogram_clear(&distribution->histogram);
    distribution->moments = (struct wtm_moments){0};
}

static void begin_profile(struct distribution *distribution)
{
    distribution->sums = (struct wtm_sums){0};
    if (distribution->one.counts)
        wtm_histogram_clear(&distribution->one);
}

static void add_stats(struct distribution *distribution, const struct wtm_stats *stats)
{
    if (!stats->calls)
        return;
    wtm_sums_add(&distribution->sums, stats);
    wtm_histogram_add(distribution->one.counts ? &distribution->one : &distribution->histogram, stats);
}

static void end_profile(struct distribution *distribution, const struct wtm_rate *rate, double reference)
{
    struct wtm_moments moments = wtm_sums_moments(&distribution->sums, wtm_conversion_factor(rate->to_ns));
    wtm_moments_add(&distribution->moments, &moments);
    if (distribution->one.counts && moments.calls)
        wtm_histogram_add_scaled(&distribution->histogram, &distribution->one, rate->ns_per_tick / reference);
}

static struct wtm_times end_row(const struct distribution *distribution, double reference)
{
    static const double fractions[] = {0.5, 0.9, 0.99, 0.999};
    const struct wtm_moments *moments = &distribution->moments;
    struct wtm_times times = {.calls = moments->calls};
    if (!moments->calls)
        return times;
    double values[4];
    wtm_histogram_quantiles(&distribution->histogram, moments->min / reference, moments->max / reference,
                            fractions, values, 4);
    times.total_ns = (double)(moments->mean * (long double)moments->calls);
    times.mean_ns = (double)moments->mean;
    times.min_ns = moments->min;
    times.max_ns = moments->max;
    times.stddev_ns = wtm_moments_deviation(moments);
    times.p50_ns = values[0] * reference;
    times.p90_ns = values[1] * reference;
    times.p99_ns = values[2] * reference;
    times.p999_ns = values[3] * reference;
    return times;
}

/* Of a cell that its thread has yet to zero. */
static void add_open(struct wtm_row *row, const struct wtm_cell_ref *ref)
{
    const struct wtm_cell *cell = ref->cell;
    uint64_t closed = cell->steady.calls + cell->abnormal + cell->late;
    closed += ref->switched ? ref->switched->real.calls : 0;
    uint64_t entered = __atomic_load_n(&cell->entered, __ATOMIC_ACQUIRE);
    row->calls += entered > closed ? entered - closed : 0;
    row->open += entered > closed ? entered - closed : 0;
}

/* Adds one cell. What is read first can only be smaller than it should be beside what
 * is read later, so the entries come last: a call open a moment ago is not taken for less than none. */
static void add_cell(struct work *work, struct wtm_row *row, const struct wtm_cell_ref *ref,
                     const struct wtm_rate *rate)
{
    const struct wtm_cell *cell = ref->cell;
    uint64_t closed = cell->steady.calls + cell->abnormal + cell->late;
    add_stats(&work->real, &cell->steady);
    if (rate->has_runtime)
        add_stats(&work->run, &cell->steady);
    if (ref->switched) {
        closed += ref->switched->real.calls;
        row->noise.switched += rate->knows_switches ? ref->switched->real.calls : 0;
        add_stats(&work->real, &ref->switched->real);
        if (rate->has_runtime)
            add_stats(&work->run, &ref->switched->run);
    }
    row->abnormal += cell->abnormal;
    row->late += cell->late;
    row->self_ns += wtm_convert_signed(rate->to_ns, cell->self);
    row->subtracted_ns += wtm_convert_signed(rate->to_ns, cell->subtracted);
    row->recursive += cell->recursive + cell->nested;
    uint64_t entered = __atomic_load_n(&cell->entered, __ATOMIC_ACQUIRE);
    row->calls += entered + cell->recursive;
    /* A call can begin in one thread and end in another: only the sum over all cells says how many are open. */
    row->open += entered - closed;
}

static void compute_row(struct wtm_builder *builder, struct work *work, size_t index)
{
    struct wtm_row *row = &builder->summary->rows[index];
    double reference = builder->rates[0].ns_per_tick;
    uint32_t next = builder->first_cell[index];
    if (!next)
        return;
    begin_row(&work->real);
    begin_row(&work->run);
    while (next) {
        uint32_t profile = builder->cells[next - 1].profile;
        const struct wtm_rate *rate = &builder->rates[profile];
        begin_profile(&work->real);
        begin_profile(&work->run);
        for (; next && builder->cells[next - 1].profile == profile; next = builder->cells[next - 1].next)
            if (builder->cells[next - 1].was_reset)
                add_open(row, &builder->cells[next - 1]);
            else
                add_cell(work, row, &builder->cells[next - 1], rate);
        end_profile(&work->real, rate, reference);
        end_profile(&work->run, rate, reference);
    }
    if (row->open > row->calls) /* below none: read while a call ended, or a damaged file */
        row->open = 0;
    row->realtime = end_row(&work->real, reference);
    row->runtime = end_row(&work->run, reference);
}

int wtm_summary_compute(struct wtm_builder *builder)
{
    struct work work = {0};
    if (allocate_distribution(&work.real, builder->mixed_rates, builder->arena) ||
        allocate_distribution(&work.run, builder->mixed_rates, builder->arena))
        return -ENOMEM;
    for (size_t i = 0; i < builder->summary->row_count; i++) {
        compute_row(builder, &work, i);
        builder->summary->called += builder->summary->rows[i].calls != 0;
    }
    return 0;
}
