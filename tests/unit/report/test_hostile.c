/* SPDX-License-Identifier: MIT
 * Profiles that were cut, damaged or made to harm: an error or fewer rows, never a wild access. The image
 * ends where its mapping ends, with a page that faults behind it. */
#include "common/table.h"
#include "profile_builder.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

static unsigned char *guarded; /* end of the readable pages */
static size_t guarded_bytes;

static void fill(struct profile_builder *b)
{
    builder_open(b, 1 << 20);
    uint32_t f = builder_function(b, "first", "/bin/app", 0x10),
             g = builder_function(b, "second", "/bin/app", 0x20);
    uint32_t h = builder_function(b, "second", "/lib/l.so", 0x20), thread = builder_thread(b);
    struct wtm_cell *cell = builder_cell(b, f, thread);
    for (int i = 0; i < 100; i++)
        cell_call(cell, 1000 * i);
    struct wtm_switched *switched = builder_switched(b, cell);
    stats_add(&switched->real, 5000);
    stats_add(&switched->run, 50);
    cell_call(builder_cell(b, g, thread), 77);
    struct wtm_samples *samples = builder_chunk(b, WTM_CHUNK_SAMPLES, sizeof *samples + 8 * sizeof *samples->of);
    *samples = (struct wtm_samples){.chunk = samples->chunk, .function = cell->function, .capacity = 8, .taken = 3};
    for (unsigned i = 0; i < 3; i++)
        samples->of[i] = (struct wtm_sample){100 + i, 90 + i, thread, 0};
    struct wtm_noise *noise = builder_chunk(b, WTM_CHUNK_NOISE, sizeof *noise);
    *noise = (struct wtm_noise){.chunk = noise->chunk, .function = cell->function, .thread = thread, .counted = 2, .waits = 1,
                                .taken_out = 3, .taken_out_ticks = 70};
    cell->samples = (uint64_t)((unsigned char *)samples - b->base);
    cell->noise = (uint64_t)((unsigned char *)noise - b->base);
    struct wtm_edges_chunk *edges = builder_edges(b, thread, 3);
    edges->edges[0] = (struct wtm_edge){f, g, 5, 500};
    edges->edges[1] = (struct wtm_edge){f, h, 5, 500};
    edges->count = 2;
    builder_refused(b, "vfork", "libc", 5, 7);
    builder_missing(b, "thrid", "third\nthrice");
    builder_note(b, "note");
}

static int sink(void *context, const char *text, size_t bytes)
{
    return 0;
}

