/* SPDX-License-Identifier: MIT
 * Numbers and orders of rows. */
#include "report/rows.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(field)                                                                                         \
    {                                                                                                        \
#field, offsetof(struct wtm_row, field)                                                              \
    }
#define TIME(name, field)                                                                                    \
    {                                                                                                        \
        name, offsetof(struct wtm_times, field)                                                              \
    }

const struct wtm_number wtm_row_counts[] = {COUNT(calls), COUNT(recursive), COUNT(abnormal), COUNT(open),
                                            COUNT(late)};
const size_t wtm_row_count_number = sizeof wtm_row_counts / sizeof *wtm_row_counts;

enum { SELF = -1 };
const struct wtm_number wtm_times_fields[] = {
    TIME("total_ns", total_ns), {"self_ns", (size_t)SELF}, TIME("mean_ns", mean_ns),
    TIME("min_ns", min_ns),     TIME("max_ns", max_ns),    TIME("stddev_ns", stddev_ns),
    TIME("p50_ns", p50_ns),     TIME("p90_ns", p90_ns),    TIME("p99_ns", p99_ns),
    TIME("p999_ns", p999_ns),
};
const size_t wtm_times_field_number = sizeof wtm_times_fields / sizeof *wtm_times_fields;

uint64_t wtm_row_count_value(const struct wtm_row *row, const struct wtm_number *number)
{
    uint64_t value;
    memcpy(&value, (const char *)row + number->offset, sizeof value);
    return value;
}

double wtm_row_time_value(const struct wtm_row *row, int runtime, const struct wtm_number *number)
{
    const struct wtm_times *times = runtime ? &row->runtime : &row->realtime;
    double value;
    if (!times->calls || (runtime && number->offset == (size_t)SELF))
        return NAN;
    if (number->offset == (size_t)SELF)
        return row->self_ns;
    memcpy(&value, (const char *)times + number->offset, sizeof value);
    return value;
}

const char wtm_rows_sort_keys[] =
    "total, self, mean, calls, runtime, min, max, deviation, p50, p90, p99, p99.9, name";

#define REALTIME(field) offsetof(struct wtm_row, realtime) + offsetof(struct wtm_times, field)
static const struct {
    const char *name;
    size_t offset; /* of a double; of `calls` the only uint64_t; SELF for name */
} keys[] = {
    {"total", REALTIME(total_ns)},
    {"self", offsetof(struct wtm_row, self_ns)},
    {"mean", REALTIME(mean_ns)},
    {"calls", offsetof(struct wtm_row, calls)},
    {"runtime", offsetof(struct wtm_row, runtime) + offsetof(struct wtm_times, total_ns)},
    {"min", REALTIME(min_ns)},
    {"max", REALTIME(max_ns)},
    {"deviation", REALTIME(stddev_ns)},
    {"p50", REALTIME(p50_ns)},
    {"p90", REALTIME(p90_ns)},
    {"p99", REALTIME(p99_ns)},
    {"p99.9", REALTIME(p999_ns)},
    {"name", (size_t)SELF},
};

static int compare_names(const void *a, const void *b, void *context)
{
    const struct wtm_row *first = a, *second = b;
    int order = strcmp(first->label, second->label);
    if (!order)
        order = strcmp(first->module, second->module);
    return order ? order : (first->offset > second->offset) - (first->offset < second->offset);
}

static double key_of(const struct wtm_row *row, size_t offset)
{
    double value;
    if (offset == offsetof(struct wtm_row, calls))
        return (double)row->calls;
    memcpy(&value, (const char *)row + offset, sizeof value);
    return value;
}

static int compare_numbers(const void *a, const void *b, void *context)
{
    double first = key_of(a, *(size_t *)context), second = key_of(b, *(size_t *)context);
    return first != second ? (first < second) - (first > second) : compare_names(a, b, NULL);
}

int wtm_rows_sort(struct wtm_summary *summary, const char *key)
{
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (strcmp(keys[i].name, key))
            continue;
        size_t offset = keys[i].offset;
        qsort_r(summary->rows, summary->row_count, sizeof *summary->rows,
                offset == (size_t)SELF ? compare_names : compare_numbers, &offset);
        return 0;
    }
    return -EINVAL;
}
