/* SPDX-License-Identifier: MIT
 * The one column table: title, group, rank, and what a cell says. */
#include "common/table_parts.h"

/* What measuring was found to cost in it; what WTM_SUBTRACT took out is no cost. */
static double cost_ns(const struct wtm_row *row)
{
    return row->subtracted_ns - row->noise.taken_out_ns;
}

double wtm_table_noise_ns(const struct wtm_summary *summary, const struct wtm_row *row)
{
    double each = summary->inside_ns + summary->outside_ns,
           own = summary->spread_ns * (double)row->realtime.calls;
    double taken =
        each > 0 ? cost_ns(row) * summary->spread_ns / each : 0; /* with what nested calls cost */
    return taken > own ? taken : own;
}

/* Less than five times what was subtracted from it: a fault in the cost measured would show. */
int wtm_table_near_noise(const struct wtm_summary *summary, const struct wtm_row *row, double ns)
{
    return row->realtime.calls && (ns < 5 * cost_ns(row) || ns < 10 * wtm_table_noise_ns(summary, row));
}

static double step_ns(const struct wtm_summary *summary)
{
    return summary->granularity_ns > summary->ns_per_tick ? summary->granularity_ns : summary->ns_per_tick;
}

static void put_count(struct wtm_text *text, uint64_t count)
{
    const uint64_t million = 1000000;
    if (count < 10000 * million) {
        wtm_text_grouped(text, count);
        return;
    }
    wtm_text_grouped(text, count < 10000 * million * million ? count / million : count / million / million);
    wtm_text_char(text, count < 10000 * million * million ? 'M' : 'T', 1);
}

/* A sum: not finer than its noise, and marked when it is near it. */
static void put_total(struct wtm_text *text, const struct wtm_summary *summary, const struct wtm_row *row,
                      double ns, int mark)
{
    double noise = wtm_table_noise_ns(summary, row), size = ns < 0 ? -ns : ns;
    if (size < noise) {
        wtm_text_char(text, '<', 1);
        wtm_text_duration(text, noise, noise);
    } else {
        wtm_text_duration(text, ns, noise > step_ns(summary) ? noise : step_ns(summary));
    }
    if (mark && wtm_table_near_noise(summary, row, ns))
        wtm_text_char(text, '+', 1);
}

/* A mean is finer than a tick where many calls were averaged. */
static void put_mean(struct wtm_text *text, const struct wtm_summary *summary, const struct wtm_row *row,
                     const struct wtm_times *times)
{
    if (!times->calls) {
        wtm_text_char(text, '-', 1);
        return;
    }
    double noise = wtm_table_noise_ns(summary, row) / (double)row->realtime.calls;
    double step = step_ns(summary) / (double)times->calls,
           size = times->mean_ns < 0 ? -times->mean_ns : times->mean_ns;
    if (size < noise) {
        wtm_text_char(text, '<', 1);
        wtm_text_duration(text, noise, noise);
    } else {
        wtm_text_duration(text, times->mean_ns, noise > step ? noise : step);
    }
}

static void put_single(struct wtm_text *text, const struct wtm_summary *summary,
                       const struct wtm_times *times, double ns)
{
    if (!times->calls)
        wtm_text_char(text, '-', 1);
    else
        wtm_text_duration(text, ns, step_ns(summary));
}

#define CELL(name)                                                                                           \
    static void name(struct wtm_text *text, const struct wtm_summary *summary, const struct wtm_row *row)
