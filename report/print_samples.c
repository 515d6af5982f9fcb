/* SPDX-License-Identifier: MIT
 * Single observations (WTM_SAMPLES): as CSV, and what is left of them without outliers. */
#include "common/outliers.h"
#include "report/printers.h"
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

static int is_named(const struct wtm_row *row, const char *pattern)
{
    return !strcmp(row->name, pattern) || !strcmp(row->label, pattern) || !fnmatch(pattern, row->name, 0);
}

static void put_line(struct wtm_text *text, const struct wtm_row *row, size_t number, const struct wtm_observation *observation)
{
    wtm_csv_field(text, row->name);
    wtm_text_char(text, ',', 1);
    wtm_csv_field(text, row->module);
    wtm_text_char(text, ',', 1);
    wtm_text_unsigned(text, number);
    wtm_text_char(text, ',', 1);
    wtm_text_decimal(text, observation->real_ns, 3);
    wtm_text_char(text, ',', 1);
    if (observation->run_ns == observation->run_ns)
        wtm_text_decimal(text, observation->run_ns, 3);
    wtm_text_char(text, '\n', 1);
}

int wtm_print_samples(struct wtm_text *text, const struct wtm_summary *summary, const char *pattern, size_t *printed)
{
    wtm_text_string(text, "name,module,number,realtime_ns,runtime_ns\n");
    *printed = 0;
    for (size_t i = 0; i < summary->row_count; i++) {
        const struct wtm_row *row = &summary->rows[i];
        struct wtm_arena arena = {0};
        struct wtm_observation *of;
        size_t count;
        if (!is_named(row, pattern))
            continue;
        int error = wtm_row_samples(row, &of, &count, &arena);
        for (size_t n = 0; !error && n < count; n++)
            put_line(text, row, n + 1, &of[n]);
        *printed += error ? 0 : count;
        wtm_arena_free(&arena);
        if (error)
            return error;
    }
    return wtm_text_flush(text);
}

int wtm_row_outliers(const struct wtm_row *row, unsigned layers, int runtime, struct wtm_outliers *found)
{
    struct wtm_arena arena = {0};
    struct wtm_observation *of;
    size_t count;
    *found = (struct wtm_outliers){0};
    if (!row->samples)
        return 0;
    int error = wtm_row_samples(row, &of, &count, &arena);
    double *values = error ? NULL : wtm_arena_alloc(&arena, count * sizeof *values);
    if (values) {
        for (size_t i = 0; i < count; i++)
            values[i] = runtime ? of[i].run_ns : of[i].real_ns;
        *found = wtm_outliers_take(values, count, layers);
    }
    wtm_arena_free(&arena);
    return values ? 0 : error ? error : -12;
}

static void put_times(struct wtm_text *text, const char *what, const struct wtm_outliers *found)
{
    wtm_text_string(text, what);
    wtm_text_grouped(text, found->taken);
    wtm_text_string(text, " of ");
    wtm_text_grouped(text, found->taken + found->left);
    wtm_text_string(text, found->taken + found->left == 1 ? " sample" : " samples");
    wtm_text_string(text, " taken away in ");
    wtm_text_unsigned(text, found->layers);
    wtm_text_string(text, found->layers == 1 ? " layer, " : " layers, ");
    wtm_text_grouped(text, found->left);
    wtm_text_string(text, " left: mean ");
    wtm_text_duration(text, found->mean, 0);
    wtm_text_string(text, ", deviation ");
    wtm_text_duration(text, found->deviation, 0);
}

int wtm_print_outliers(struct wtm_text *text, const struct wtm_summary *summary, const struct wtm_table_options *options)
{
    size_t rows = options->top && options->top < summary->row_count ? options->top : summary->row_count;
    for (size_t i = 0; i < rows; i++) {
        struct wtm_outliers found;
        int error = wtm_row_outliers(&summary->rows[i], options->outliers, 0, &found);
        if (error)
            return error;
        if (!(found.taken + found.left))
            continue;
        wtm_text_name(text, summary->rows[i].label);
        put_times(text, ": realtime ", &found);
        error = wtm_row_outliers(&summary->rows[i], options->outliers, 1, &found);
        if (error)
            return error;
        if (found.left)
            put_times(text, "; runtime ", &found);
        wtm_text_char(text, '\n', 1);
    }
    return wtm_text_flush(text);
}
