/* SPDX-License-Identifier: MIT
 * What the files of the table share; for them only (table*.c). */
#ifndef WTM_COMMON_TABLE_PARTS_H
#define WTM_COMMON_TABLE_PARTS_H

#include "common/table.h"

enum {
    WTM_TABLE_CELL = 160,
    WTM_TABLE_LABEL = 21,
    WTM_TABLE_MAX_COLUMNS = 24,
    WTM_SECTION_ENTRIES = 10,
    WTM_SECTION_BYTES = 3072,
};

enum wtm_table_group { WTM_GROUP_NONE, WTM_GROUP_REALTIME, WTM_GROUP_RUNTIME };

/* Writes one cell. */
typedef void wtm_table_cell(struct wtm_text *text, const struct wtm_summary *summary,
                            const struct wtm_row *row);

struct wtm_table_column {
    const char *title;
    enum wtm_table_group group;
    int rank; /* 0: always; 1 ..: in this order as there is room; negative: left out, -1 first, where 80 is
                 too narrow */
    int left; /* 1: aligned to the left */
    uint64_t (*interesting)(const struct wtm_row *row); /* a column of zeros only is left out; NULL: never */
    wtm_table_cell *cell;
};

extern const struct wtm_table_column wtm_table_columns[];
extern const size_t wtm_table_column_count;

/* How far a row's total may be off, by the spread of the measured costs; whether a sum of its times is near
 * that. */
double wtm_table_noise_ns(const struct wtm_summary *summary, const struct wtm_row *row);
int wtm_table_near_noise(const struct wtm_summary *summary, const struct wtm_row *row, double ns);

/* What was chosen for this table. */
struct wtm_table_layout {
    const struct wtm_summary *summary;
    const struct wtm_table_options *options;
    unsigned width, gap, name_width;
    size_t rows;    /* that are shown, from the first */
    size_t entries; /* written below the rows so far */
    unsigned char shown[WTM_TABLE_MAX_COLUMNS];
    unsigned columns[WTM_TABLE_MAX_COLUMNS]; /* width of each */
};

/* table_words.c. A cell as text with a NUL; its columns. `ns` with a blank before the unit. Words of `string`
 * from column `at` on, further lines indented. */
unsigned wtm_table_render(char cell[WTM_TABLE_CELL], const struct wtm_table_column *column,
                          const struct wtm_summary *summary, const struct wtm_row *row);
void wtm_table_duration(struct wtm_text *text, double ns, double step_ns);
void wtm_table_paragraph(struct wtm_text *text, const char *string, unsigned at, unsigned indent,
                         unsigned width);

/* A section's entries: the label stands before the first one only. */
struct wtm_section {
    struct wtm_table_layout *layout;
    struct wtm_text *out;
    const char *label;
    size_t printed;
    struct wtm_text line;
    char buffer[WTM_SECTION_BYTES];
};

/* table_section.c */
void wtm_section_begin(struct wtm_section *section, struct wtm_text *out, struct wtm_table_layout *layout,
                       const char *label);
/* Into the entry at hand: a function's name, cut where it is long; 21 calls, 1 call. */
void wtm_section_name(struct wtm_section *section, const char *name);
void wtm_section_number(struct wtm_text *line, uint64_t count, const char *what);
/* The entry is complete. */
void wtm_section_entry(struct wtm_section *section);
/* `more`: entries that were left out. */
void wtm_section_end(struct wtm_section *section, uint64_t more);

/* table_noise.c: what disturbed the calls, and what was taken out of them. */
void wtm_table_noise_sections(struct wtm_text *text, struct wtm_table_layout *layout);

/* table_head.c and table_sections.c: the first lines, and what follows the rows. */
void wtm_table_head(struct wtm_text *text, const struct wtm_table_layout *layout);
void wtm_table_sections(struct wtm_text *text, struct wtm_table_layout *layout);

#endif
