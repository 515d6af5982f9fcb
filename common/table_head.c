/* SPDX-License-Identifier: MIT
 * The first lines of the table: what ran, what was timed, and how well. */
#include "common/table_parts.h"
#include <string.h>

enum { SENTENCE_BYTES = 3072 };

/* 1.284 s, 12.3 ms, 2h13m */
static void put_wall(struct wtm_text *line, double ns)
{
    if (ns >= 999.5e9 || ns < 1e9) {
        wtm_table_duration(line, ns, 0);
        return;
    }
    wtm_text_decimal(line, ns / 1e9, 3);
    wtm_text_string(line, " s");
}

static void put_process(struct wtm_text *line, const struct wtm_summary *summary,
                        const struct wtm_table_options *options)
{
    wtm_text_name_cut(line, options->program ? options->program : summary->header->program, 60);
    if (summary->profiles > 1) {
        size_t same = 1;
        while (same < summary->profiles && !strcmp(summary->processes[same].program, summary->processes[0].program))
            same++;
        wtm_text_string(line, same < summary->profiles ? " and others (" : " (");
        wtm_text_grouped(line, summary->profiles);
        wtm_text_string(line, " processes)");
    } else {
        wtm_text_string(line, " (pid ");
        wtm_text_unsigned(line, summary->header->pid);
        wtm_text_char(line, ')', 1);
    }
    wtm_text_string(line, summary->running ? " has run " : " ran ");
    wtm_text_string(line, summary->profiles > 1 ? "up to " : "");
    put_wall(line, summary->wall_ns);
}

/* One line, also when there is much that was not found: the name that was meant is what helps most. */
static void put_nothing_called(struct wtm_text *line, const struct wtm_summary *summary)
{
    if (summary->row_count) {
        wtm_text_string(line, "; no call of the ");
        wtm_text_grouped(line, summary->row_count);
        wtm_text_string(line, summary->row_count == 1 ? " function timed" : " functions timed");
    } else {
        wtm_text_string(line, "; no function timed");
    }
    if (summary->missing_count) {
        const struct wtm_missing_row *missing = &summary->missing[0];
        wtm_text_string(line, ", not found: ");
        wtm_text_name_cut(line, missing->pattern, 40);
        if (missing->near && *missing->near) {
            char name[256];
            const char *end = strchr(missing->near, '\n');
            size_t length = end ? (size_t)(end - missing->near) : strlen(missing->near);
            length = length < sizeof name - 1 ? length : sizeof name - 1;
            memcpy(name, missing->near, length);
            name[length] = 0;
            wtm_text_string(line, " (did you mean ");
            wtm_text_name_cut(line, name, 40);
            wtm_text_string(line, "?)");
        }
        if (summary->missing_count > 1) {
            wtm_text_string(line, " and ");
            wtm_text_grouped(line, summary->missing_count - 1);
            wtm_text_string(line, " more");
        }
    }
    if (summary->refused_count) {
        wtm_text_string(line, ", ");
        wtm_text_grouped(line, summary->refused_count);
        wtm_text_string(line, " refused");
    }
}

static void put_counts(struct wtm_text *line, const struct wtm_summary *summary)
{
    wtm_text_string(line, "; ");
    wtm_text_grouped(line, summary->functions);
    wtm_text_string(line, summary->functions == 1 ? " function timed" : " functions timed");
    if (summary->missing_count) {
        wtm_text_string(line, ", ");
        wtm_text_grouped(line, summary->missing_count);
        wtm_text_string(line, " not found");
    }
    if (summary->refused_count) {
        wtm_text_string(line, ", ");
        wtm_text_grouped(line, summary->refused_count);
        wtm_text_string(line, " refused");
    }
}

/* Told where it could be seen in a table: in runs of some milliseconds. */
static void put_interval(struct wtm_text *line, double ppb)
{
    if (!(ppb > 10000))
        return;
    wtm_text_string(line, " +-");
    wtm_text_decimal(line, ppb / 1000, 0);
    wtm_text_string(line, " ppm");
}

