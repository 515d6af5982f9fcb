/* SPDX-License-Identifier: MIT
 * Below the rows: what disturbed the calls (WTM_NOISE), and what was taken out of them (WTM_SUBTRACT). */
#include "common/table_parts.h"

/* One entry; gives 0 when the row has nothing to say. */
typedef int put_row(struct wtm_section *section, const struct wtm_row *row);

static int put_taken_out(struct wtm_section *section, const struct wtm_row *row)
{
    const struct wtm_row_noise *noise = &row->noise;
    if (!noise->taken_out)
        return 0;
    wtm_section_name(section, row->label);
    wtm_text_string(&section->line, " is without ");
    wtm_text_duration(&section->line, noise->taken_out_ns, section->layout->summary->spread_ns * (double)noise->taken_out);
    wtm_text_string(&section->line, " of ");
    wtm_section_number(&section->line, noise->taken_out, "call");
    wtm_text_string(&section->line, " inside");
    return 1;
}

static int put_handlers(struct wtm_section *section, const struct wtm_row *row)
{
    const struct wtm_row_noise *noise = &row->noise;
    if (!noise->handlers)
        return 0;
    wtm_section_name(section, row->label);
    wtm_text_char(&section->line, ' ', 1);
    wtm_text_duration(&section->line, noise->handlers_ns, section->layout->summary->spread_ns * (double)noise->handlers);
    wtm_text_string(&section->line, " of ");
    wtm_section_number(&section->line, noise->handlers, "signal handler");
    return 1;
}

static void put_count(struct wtm_section *section, uint64_t count, const char *what)
{
    if (!count)
        return;
    wtm_text_string(&section->line, ", ");
    wtm_section_number(&section->line, count, what);
}

static int put_disturbed(struct wtm_section *section, const struct wtm_row *row)
{
    const struct wtm_row_noise *noise = &row->noise;
    if (!(noise->preemptions | noise->waits | noise->migrated | noise->minor_faults | noise->major_faults))
        return 0;
    wtm_section_name(section, row->label);
    wtm_text_string(&section->line, " in ");
    wtm_section_number(&section->line, noise->counted, "call");
    put_count(section, noise->preemptions, "preemption");
    put_count(section, noise->waits, "wait");
    put_count(section, noise->migrated, "change of processor");
    put_count(section, noise->minor_faults, "minor page fault");
    put_count(section, noise->major_faults, "major page fault");
    return 1;
}

static void print(struct wtm_text *text, struct wtm_table_layout *layout, const char *label, put_row *put)
{
    struct wtm_section section;
    uint64_t more = 0;
    wtm_section_begin(&section, text, layout, label);
    for (size_t i = 0; i < layout->rows; i++) {
        int full = section.printed >= WTM_SECTION_ENTRIES && !layout->options->verbose;
        if (!put(&section, &layout->summary->rows[i]))
            continue;
        if (full) {
            section.line.used = 0;
            more++;
        } else {
            wtm_section_entry(&section);
        }
    }
    wtm_section_end(&section, more);
}

void wtm_table_noise_sections(struct wtm_text *text, struct wtm_table_layout *layout)
{
    print(text, layout, "subtracted", put_taken_out);
    print(text, layout, "signals", put_handlers);
    print(text, layout, "disturbed", put_disturbed);
}
