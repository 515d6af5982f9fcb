/* SPDX-License-Identifier: MIT
 * Rows by more than functions: the groups that threads and processes fall into, and a row for each function in each group
 * that called it. */
#include "common/summary_build.h"
#include "common/text.h"
#include <errno.h>
#include <string.h>

int wtm_summary_is_split(const struct wtm_builder *builder)
{
    return (builder->summary->by & ~(unsigned)WTM_BY_MODULE) != 0;
}

static int same(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

static int same_group(const struct wtm_group *a, const struct wtm_group *b)
{
    return a->pid == b->pid && same(a->program, b->program) && same(a->host, b->host) && same(a->thread, b->thread);
}

/* "make 4242 on host, worker" */
static const char *make_label(const struct wtm_group *group, struct wtm_arena *arena)
{
    char buffer[512];
    struct wtm_text text;
    wtm_text_init(&text, buffer, sizeof buffer - 1, NULL, NULL);
    if (group->program)
        wtm_text_string(&text, *group->program ? group->program : "?");
    if (group->pid) {
        wtm_text_char(&text, ' ', 1);
        wtm_text_unsigned(&text, group->pid);
    }
    if (group->host) {
        wtm_text_string(&text, group->program ? " on " : "on ");
        wtm_text_string(&text, *group->host ? group->host : "?");
    }
    if (group->thread) {
        wtm_text_string(&text, text.used ? ", " : "");
        wtm_text_string(&text, group->thread);
    }
    return wtm_arena_string(arena, buffer, text.used);
}

/* Profiles of before threads had names: by number. */
static const char *thread_name(const struct wtm_thread_chunk *chunk, struct wtm_arena *arena)
{
    char buffer[32];
    size_t length = strnlen(chunk->name, sizeof chunk->name);
    if (length)
        return wtm_arena_string(arena, chunk->name, length);
    struct wtm_text text;
    wtm_text_init(&text, buffer, sizeof buffer, NULL, NULL);
    wtm_text_string(&text, "thread ");
    wtm_text_unsigned(&text, chunk->tid);
    return wtm_arena_string(arena, buffer, text.used);
}

int wtm_summary_read_group(struct wtm_builder *builder, const struct wtm_thread_chunk *chunk)
{
    const struct wtm_process_row *process = &builder->summary->processes[builder->view.number];
    unsigned by = builder->summary->by;
    struct wtm_group group = {
        .program = by & (WTM_BY_PROCESS | WTM_BY_PROGRAM) ? process->program : NULL,
        .host = by & WTM_BY_HOST ? process->host : NULL,
        .thread = by & WTM_BY_THREAD ? thread_name(chunk, builder->arena) : NULL,
        .pid = by & WTM_BY_PROCESS ? process->pid : 0,
    };
    if (by & WTM_BY_THREAD && !group.thread)
        return -ENOMEM;
    uint64_t slot = wtm_key_mix(9, group.pid);
    slot = group.program ? wtm_key_hash(slot, group.program) : slot;
    slot = group.host ? wtm_key_hash(slot, group.host) : slot;
    slot = group.thread ? wtm_key_hash(slot, group.thread) : slot;
    uint32_t found;
    for (; (found = builder->groups.slots[slot &= builder->groups.mask]); slot++)
        if (same_group(&builder->group_list[found - 1], &group))
            break;
    if (!found) {
        if (builder->group_count == builder->room.threads)
            return 0; /* a thread that came while the profile was read */
        group.label = make_label(&group, builder->arena);
        if (!group.label)
            return -ENOMEM;
        builder->group_list[builder->group_count] = group;
        found = (uint32_t)++builder->group_count;
        builder->groups.slots[slot] = found;
    }
    builder->view.group_of[chunk->index] = found;
    return 0;
}

uint32_t wtm_summary_row_of(struct wtm_builder *builder, uint32_t function, uint32_t thread, int make)
{
    struct wtm_summary *summary = builder->summary;
    uint32_t base = builder->view.row_of[function], found;
    if (!wtm_summary_is_split(builder))
        return base;
    uint32_t group = builder->view.group_of[thread];
    if (!group || !base)
        return 0;
    const struct wtm_group *wanted = &builder->group_list[group - 1];
    uint64_t slot = wtm_key_mix(wtm_key_mix(10, base), group);
    for (; (found = builder->grouped.slots[slot &= builder->grouped.mask]); slot++)
        if (summary->rows[found - 1].base == base - 1 && summary->rows[found - 1].group == wanted)
            return found;
    if (!make || summary->row_count == builder->row_room)
        return 0;
    struct wtm_row *row = &summary->rows[summary->row_count];
    *row = summary->rows[base - 1];
    row->group = wanted;
    row->split = 0;
    summary->rows[base - 1].split = 1;
    builder->grouped.slots[slot] = (uint32_t)++summary->row_count;
    return (uint32_t)summary->row_count;
}