/* Copies `bytes` of the image so that they end at the guard page, and reads them in all ways. */
static int try(const unsigned char *image, size_t bytes)
{
    if (!guarded) {
        guarded_bytes = 1 << 20;
        unsigned char *at =
            mmap(NULL, guarded_bytes + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        cr_assert_neq(at, MAP_FAILED);
        cr_assert_eq(mprotect(at + guarded_bytes, 4096, PROT_NONE), 0);
        guarded = at + guarded_bytes;
    }
    struct wtm_arena arena = {.limit_bytes = 256 << 20};
    struct wtm_summary summary;
    struct wtm_profile profile = {.base = guarded - bytes, .bytes = bytes};
    memcpy(guarded - bytes, image, bytes);
    const char *reason = NULL;
    int checked = wtm_profile_check(&profile, &reason);
    cr_assert(checked ? reason && *reason : !reason);
    int result = wtm_summary_build(&summary, &profile, 1, 5, &arena);
    if (!result) {
        static char buffer[512];
        struct wtm_text text;
        wtm_text_init(&text, buffer, sizeof buffer, sink, NULL);
        for (size_t i = 0; i < summary.row_count; i++) {
            struct wtm_observation *of;
            size_t count;
            cr_assert_eq(wtm_row_samples(&summary.rows[i], &of, &count, &arena), 0);
        }
        cr_assert_eq(wtm_table_print(&text, &summary, &(struct wtm_table_options){.width = 80, .verbose = 1}),
                     0);
    }
    wtm_arena_free(&arena);
    cr_assert_eq(result == -EINVAL, checked != 0);
    return result;
}

Test(hostile, whole_and_cut)
{
    struct profile_builder b;
    fill(&b);
    size_t bytes = builder_header(&b)->used_bytes;
    cr_assert_eq(try(b.base, bytes), 0);
    for (size_t cut = 0; cut < bytes; cut += 8) /* 8: memory must be aligned */
        cr_assert_eq(try(b.base, cut), cut < WTM_PROFILE_HEADER_BYTES ? -EINVAL : 0);
    builder_close(&b);
}

Test(hostile, header_fields)
{
    struct profile_builder b;
    fill(&b);
    struct wtm_profile_header *header = builder_header(&b), good = *header;
    size_t bytes = header->used_bytes;
#define REFUSED(field, value)                                                                                \
    do {                                                                                                     \
        header->field = value;                                                                               \
        cr_assert_eq(try(b.base, bytes), -EINVAL, #field);                                                   \
        *header = good;                                                                                      \
    } while (0)
    REFUSED(magic[0], 'w');
    REFUSED(version, 0);
    REFUSED(oldest_reader, WTM_PROFILE_VERSION + 1);
    REFUSED(header_bytes, 0);
    REFUSED(header_bytes, 4095);
    REFUSED(header_bytes, 4096 + 8);
    REFUSED(header_bytes, UINT32_MAX - 63);
    REFUSED(hist_buckets, WTM_HIST_BUCKETS + 32);
    REFUSED(features, 1);
    REFUSED(clock, 0);
    REFUSED(clock, 3);
    header->version = WTM_PROFILE_VERSION + 5; /* newer, but made to be read by this one */
    cr_assert_eq(try(b.base, bytes), 0);
    *header = good;

    static const uint64_t values[] = {0,          1,          63,         64,         4096,
                                      1ull << 31, UINT32_MAX, 1ull << 63, UINT64_MAX, UINT64_MAX - 63};
    for (size_t at = 0; at < sizeof *header; at += 4)
        for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
            memcpy((char *)header + at, &values[v], at % 8 ? 4 : 8);
            try(b.base, bytes);
            *header = good;
        }
    memset(header->program, 'x', sizeof header->program); /* no end */
    memset(header->clock_note, 'y', sizeof header->clock_note);
    memset(header->cpu_note, 'z', sizeof header->cpu_note);
    header->clock_trusted = 0;
    cr_assert_eq(try(b.base, bytes), 0);
    builder_close(&b);
}

/* Every word of every chunk but the histograms, with values at the edges. */
Test(hostile, chunk_fields, .timeout = 100)
{
    struct profile_builder b;
    fill(&b);
    size_t bytes = builder_header(&b)->used_bytes;
    for (size_t at = WTM_PROFILE_HEADER_BYTES; at < bytes;) {
        struct wtm_chunk *chunk = (void *)(b.base + at);
        size_t size = chunk->bytes, edge = size < 320 ? size : 320;
        uint64_t values[] = {0,         1,          64,         size,       size - 1,
                             size + 64, bytes - at, UINT32_MAX, UINT64_MAX, UINT64_MAX - 63,
                             1ull << 63};
        for (size_t word = 0; word < edge; word += 4)
            for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
                unsigned char saved[8];
                size_t width = word % 8 ? 4 : 8;
                memcpy(saved, b.base + at + word, width);
                memcpy(b.base + at + word, &values[v], width);
                cr_assert_eq(try(b.base, bytes), 0);
                memcpy(b.base + at + word, saved, width);
            }
        at += size;
    }
    builder_close(&b);
}

Test(hostile, random_mutations, .timeout = 100)
{
    struct profile_builder b;
    fill(&b);
    size_t bytes = builder_header(&b)->used_bytes, kept = 0;
    static unsigned char image[1 << 20];
    uint64_t state = 88172645463325252ull;
    for (int round = 0; round < 10000; round++) {
        memcpy(image, b.base, bytes);
        unsigned changes = 1 + round % 16;
        while (changes--) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            /* Two thirds in the first bytes of chunks and of the file, where structure is. */
            size_t at =
                state % 3 ? (state >> 8) % (bytes / 64) * 64 + (state >> 40) % 64 : (state >> 8) % bytes;
            image[at] = state % 5 ? (unsigned char)(state >> 56) : state % 2 ? 0xff : 0;
        }
        kept += try(image, bytes) == 0;
    }
    cr_assert(kept > 5000 && kept < 10000, "%zu", kept); /* both ways were taken */
    builder_close(&b);
}

