/* SPDX-License-Identifier: MIT
 * What can be timed, as text and as JSON. */
#include "common/status.h"
#include "report/json_writer.h"
#include "report/print_parts.h"
#include "report/printers.h"
#include <string.h>

enum { NAME_COLUMNS = 44, OFFSET_COLUMNS = 12 };

static size_t shown_rows(const struct wtm_summary *summary, const struct wtm_table_options *options)
{
    return options->top && options->top < summary->row_count ? options->top : summary->row_count;
}

static void put_count(struct wtm_text *text, size_t count, const char *before, const char *what)
{
    wtm_text_string(text, before);
    wtm_text_grouped(text, count);
    wtm_text_string(text, what);
}

static void put_row(struct wtm_text *text, const struct wtm_row *row, size_t width)
{
    const char *slash = strrchr(row->module, '/');
    size_t name = wtm_text_name_columns(row->name);
    wtm_text_name_cut(text, row->name, width);
    if (name > NAME_COLUMNS) {
        wtm_text_char(text, '\n', 1);
        name = 0;
    }
    wtm_text_char(text, ' ', (unsigned)(NAME_COLUMNS - name + 1));
    char number[32];
    struct wtm_text cell;
    wtm_text_init(&cell, number, sizeof number, NULL, NULL);
    if (row->size)
        wtm_text_grouped(&cell, row->size);
    else
        wtm_text_char(&cell, '?', 1);
    wtm_text_char(text, ' ', cell.used < 7 ? 7 - (unsigned)cell.used : 0);
    wtm_text_bytes(text, number, cell.used);
    wtm_text_string(text, "  ");
    wtm_text_name_cut(text, slash && slash[1] ? slash + 1 : row->module,
                      width - NAME_COLUMNS - 10 - OFFSET_COLUMNS);
    wtm_text_char(text, '+', 1);
    wtm_text_hex(text, row->offset);
    wtm_text_char(text, '\n', 1);
}

/* "name: reason", the reason on a line of its own where both do not fit. */
static void put_reason(struct wtm_text *text, const char *name, const char *reason, size_t width)
{
    size_t columns = wtm_text_name_columns(name);
    wtm_text_string(text, "  ");
    wtm_text_name_cut(text, name, width - 3);
    wtm_text_char(text, ':', 1);
    if (columns + strlen(reason) + 4 > width)
        wtm_text_string(text, "\n     ");
    wtm_text_char(text, ' ', 1);
    wtm_text_string(text, reason);
    wtm_text_char(text, '\n', 1);
}

int wtm_print_list(struct wtm_text *text, const struct wtm_summary *summary,
                   const struct wtm_table_options *options)
{
    size_t rows = shown_rows(summary, options), width = options->width < 80 ? 80 : (size_t)options->width;
    wtm_text_string(text, "wtm: ");
    wtm_text_name_cut(text, options->program, width - 30);
    put_count(text, summary->row_count, ": ",
              summary->row_count == 1 ? " function can be timed" : " functions can be timed");
    if (summary->refused_count)
        put_count(text, summary->refused_count, ", ", " cannot");
    if (summary->missing_count)
        put_count(text, summary->missing_count, ", ", " not found");
    wtm_text_char(text, '\n', 1);
    if (rows)
        wtm_text_string(text, "\nfunction                                        bytes  place\n");
    for (size_t i = 0; i < rows; i++)
        put_row(text, &summary->rows[i], width);
    if (rows < summary->row_count)
        put_count(text, summary->row_count - rows, "  and ", " more\n");
    if (summary->refused_count)
        wtm_text_string(text, "\ncannot be timed\n");
    for (size_t i = 0; i < summary->refused_count; i++)
        put_reason(text, summary->refused[i].label, wtm_refusal_text(summary->refused[i].reason), width);
    if (summary->missing_count)
        wtm_text_string(text, "\nnot found\n");
    for (size_t i = 0; i < summary->missing_count; i++) {
        char near[512] = "";
        const char *names = summary->missing[i].near;
        if (names && *names) {
            struct wtm_text cell;
            wtm_text_init(&cell, near, sizeof near - 1, NULL, NULL);
            wtm_text_string(&cell, "did you mean ");
            for (; *names; names++)
                wtm_text_string(&cell, *names == '\n' ? ", " : (char[]){*names, 0});
            wtm_text_char(&cell, '?', 1);
            near[cell.used] = 0;
        }
        put_reason(text, summary->missing[i].pattern, *near ? near : "nothing is like it", width);
    }
    return wtm_text_flush(text);
}

int wtm_print_list_json(struct wtm_text *text, const struct wtm_summary *summary,
                        const struct wtm_table_options *options)
{
    struct wtm_json json;
    size_t rows = shown_rows(summary, options);
    wtm_json_begin(&json, text);
    wtm_json_object(&json, NULL);
    wtm_json_string(&json, "schema", "wtm-list/1");
    wtm_json_string(&json, "program", options->program);
    wtm_json_array(&json, "functions");
    for (size_t i = 0; i < rows; i++) {
        const struct wtm_row *row = &summary->rows[i];
        wtm_json_object(&json, NULL);
        wtm_json_string(&json, "name", row->name);
        wtm_json_string(&json, "mangled", row->mangled);
        wtm_json_string(&json, "module", row->module);
        wtm_json_hex(&json, "offset", row->offset);
        wtm_json_unsigned(&json, "bytes", row->size);
        wtm_json_string(&json, "aliases", row->aliases);
        wtm_json_object_end(&json);
    }
    wtm_json_array_end(&json);
    wtm_json_refused(&json, summary);
    wtm_json_missing(&json, summary);
    wtm_json_object_end(&json);
    return wtm_text_flush(text);
}
