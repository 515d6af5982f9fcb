/* SPDX-License-Identifier: MIT
 * The report as JSON. What was not measured is null. */
#include "common/outliers.h"
#include "common/status.h"
#include "report/json_writer.h"
#include "report/print_parts.h"
#include "report/printers.h"
#include "report/rows.h"
#include <string.h>

static void put_process(struct wtm_json *json, const struct wtm_summary *summary)
{
    wtm_json_object(json, "process");
    wtm_json_unsigned(json, "pid", summary->header->pid);
    wtm_json_string(json, "program", summary->header->program);
    wtm_json_decimal(json, "wall_ns", summary->wall_ns);
    wtm_json_boolean(json, "running", (int)summary->running);
    wtm_json_unsigned(json, "processes", summary->profiles);
    wtm_json_unsigned(json, "threads", summary->threads);
    wtm_json_unsigned(json, "started_ns", summary->header->start_realtime_ns);
    wtm_json_unsigned(json, "lost_calls", summary->lost_calls);
    wtm_json_object_end(json);
}

/* Each process, where several were merged. */
static void put_processes(struct wtm_json *json, const struct wtm_summary *summary)
{
    wtm_json_array(json, "processes");
    for (size_t i = 0; i < summary->profiles; i++) {
        const struct wtm_process_row *process = &summary->processes[i];
        wtm_json_object(json, NULL);
        wtm_json_unsigned(json, "pid", process->pid);
        wtm_json_unsigned(json, "parent", process->parent);
        wtm_json_string(json, "program", process->program);
        wtm_json_string(json, "host", process->host);
        wtm_json_decimal(json, "wall_ns", process->wall_ns);
        wtm_json_boolean(json, "running", (int)process->running);
        wtm_json_boolean(json, "cut", (int)process->cut);
        wtm_json_unsigned(json, "threads", process->threads);
        wtm_json_unsigned(json, "started_ns", process->started_ns);
        wtm_json_unsigned(json, "calls", process->calls);
        wtm_json_string(json, "file", process->path);
        wtm_json_object_end(json);
    }
    wtm_json_array_end(json);
}

/* What the row is of, with --by. */
static void put_group(struct wtm_json *json, const struct wtm_group *group)
{
    if (!group)
        return;
    if (group->program)
        wtm_json_string(json, "program", group->program);
    if (group->pid)
        wtm_json_unsigned(json, "pid", group->pid);
    if (group->host)
        wtm_json_string(json, "host", group->host);
    if (group->thread)
        wtm_json_string(json, "thread", group->thread);
}

static void put_sources(struct wtm_json *json, const struct wtm_summary *summary)
{
    static const char *const cpu_names[] = {"off", "rseq", "perf", "clock_gettime"};
    static const char *const order_names[] = {"loose", "exit", "strict"};
    static const char *const rate_names[] = {"start", "cpuid", "hypervisor", "kernel", "pairs", "clock"};
    const struct wtm_profile_header *header = summary->header;
    wtm_json_object(json, "clock");
    wtm_json_string(json, "source", header->clock == WTM_CLOCK_TSC ? "tsc" : "monotonic");
    wtm_json_boolean(json, "trusted", header->clock_trusted == 1);
    wtm_json_decimal(json, "hz", 1e9 / summary->ns_per_tick);
    wtm_json_string(json, "rate", rate_names[summary->clock.source]);
    if (summary->clock.interval_ppb >= 0)
        wtm_json_decimal(json, "interval_ppb", summary->clock.interval_ppb);
    else
        wtm_json_null(json, "interval_ppb");
    wtm_json_unsigned(json, "pairs", summary->clock.pairs);
    if (summary->granularity_ns > 0)
        wtm_json_decimal(json, "granularity_ns", summary->granularity_ns);
    else
        wtm_json_null(json, "granularity_ns");
    wtm_json_string(json, "order", header->order < 3 ? order_names[header->order] : "unknown");
    wtm_json_string(json, "note", header->clock_note);
    wtm_json_object_end(json);
    wtm_json_object(json, "cpu");
    wtm_json_string(json, "source", header->cpu_source < 4 ? cpu_names[header->cpu_source] : "unknown");
    wtm_json_string(json, "note", header->cpu_note);
    wtm_json_object_end(json);
}