/* The last chunk of the file, so that a step beyond it faults: each type with too few bytes for its struct,
 * and strings without an end. */
Test(hostile, at_the_very_end)
{
    struct profile_builder b;
    for (uint32_t type = 0; type < 12; type++)
        for (size_t blocks = 1; blocks < 5; blocks++) {
            fill(&b);
            unsigned char *chunk = builder_chunk(&b, type, 64 * blocks);
            for (size_t i = sizeof(struct wtm_chunk); i < 64 * blocks; i += 4)
                memcpy(chunk + i, &(uint32_t){sizeof(struct wtm_chunk) + 4},
                       4); /* indices, and offsets of strings */
            cr_assert_eq(try(b.base, builder_header(&b)->used_bytes), 0);
            memset(chunk + sizeof(struct wtm_chunk), 'x', 64 * blocks - sizeof(struct wtm_chunk));
            for (size_t i = 16; i < 64 && i < 64 * blocks;
                 i += 4) /* each word in turn names a string without end */
                memcpy(chunk + i, &(uint32_t){48}, 4);
            cr_assert_eq(try(b.base, builder_header(&b)->used_bytes), 0);
            builder_close(&b);
        }
}

/* A cell, and a cell's second half, of which the file has the first 64 bytes only. */
Test(hostile, half_a_cell)
{
    struct profile_builder b;
    builder_open(&b, 1 << 20);
    uint32_t f = builder_function(&b, "f", "m", 1), thread = builder_thread(&b);
    struct wtm_cell *half = builder_chunk(&b, WTM_CHUNK_CELL, 64);
    half->function = f;
    half->thread = thread;
    half->entered = 5;
    cr_assert_eq(try(b.base, builder_header(&b)->used_bytes), 0);
    half->chunk.type = 99;
    struct wtm_cell *cell = builder_cell(&b, f, thread);
    cell_call(cell, 5);
    struct wtm_chunk *switched = builder_chunk(&b, WTM_CHUNK_SWITCHED, 64);
    cell->switched = (uint64_t)((unsigned char *)switched - b.base);
    cr_assert_eq(try(b.base, builder_header(&b)->used_bytes), 0);
    builder_close(&b);
}

Test(hostile, strings_without_an_end)
{
    struct profile_builder b;
    builder_open(&b, 1 << 20);
    builder_function(&b, "name", "module", 1);
    struct wtm_function_chunk *function = (void *)(b.base + WTM_PROFILE_HEADER_BYTES);
    memset((char *)function + function->module, 'x', function->chunk.bytes - function->module);
    builder_note(&b, "note");
    memset(builder_header(&b)->program, 'p', sizeof builder_header(&b)->program);
    memset(builder_header(&b)->clock_note, 'c', sizeof builder_header(&b)->clock_note);
    memset(builder_header(&b)->cpu_note, 'u', sizeof builder_header(&b)->cpu_note);
    struct wtm_profile profile = builder_profile(&b);
    struct wtm_arena arena = {0};
    struct wtm_summary summary;
    cr_assert_eq(wtm_summary_build(&summary, &profile, 1, 0, &arena), 0);
    cr_assert_str_eq(summary.rows[0].name, "name");
    cr_assert_str_eq(summary.rows[0].module, "?"); /* not what the next chunk has */
    cr_assert_eq(strlen(summary.header->program), sizeof summary.header->program - 1);
    cr_assert_eq(strlen(summary.header->clock_note), sizeof summary.header->clock_note - 1);
    cr_assert_eq(strlen(summary.header->cpu_note), sizeof summary.header->cpu_note - 1);
    wtm_arena_free(&arena);
    builder_close(&b);
}
