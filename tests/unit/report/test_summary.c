/* SPDX-License-Identifier: MIT
 * Every number of the summary, from profiles whose calls are known. */
#include "common/status.h"
#include "profile_builder.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static struct wtm_arena arena;
static struct wtm_summary summary;

static void build(const struct wtm_profile *profiles, size_t count, uint64_t now_ns)
{
    wtm_arena_free(&arena);
    cr_assert_eq(wtm_summary_build(&summary, profiles, count, now_ns, &arena), 0);
}

static void build_one(const struct profile_builder *builder)
{
    struct wtm_profile profile = builder_profile(builder);
    build(&profile, 1, 0);
}

static const struct wtm_row *row_named(const char *label)
{
    for (size_t i = 0; i < summary.row_count; i++)
        if (!strcmp(summary.rows[i].label, label))
            return &summary.rows[i];
    return NULL;
}

#define NEAR(value, expected) cr_assert_float_eq(value, expected, fabs((double)(expected)) * 1e-12 + 1e-12)

/* 2 GHz: a tick is 0.5 ns. Two threads, switched calls, recursion, open and abnormal ones. */
Test(summary, numbers_of_one_profile)
{
    struct profile_builder b;
    builder_open(&b, 1 << 24);
    uint32_t f = builder_function(&b, "work", "/bin/app", 0x10),
             idle = builder_function(&b, "idle", "/bin/app", 0x20);
    uint32_t one = builder_thread(&b), two = builder_thread(&b);
    struct wtm_cell *cell = builder_cell(&b, f, one);
    cell_call(cell, 1000);
    cell_call(cell, 3000);
    cell->recursive = 5;
    cell->abnormal = 2;
    cell->late = 1;
    cell->entered += 2 + 1 + 1; /* abnormal, late, one open */
    cell->subtracted = 60;
    struct wtm_switched *switched = builder_switched(&b, cell);
    stats_add(&switched->real, 8000);
    stats_add(&switched->run, 2000);
    cell->entered++;
    cell->self += 8000;
    cell = builder_cell(&b, f, two);
    cell_call(cell, 4000);
    build_one(&b);

    cr_assert_eq(summary.row_count, 2);
    cr_assert_eq(summary.called, 1);
    cr_assert_eq(summary.threads, 2);
    cr_assert_eq(summary.profiles, 1);
    cr_assert_eq(summary.ns_per_tick, 0.5);
    cr_assert_eq(summary.wall_ns, 1284e6);
    const struct wtm_row *row = &summary.rows[0];
    cr_assert_str_eq(row->name, "work");
    cr_assert_str_eq(row->module, "/bin/app");
    cr_assert_eq(row->calls, 8 + 5); /* 2 + 4 + 1 + 1 entered, 5 recursive */
    cr_assert_eq(row->recursive, 5);
    cr_assert_eq(row->abnormal, 2);
    cr_assert_eq(row->late, 1);
    cr_assert_eq(row->open, 1);
    cr_assert_eq(row->realtime.calls, 4);
    NEAR(row->realtime.total_ns, 8000);
    NEAR(row->realtime.mean_ns, 2000);
    NEAR(row->realtime.min_ns, 500);
    NEAR(row->realtime.max_ns, 4000);
    NEAR(row->realtime.stddev_ns, sqrt((1500.0 * 1500 + 500 * 500 + 2000.0 * 2000 + 0) / 4));
    cr_assert_float_eq(row->realtime.p50_ns, 1500, 1500 * 0.03);
    cr_assert_float_eq(row->realtime.p99_ns, 4000, 4000 * 0.03);
    cr_assert_eq(row->runtime.calls, 4);
    NEAR(row->runtime.total_ns, 5000); /* 500 + 1500 + 2000, and 1000 of the switched one's 4000 */
    NEAR(row->runtime.min_ns, 500);
    NEAR(row->runtime.max_ns, 2000);
    NEAR(row->self_ns, 8000);
    NEAR(row->subtracted_ns, 30);
    cr_assert_eq(row->ambiguous, 0);
    cr_assert_str_eq(summary.rows[1].name, "idle");
    cr_assert_eq(summary.rows[1].calls, 0);
    cr_assert_eq(summary.rows[1].realtime.calls, 0);
    (void)idle;

    builder_header(&b)->cpu_source = WTM_CPU_OFF;
    build_one(&b);
    cr_assert_eq(summary.rows[0].runtime.calls, 0);
    cr_assert_eq(summary.rows[0].realtime.calls, 4);
    builder_close(&b);
}

