/* SPDX-License-Identifier: MIT
 * The report as CSV. What was not measured is an empty field. */
#include "report/printers.h"
#include "report/rows.h"
#include <string.h>

/* To a text by way of the terminal's escaping, with quotes doubled: a small buffer between both. */
static int double_quotes(void *context, const char *value, size_t bytes)
{
    struct wtm_text *text = context;
    for (size_t i = 0; i < bytes; i++)
        wtm_text_char(text, value[i], value[i] == '"' ? 2 : 1);
    return text->error;
}

void wtm_csv_field(struct wtm_text *text, const char *value)
{
    char buffer[256];
    struct wtm_text escaped;
    if (!value)
        return;
    size_t length = strlen(value);
    int quoted = strpbrk(value, ",\";") || (length && (value[0] == ' ' || value[length - 1] == ' '));
    wtm_text_char(text, '"', quoted ? 1 : 0);
    wtm_text_init(&escaped, buffer, sizeof buffer, double_quotes, text);
    wtm_text_name(&escaped, value);
    wtm_text_flush(&escaped);
    wtm_text_char(text, '"', quoted ? 1 : 0);
}

static const unsigned group_bits[] = {WTM_BY_PROCESS | WTM_BY_PROGRAM, WTM_BY_PROCESS, WTM_BY_HOST, WTM_BY_THREAD};
static const char *const group_titles[] = {",program", ",pid", ",host", ",thread"};

/* With --by: what the row is of. */
static void put_group(struct wtm_text *text, unsigned by, const struct wtm_group *group)
{
    for (size_t i = 0; i < sizeof group_bits / sizeof *group_bits; i++) {
        if (!(by & group_bits[i]))
            continue;
        wtm_text_char(text, ',', 1);
        if (group && group_bits[i] == WTM_BY_PROCESS)
            wtm_text_unsigned(text, group->pid);
        else if (group)
            wtm_csv_field(text, i == 0 ? group->program : i == 2 ? group->host : group->thread);
    }
}

static void put_titles(struct wtm_text *text, unsigned by)
{
    wtm_text_string(text, "name,mangled,module,address");
    for (size_t i = 0; i < sizeof group_bits / sizeof *group_bits; i++)
        if (by & group_bits[i])
            wtm_text_string(text, group_titles[i]);
    for (size_t i = 0; i < wtm_row_count_number; i++) {
        wtm_text_char(text, ',', 1);
        wtm_text_string(text, wtm_row_counts[i].name);
    }
    for (int runtime = 0; runtime < 2; runtime++)
        for (size_t i = 0; i < wtm_times_field_number; i++) {
            wtm_text_string(text, runtime ? ",runtime_" : ",realtime_");
            wtm_text_string(text, wtm_times_fields[i].name);
        }
    wtm_text_string(text, "\n");
}

static void put_row(struct wtm_text *text, unsigned by, const struct wtm_row *row)
{
    wtm_csv_field(text, row->name);
    wtm_text_char(text, ',', 1);
    wtm_csv_field(text, row->mangled);
    wtm_text_char(text, ',', 1);
    wtm_csv_field(text, row->module);
    wtm_text_char(text, ',', 1);
    wtm_text_hex(text, row->address);
    put_group(text, by, row->group);
    for (size_t i = 0; i < wtm_row_count_number; i++) {
        wtm_text_char(text, ',', 1);
        wtm_text_unsigned(text, wtm_row_count_value(row, &wtm_row_counts[i]));
    }
    for (int runtime = 0; runtime < 2; runtime++)
        for (size_t i = 0; i < wtm_times_field_number; i++) {
            double value = wtm_row_time_value(row, runtime, &wtm_times_fields[i]);
            wtm_text_char(text, ',', 1);
            if (value == value)
                wtm_text_decimal(text, value, 3);
        }
    wtm_text_string(text, "\n");
}

int wtm_print_csv(struct wtm_text *text, const struct wtm_summary *summary,
                  const struct wtm_table_options *options)
{
    size_t rows = options->top && options->top < summary->row_count ? options->top : summary->row_count;
    put_titles(text, summary->by);
    for (size_t i = 0; i < rows; i++)
        put_row(text, summary->by, &summary->rows[i]);
    return wtm_text_flush(text);
}
