/* SPDX-License-Identifier: MIT
 * Writes profile images in memory, as the library would: for tests of what reads them. Calls are recorded one
 * by one, so that a test can compute the truth from the same values. Runs out of memory: asserts. */
#ifndef WTM_TESTS_PROFILE_BUILDER_H
#define WTM_TESTS_PROFILE_BUILDER_H

#include "common/summary.h"

struct profile_builder {
    unsigned char *base; /* aligned, grows never: addresses stay valid */
    size_t room;
};

void builder_open(struct profile_builder *builder, size_t room);
void builder_close(struct profile_builder *builder);
struct wtm_profile_header *builder_header(struct profile_builder *builder);
struct wtm_profile builder_profile(const struct profile_builder *builder);

/* A complete chunk of that size (rounded up), its struct zeroed but for magic, type and bytes. */
void *builder_chunk(struct profile_builder *builder, uint32_t type, size_t bytes);
void builder_hole(struct profile_builder *builder, size_t bytes);
/* Each gives the new index. NULL strings are left out. */
uint32_t builder_function(struct profile_builder *builder, const char *name, const char *module,
                          uint64_t offset);
uint32_t builder_thread(struct profile_builder *builder);
void builder_refused(struct profile_builder *builder, const char *name, const char *module, uint64_t address,
                     unsigned reason);
void builder_missing(struct profile_builder *builder, const char *pattern, const char *near);
void builder_note(struct profile_builder *builder, const char *note);
struct wtm_cell *builder_cell(struct profile_builder *builder, uint32_t function, uint32_t thread);
struct wtm_switched *builder_switched(struct profile_builder *builder, struct wtm_cell *cell);
struct wtm_edges_chunk *builder_edges(struct profile_builder *builder, uint32_t thread, size_t capacity);

/* One closed call in the statistics; the cell's `entered` is the caller's business in the first, not in the
 * second. */
void stats_add(struct wtm_stats *stats, int64_t ticks);
void cell_call(struct wtm_cell *cell, int64_t ticks);

#endif