Test(summary, costs_and_clock)
{
    struct profile_builder b;
    builder_open(&b, 1 << 20);
    struct wtm_profile_header *header = builder_header(&b);
    uint32_t f = builder_function(&b, "f", "m", 1), thread = builder_thread(&b);
    struct wtm_cell *cell = builder_cell(&b, f, thread);
    cell->entered = 1000;
    cell->recursive = 500;
    header->cost = (struct wtm_cost){.inside = 20 * 256,
                                     .outside = 10 * 256,
                                     .recursive = 4 * 256,
                                     .spread_inside = 128,
                                     .spread_outside = 256};
    build_one(&b);
    cr_assert_eq(summary.inside_ns, 10);
    cr_assert_eq(summary.outside_ns, 5);
    cr_assert_eq(summary.recursive_ns, 2);
    cr_assert_eq(summary.spread_ns, 0.5);
    NEAR(summary.cost_ns, 1000 * 15 + 500 * 2);

    header->first = (struct wtm_clock_pair){1000, 5000000, 40};
    header->last = (struct wtm_clock_pair){1000 + 4000000, 5000000 + 1000000, 40}; /* 4 GHz over 1 ms */
    build_one(&b);
    cr_assert_eq(summary.ns_per_tick, 0.25);
    header->last.monotonic_raw_ns--; /* too near for a rate: the one stated */
    build_one(&b);
    cr_assert_eq(summary.ns_per_tick, 0.5);
    header->last = (struct wtm_clock_pair){1001, UINT64_MAX, 0}; /* nonsense: the one stated */
    build_one(&b);
    cr_assert_eq(summary.ns_per_tick, 0.5);
    header->last.ticks = 5; /* backwards */
    header->tick_hz_hint = 0;
    build_one(&b);
    cr_assert_eq(summary.ns_per_tick, 1);
    header->clock = WTM_CLOCK_MONOTONIC;
    header->tick_hz_hint = 2000000000;
    build_one(&b);
    cr_assert_eq(summary.ns_per_tick, 1);

    header->state = WTM_PROFILE_RUNNING;
    struct wtm_profile profile = builder_profile(&b);
    build(&profile, 1, header->start_monotonic_ns + 7000);
    cr_assert_eq(summary.wall_ns, 1284e6); /* the last table was later */
    build(&profile, 1, header->start_monotonic_ns + 5000000000);
    cr_assert_eq(summary.wall_ns, 5e9);
    cr_assert_eq(summary.running, 1);
    builder_close(&b);
}