#define COUNT(name)                                                                                          \
    static uint64_t has_##name(const struct wtm_row *row)                                                    \
    {                                                                                                        \
        return row->name;                                                                                    \
    }                                                                                                        \
    CELL(cell_##name)                                                                                        \
    {                                                                                                        \
        put_count(text, row->name);                                                                          \
    }
#define SINGLE(name)                                                                                         \
    CELL(cell_##name)                                                                                        \
    {                                                                                                        \
        put_single(text, summary, &row->realtime, row->realtime.name##_ns);                                  \
    }

COUNT(recursive)
COUNT(abnormal)
COUNT(open)
COUNT(late)
SINGLE(min)
SINGLE(p50)
SINGLE(p90)
SINGLE(p99)
SINGLE(p999)
SINGLE(max)
SINGLE(stddev)

CELL(cell_calls)
{
    put_count(text, row->calls);
}

CELL(cell_total)
{
    if (row->realtime.calls)
        put_total(text, summary, row, row->realtime.total_ns, 1);
    else
        wtm_text_char(text, '-', 1);
}

CELL(cell_self)
{
    if (row->realtime.calls)
        put_total(text, summary, row, row->self_ns, 1);
    else
        wtm_text_char(text, '-', 1);
}

CELL(cell_mean)
{
    put_mean(text, summary, row, &row->realtime);
}

CELL(cell_runtime)
{
    if (summary->header->cpu_source == WTM_CPU_OFF && !row->runtime.calls)
        wtm_text_string(text, "off");
    else if (row->runtime.calls)
        put_total(text, summary, row, row->runtime.total_ns, 0);
    else
        wtm_text_char(text, '-', 1);
}

CELL(cell_runtime_mean)
{
    if (summary->header->cpu_source == WTM_CPU_OFF && !row->runtime.calls)
        wtm_text_string(text, "off");
    else
        put_mean(text, summary, row, &row->runtime);
}

CELL(cell_wall)
{
    double percent = summary->wall_ns > 0 ? 100 * row->realtime.total_ns / summary->wall_ns : 0;
    if (percent > 9999 || percent < -9999)
        wtm_text_string(text, percent > 0 ? ">9999" : "<-9999");
    else
        wtm_text_decimal(text, percent, percent > 999 ? 0 : 1);
}

CELL(cell_module)
{
    const char *name = row->module;
    for (const char *c = row->module; *c; c++)
        if (*c == '/' && c[1])
            name = c + 1;
    wtm_text_name_cut(text, *name ? name : "-", 32);
}

const struct wtm_table_column wtm_table_columns[] = {
    {"calls", WTM_GROUP_NONE, 0, 0, NULL, cell_calls},
    {"recursive", WTM_GROUP_NONE, 1, 0, has_recursive, cell_recursive},
    {"abnormal", WTM_GROUP_NONE, 2, 0, has_abnormal, cell_abnormal},
    {"open", WTM_GROUP_NONE, 3, 0, has_open, cell_open},
    {"untimed", WTM_GROUP_NONE, 4, 0, has_late, cell_late},
    {"total", WTM_GROUP_REALTIME, 0, 0, NULL, cell_total},
    {"self", WTM_GROUP_REALTIME, -2, 0, NULL, cell_self},
    {"mean", WTM_GROUP_REALTIME, 0, 0, NULL, cell_mean},
    {"deviation", WTM_GROUP_REALTIME, 7, 0, NULL, cell_stddev},
    {"min", WTM_GROUP_REALTIME, 5, 0, NULL, cell_min},
    {"p50", WTM_GROUP_REALTIME, -1, 0, NULL, cell_p50},
    {"p90", WTM_GROUP_REALTIME, 9, 0, NULL, cell_p90},
    {"p99", WTM_GROUP_REALTIME, -3, 0, NULL, cell_p99},
    {"p99.9", WTM_GROUP_REALTIME, 10, 0, NULL, cell_p999},
    {"max", WTM_GROUP_REALTIME, 6, 0, NULL, cell_max},
    {"total", WTM_GROUP_RUNTIME, 0, 0, NULL, cell_runtime},
    {"mean", WTM_GROUP_RUNTIME, 8, 0, NULL, cell_runtime_mean},
    {"%wall", WTM_GROUP_NONE, 0, 0, NULL, cell_wall},
    {"module", WTM_GROUP_NONE, 11, 1, NULL, cell_module},
};
const size_t wtm_table_column_count = sizeof wtm_table_columns / sizeof *wtm_table_columns;
_Static_assert(sizeof wtm_table_columns / sizeof *wtm_table_columns <= WTM_TABLE_MAX_COLUMNS,
               "room in the layout");
