/* SPDX-License-Identifier: MIT
 * One section below the rows: a label and its entries, wrapped. */
#include "common/table_parts.h"
#include <string.h>

enum { NAME_COLUMNS = 50 };

void wtm_section_begin(struct wtm_section *section, struct wtm_text *out, struct wtm_table_layout *layout,
                          const char *label)
{
    section->layout = layout;
    section->out = out;
    section->label = label;
    section->printed = 0;
    wtm_text_init(&section->line, section->buffer, sizeof section->buffer - 1, NULL, NULL);
}

static unsigned name_columns(const struct wtm_table_layout *layout)
{
    return layout->options->verbose || layout->options->wide ? 500 : NAME_COLUMNS;
}

void wtm_section_name(struct wtm_section *section, const char *name)
{
    size_t blank = 0;
    while (name[blank] == ' ')
        blank++;
    if (name[blank])
        wtm_text_name_cut(&section->line, name, name_columns(section->layout));
    else
        wtm_text_string(&section->line, "\"\"");
}

/* 21 calls, 1 call */
void wtm_section_number(struct wtm_text *line, uint64_t count, const char *what)
{
    wtm_text_grouped(line, count);
    wtm_text_char(line, ' ', 1);
    wtm_text_string(line, what);
    if (count != 1)
        wtm_text_char(line, 's', 1);
}

void wtm_section_entry(struct wtm_section *section)
{
    unsigned at = 0;
    section->buffer[section->line.used] = 0;
    if (!section->layout->entries++)
        wtm_text_char(section->out, '\n', 1); /* between the rows and all that follows */
    if (!section->printed++) {
        wtm_text_string(section->out, section->label);
        at = (unsigned)strlen(section->label);
    }
    wtm_text_char(section->out, ' ', at < WTM_TABLE_LABEL ? WTM_TABLE_LABEL - at : 1);
    wtm_table_paragraph(section->out, section->buffer, WTM_TABLE_LABEL, WTM_TABLE_LABEL + 2,
                        section->layout->width);
    section->line.used = 0;
    section->line.error = 0;
}

void wtm_section_end(struct wtm_section *section, uint64_t more)
{
    if (!more)
        return;
    wtm_text_string(&section->line, "and ");
    wtm_text_grouped(&section->line, more);
    wtm_text_string(&section->line, " more");
    wtm_section_entry(section);
}
