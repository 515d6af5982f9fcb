/* SPDX-License-Identifier: MIT
 * Chooses columns and widths, prints the rows. */
#include "common/table.h"
#include "common/table_parts.h"
#include <string.h>

enum { LEAST_NAME = 8 }; /* a name column narrower than "function" is of no use */

static size_t count_rows(const struct wtm_summary *summary, const struct wtm_table_options *options)
{
    size_t rows = options->top && options->top < summary->row_count ? options->top : summary->row_count,
           shown = 0;
    for (size_t i = 0; i < rows; i++)
        if (options->verbose || summary->rows[i].calls)
            shown = i + 1;
    return shown;
}

static int is_shown(const struct wtm_table_layout *layout, const struct wtm_row *row)
{
    return layout->options->verbose || row->calls;
}

/* Width that each column needs for its title and all its cells; names in `longest`. */
static unsigned measure(struct wtm_table_layout *layout, int interesting[WTM_TABLE_MAX_COLUMNS])
{
    const struct wtm_summary *summary = layout->summary;
    char cell[WTM_TABLE_CELL];
    size_t longest = strlen("function");
    for (size_t c = 0; c < wtm_table_column_count; c++) {
        layout->columns[c] = (unsigned)strlen(wtm_table_columns[c].title);
        interesting[c] = !wtm_table_columns[c].interesting;
    }
    for (size_t i = 0; i < layout->rows; i++) {
        const struct wtm_row *row = &summary->rows[i];
        if (!is_shown(layout, row))
            continue;
        size_t name = wtm_text_name_columns(row->label);
        longest = name > longest ? name : longest;
        for (size_t c = 0; c < wtm_table_column_count; c++) {
            unsigned columns = wtm_table_render(cell, &wtm_table_columns[c], summary, row);
            if (columns > layout->columns[c])
                layout->columns[c] = columns;
            if (!interesting[c] && wtm_table_columns[c].interesting(row))
                interesting[c] = 1;
        }
    }
    return longest > 100000 ? 100000 : (unsigned)longest;
}

static unsigned taken(const struct wtm_table_layout *layout)
{
    unsigned sum = 0;
    for (size_t c = 0; c < wtm_table_column_count; c++)
        if (layout->shown[c])
            sum += layout->columns[c] + layout->gap;
    return sum;
}

/* Adds columns in the order of their rank while they and the names fit. */
static void add_columns(struct wtm_table_layout *layout, const int *interesting, unsigned names)
{
    for (int rank = 1; rank <= WTM_TABLE_MAX_COLUMNS; rank++)
        for (size_t c = 0; c < wtm_table_column_count; c++) {
            if (wtm_table_columns[c].rank != rank || (!interesting[c] && !layout->options->wide))
                continue;
            layout->shown[c] = 1;
            if (!layout->options->wide && taken(layout) + names > layout->width)
                layout->shown[c] = 0;
        }
}

static void choose_columns(struct wtm_table_layout *layout)
{
    int interesting[WTM_TABLE_MAX_COLUMNS];
    unsigned longest = measure(layout, interesting), names = longest < 32 ? longest : 32;
    layout->gap = 2;
    for (size_t c = 0; c < wtm_table_column_count; c++)
        layout->shown[c] = wtm_table_columns[c].rank <= 0;
    if (layout->options->wide || layout->width > 80) /* at 80 always the same ones */
        add_columns(layout, interesting, names);
    if (layout->options->wide) {
        layout->name_width = longest < 60 ? longest : 60;
        return;
    }
    if (taken(layout) + longest > layout->width)
        layout->gap = 1; /* more names fit on the line of their numbers */
    for (int rank = -1; rank >= -3 && taken(layout) + LEAST_NAME > layout->width; rank--)
        for (size_t c = 0; c < wtm_table_column_count; c++)
            if (wtm_table_columns[c].rank == rank)
                layout->shown[c] = 0;
    unsigned room = taken(layout) + LEAST_NAME < layout->width ? layout->width - taken(layout) : LEAST_NAME;
    layout->name_width = longest < room ? longest : room;
}

