/* SPDX-License-Identifier: MIT
 * Builds the summary: counts what there is, reads profile after profile, computes rows, sorts them. */
#include "common/summary.h"
#include "common/pointer_sort.h"
#include "common/summary_build.h"
#include <errno.h>
#include <string.h>

/* Upper bounds of what all profiles together hold, so that nothing has to grow. Untouched memory costs
 * nothing. */
static void count_profile(struct wtm_totals *totals, const struct wtm_profile *profile)
{
    struct wtm_walk walk;
    wtm_walk_begin(&walk, profile);
    while (wtm_walk_next(&walk)) {
        totals->functions += walk.type == WTM_CHUNK_FUNCTION;
        totals->refused += walk.type == WTM_CHUNK_REFUSED;
        totals->missing += walk.type == WTM_CHUNK_NOT_FOUND;
        totals->notes += walk.type == WTM_CHUNK_NOTE;
        totals->cells += walk.type == WTM_CHUNK_CELL;
        totals->threads += walk.type == WTM_CHUNK_THREAD;
        if (walk.type == WTM_CHUNK_EDGES)
            totals->edges += (walk.bytes - sizeof(struct wtm_edges_chunk)) / sizeof(struct wtm_edge);
    }
}

static int allocate(struct wtm_builder *builder, size_t profiles)
{
    const struct wtm_totals *totals = &builder->room;
    struct wtm_summary *summary = builder->summary;
    struct wtm_arena *arena = builder->arena;
    const uint64_t most = UINT32_MAX / 2;
    if (totals->functions > most || totals->refused > most || totals->missing > most ||
        totals->notes > most || totals->cells > most || totals->edges > most || totals->threads > most || profiles > most)
        return -E2BIG;
    if (wtm_key_table_init(&builder->functions, totals->functions, arena) ||
        wtm_key_table_init(&builder->refused, totals->refused, arena) ||
        wtm_key_table_init(&builder->missing, totals->missing, arena) ||
        wtm_key_table_init(&builder->notes, totals->notes, arena) ||
        wtm_key_table_init(&builder->edges, totals->edges, arena))
        return -ENOMEM;
    uint64_t rows = totals->functions;
    if (wtm_summary_is_split(builder)) {
        rows += totals->cells;
        builder->group_list = wtm_arena_alloc(arena, totals->threads * sizeof *builder->group_list);
        if (rows > most || !builder->group_list || wtm_key_table_init(&builder->groups, totals->threads, arena) ||
            wtm_key_table_init(&builder->grouped, totals->cells, arena))
            return -ENOMEM;
    }
    builder->row_room = rows;
    summary->rows = wtm_arena_alloc(arena, rows * sizeof *summary->rows);
    summary->processes = wtm_arena_alloc(arena, profiles * sizeof *summary->processes);
    summary->refused = wtm_arena_alloc(arena, totals->refused * sizeof *summary->refused);
    summary->missing = wtm_arena_alloc(arena, totals->missing * sizeof *summary->missing);
    builder->missing_in = wtm_arena_alloc(arena, totals->missing * sizeof *builder->missing_in);
    summary->notes = wtm_arena_alloc(arena, totals->notes * sizeof *summary->notes);
    builder->refused_profile = wtm_arena_alloc(arena, totals->refused * sizeof *builder->refused_profile);
    builder->first_cell = wtm_arena_alloc(arena, rows * sizeof *builder->first_cell);
    builder->cells = wtm_arena_alloc(arena, totals->cells * sizeof *builder->cells);
    builder->edge_sums = wtm_arena_alloc(arena, totals->edges * sizeof *builder->edge_sums);
    builder->rates = wtm_arena_alloc(arena, profiles * sizeof *builder->rates);
    return summary->rows && summary->processes && summary->refused && builder->missing_in && summary->missing && summary->notes &&
                   builder->refused_profile && builder->first_cell && builder->cells && builder->edge_sums &&
                   builder->rates
               ? 0
               : -ENOMEM;
}

static void terminate(struct wtm_profile_header *header)
{
    header->program[sizeof header->program - 1] = 0;
    header->clock_note[sizeof header->clock_note - 1] = 0;
    header->cpu_note[sizeof header->cpu_note - 1] = 0;
    header->host[sizeof header->host - 1] = 0;
}

