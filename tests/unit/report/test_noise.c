/* SPDX-License-Identifier: MIT
 * Samples, outliers and disturbances, against plain computations over the same values; and such chunks from hostile files. */
#include "common/outliers.h"
#include "profile_builder.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state = 88172645463325252u;

static uint64_t number(void) /* xorshift64, Marsaglia 2003 */
{
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

/* As it is defined: each layer by itself, in long double, without any trick. */
static struct wtm_outliers plainly(const double *values, size_t count, unsigned layers, double *rest)
{
    struct wtm_outliers found = {.left = count};
    memcpy(rest, values, count * sizeof *rest);
    for (unsigned layer = 0;; layer++) {
        long double sum = 0, squares = 0;
        for (size_t i = 0; i < found.left; i++)
            sum += rest[i];
        long double mean = found.left ? sum / found.left : 0;
        for (size_t i = 0; i < found.left; i++)
            squares += (rest[i] - mean) * (rest[i] - mean);
        long double deviation = found.left ? sqrtl(squares / found.left) : 0;
        found.mean = (double)mean;
        found.deviation = (double)deviation;
        if (layer == layers)
            break;
        size_t kept = 0;
        for (size_t i = 0; i < found.left; i++)
            if (fabsl(rest[i] - mean) <= 2 * deviation)
                rest[kept++] = rest[i];
        if (kept == found.left)
            break;
        found.left = kept;
        found.layers++;
    }
    found.taken = count - found.left;
    return found;
}

Test(outliers, as_plainly_computed)
{
    enum { MOST = 400 };
    double values[MOST], rest[MOST];
    for (int round = 0; round < 3000; round++) {
        size_t count = number() % MOST;
        unsigned layers = (unsigned)(number() % 8), shape = (unsigned)(number() % 4);
        for (size_t i = 0; i < count; i++) {
            double x = (double)(number() % 1000000) / 997.0;
            values[i] = shape == 0 ? x : shape == 1 ? x * x * x : shape == 2 ? (number() % 20 ? 100 + x / 100 : 1e7 + x) : -x;
        }
        struct wtm_outliers exact = plainly(values, count, layers, rest), found = wtm_outliers_take(values, count, layers);
        cr_assert_eq(found.left, exact.left);
        cr_assert_eq(found.taken, exact.taken);
        cr_assert_eq(found.layers, exact.layers);
        cr_assert_float_eq(found.mean, exact.mean, 1e-9 * (1 + fabs(exact.mean)));
        cr_assert_float_eq(found.deviation, exact.deviation, 1e-9 * (1 + exact.deviation));
        cr_assert_eq(memcmp(values, rest, found.left * sizeof *rest), 0, "the rest is not in its order");
    }
}

Test(outliers, known_ones)
{
    double values[] = {10, 11, 9, 10, 11, 9, 10, 11, 9, 10, 1000, 10};
    struct wtm_outliers found = wtm_outliers_take(values, 12, 1);
    cr_assert_eq(found.taken, 1);
    cr_assert_float_eq(found.mean, 10, 1e-12);
    double alike[] = {5, 5, 5, 5};
    found = wtm_outliers_take(alike, 4, 9);
    cr_assert_eq(found.left, 4);
    cr_assert_eq(found.layers, 0);
    double nothing[] = {NAN, INFINITY, -INFINITY};
    found = wtm_outliers_take(nothing, 3, 2);
    cr_assert_eq(found.taken, 3);
    cr_assert_eq(found.left, 0);
    cr_assert_eq(wtm_outliers_take(NULL, 0, 3).left, 0);
}

static struct wtm_samples *add_samples(struct profile_builder *b, uint32_t function, uint32_t capacity)
{
    struct wtm_samples *samples =
        builder_chunk(b, WTM_CHUNK_SAMPLES, sizeof *samples + capacity * sizeof *samples->of);
    samples->function = function;
    samples->capacity = capacity;
    return samples;
}

static void build(struct profile_builder *b, struct wtm_summary *summary, struct wtm_arena *arena, size_t count)
{
    struct wtm_profile profiles[2] = {builder_profile(b), builder_profile(b)};
    cr_assert_eq(wtm_summary_build(summary, profiles, count, 0, arena), 0);
}

/* 2 GHz: a tick is half a nanosecond. */
Test(samples, complete_ones_of_this_epoch_in_order)
{
    struct profile_builder b;
    struct wtm_summary summary;
    struct wtm_arena arena = {0};
    struct wtm_observation *of;
    size_t count;
    builder_open(&b, 1 << 20);
    builder_header(&b)->epoch = 7;
    uint32_t foo = builder_function(&b, "foo", "/a", 16), thread = builder_thread(&b);
    struct wtm_samples *samples = add_samples(&b, foo, 5);
    samples->taken = 9; /* more came than there was room for */
    const struct wtm_sample given[5] = {
        {100, 80, thread, 7}, {200, 200, 0, 7}, {300, 300, thread, 6}, {400, WTM_SAMPLE_NO_RUNTIME, thread, 7}, {-6, -6, thread, 7}};
    memcpy(samples->of, given, sizeof given);
    build(&b, &summary, &arena, 1);
    cr_assert_eq(wtm_row_samples(&summary.rows[0], &of, &count, &arena), 0);
    cr_assert_eq(count, 3);
    cr_assert_float_eq(of[0].real_ns, 50, 1e-9);
    cr_assert_float_eq(of[0].run_ns, 40, 1e-9);
    cr_assert_float_eq(of[1].real_ns, 200, 1e-9);
    cr_assert(isnan(of[1].run_ns));
    cr_assert_float_eq(of[2].real_ns, -3, 1e-9);
    wtm_arena_free(&arena);
    arena = (struct wtm_arena){0};
    build(&b, &summary, &arena, 2); /* two processes: one behind the other */
    cr_assert_eq(wtm_row_samples(&summary.rows[0], &of, &count, &arena), 0);
    cr_assert_eq(count, 6);
    cr_assert_float_eq(of[3].real_ns, 50, 1e-9);
    wtm_arena_free(&arena);
    builder_close(&b);
}

Test(samples, numbers_that_lie_stay_inside_the_chunk)
{
    for (int round = 0; round < 2000; round++) {
        struct profile_builder b;
        struct wtm_summary summary;
        struct wtm_arena arena = {.limit_bytes = 64 << 20};
        struct wtm_observation *of;
        size_t count, all = 0;
        builder_open(&b, 1 << 20);
        uint32_t foo = builder_function(&b, "foo", "/a", 16), thread = builder_thread(&b);
        struct wtm_samples *samples = add_samples(&b, foo, 4);
        struct wtm_noise *noise = builder_chunk(&b, WTM_CHUNK_NOISE, sizeof *noise);
        noise->function = (uint32_t)(number() % 4 ? foo : number());
        noise->thread = (uint32_t)(number() % 4 ? thread : number());
        noise->waits = 1;
        uint32_t *words[] = {&samples->function, &samples->capacity};
        *words[number() % 2] = (uint32_t)number();
        samples->taken = number();
        for (int i = 0; i < 4; i++)
            samples->of[i] = (struct wtm_sample){(int64_t)number(), (int64_t)number(), (uint32_t)number(), (uint32_t)(number() % 2)};
        build(&b, &summary, &arena, 1);
        for (size_t i = 0; i < summary.row_count; i++) {
            cr_assert_eq(wtm_row_samples(&summary.rows[i], &of, &count, &arena), 0);
            all += count;
        }
        cr_assert_leq(all, samples->chunk.bytes / sizeof *samples->of);
        cr_assert_eq(summary.rows[0].noise.waits, noise->function == foo && noise->thread == thread);
        wtm_arena_free(&arena);
        builder_close(&b);
    }
}

Test(noise, threads_add_up_and_those_of_before_a_reset_do_not)
{
    struct profile_builder b;
    struct wtm_summary summary;
    struct wtm_arena arena = {0};
    builder_open(&b, 1 << 20);
    uint32_t foo = builder_function(&b, "foo", "/a", 16);
    for (int i = 0; i < 3; i++) {
        uint32_t thread = builder_thread(&b);
        struct wtm_noise *noise = builder_chunk(&b, WTM_CHUNK_NOISE, sizeof *noise);
        *noise = (struct wtm_noise){.chunk = noise->chunk, .function = foo, .thread = thread, .counted = 1, .minor_faults = 10,
                                    .major_faults = 2, .waits = 3, .preemptions = 4, .migrated = 1, .taken_out = 5,
                                    .taken_out_ticks = 2000, .handlers = 6, .handler_ticks = 400};
    }
    build(&b, &summary, &arena, 1);
    const struct wtm_row_noise *noise = &summary.rows[0].noise;
    cr_assert_eq(noise->counted, 3);
    cr_assert_eq(noise->minor_faults, 30);
    cr_assert_eq(noise->major_faults, 6);
    cr_assert_eq(noise->waits, 9);
    cr_assert_eq(noise->preemptions, 12);
    cr_assert_eq(noise->migrated, 3);
    cr_assert_eq(noise->taken_out, 15);
    cr_assert_eq(noise->handlers, 18);
    cr_assert_float_eq(noise->taken_out_ns, 3000, 1e-9);
    cr_assert_float_eq(noise->handlers_ns, 600, 1e-9);
    wtm_arena_free(&arena);
    builder_header(&b)->epoch = 1; /* no thread has noticed it */
    arena = (struct wtm_arena){0};
    build(&b, &summary, &arena, 1);
    cr_assert_eq(summary.rows[0].noise.counted, 0);
    wtm_arena_free(&arena);
    builder_close(&b);
}