/* "realtime ------" over the columns of a group. */
static void print_groups(struct wtm_text *text, const struct wtm_table_layout *layout)
{
    static const char *const names[] = {"", "realtime", "runtime"};
    unsigned blank = layout->name_width;
    for (size_t c = 0; c < wtm_table_column_count;) {
        enum wtm_table_group group = wtm_table_columns[c].group;
        unsigned span = 0;
        for (; c < wtm_table_column_count && wtm_table_columns[c].group == group; c++)
            span += layout->shown[c] ? layout->columns[c] + layout->gap : 0;
        unsigned name = (unsigned)strlen(names[group]);
        if (group == WTM_GROUP_NONE || span < layout->gap + 1) {
            blank += span;
            continue;
        }
        unsigned inner = span - layout->gap,
                 before = inner < name && blank >= name - inner ? name - inner : 0;
        wtm_text_char(text, ' ', blank + layout->gap - before);
        wtm_text_string(text, names[group]);
        if (inner > name + 1) {
            wtm_text_char(text, ' ', 1);
            wtm_text_char(text, '-', inner - name - 1);
        }
        blank = inner > name && inner <= name + 1 ? inner - name : 0;
    }
    wtm_text_char(text, '\n', 1);
}

static void print_titles(struct wtm_text *text, const struct wtm_table_layout *layout)
{
    wtm_text_string(text, "function");
    unsigned pad = layout->name_width - (unsigned)strlen("function");
    for (size_t c = 0; c < wtm_table_column_count; c++) {
        const struct wtm_table_column *column = &wtm_table_columns[c];
        if (!layout->shown[c])
            continue;
        unsigned fill = layout->columns[c] - (unsigned)strlen(column->title);
        wtm_text_char(text, ' ', pad + layout->gap + (column->left ? 0 : fill));
        wtm_text_string(text, column->title);
        pad = column->left ? fill : 0;
    }
    wtm_text_char(text, '\n', 1);
}

static void print_row(struct wtm_text *text, const struct wtm_table_layout *layout, const struct wtm_row *row)
{
    char cell[WTM_TABLE_CELL];
    size_t name = wtm_text_name_columns(row->label);
    if (name > layout->name_width) {
        wtm_text_name_cut(text, row->label, layout->options->wide ? 100000 : layout->width);
        wtm_text_char(text, '\n', 1);
        name = 0;
    } else {
        wtm_text_name(text, row->label);
    }
    unsigned pad = layout->name_width - (unsigned)name;
    for (size_t c = 0; c < wtm_table_column_count; c++) {
        if (!layout->shown[c])
            continue;
        unsigned columns = wtm_table_render(cell, &wtm_table_columns[c], layout->summary, row);
        unsigned fill = layout->columns[c] - columns;
        wtm_text_char(text, ' ', pad + layout->gap + (wtm_table_columns[c].left ? 0 : fill));
        wtm_text_name(text, cell);
        pad = wtm_table_columns[c].left ? fill : 0;
    }
    wtm_text_char(text, '\n', 1);
}

static void print_rows(struct wtm_text *text, const struct wtm_table_layout *layout)
{
    const struct wtm_summary *summary = layout->summary;
    size_t called = 0;
    int near_noise = 0;
    wtm_text_char(text, '\n', 1);
    print_groups(text, layout);
    print_titles(text, layout);
    for (size_t i = 0; i < layout->rows; i++) {
        const struct wtm_row *row = &summary->rows[i];
        if (!is_shown(layout, row))
            continue;
        called += row->calls != 0;
        print_row(text, layout, row);
        near_noise |= wtm_table_near_noise(summary, row, row->realtime.total_ns) ||
                      wtm_table_near_noise(summary, row, row->self_ns);
    }
    if (summary->called > called) {
        wtm_text_string(text, "  and ");
        wtm_text_grouped(text, summary->called - called);
        wtm_text_string(text, summary->called - called == 1 ? " more function\n" : " more functions\n");
    }
    if (near_noise) {
        wtm_text_string(text, "  + near the noise of the measurement (+-");
        wtm_text_decimal(text, summary->spread_ns, summary->spread_ns < 0.1 ? 2 : 1);
        wtm_text_string(text, " ns a call)\n");
    }
}

int wtm_table_print(struct wtm_text *text, const struct wtm_summary *summary,
                    const struct wtm_table_options *options)
{
    struct wtm_table_layout layout = {.summary = summary, .options = options};
    layout.width = options->width < 80 ? 80 : options->width > 100000 ? 100000 : (unsigned)options->width;
    layout.rows = count_rows(summary, options);
    wtm_table_head(text, &layout);
    if (summary->called || options->verbose) {
        if (layout.rows) {
            choose_columns(&layout);
            print_rows(text, &layout);
        }
        wtm_table_sections(text, &layout);
    }
    return wtm_text_flush(text);
}