/* What a reset left behind, holes, torn and unknown chunks, cells of nobody. */
Test(summary, what_does_not_count)
{
    struct profile_builder b;
    builder_open(&b, 1 << 24);
    builder_header(&b)->epoch = 3;
    uint32_t f = builder_function(&b, "f", "m", 1);
    uint32_t fresh = builder_thread(&b);
    builder_header(&b)->epoch = 2;
    uint32_t stale = builder_thread(&b);
    builder_header(&b)->epoch = 3;
    builder_hole(&b, 64 * 7);
    cell_call(builder_cell(&b, f, fresh), 100);
    builder_hole(&b, 5000);
    cell_call(builder_cell(&b, f, stale), 777);
    builder_edges(&b, stale, 4)->count = 4;
    struct wtm_cell *unfinished = builder_cell(&b, f, fresh);
    cell_call(unfinished, 555);
    unfinished->chunk.magic = 0; /* killed before its last store */
    memset((char *)builder_chunk(&b, 99, 640) + sizeof(struct wtm_chunk), 0x41, 600); /* of a later version */
    cell_call(builder_cell(&b, 1000000, fresh), 3);
    cell_call(builder_cell(&b, f, 0), 3);
    cell_call(builder_cell(&b, 0, fresh), 3);
    cell_call(builder_cell(&b, f, 12345678), 3);
    struct wtm_cell *odd = builder_cell(&b, f, fresh);
    cell_call(odd, 200);
    odd->switched = 64 * 3; /* points into the header */
    odd = builder_cell(&b, f, fresh);
    cell_call(odd, 300);
    odd->switched = (uint64_t)((unsigned char *)odd - b.base); /* to itself: no SWITCHED chunk */
    odd = builder_cell(&b, f, fresh);
    cell_call(odd, 400);
    odd->switched = UINT64_MAX - 63;
    struct wtm_cell *torn = builder_cell(&b, f, fresh);
    cell_call(torn, 999);
    torn->chunk.bytes += 64; /* ends behind the file */
    build_one(&b);
    cr_assert_eq(summary.row_count, 1);
    cr_assert_eq(summary.rows[0].calls, 4);
    NEAR(summary.rows[0].realtime.total_ns, 500);
    cr_assert_eq(summary.rows[0].caller_count, 0);
    cr_assert_eq(summary.threads, 2);
    builder_close(&b);
}

Test(summary, callers)
{
    struct profile_builder b;
    builder_open(&b, 1 << 24);
    uint32_t f = builder_function(&b, "f", "m", 1), g = builder_function(&b, "g", "m", 2);
    uint32_t h = builder_function(&b, "h", "m", 3), one = builder_thread(&b), two = builder_thread(&b);
    cell_call(builder_cell(&b, h, one), 5000);
    cell_call(builder_cell(&b, f, one), 9000);
    struct wtm_edges_chunk *edges = builder_edges(&b, one, 8);
    edges->edges[0] = (struct wtm_edge){f, h, 3, 600};
    edges->edges[1] = (struct wtm_edge){g, h, 10, 5000};
    edges->edges[2] = (struct wtm_edge){0, h, 10, 5000};  /* no timed caller */
    edges->edges[3] = (struct wtm_edge){f, 77, 10, 5000}; /* no such function */
    edges->edges[4] = (struct wtm_edge){f, g, 1, 1};      /* beyond the count */
    edges->count = 4;
    edges = builder_edges(&b, two, 1);
    edges->edges[0] = (struct wtm_edge){f, h, 4, 400};
    edges->count = UINT64_MAX; /* more than fit */
    build_one(&b);
    const struct wtm_row *row = row_named("h");
    cr_assert_eq(row->caller_count, 2);
    cr_assert_str_eq(row->callers[0].name, "g");
    cr_assert_eq(row->callers[0].calls, 10);
    NEAR(row->callers[0].realtime_ns, 2500);
    cr_assert_str_eq(row->callers[1].name, "f");
    cr_assert_eq(row->callers[1].calls, 7);
    NEAR(row->callers[1].realtime_ns, 500);
    cr_assert_eq(row_named("g")->caller_count, 0);
    builder_close(&b);
}

