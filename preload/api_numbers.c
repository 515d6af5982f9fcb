/* SPDX-License-Identifier: MIT
 * Times so far, for the program itself. */
#include "preload/api.h"
#include "common/summary.h"
#include "preload/clock.h"
#include "preload/control.h"
#include "preload/profile.h"
#include "preload/thread.h"
#include <string.h>
#include <time.h>

struct numbers {
    struct wtm_thread *before;
    struct wtm_profile view;
    struct wtm_arena arena;
    struct wtm_summary summary;
};

static int begin(struct numbers *numbers)
{
    *numbers = (struct numbers){0};
    if (!wtm_control_ready())
        return -ENODEV;
    if (!wtm_profile_header()) /* a child that had no memory for one */
        return -ENOMEM;
    numbers->before = wtm_mute();
    wtm_profile_header()->last = wtm_clock_pair();
    if (wtm_profile_view(&numbers->view))
        return -ENOMEM;
    return wtm_summary_build(&numbers->summary, &numbers->view, 1, wtm_clock_ns(CLOCK_MONOTONIC), &numbers->arena);
}

static int end(struct numbers *numbers, int result)
{
    if (!numbers->before)
        return result;
    wtm_arena_free(&numbers->arena);
    wtm_profile_unview(&numbers->view);
    wtm_unmute(numbers->before);
    return result;
}

static struct wtmtime_times convert(const struct wtm_times *times)
{
    return (struct wtmtime_times){
        .calls = times->calls, .total_ns = times->total_ns, .mean_ns = times->mean_ns, .min_ns = times->min_ns,
        .max_ns = times->max_ns, .deviation_ns = times->stddev_ns, .p50_ns = times->p50_ns, .p90_ns = times->p90_ns,
        .p99_ns = times->p99_ns, .p999_ns = times->p999_ns};
}

static struct wtmtime_function row_of(const struct wtm_row *row)
{
    return (struct wtmtime_function){
        .name = row->name, .module = row->module, .address = (const void *)row->address, .calls = row->calls,
        .recursive = row->recursive, .abnormal = row->abnormal, .open = row->open, .self_ns = row->self_ns,
        .realtime = convert(&row->realtime), .runtime = convert(&row->runtime)};
}

static int is_meant(const struct wtm_row *row, const char *name, const void *address)
{
    if (!name)
        return row->address == (uintptr_t)address;
    return !strcmp(row->name, name) || !strcmp(row->label, name) || (row->mangled && !strcmp(row->mangled, name));
}

int wtmtime_1_get(const char *name, const void *address, struct wtmtime_function *function, size_t bytes)
{
    struct numbers numbers;
    int result = begin(&numbers);
    size_t i = 0;
    while (!result && i < numbers.summary.row_count && !is_meant(&numbers.summary.rows[i], name, address))
        i++;
    if (!result && i == numbers.summary.row_count)
        result = -ENOENT;
    if (!result) {
        struct wtmtime_function row = row_of(&numbers.summary.rows[i]);
        row.name = row.module = NULL; /* they go with the view */
        memset(function, 0, bytes);
        memcpy(function, &row, bytes < sizeof row ? bytes : sizeof row);
    }
    return end(&numbers, result);
}

/* The callback is the program's: its calls count. */
int wtmtime_1_walk(wtmtime_callback *callback, void *context)
{
    struct numbers numbers;
    int result = begin(&numbers);
    for (size_t i = 0; !result && i < numbers.summary.row_count; i++) {
        struct wtmtime_function row = row_of(&numbers.summary.rows[i]);
        wtm_unmute(numbers.before);
        result = callback(&row, context);
        wtm_mute();
    }
    return end(&numbers, result);
}