static void put_cost(struct wtm_json *json, const struct wtm_summary *summary)
{
    wtm_json_object(json, "cost");
    wtm_json_decimal(json, "inside_ns", summary->inside_ns);
    wtm_json_decimal(json, "outside_ns", summary->outside_ns);
    wtm_json_decimal(json, "spread_ns", summary->spread_ns);
    wtm_json_decimal(json, "recursive_ns", summary->recursive_ns);
    wtm_json_decimal(json, "inside_end_ns", summary->inside_end_ns);
    wtm_json_decimal(json, "outside_end_ns", summary->outside_end_ns);
    wtm_json_decimal(json, "total_ns", summary->cost_ns);
    wtm_json_object_end(json);
}

static void put_times(struct wtm_json *json, const char *name, const struct wtm_row *row, int runtime)
{
    wtm_json_object(json, name);
    for (size_t i = 0; i < wtm_times_field_number; i++)
        wtm_json_decimal(json, wtm_times_fields[i].name,
                         wtm_row_time_value(row, runtime, &wtm_times_fields[i]));
    wtm_json_object_end(json);
}

static void put_noise(struct wtm_json *json, const struct wtm_row *row)
{
    const struct wtm_row_noise *noise = &row->noise;
    double waited = row->runtime.calls == row->realtime.calls && row->runtime.calls
                        ? row->realtime.total_ns - row->runtime.total_ns
                        : __builtin_nan("");
    wtm_json_object(json, "noise");
    wtm_json_unsigned(json, "switched", noise->switched);
    wtm_json_decimal(json, "waited_ns", waited);
    wtm_json_unsigned(json, "counted", noise->counted);
    wtm_json_unsigned(json, "waits", noise->waits);
    wtm_json_unsigned(json, "preemptions", noise->preemptions);
    wtm_json_unsigned(json, "migrated", noise->migrated);
    wtm_json_unsigned(json, "minor_faults", noise->minor_faults);
    wtm_json_unsigned(json, "major_faults", noise->major_faults);
    wtm_json_unsigned(json, "handlers", noise->handlers);
    wtm_json_decimal(json, "handlers_ns", noise->handlers_ns);
    wtm_json_unsigned(json, "taken_out", noise->taken_out);
    wtm_json_decimal(json, "taken_out_ns", noise->taken_out_ns);
    wtm_json_object_end(json);
}

static void put_values(struct wtm_json *json, const char *name, const struct wtm_observation *of, size_t count, int runtime)
{
    wtm_json_array(json, name);
    for (size_t i = 0; i < count; i++)
        wtm_json_decimal(json, NULL, runtime ? of[i].run_ns : of[i].real_ns);
    wtm_json_array_end(json);
}

static void put_outliers(struct wtm_json *json, const char *name, const struct wtm_row *row, unsigned layers, int runtime)
{
    struct wtm_outliers found;
    if (wtm_row_outliers(row, layers, runtime, &found) || !found.left)
        return;
    wtm_json_object(json, name);
    wtm_json_unsigned(json, "layers", found.layers);
    wtm_json_unsigned(json, "taken", found.taken);
    wtm_json_unsigned(json, "left", found.left);
    wtm_json_decimal(json, "mean_ns", found.mean);
    wtm_json_decimal(json, "stddev_ns", found.deviation);
    wtm_json_object_end(json);
}

static int put_samples(struct wtm_json *json, const struct wtm_row *row, unsigned layers)
{
    struct wtm_arena arena = {0};
    struct wtm_observation *of = NULL;
    size_t count = 0;
    int error = wtm_row_samples(row, &of, &count, &arena);
    put_values(json, "samples_ns", of, count, 0);
    put_values(json, "runtime_samples_ns", of, count, 1);
    wtm_arena_free(&arena);
    if (layers && count) {
        put_outliers(json, "outliers", row, layers, 0);
        put_outliers(json, "runtime_outliers", row, layers, 1);
    }
    return error;
}

