/* SPDX-License-Identifier: MIT
 * Who called whom: edges of all threads and profiles added up, then hung on their callees. */
#include "common/pointer_sort.h"
#include "common/summary_build.h"
#include <errno.h>
#include <string.h>

static void add_edge(struct wtm_builder *builder, const struct wtm_edge *edge, uint32_t thread)
{
    const struct wtm_profile_view *view = &builder->view;
    uint32_t caller = edge->caller, callee = edge->callee;
    if (caller >= view->limit || callee >= view->limit || !view->row_of[caller] || !view->row_of[callee])
        return;
    caller = wtm_summary_row_of(builder, caller, thread, 0);
    callee = wtm_summary_row_of(builder, callee, thread, 0);
    if (!caller-- || !callee--)
        return;
    uint64_t slot = wtm_key_mix(wtm_key_mix(6, caller), callee);
    uint32_t found;
    for (; (found = builder->edges.slots[slot &= builder->edges.mask]); slot++)
        if (builder->edge_sums[found - 1].caller == caller && builder->edge_sums[found - 1].callee == callee)
            break;
    if (!found) {
        if (builder->edge_count == builder->room.edges)
            return;
        builder->edge_sums[builder->edge_count] = (struct wtm_edge_sum){caller, callee, 0, 0};
        found = (uint32_t)++builder->edge_count;
        builder->edges.slots[slot] = found;
    }
    builder->edge_sums[found - 1].calls += edge->calls;
    builder->edge_sums[found - 1].ns += wtm_convert_signed(view->rate.to_ns, edge->ticks);
}

void wtm_summary_read_edges(struct wtm_builder *builder, const struct wtm_walk *walk,
                            const struct wtm_chunk *chunk)
{
    const struct wtm_edges_chunk *edges = (const struct wtm_edges_chunk *)chunk;
    if (edges->thread >= builder->view.limit || builder->view.counts[edges->thread] != WTM_CELLS_COUNT)
        return;
    uint64_t count = __atomic_load_n(&edges->count, __ATOMIC_ACQUIRE);
    uint64_t fits = (walk->bytes - sizeof *edges) / sizeof(struct wtm_edge);
    for (uint64_t i = 0; i < count && i < fits; i++)
        add_edge(builder, &edges->edges[i], edges->thread);
}

static int edge_before(const void *a, const void *b, const void *context)
{
    const struct wtm_edge_sum *first = a, *second = b;
    if (first->callee != second->callee)
        return first->callee < second->callee;
    if (first->ns != second->ns)
        return first->ns > second->ns;
    if (first->calls != second->calls)
        return first->calls > second->calls;
    return first->caller < second->caller;
}

int wtm_summary_attach_callers(struct wtm_builder *builder, const uint32_t *place)
{
    struct wtm_summary *summary = builder->summary;
    size_t count = 0;
    void **order = wtm_arena_alloc(builder->arena, builder->edge_count * sizeof *order);
    struct wtm_caller *callers = wtm_arena_alloc(builder->arena, builder->edge_count * sizeof *callers);
    if (!order || !callers)
        return -ENOMEM;
    for (size_t i = 0; i < builder->edge_count; i++) {
        struct wtm_edge_sum *sum = &builder->edge_sums[i];
        sum->caller = place[sum->caller];
        sum->callee = place[sum->callee];
        if (sum->calls)
            order[count++] = sum;
    }
    wtm_pointer_sort(order, count, edge_before, NULL);
    for (size_t i = 0; i < count; i++) {
        const struct wtm_edge_sum *sum = order[i];
        const struct wtm_row *caller = &summary->rows[sum->caller];
        struct wtm_row *callee = &summary->rows[sum->callee];
        callers[i] = (struct wtm_caller){caller->name, caller->label, sum->calls, sum->ns};
        if (!callee->callers)
            callee->callers = &callers[i];
        callee->caller_count++;
    }
    return 0;
}