/* Names, and what else a profile says. */
Test(summary, ambiguous_names_and_lists)
{
    struct profile_builder b;
    builder_open(&b, 1 << 24);
    builder_function(&b, "helper", "/lib/liba.so", 0x10);
    builder_function(&b, "helper", "/lib/libb.so", 0x10);
    builder_function(&b, "twin", "/bin/app", 0x100);
    builder_function(&b, "twin", "/bin/app", 0x200);
    builder_function(&b, "single", "/bin/app", 0x300);
    uint32_t again = builder_function(&b, "single", "/bin/app", 0x300); /* its library was loaded twice */
    uint32_t thread = builder_thread(&b);
    cell_call(builder_cell(&b, again, thread), 10);
    cell_call(builder_cell(&b, again - 1, thread), 20);
    builder_refused(&b, "vfork", "libc.so.6", 0x1000, WTM_REFUSED_POPS_RETURN);
    builder_refused(&b, "init", "libc.so.6", 0x2000, WTM_REFUSED_TOO_SHORT);
    builder_refused(&b, "init", "libc.so.6", 0x3000, WTM_REFUSED_TOO_SHORT); /* two static ones */
    builder_missing(&b, "nope", "note\nnone");
    builder_missing(&b, "nope", NULL);
    builder_missing(&b, "late", NULL);
    ((struct wtm_not_found_chunk *)(b.base + builder_header(&b)->used_bytes - 64))->found = 1;
    builder_note(&b, "a warning");
    builder_note(&b, "a warning");
    builder_header(&b)->lost_calls = 9;
    build_one(&b);
    cr_assert_eq(summary.row_count, 5);
    cr_assert(row_named("helper (liba.so)"));
    cr_assert(row_named("helper (libb.so)"));
    cr_assert(row_named("twin (app+0x100)"));
    cr_assert(row_named("twin (app+0x200)"));
    cr_assert_eq(row_named("single")->ambiguous, 0);
    cr_assert_eq(row_named("twin (app+0x100)")->ambiguous, 1);
    cr_assert_str_eq(row_named("twin (app+0x100)")->name, "twin");
    cr_assert_eq(row_named("single")->calls, 2);
    cr_assert_eq(summary.refused_count, 3);
    cr_assert_eq(summary.refused[0].reason, WTM_REFUSED_POPS_RETURN);
    cr_assert_str_eq(summary.refused[0].label, "vfork");
    cr_assert_str_eq(summary.refused[1].label, "init (libc.so.6)");
    cr_assert_str_eq(summary.refused[2].label, "init (libc.so.6)");
    cr_assert_eq(summary.missing_count, 1);
    cr_assert_str_eq(summary.missing[0].near, "note\nnone");
    cr_assert_eq(summary.note_count, 1);
    cr_assert_eq(summary.lost_calls, 9);
    builder_close(&b);
}