static int put_function(struct wtm_json *json, const struct wtm_row *row, unsigned layers)
{
    wtm_json_object(json, NULL);
    wtm_json_string(json, "name", row->name);
    wtm_json_string(json, "mangled", row->mangled);
    wtm_json_string(json, "module", row->module);
    put_group(json, row->group);
    wtm_json_hex(json, "address", row->address);
    wtm_json_hex(json, "offset", row->offset);
    wtm_json_string(json, "aliases", row->aliases);
    for (size_t i = 0; i < wtm_row_count_number; i++)
        wtm_json_unsigned(json, wtm_row_counts[i].name, wtm_row_count_value(row, &wtm_row_counts[i]));
    wtm_json_decimal(json, "subtracted_ns", row->subtracted_ns);
    put_times(json, "realtime", row, 0);
    put_times(json, "runtime", row, 1);
    wtm_json_array(json, "callers");
    for (size_t i = 0; i < row->caller_count; i++) {
        wtm_json_object(json, NULL);
        wtm_json_string(json, "name", row->callers[i].name);
        wtm_json_unsigned(json, "calls", row->callers[i].calls);
        wtm_json_decimal(json, "realtime_ns", row->callers[i].realtime_ns);
        wtm_json_object_end(json);
    }
    wtm_json_array_end(json);
    wtm_json_array(json, "slow");
    wtm_json_array_end(json);
    put_noise(json, row);
    wtm_json_boolean(json, "subtracted", (int)row->subtract);
    wtm_json_boolean(json, "handler", (int)row->handler);
    int error = put_samples(json, row, layers);
    wtm_json_object_end(json);
    return error;
}

void wtm_json_refused(struct wtm_json *json, const struct wtm_summary *summary)
{
    wtm_json_array(json, "refused");
    for (size_t i = 0; i < summary->refused_count; i++) {
        const struct wtm_refused_row *row = &summary->refused[i];
        wtm_json_object(json, NULL);
        wtm_json_string(json, "name", row->name);
        wtm_json_string(json, "module", row->module);
        wtm_json_hex(json, "address", row->address);
        wtm_json_string(json, "reason", wtm_refusal_text(row->reason));
        wtm_json_string(json, "code", wtm_refusal_name(row->reason));
        wtm_json_object_end(json);
    }
    wtm_json_array_end(json);
}

void wtm_json_missing(struct wtm_json *json, const struct wtm_summary *summary)
{
    wtm_json_array(json, "not_found");
    for (size_t i = 0; i < summary->missing_count; i++) {
        const char *near = summary->missing[i].near;
        wtm_json_object(json, NULL);
        wtm_json_string(json, "pattern", summary->missing[i].pattern);
        wtm_json_array(json, "near");
        while (near && *near) {
            size_t length = strcspn(near, "\n");
            wtm_json_line(json, NULL, near, length);
            near += length + (near[length] == '\n');
        }
        wtm_json_array_end(json);
        wtm_json_object_end(json);
    }
    wtm_json_array_end(json);
}

int wtm_print_json(struct wtm_text *text, const struct wtm_summary *summary,
                   const struct wtm_table_options *options)
{
    struct wtm_json json;
    size_t rows = options->top && options->top < summary->row_count ? options->top : summary->row_count;
    wtm_json_begin(&json, text);
    wtm_json_object(&json, NULL);
    wtm_json_string(&json, "schema", "wtm-report/1");
    put_process(&json, summary);
    if (summary->profiles > 1)
        put_processes(&json, summary);
    put_sources(&json, summary);
    put_cost(&json, summary);
    wtm_json_array(&json, "functions");
    int error = 0;
    for (size_t i = 0; i < rows && !error; i++)
        error = put_function(&json, &summary->rows[i], options->outliers);
    wtm_json_array_end(&json);
    wtm_json_refused(&json, summary);
    wtm_json_missing(&json, summary);
    wtm_json_array(&json, "notes");
    for (size_t i = 0; i < summary->note_count; i++)
        wtm_json_string(&json, NULL, summary->notes[i]);
    wtm_json_array_end(&json);
    wtm_json_object_end(&json);
    return error ? error : wtm_text_flush(text);
}
