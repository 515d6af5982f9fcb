/* SPDX-License-Identifier: MIT
 * The summary's rows before they have numbers: functions, refusals, patterns without a function, notes,
 * threads. */
#include "common/summary_build.h"
#include <errno.h>
#include <string.h>

int wtm_key_table_init(struct wtm_key_table *table, uint64_t entries, struct wtm_arena *arena)
{
    uint64_t size = 16;
    while (size < entries * 2)
        size *= 2;
    table->mask = size - 1;
    table->slots = wtm_arena_alloc(arena, size * sizeof *table->slots);
    return table->slots ? 0 : -ENOMEM;
}

uint64_t wtm_key_mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9e3779b97f4a7c15ull;
    return hash ^ hash >> 29;
}

uint64_t wtm_key_hash(uint64_t hash, const char *string)
{
    size_t length = strlen(string);
    for (; length >= 8; length -= 8, string += 8) {
        uint64_t word;
        memcpy(&word, string, 8);
        hash = wtm_key_mix(hash, word);
    }
    uint64_t word = 0;
    memcpy(&word, string, length);
    return wtm_key_mix(hash, word ^ (uint64_t)length << 56);
}

static int same_function(const struct wtm_row *row, const struct wtm_row *other)
{
    return row->offset == other->offset && !strcmp(row->name, other->name) &&
           !strcmp(row->module, other->module);
}

static void read_function(struct wtm_builder *builder, const struct wtm_walk *walk,
                          const struct wtm_function_chunk *chunk)
{
    struct wtm_profile_view *view = &builder->view;
    struct wtm_summary *summary = builder->summary;
    uint32_t index = chunk->index;
    if (!index || index >= view->limit || view->row_of[index] || chunk->flags & WTM_FUNCTION_REFUSED)
        return;
    struct wtm_row row = {
        .name = wtm_walk_string(walk, &chunk->chunk, chunk->name),
        .mangled = wtm_walk_string(walk, &chunk->chunk, chunk->mangled),
        .module = wtm_walk_string(walk, &chunk->chunk, chunk->module),
        .aliases = wtm_walk_string(walk, &chunk->chunk, chunk->aliases),
        .address = chunk->address,
        .offset = chunk->offset,
        .size = chunk->size,
        .subtract = (chunk->flags & WTM_FUNCTION_SUBTRACT) != 0,
        .handler = (chunk->flags & WTM_FUNCTION_HANDLER) != 0,
    };
    row.name = row.name ? row.name : row.mangled ? row.mangled : "?";
    row.module = row.module ? row.module : "?";
    uint64_t slot = wtm_key_mix(wtm_key_hash(wtm_key_hash(1, row.name), row.module), row.offset);
    uint32_t found;
    while ((found = builder->functions.slots[slot &= builder->functions.mask])) {
        if (same_function(&summary->rows[found - 1], &row))
            break;
        slot++;
    }
    if (!found) {
        if (summary->row_count == builder->row_room)
            return;
        summary->rows[summary->row_count] = row;
        found = (uint32_t)++summary->row_count;
        summary->rows[found - 1].base = found - 1;
        builder->functions.slots[slot] = found;
    }
    view->row_of[index] = found;
}

/* Processes of one program refuse the same functions, at other addresses: one row. Two static functions of
 * one name in one process: two rows. */
static void read_refused(struct wtm_builder *builder, const struct wtm_walk *walk,
                         const struct wtm_refused_chunk *chunk)
{
    struct wtm_summary *summary = builder->summary;
    if (summary->refused_count == builder->room.refused)
        return;
    struct wtm_refused_row row = {
        .name = wtm_walk_string(walk, &chunk->chunk, chunk->name),
        .module = wtm_walk_string(walk, &chunk->chunk, chunk->module),
        .address = chunk->address,
        .reason = chunk->reason,
    };
    row.name = row.name ? row.name : "?";
    row.module = row.module ? row.module : "?";
    uint64_t slot = wtm_key_mix(wtm_key_hash(wtm_key_hash(2, row.name), row.module), row.reason);
    uint32_t found;
    for (; (found = builder->refused.slots[slot &= builder->refused.mask]); slot++) {
        const struct wtm_refused_row *other = &summary->refused[found - 1];
        if (other->reason == row.reason && !strcmp(other->name, row.name) &&
            !strcmp(other->module, row.module) &&
            (builder->refused_profile[found - 1] != builder->view.number || other->address == row.address))
            return;
    }
    builder->refused_profile[summary->refused_count] = builder->view.number;
    summary->refused[summary->refused_count++] = row;
    builder->refused.slots[slot] = (uint32_t)summary->refused_count;
}

