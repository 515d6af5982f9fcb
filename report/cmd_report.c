/* SPDX-License-Identifier: MIT
 * wtm report FILE... */
#include "report/commands.h"
#include "report/live.h"
#include "report/load.h"
#include "report/output.h"
#include "report/printers.h"
#include "report/rows.h"
#include <stdio.h>
#include <string.h>

struct values {
    int json, csv, wide, callers, verbose;
    const char *sort, *pid, *by, *samples;
    size_t top, width, outliers;
};

#define FIELD(name) offsetof(struct values, name)
static const struct wtm_option options[] = {
    {0, "json", WTM_OPTION_FLAG, FIELD(json), NULL, "as JSON (schema wtm-report/1), times in ns"},
    {0, "csv", WTM_OPTION_FLAG, FIELD(csv), NULL, "as CSV, a line a function, times in ns"},
    {'s', "sort", WTM_OPTION_TEXT, FIELD(sort), "KEY",
     "largest first by total (default), self, mean, calls,\nruntime, min, max, deviation, p50, p90, p99, "
     "p99.9;\n"
     "or by name"},
    {'b', "by", WTM_OPTION_LIST, FIELD(by), "KEYS",
     "a row for each function in each process, program,\nthread (by name), module, host: one or several of\nthese, comma-separated"},
    {'p', "pid", WTM_OPTION_TEXT, FIELD(pid), "PID", "of this running process, whatever files there are"},
    {'n', "top", WTM_OPTION_NUMBER, FIELD(top), "N", "the first N functions only"},
    {'c', "callers", WTM_OPTION_FLAG, FIELD(callers), NULL, "all callers, not the ten heaviest only"},
    {0, "samples", WTM_OPTION_TEXT, FIELD(samples), "NAME",
     "single observations of a function (or a glob) as CSV,\nwhere WTM_SAMPLES kept them"},
    {0, "outliers", WTM_OPTION_NUMBER, FIELD(outliers), "N",
     "what is left of the observations when N layers beyond\ntwo standard deviations are taken away; with --json\n"
     "beside the samples"},
    {'w', "wide", WTM_OPTION_FLAG, FIELD(wide), NULL, "all columns, however wide"},
    {0, "width", WTM_OPTION_NUMBER, FIELD(width), "N", "columns to use (default: the terminal's, or 80)"},
    {'v', "verbose", WTM_OPTION_FLAG, FIELD(verbose), NULL,
     "also functions never called, every refusal, every\npattern that found nothing"},
};

static int run(int argc, char **argv);
const struct wtm_command wtm_command_report = {
    .name = "report",
    .summary = "the table of one or several profiles, or JSON, or CSV",
    .operands = "FILE|PID...",
    .description = "Prints what profiles hold: of processes that ended, were killed, or still run\n"
                   "(those may be named by their number).\n"
                   "Several files are merged: a function with the same module, name and place in it\n"
                   "is one row, unless --by splits it. A file that cannot be read is named and left\n"
                   "out, and the exit status is 3 then. Exit status 1: nothing was called.",
    .examples = "  wtm report wtm.4242.prof\n"
                "  wtm report $(pidof app)\n"
                "  wtm report --sort p99 --top 10 wtm.*.prof\n"
                "  wtm report --by process,thread wtm.*.prof\n"
                "  wtm report --json wtm.4242.prof | jq '.functions[] | {name, calls}'",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .run = run,
};

static int print(struct wtm_loaded *loaded, const struct values *values)
{
    struct wtm_text text;
    struct wtm_table_options table = {
        .width = values->width ? (int)values->width : wtm_output_width(),
        .wide = values->wide,
        .verbose = values->verbose,
        .top = values->top,
        .all_callers = values->callers,
        .outliers = (unsigned)values->outliers,
    };
    size_t samples = 1;
    wtm_output_begin(&text);
    if (values->samples)
        wtm_print_samples(&text, &loaded->summary, values->samples, &samples);
    else
        (values->json  ? wtm_print_json
         : values->csv    ? wtm_print_csv
         : table.outliers ? wtm_print_outliers
                          : wtm_table_print)(&text, &loaded->summary, &table);
    int result = wtm_output_end(&text);
    return result ? result : loaded->summary.called && samples ? WTM_EXIT_OK : WTM_EXIT_FINDING;
}

/* Bits of enum wtm_by; 0 for a list with another word in it. */
static unsigned read_by(const char *list)
{
    static const struct {
        const char *name;
        unsigned bit;
    } keys[] = {{"module", WTM_BY_MODULE},   {"thread", WTM_BY_THREAD}, {"process", WTM_BY_PROCESS},
                {"program", WTM_BY_PROGRAM}, {"host", WTM_BY_HOST}};
    unsigned bits = 0;
    for (;;) {
        size_t length = strcspn(list, ","), i;
        for (i = 0; i < sizeof keys / sizeof *keys; i++)
            if (strlen(keys[i].name) == length && !strncmp(keys[i].name, list, length))
                break;
        if (i == sizeof keys / sizeof *keys)
            return 0;
        bits |= keys[i].bit;
        if (!list[length])
            return bits;
        list += length + 1;
    }
}

static int report(char **operands, size_t count, const struct values *values)
{
    struct wtm_live live;
    struct wtm_loaded loaded = {0};
    int result = wtm_live_open(&live, "report", operands, count, values->pid);
    if (!result)
        result = wtm_load(&loaded, live.paths, live.count, values->by ? read_by(values->by) : 0);
    if (loaded.count && values->sort)
        wtm_rows_sort(&loaded.summary, values->sort);
    if (loaded.count) {
        int printed = print(&loaded, values);
        result = result ? result : printed;
    }
    wtm_unload(&loaded);
    wtm_live_close(&live);
    return result;
}

static int run(int argc, char **argv)
{
    struct values values = {0};
    int files = wtm_options_parse(&wtm_command_report, argc, argv, &values);
    if (files < 0)
        return wtm_options_exit(files);
    if (!files && !values.pid)
        return wtm_usage_error(&wtm_command_report, "name one or more profiles");
    if (values.pid && !wtm_process_number(values.pid))
        return wtm_usage_error(&wtm_command_report, "--pid: expected a process id, not '%s'", values.pid);
    if (values.by && !read_by(values.by))
        return wtm_usage_error(&wtm_command_report,
                               "--by: expected some of process, program, thread, module, host, not '%s'", values.by);
    if (values.json && values.csv)
        return wtm_usage_error(&wtm_command_report, "--json and --csv exclude each other");
    if (values.samples && (values.json || values.csv || values.outliers))
        return wtm_usage_error(&wtm_command_report, "--samples is a format of its own: no --json, --csv or --outliers with it");
    if (values.csv && values.outliers)
        return wtm_usage_error(&wtm_command_report, "--outliers has no CSV: use --json");
    if (values.outliers > 1000)
        return wtm_usage_error(&wtm_command_report, "--outliers: at most 1000 layers");
    if (values.width > 100000)
        return wtm_usage_error(&wtm_command_report, "--width: at most 100000");
    struct wtm_summary empty = {0};
    if (values.sort && wtm_rows_sort(&empty, values.sort)) /* before the files are read */
        return wtm_usage_error(&wtm_command_report, "--sort: expected one of %s, not '%s'",
                               wtm_rows_sort_keys, values.sort);
    return report(argv + 1, (size_t)files, &values);
}