/* Two processes of one program: one of another clock rate in the second half. */
Test(summary, merged_profiles)
{
    struct profile_builder a, b;
    builder_open(&a, 1 << 24);
    builder_open(&b, 1 << 24);
    uint32_t fa = builder_function(&a, "f", "/bin/app", 0x10),
             ga = builder_function(&a, "g", "/bin/app", 0x20);
    builder_function(&b, "x", "/bin/app", 0x30); /* other indices in the other process */
    uint32_t gb = builder_function(&b, "g", "/bin/app", 0x20),
             fb = builder_function(&b, "f", "/bin/app", 0x10);
    uint32_t ta = builder_thread(&a), tb = builder_thread(&b);
    struct wtm_cell *cell_a = builder_cell(&a, fa, ta), *cell_b = builder_cell(&b, fb, tb);
    for (int i = 1; i <= 1000; i++) {
        cell_call(cell_a, 2000 + i); /* 1000.5 .. 1500 ns at 2 GHz */
        cell_call(cell_b, 6000 + i);
    }
    cell_call(builder_cell(&b, gb, tb), 50);
    builder_refused(&a, "vfork", "libc", 1, WTM_REFUSED_POPS_RETURN);
    builder_refused(&b, "vfork", "libc", 2, WTM_REFUSED_POPS_RETURN);
    struct wtm_edges_chunk *edges = builder_edges(&a, ta, 1);
    edges->edges[0] = (struct wtm_edge){fa, ga, 1, 10};
    edges->count = 1;
    edges = builder_edges(&b, tb, 1);
    edges->edges[0] = (struct wtm_edge){fb, gb, 2, 20};
    edges->count = 1;
    struct wtm_profile both[2] = {builder_profile(&a), builder_profile(&b)};
    builder_header(&b)->end_monotonic_ns += 1000000000;
    build(both, 2, 0);
    cr_assert_eq(summary.row_count, 3);
    cr_assert_eq(summary.profiles, 2);
    cr_assert_eq(summary.wall_ns, 2284e6);
    cr_assert_eq(summary.wall_sum_ns, 3568e6);
    cr_assert_eq(summary.refused_count, 1); /* at another address, but the same */
    const struct wtm_row *row = row_named("f");
    cr_assert_eq(row->calls, 2000);
    NEAR(row->realtime.total_ns, (2000 * 1000 + 500500 + 6000 * 1000 + 500500) / 2.0);
    NEAR(row->realtime.min_ns, 1000.5);
    NEAR(row->realtime.max_ns, 3500);
    cr_assert_float_eq(row->realtime.p50_ns, 1500, 45);
    cr_assert_float_eq(row->realtime.p99_ns, 3490, 105);
    cr_assert_eq(row_named("g")->caller_count, 1);
    cr_assert_eq(row_named("g")->callers[0].calls, 3);

    builder_header(&b)->tick_hz_hint = 3000000000; /* the other host's clock: 2000 .. 2333 ns */
    build(both, 2, 0);
    row = row_named("f");
    NEAR(row->realtime.min_ns, 1000.5);
    cr_assert_float_eq(row->realtime.max_ns, 7000 / 3.0, 1e-9);
    cr_assert_float_eq(row->realtime.total_ns, (2000 * 1000 + 500500) / 2.0 + (6000 * 1000 + 500500) / 3.0,
                       1e-3);
    cr_assert_float_eq(row->realtime.p50_ns, 1500, 45);
    cr_assert_float_eq(row->realtime.p90_ns, 2000 + 0.8 * 333.3, 2266 * 0.03);
    double mean = row->realtime.mean_ns, squares = 0;
    for (int i = 1; i <= 1000; i++)
        squares += pow((2000 + i) / 2.0 - mean, 2) + pow((6000 + i) / 3.0 - mean, 2);
    cr_assert_float_eq(row->realtime.stddev_ns, sqrt(squares / 2000), 1e-6);
    builder_close(&a);
    builder_close(&b);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* 100,000 functions, 1,000 threads, 20,000 cells and edges: linear, or this takes minutes. */
Test(summary, many_functions_and_threads, .timeout = 60)
{
    enum { FUNCTIONS = 100000, THREADS = 1000, CELLS = 20000 };
    struct profile_builder b;
    builder_open(&b, 400u << 20);
    uint32_t threads[THREADS];
    for (int i = 0; i < FUNCTIONS; i++) {
        char name[32];
        snprintf(name, sizeof name, "f%d", i / 2); /* each name twice: labels as well */
        builder_function(&b, name, i % 2 ? "/lib/a.so" : "/lib/b.so", (uint64_t)i * 16);
    }
    for (int i = 0; i < THREADS; i++)
        threads[i] = builder_thread(&b);
    struct wtm_edges_chunk *edges = builder_edges(&b, threads[0], CELLS);
    for (int i = 0; i < CELLS; i++) {
        cell_call(builder_cell(&b, (uint32_t)(1 + (i * 7919) % FUNCTIONS), threads[i % THREADS]), 100 + i);
        edges->edges[edges->count++] = (struct wtm_edge){(uint32_t)(1 + i), (uint32_t)(1 + i % 100), 1, i};
    }
    double before = now();
    build_one(&b);
    double seconds = now() - before;
    cr_assert_eq(summary.row_count, FUNCTIONS);
    cr_assert_eq(summary.threads, THREADS);
    cr_assert_eq(summary.called, CELLS);
    for (size_t i = 1; i < summary.row_count; i++)
        cr_assert_geq(summary.rows[i - 1].realtime.total_ns, summary.rows[i].realtime.total_ns);
    size_t callers = 0;
    for (size_t i = 0; i < summary.row_count; i++)
        callers += summary.rows[i].caller_count;
    cr_assert_eq(callers, CELLS);
    cr_assert_lt(seconds, 20); /* 0.3 s where this was written; a quadratic step would take minutes */
    cr_log_info("%.2f s, %zu MB", seconds, arena.taken_bytes >> 20);
    builder_close(&b);
}