static void read_missing(struct wtm_builder *builder, const struct wtm_walk *walk,
                         const struct wtm_not_found_chunk *chunk)
{
    struct wtm_summary *summary = builder->summary;
    const char *pattern = wtm_walk_string(walk, &chunk->chunk, chunk->pattern);
    if (!pattern || chunk->found || summary->missing_count == builder->room.missing)
        return;
    uint64_t slot = wtm_key_hash(3, pattern);
    for (uint32_t found; (found = builder->missing.slots[slot &= builder->missing.mask]); slot++)
        if (!strcmp(summary->missing[found - 1].pattern, pattern)) {
            builder->missing_in[found - 1]++;
            return;
        }
    builder->missing_in[summary->missing_count] = 1;
    struct wtm_missing_row *row = &summary->missing[summary->missing_count++];
    row->pattern = pattern;
    row->near = wtm_walk_string(walk, &chunk->chunk, chunk->near);
    builder->missing.slots[slot] = (uint32_t)summary->missing_count;
}

void wtm_summary_drop_found(struct wtm_builder *builder)
{
    struct wtm_summary *summary = builder->summary;
    size_t kept = 0;
    for (size_t i = 0; i < summary->missing_count; i++)
        if (!builder->one_run || builder->missing_in[i] >= summary->profiles)
            summary->missing[kept++] = summary->missing[i];
    summary->missing_count = kept;
}

static void read_note(struct wtm_builder *builder, const struct wtm_walk *walk,
                      const struct wtm_text_chunk *chunk)
{
    struct wtm_summary *summary = builder->summary;
    const char *note = wtm_walk_string(walk, &chunk->chunk, chunk->text);
    if (!note || summary->note_count == builder->room.notes)
        return;
    uint64_t slot = wtm_key_hash(4, note);
    for (uint32_t found; (found = builder->notes.slots[slot &= builder->notes.mask]); slot++)
        if (!strcmp(summary->notes[found - 1], note))
            return;
    summary->notes[summary->note_count++] = note;
    builder->notes.slots[slot] = (uint32_t)summary->note_count;
}

/* A thread that has not called anything since the last reset has an older epoch: its cells hold what was
 * reset; only the calls that are still open there go on. */
static int read_thread(struct wtm_builder *builder, const struct wtm_thread_chunk *chunk)
{
    struct wtm_profile_view *view = &builder->view;
    uint32_t index = chunk->index;
    if (!index || index >= view->limit)
        return 0;
    int current = __atomic_load_n(&chunk->epoch, __ATOMIC_ACQUIRE) == view->header.epoch;
    view->counts[index] = current ? WTM_CELLS_COUNT : WTM_CELLS_RESET;
    builder->summary->threads++;
    builder->summary->processes[view->number].threads++;
    if (chunk->seen_ticks > view->seen_ticks)
        view->seen_ticks = chunk->seen_ticks;
    return wtm_summary_is_split(builder) ? wtm_summary_read_group(builder, chunk) : 0;
}

int wtm_summary_read_names(struct wtm_builder *builder)
{
    struct wtm_walk walk;
    int result = 0;
    wtm_walk_begin(&walk, builder->view.profile);
    for (const struct wtm_chunk *chunk; !result && (chunk = wtm_walk_next(&walk));) {
        if (walk.type == WTM_CHUNK_FUNCTION)
            read_function(builder, &walk, (const struct wtm_function_chunk *)chunk);
        else if (walk.type == WTM_CHUNK_REFUSED)
            read_refused(builder, &walk, (const struct wtm_refused_chunk *)chunk);
        else if (walk.type == WTM_CHUNK_NOT_FOUND)
            read_missing(builder, &walk, (const struct wtm_not_found_chunk *)chunk);
        else if (walk.type == WTM_CHUNK_NOTE)
            read_note(builder, &walk, (const struct wtm_text_chunk *)chunk);
        else if (walk.type == WTM_CHUNK_THREAD)
            result = read_thread(builder, (const struct wtm_thread_chunk *)chunk);
    }
    return result;
}