static void put_clock(struct wtm_text *line, const struct wtm_summary *summary)
{
    static const char *const cpu_names[] = {"off", "rseq", "perf", "clock_gettime"};
    const struct wtm_profile_header *header = summary->header;
    if (header->clock == WTM_CLOCK_TSC) {
        wtm_text_string(line, "clock tsc ");
        wtm_text_decimal(line, 1 / summary->ns_per_tick, 3);
        wtm_text_string(line, " GHz");
        put_interval(line, summary->clock.interval_ppb);
    } else {
        wtm_text_string(line, "clock monotonic");
    }
    wtm_text_string(line, header->clock_trusted ? " (trusted" : " (not trusted");
    if (*header->clock_note) {
        wtm_text_string(line, header->clock_trusted ? "; " : ": ");
        wtm_text_name(line, header->clock_note);
    }
    wtm_text_char(line, ')', 1);
    if (header->clock == WTM_CLOCK_TSC && header->order != WTM_ORDER_EXIT)
        wtm_text_string(line, header->order == WTM_ORDER_STRICT ? ", order strict" : ", order loose");
    wtm_text_string(line, header->cpu_source == WTM_CPU_OFF ? ", runtime " : ", runtime by ");
    wtm_text_string(line, header->cpu_source < 4 ? cpu_names[header->cpu_source] : "a source unknown here");
}

static void put_figure(struct wtm_text *line, double ns)
{
    wtm_text_decimal(line, ns, 1);
    wtm_text_string(line, " ns");
}

/* Told when it is more than the spread at the start explains. */
static void put_drift(struct wtm_text *line, const struct wtm_summary *summary)
{
    double inside = summary->inside_end_ns - summary->inside_ns, outside = summary->outside_end_ns - summary->outside_ns;
    double noise = 3 * summary->spread_ns + 0.5;
    if (!(inside > noise || inside < -noise || outside > noise || outside < -noise))
        return;
    wtm_text_string(line, " (at the end they were ");
    put_figure(line, summary->inside_end_ns);
    wtm_text_string(line, " and ");
    put_figure(line, summary->outside_end_ns);
    wtm_text_string(line, ")");
}

static void put_cost(struct wtm_text *line, const struct wtm_summary *summary)
{
    if (summary->inside_ns != 0 || summary->outside_ns != 0) {
        wtm_text_string(line, "; ");
        put_figure(line, summary->inside_ns);
        wtm_text_string(line, " inside and ");
        put_figure(line, summary->outside_ns);
        wtm_text_string(line, " outside each call (+-");
        wtm_text_decimal(line, summary->spread_ns, summary->spread_ns < 0.1 ? 2 : 1);
        wtm_text_string(line, ") were subtracted");
        put_drift(line, summary);
    }
    wtm_text_string(line, "; timing took ");
    wtm_table_duration(line, summary->cost_ns, summary->cost_ns / 50);
    if (summary->wall_sum_ns > 0) {
        double percent = 100 * summary->cost_ns / summary->wall_sum_ns;
        wtm_text_string(line, percent < 0.05 ? ", less than " : ", ");
        wtm_text_decimal(line, percent < 0.05 ? 0.1 : percent, 1);
        wtm_text_string(line, " % of the run");
    }
}

void wtm_table_head(struct wtm_text *text, const struct wtm_table_layout *layout)
{
    const struct wtm_summary *summary = layout->summary;
    char buffer[SENTENCE_BYTES];
    struct wtm_text line;
    wtm_text_init(&line, buffer, sizeof buffer - 1, NULL, NULL);
    put_process(&line, summary, layout->options);
    int one_line = !summary->called && !layout->options->verbose;
    if (one_line)
        put_nothing_called(&line, summary);
    else
        put_counts(&line, summary);
    buffer[line.used] = 0;
    wtm_text_string(text, "wtm: ");
    wtm_table_paragraph(text, buffer, 5, 5, one_line ? 100000 : layout->width);
    if (one_line)
        return;
    line.used = 0;
    line.error = 0;
    put_clock(&line, summary);
    put_cost(&line, summary);
    buffer[line.used] = 0;
    wtm_text_string(text, "wtm: ");
    wtm_table_paragraph(text, buffer, 5, 5, layout->width);
}
