/* SPDX-License-Identifier: MIT
 * What disturbed the calls, and single observations of them. */
#include "common/summary_build.h"
#include <errno.h>

/* One chunk of samples; a row's are in the order of its profiles. */
struct wtm_sample_ref {
    const struct wtm_samples *chunk;
    uint64_t fits;  /* by the chunk's size */
    uint32_t epoch; /* that counts */
    unsigned has_runtime;
    double ns_per_tick;
    struct wtm_sample_ref *next;
};

static struct wtm_row *row_of(const struct wtm_builder *builder, uint32_t function)
{
    const struct wtm_profile_view *view = &builder->view;
    return function < view->limit && view->row_of[function] ? &builder->summary->rows[view->row_of[function] - 1] : NULL;
}

void wtm_summary_read_noise(struct wtm_builder *builder, const struct wtm_chunk *chunk)
{
    const struct wtm_profile_view *view = &builder->view;
    const struct wtm_noise *noise = (const struct wtm_noise *)chunk;
    struct wtm_row *row = row_of(builder, noise->function);
    if (!row || noise->thread >= view->limit || view->counts[noise->thread] != WTM_CELLS_COUNT)
        return;
    struct wtm_row_noise *sum = &row->noise;
    sum->counted += noise->counted;
    sum->minor_faults += noise->minor_faults;
    sum->major_faults += noise->major_faults;
    sum->waits += noise->waits;
    sum->preemptions += noise->preemptions;
    sum->migrated += noise->migrated;
    sum->taken_out += noise->taken_out;
    sum->handlers += noise->handlers;
    sum->taken_out_ns += (double)noise->taken_out_ticks * view->rate.ns_per_tick;
    sum->handlers_ns += (double)noise->handler_ticks * view->rate.ns_per_tick;
}

int wtm_summary_read_samples(struct wtm_builder *builder, const struct wtm_walk *walk, const struct wtm_chunk *chunk)
{
    const struct wtm_profile_view *view = &builder->view;
    const struct wtm_samples *samples = (const struct wtm_samples *)chunk;
    struct wtm_row *row = row_of(builder, samples->function);
    if (!row)
        return 0;
    struct wtm_sample_ref *ref = wtm_arena_alloc(builder->arena, sizeof *ref);
    if (!ref)
        return -ENOMEM;
    uint64_t fits = (walk->bytes - sizeof *samples) / sizeof *samples->of;
    *ref = (struct wtm_sample_ref){.chunk = samples, .fits = samples->capacity < fits ? samples->capacity : fits,
                                   .epoch = (uint32_t)view->header.epoch, .ns_per_tick = view->rate.ns_per_tick,
                                   .has_runtime = view->header.cpu_source != WTM_CPU_OFF};
    *(row->samples ? &row->last_samples->next : &row->samples) = ref;
    row->last_samples = ref;
    return 0;
}

/* How many places of it were taken: a live process may take more meanwhile. */
static uint64_t taken(const struct wtm_sample_ref *ref)
{
    uint64_t count = __atomic_load_n(&ref->chunk->taken, __ATOMIC_ACQUIRE);
    return count < ref->fits ? count : ref->fits;
}

int wtm_row_samples(const struct wtm_row *row, struct wtm_observation **of, size_t *count, struct wtm_arena *arena)
{
    size_t room = 0;
    *count = 0;
    *of = NULL;
    if (!row->samples)
        return 0;
    for (const struct wtm_sample_ref *ref = row->samples; ref; ref = ref->next)
        room += ref->fits;
    *of = wtm_arena_alloc(arena, room * sizeof **of);
    if (!*of)
        return -ENOMEM;
    for (const struct wtm_sample_ref *ref = row->samples; ref; ref = ref->next) {
        uint64_t end = taken(ref);
        for (uint64_t i = 0; i < end; i++) {
            const struct wtm_sample *sample = &ref->chunk->of[i];
            if (!__atomic_load_n(&sample->thread, __ATOMIC_ACQUIRE) || sample->epoch != ref->epoch)
                continue;
            int known = ref->has_runtime && sample->run != WTM_SAMPLE_NO_RUNTIME;
            (*of)[(*count)++] = (struct wtm_observation){
                (double)sample->real * ref->ns_per_tick,
                known ? (double)sample->run * ref->ns_per_tick : __builtin_nan("")};
        }
    }
    return 0;
}