/* Costs a call, of the first profile: those of others on the same machine differ by their spread. */
static void describe(struct wtm_summary *summary, struct wtm_builder *builder)
{
    const struct wtm_cost *cost = &builder->view.header.cost;
    double unit = builder->view.rate.ns_per_tick / 256;
    struct wtm_profile_header *copy = wtm_arena_alloc(builder->arena, sizeof *copy);
    if (copy)
        *copy = builder->view.header;
    summary->header = copy;
    summary->clock = builder->view.rate;
    summary->ns_per_tick = builder->view.rate.ns_per_tick;
    summary->inside_ns = cost->inside * unit;
    summary->outside_ns = cost->outside * unit;
    summary->recursive_ns = cost->recursive * unit;
    const struct wtm_cost *end = &builder->view.header.cost_end;
    summary->inside_end_ns = end->batches ? end->inside * unit : __builtin_nan("");
    summary->outside_end_ns = end->batches ? end->outside * unit : __builtin_nan("");
    summary->spread_ns =
        (cost->spread_inside > cost->spread_outside ? cost->spread_inside : cost->spread_outside) * unit;
}

static void add_wall(struct wtm_summary *summary, const struct wtm_profile_view *view, struct wtm_process_row *process,
                     uint64_t now_ns)
{
    const struct wtm_profile_header *header = &view->header;
    int cut = header->state != WTM_PROFILE_ENDED && view->profile->gone;
    int running = header->state != WTM_PROFILE_ENDED && !cut;
    uint64_t end = header->end_monotonic_ns;
    if (running && now_ns > end)
        end = now_ns;
    double wall = end > header->start_monotonic_ns ? (double)(end - header->start_monotonic_ns) : 0;
    if (cut && view->seen_ticks > header->first.ticks) {
        double seen = (double)(view->seen_ticks - header->first.ticks) * view->rate.ns_per_tick;
        wall = seen > wall && seen < 1e18 ? seen : wall;
    }
    if (wall > summary->wall_ns)
        summary->wall_ns = wall;
    summary->wall_sum_ns += wall;
    summary->running |= (unsigned)running;
    process->wall_ns = wall;
    process->running = (unsigned)running;
    process->cut = (unsigned)cut;
}

/* 0 or -ENOMEM. */
static int add_process(struct wtm_builder *builder)
{
    const struct wtm_profile_view *view = &builder->view;
    const struct wtm_profile_header *header = &view->header;
    struct wtm_process_row *process = &builder->summary->processes[view->number];
    process->program = wtm_arena_string(builder->arena, header->program, strlen(header->program));
    process->host = wtm_arena_string(builder->arena, header->host, strlen(header->host));
    process->path = view->profile->path;
    process->pid = header->pid;
    process->parent = header->parent_pid;
    process->started_ns = header->start_realtime_ns;
    return process->program && process->host ? 0 : -ENOMEM;
}

/* Index tables of one profile. An index is given out for each chunk of 64 bytes or more, so none can be
 * larger than the chunks that fit. The tables of the last profile are used again where they are large enough.
 */
static int open_view(struct wtm_builder *builder, const struct wtm_profile *profile, uint32_t number)
{
    struct wtm_profile_view *view = &builder->view;
    struct wtm_walk walk;
    wtm_walk_begin(&walk, profile);
    uint64_t limit = walk.end / WTM_CHUNK_ALIGN + 1, had = view->limit;
    view->profile = profile;
    view->number = number;
    view->seen_ticks = 0;
    memcpy(&view->header, profile->base, sizeof view->header);
    terminate(&view->header);
    wtm_profile_rate(&view->header, &view->rate);
    if (limit > had) {
        view->row_of = wtm_arena_alloc(builder->arena, limit * sizeof *view->row_of);
        view->counts = wtm_arena_alloc(builder->arena, limit);
        view->group_of = wtm_summary_is_split(builder) ? wtm_arena_alloc(builder->arena, limit * sizeof *view->group_of) : view->row_of;
        view->limit = limit;
    } else {
        memset(view->row_of, 0, had * sizeof *view->row_of);
        memset(view->counts, 0, had);
        if (wtm_summary_is_split(builder))
            memset(view->group_of, 0, had * sizeof *view->group_of);
    }
    return view->row_of && view->counts && view->group_of ? 0 : -ENOMEM;
}

