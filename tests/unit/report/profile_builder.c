/* SPDX-License-Identifier: MIT
 * Profile images in memory. */
#include "profile_builder.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

void builder_open(struct profile_builder *builder, size_t room)
{
    builder->room = room;
    builder->base =
        mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert(builder->base != MAP_FAILED);
    struct wtm_profile_header *header = builder_header(builder);
    memcpy(header->magic, WTM_PROFILE_MAGIC, sizeof header->magic);
    header->version = header->oldest_reader = WTM_PROFILE_VERSION;
    header->header_bytes = WTM_PROFILE_HEADER_BYTES;
    header->hist_buckets = WTM_HIST_BUCKETS;
    header->used_bytes = WTM_PROFILE_HEADER_BYTES;
    header->state = WTM_PROFILE_ENDED;
    header->pid = 4242;
    header->start_monotonic_ns = 1000000000;
    header->end_monotonic_ns = 2284000000;
    header->clock = WTM_CLOCK_TSC;
    header->clock_trusted = 1;
    header->tick_hz_hint = 2000000000;
    header->cpu_source = WTM_CPU_RSEQ;
    header->order = WTM_ORDER_EXIT;
    header->armed = 1;
    strcpy(header->program, "sqlite3");
}

void builder_close(struct profile_builder *builder)
{
    munmap(builder->base, builder->room);
}

struct wtm_profile_header *builder_header(struct profile_builder *builder)
{
    return (struct wtm_profile_header *)builder->base;
}

struct wtm_profile builder_profile(const struct profile_builder *builder)
{
    const struct wtm_profile_header *header = (const void *)builder->base;
    return (struct wtm_profile){.base = builder->base, .bytes = header->used_bytes, .path = "in memory"};
}

void builder_hole(struct profile_builder *builder, size_t bytes)
{
    struct wtm_profile_header *header = builder_header(builder);
    bytes = (bytes + WTM_CHUNK_ALIGN - 1) / WTM_CHUNK_ALIGN * WTM_CHUNK_ALIGN;
    assert(header->used_bytes + bytes <= builder->room);
    header->used_bytes += bytes;
}

void *builder_chunk(struct profile_builder *builder, uint32_t type, size_t bytes)
{
    struct wtm_chunk *chunk = (void *)(builder->base + builder_header(builder)->used_bytes);
    uint64_t before = builder_header(builder)->used_bytes;
    builder_hole(builder, bytes);
    chunk->type = type;
    chunk->bytes = builder_header(builder)->used_bytes - before;
    chunk->magic = WTM_CHUNK_MAGIC;
    return chunk;
}

/* Appends a string behind what the chunk has; `*at` is the end so far. */
static uint32_t append(void *chunk, size_t *at, const char *string)
{
    if (!string)
        return 0;
    size_t offset = *at;
    strcpy((char *)chunk + offset, string);
    *at += strlen(string) + 1;
    return (uint32_t)offset;
}

static size_t length(const char *string)
{
    return string ? strlen(string) + 1 : 0;
}

uint32_t builder_function(struct profile_builder *builder, const char *name, const char *module,
                          uint64_t offset)
{
    size_t at = sizeof(struct wtm_function_chunk);
    struct wtm_function_chunk *chunk =
        builder_chunk(builder, WTM_CHUNK_FUNCTION, at + 2 * length(name) + length(module));
    chunk->index = (uint32_t)++builder_header(builder)->function_count;
    chunk->offset = offset;
    chunk->address = 0x555500000000 + offset;
    chunk->name = append(chunk, &at, name);
    chunk->mangled = append(chunk, &at, name);
    chunk->module = append(chunk, &at, module);
    return chunk->index;
}

uint32_t builder_thread(struct profile_builder *builder)
{
    struct wtm_thread_chunk *chunk = builder_chunk(builder, WTM_CHUNK_THREAD, sizeof *chunk);
    chunk->index =
        (uint32_t)(((unsigned char *)chunk - builder->base) / WTM_CHUNK_ALIGN); /* unique, and small enough */
    chunk->tid = 4242 + chunk->index;
    chunk->epoch = builder_header(builder)->epoch;
    return chunk->index;
}

void builder_refused(struct profile_builder *builder, const char *name, const char *module, uint64_t address,
                     unsigned reason)
{
    size_t at = sizeof(struct wtm_refused_chunk);
    struct wtm_refused_chunk *chunk =
        builder_chunk(builder, WTM_CHUNK_REFUSED, at + length(name) + length(module));
    chunk->reason = reason;
    chunk->address = address;
    chunk->name = append(chunk, &at, name);
    chunk->module = append(chunk, &at, module);
}

void builder_missing(struct profile_builder *builder, const char *pattern, const char *near)
{
    size_t at = sizeof(struct wtm_not_found_chunk);
    struct wtm_not_found_chunk *chunk =
        builder_chunk(builder, WTM_CHUNK_NOT_FOUND, at + length(pattern) + length(near));
    chunk->pattern = append(chunk, &at, pattern);
    chunk->near = append(chunk, &at, near);
}

void builder_note(struct profile_builder *builder, const char *note)
{
    size_t at = sizeof(struct wtm_text_chunk);
    struct wtm_text_chunk *chunk = builder_chunk(builder, WTM_CHUNK_NOTE, at + length(note));
    chunk->text = append(chunk, &at, note);
}

struct wtm_cell *builder_cell(struct profile_builder *builder, uint32_t function, uint32_t thread)
{
    struct wtm_cell *cell = builder_chunk(builder, WTM_CHUNK_CELL, sizeof *cell);
    cell->function = function;
    cell->thread = thread;
    return cell;
}

struct wtm_switched *builder_switched(struct profile_builder *builder, struct wtm_cell *cell)
{
    struct wtm_switched *switched = builder_chunk(builder, WTM_CHUNK_SWITCHED, sizeof *switched);
    switched->function = cell->function;
    switched->thread = cell->thread;
    cell->switched = (uint64_t)((unsigned char *)switched - builder->base);
    return switched;
}

struct wtm_edges_chunk *builder_edges(struct profile_builder *builder, uint32_t thread, size_t capacity)
{
    struct wtm_edges_chunk *edges =
        builder_chunk(builder, WTM_CHUNK_EDGES, sizeof *edges + capacity * sizeof(struct wtm_edge));
    edges->thread = thread;
    edges->capacity = (uint32_t)capacity;
    return edges;
}

void stats_add(struct wtm_stats *stats, int64_t ticks)
{
    unsigned __int128 square = (unsigned __int128)((__int128)ticks * ticks);
    unsigned __int128 sum = ((unsigned __int128)stats->squares_high << 64 | stats->squares_low) + square;
    stats->squares_low = (uint64_t)sum;
    stats->squares_high = (uint64_t)(sum >> 64);
    stats->min = !stats->calls || ticks < stats->min ? ticks : stats->min;
    stats->max = !stats->calls || ticks > stats->max ? ticks : stats->max;
    stats->calls++;
    stats->sum += ticks;
    stats->hist[wtm_hist_bucket(ticks)]++;
}

void cell_call(struct wtm_cell *cell, int64_t ticks)
{
    cell->entered++;
    cell->self += ticks;
    stats_add(&cell->steady, ticks);
}
