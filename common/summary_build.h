/* SPDX-License-Identifier: MIT
 * What the files of the summary share; for them only (summary*.c). */
#ifndef WTM_COMMON_SUMMARY_BUILD_H
#define WTM_COMMON_SUMMARY_BUILD_H

#include "common/profile_check.h"
#include "common/summary.h"

/* Finds rows by content. Open addressing over indices + 1; never more than half full. */
struct wtm_key_table {
    uint32_t *slots;
    uint64_t mask;
};
int wtm_key_table_init(struct wtm_key_table *table, uint64_t entries, struct wtm_arena *arena);
uint64_t wtm_key_hash(uint64_t hash, const char *string);
uint64_t wtm_key_mix(uint64_t hash, uint64_t value);

/* One cell and the row that it belongs to; a row's cells are a list, those of one profile beside each other.
 */
struct wtm_cell_ref {
    const struct wtm_cell *cell;
    const struct wtm_switched *switched; /* NULL: none */
    uint32_t profile;
    uint32_t next;      /* index + 1 */
    uint32_t was_reset; /* 1: only its open calls count */
};

struct wtm_edge_sum {
    uint32_t caller, callee; /* rows */
    uint64_t calls;
    double ns;
};

/* One profile while it is read. */
struct wtm_profile_view {
    const struct wtm_profile *profile;
    struct wtm_profile_header header; /* a copy: the original may be written meanwhile */
    uint32_t number;
    struct wtm_clock_rate rate;
    uint64_t seen_ticks;   /* the latest of all threads */
    uint64_t limit;        /* no index of a function or thread can be as large */
    uint32_t *row_of;      /* by function index: row + 1, or 0 */
    unsigned char *counts; /* by thread index: enum wtm_cells_state */
    uint32_t *group_of;    /* by thread index: group + 1, or 0; only where rows are split */
};

enum wtm_cells_state { WTM_CELLS_UNKNOWN = 0, WTM_CELLS_COUNT = 1, WTM_CELLS_RESET = 2 };

struct wtm_rate {
    double ns_per_tick;
    struct wtm_conversion to_ns;
    unsigned has_runtime, knows_switches; /* the second: calls without a switch are counted apart */
};

/* How many of each there is room for. A profile may be written while it is read: what was added since the
 * counting is left for the next reader. */
struct wtm_totals {
    uint64_t functions, refused, missing, notes, cells, edges, threads;
};

struct wtm_builder {
    struct wtm_summary *summary;
    struct wtm_totals room;
    struct wtm_arena *arena;
    struct wtm_key_table functions, refused, missing, notes, edges, groups, grouped;
    uint32_t *refused_profile; /* by refused row: the profile that brought it */
    uint32_t *first_cell;      /* by row: cell + 1 */
    struct wtm_cell_ref *cells;
    size_t cell_count;
    struct wtm_edge_sum *edge_sums;
    size_t edge_count;
    uint64_t row_room;
    struct wtm_group *group_list; /* only where rows are split */
    size_t group_count;
    struct wtm_rate *rates;       /* by profile */
    uint32_t *missing_in;         /* by missing row: how many profiles have it */
    unsigned one_run;             /* 1: all profiles are of one `wtm run` */
    unsigned mixed_rates;         /* 1: rates differ by more than 0.1 % */
    struct wtm_profile_view view; /* the profile being read */
};

/* summary_functions.c: functions, refusals, patterns that found nothing, notes, threads of the current view.
 */
int wtm_summary_read_names(struct wtm_builder *builder);
/* summary_groups.c. Are rows split by more than functions? */
int wtm_summary_is_split(const struct wtm_builder *builder);
/* The group of a thread of the current view, by its chunk; 0 or -ENOMEM. */
int wtm_summary_read_group(struct wtm_builder *builder, const struct wtm_thread_chunk *chunk);
/* The row (+ 1) of a function in a thread of the current view; without `make` 0 where none was made so far. */
uint32_t wtm_summary_row_of(struct wtm_builder *builder, uint32_t function, uint32_t thread, int make);
/* A pattern that one process of a run found is found. */
void wtm_summary_drop_found(struct wtm_builder *builder);
/* summary_labels.c: tells equal names apart. */
int wtm_summary_label(struct wtm_builder *builder);
/* summary_cells.c: collects the cells of the current view; then computes all rows. */
void wtm_summary_read_cell(struct wtm_builder *builder, const struct wtm_walk *walk,
                           const struct wtm_chunk *chunk);
int wtm_summary_compute(struct wtm_builder *builder);
/* summary_noise.c: adds what is told of disturbances; keeps where the samples are. */
void wtm_summary_read_noise(struct wtm_builder *builder, const struct wtm_chunk *chunk);
int wtm_summary_read_samples(struct wtm_builder *builder, const struct wtm_walk *walk, const struct wtm_chunk *chunk);
/* summary_edges.c: likewise. `place`: by row, where sorting put it. */
void wtm_summary_read_edges(struct wtm_builder *builder, const struct wtm_walk *walk,
                            const struct wtm_chunk *chunk);
int wtm_summary_attach_callers(struct wtm_builder *builder, const uint32_t *place);

#endif