static int read_profile(struct wtm_builder *builder, const struct wtm_profile *profile, uint32_t number,
                        uint64_t now_ns)
{
    struct wtm_profile_view *view = &builder->view;
    int result = open_view(builder, profile, number);
    if (result)
        return result;
    if (!number)
        describe(builder->summary, builder);
    if (!builder->summary->header)
        return -ENOMEM;
    builder->rates[number] = (struct wtm_rate){view->rate.ns_per_tick, view->rate.to_ns,
                                               view->header.cpu_source != WTM_CPU_OFF,
                                               view->header.cpu_source == WTM_CPU_RSEQ || view->header.cpu_source == WTM_CPU_PERF};
    if (view->rate.step_ns > builder->summary->granularity_ns)
        builder->summary->granularity_ns = view->rate.step_ns;
    double ratio = view->rate.ns_per_tick / builder->rates[0].ns_per_tick;
    builder->mixed_rates |= ratio < 0.999 || ratio > 1.001;
    builder->summary->lost_calls += view->header.lost_calls;
    result = add_process(builder);
    if (!result)
        result = wtm_summary_read_names(builder);
    add_wall(builder->summary, view, &builder->summary->processes[number], now_ns);

    struct wtm_walk walk;
    wtm_walk_begin(&walk, profile);
    for (const struct wtm_chunk *chunk; !result && (chunk = wtm_walk_next(&walk));)
        if (walk.type == WTM_CHUNK_CELL)
            wtm_summary_read_cell(builder, &walk, chunk);
    wtm_walk_begin(&walk, profile); /* when all rows are there */
    for (const struct wtm_chunk *chunk; !result && (chunk = wtm_walk_next(&walk));)
        if (walk.type == WTM_CHUNK_EDGES)
            wtm_summary_read_edges(builder, &walk, chunk);
        else if (walk.type == WTM_CHUNK_NOISE)
            wtm_summary_read_noise(builder, chunk);
        else if (walk.type == WTM_CHUNK_SAMPLES)
            result = wtm_summary_read_samples(builder, &walk, chunk);
    return result;
}

/* Profiles of one `wtm run` were asked for the same patterns. */
static unsigned is_one_run(const struct wtm_profile *profiles, size_t count)
{
    const struct wtm_profile_header *first = (const void *)profiles[0].base;
    for (size_t i = 0; i < count; i++) {
        const struct wtm_profile_header *header = (const void *)profiles[i].base;
        if (!header->run || header->run != first->run)
            return 0;
    }
    return 1;
}

static int row_before(const void *a, const void *b, const void *context)
{
    const struct wtm_row *first = a, *second = b;
    if (first->realtime.total_ns != second->realtime.total_ns)
        return first->realtime.total_ns > second->realtime.total_ns;
    if (first->calls != second->calls)
        return first->calls > second->calls;
    int names = strcmp(first->name, second->name);
    if (!names)
        names = strcmp(first->module, second->module);
    return names ? names < 0 : first->offset < second->offset;
}

/* Sorts rows, without those that are there by groups; `place` becomes where each went. */
static int sort_rows(struct wtm_builder *builder, uint32_t *place)
{
    struct wtm_summary *summary = builder->summary;
    size_t count = summary->row_count;
    void **order = wtm_arena_alloc(builder->arena, count * sizeof *order);
    struct wtm_row *sorted = wtm_arena_alloc(builder->arena, count * sizeof *sorted);
    if (!order || !sorted)
        return -ENOMEM;
    summary->row_count = 0;
    for (size_t i = 0; i < count; i++) {
        summary->functions += !summary->rows[i].group;
        if (!summary->rows[i].split)
            order[summary->row_count++] = &summary->rows[i];
    }
    count = summary->row_count;
    wtm_pointer_sort(order, count, row_before, NULL);
    for (size_t i = 0; i < count; i++) {
        sorted[i] = *(const struct wtm_row *)order[i];
        place[(const struct wtm_row *)order[i] - summary->rows] = (uint32_t)i;
    }
    summary->rows = sorted;
    return 0;
}

int wtm_summary_build(struct wtm_summary *summary, const struct wtm_profile *profiles, size_t count,
                      uint64_t now_ns, struct wtm_arena *arena)
{
    return wtm_summary_build_by(summary, profiles, count, now_ns, 0, arena);
}

int wtm_summary_build_by(struct wtm_summary *summary, const struct wtm_profile *profiles, size_t count,
                         uint64_t now_ns, unsigned by, struct wtm_arena *arena)
{
    memset(summary, 0, sizeof *summary);
    summary->by = by;
    if (!count)
        return -EINVAL;
    struct wtm_builder *builder =
        wtm_arena_alloc(arena, sizeof *builder); /* large: not on the target's stack */
    if (!builder)
        return -ENOMEM;
    builder->summary = summary;
    builder->arena = arena;
    for (size_t i = 0; i < count; i++) {
        int result = wtm_profile_check(&profiles[i], NULL);
        if (result)
            return result;
        count_profile(&builder->room, &profiles[i]);
    }
    int result = allocate(builder, count);
    summary->profiles = count;
    builder->one_run = is_one_run(profiles, count);
    for (size_t i = 0; i < count && !result; i++)
        result = read_profile(builder, &profiles[i], (uint32_t)i, now_ns);
    if (!result)
        wtm_summary_drop_found(builder);
    if (!result)
        result = wtm_summary_label(builder);
    if (!result)
        result = wtm_summary_compute(builder);
    uint32_t *place = wtm_arena_alloc(arena, summary->row_count * sizeof *place);
    if (!result)
        result = place ? sort_rows(builder, place) : -ENOMEM;
    return result ? result : wtm_summary_attach_callers(builder, place);
}
