/* SPDX-License-Identifier: MIT
 * Around the rows: what ran and how it was measured; what no column tells. */
#include "common/status.h"
#include "common/table_parts.h"
#include <string.h>

enum { LIST_LENGTH = WTM_SECTION_ENTRIES };

/* Is the column with this title and group in the table? */
static int has_column(const struct wtm_table_layout *layout, const char *title)
{
    for (size_t c = 0; c < wtm_table_column_count; c++)
        if (layout->shown[c] && wtm_table_columns[c].group == WTM_GROUP_NONE &&
            !strcmp(wtm_table_columns[c].title, title))
            return 1;
    return 0;
}

static const struct {
    const char *column, *label, *words;
    size_t field;
} counts[] = {
    {"recursive", "recursive", "", offsetof(struct wtm_row, recursive)},
    {"abnormal", "abnormal", " left by longjmp, exception or end of thread",
     offsetof(struct wtm_row, abnormal)},
    {"open", "still open", "", offsetof(struct wtm_row, open)},
    {"untimed", "untimed", " have a time that could not be told", offsetof(struct wtm_row, late)},
};

static void print_counts(struct wtm_text *out, struct wtm_table_layout *layout, unsigned which)
{
    struct wtm_section section;
    uint64_t more = 0;
    if (has_column(layout, counts[which].column))
        return;
    wtm_section_begin(&section, out, layout, counts[which].label);
    for (size_t i = 0; i < layout->rows; i++) {
        const struct wtm_row *row = &layout->summary->rows[i];
        uint64_t count;
        memcpy(&count, (const char *)row + counts[which].field, sizeof count);
        if (!count)
            continue;
        if (section.printed >= LIST_LENGTH && !layout->options->verbose) {
            more++;
            continue;
        }
        wtm_section_name(&section, row->label);
        wtm_text_char(&section.line, ' ', 1);
        wtm_text_grouped(&section.line, count);
        wtm_text_string(&section.line, " of ");
        wtm_section_number(&section.line, row->calls, "call");
        wtm_text_string(&section.line, counts[which].words);
        wtm_section_entry(&section);
    }
    wtm_section_end(&section, more);
}

static void put_caller(struct wtm_section *section, const struct wtm_row *row, const struct wtm_caller *caller)
{
    wtm_section_name(section, caller->label);
    wtm_text_string(&section->line, " -> ");
    wtm_section_name(section, row->label);
    wtm_text_char(&section->line, ' ', 1);
    wtm_section_number(&section->line, caller->calls, "call");
    wtm_text_char(&section->line, ' ', 1);
    wtm_text_duration(&section->line, caller->realtime_ns,
                      section->layout->summary->spread_ns * (double)caller->calls);
    wtm_section_entry(section);
}

/* The ten heaviest edges, heaviest first. */
struct heaviest {
    const struct wtm_row *row;
    const struct wtm_caller *caller;
};

static size_t find_heaviest(const struct wtm_table_layout *layout, struct heaviest best[LIST_LENGTH],
                            uint64_t *more)
{
    size_t count = 0;
    uint64_t edges = 0;
    for (size_t i = 0; i < layout->rows; i++) {
        const struct wtm_row *row = &layout->summary->rows[i];
        edges += row->caller_count;
        for (size_t c = 0; c < row->caller_count; c++) {
            const struct wtm_caller *caller = &row->callers[c];
            if (count == LIST_LENGTH && caller->realtime_ns <= best[count - 1].caller->realtime_ns)
                break; /* a row's callers are sorted */
            size_t at = count < LIST_LENGTH ? count++ : count - 1;
            for (; at && best[at - 1].caller->realtime_ns < caller->realtime_ns; at--)
                best[at] = best[at - 1];
            best[at] = (struct heaviest){row, caller};
        }
    }
    *more = edges - count;
    return count;
}

static void print_callers(struct wtm_text *out, struct wtm_table_layout *layout)
{
    struct wtm_section section;
    wtm_section_begin(&section, out, layout, "callers");
    if (layout->options->verbose || layout->options->all_callers) {
        for (size_t i = 0; i < layout->rows; i++)
            for (size_t c = 0; c < layout->summary->rows[i].caller_count; c++)
                put_caller(&section, &layout->summary->rows[i], &layout->summary->rows[i].callers[c]);
        return;
    }
    struct heaviest best[LIST_LENGTH];
    uint64_t more;
    size_t count = find_heaviest(layout, best, &more);
    for (size_t i = 0; i < count; i++)
        put_caller(&section, best[i].row, best[i].caller);
    wtm_section_end(&section, more);
}

static void print_never_called(struct wtm_text *out, struct wtm_table_layout *layout)
{
    const struct wtm_summary *summary = layout->summary;
    struct wtm_section section;
    size_t listed = 0, never = summary->row_count - summary->called;
    if (!never || layout->options->verbose)
        return;
    wtm_section_begin(&section, out, layout, "never called");
    for (size_t i = 0; i < summary->row_count && listed < 5; i++) {
        if (summary->rows[i].calls)
            continue;
        wtm_text_string(&section.line, listed++ ? ", " : "");
        wtm_section_name(&section, summary->rows[i].label);
    }
    if (never > listed) {
        wtm_text_string(&section.line, " and ");
        wtm_text_grouped(&section.line, never - listed);
        wtm_text_string(&section.line, " more");
    }
    wtm_section_entry(&section);
}

/* Names are separated by newlines. */
static size_t line_length(const char *lines)
{
    const char *end = strchr(lines, '\n');
    return end ? (size_t)(end - lines) : strlen(lines);
}

/* a, b or c */
static void put_near(struct wtm_section *section, const char *near)
{
    wtm_text_string(&section->line, ": did you mean ");
    while (*near) {
        char name[256];
        size_t length = line_length(near), copied = length < sizeof name - 1 ? length : sizeof name - 1;
        memcpy(name, near, copied);
        name[copied] = 0;
        near += length + (near[length] == '\n');
        wtm_section_name(section, name);
        if (*near)
            wtm_text_string(&section->line, strchr(near, '\n') && strchr(near, '\n')[1] ? ", " : " or ");
    }
    wtm_text_char(&section->line, '?', 1);
}

static void print_missing(struct wtm_text *out, struct wtm_table_layout *layout)
{
    const struct wtm_summary *summary = layout->summary;
    struct wtm_section section;
    wtm_section_begin(&section, out, layout, "not found");
    for (size_t i = 0; i < summary->missing_count; i++) {
        if (i >= LIST_LENGTH && !layout->options->verbose) {
            wtm_section_end(&section, summary->missing_count - i);
            return;
        }
        wtm_section_name(&section, summary->missing[i].pattern);
        if (summary->missing[i].near && *summary->missing[i].near)
            put_near(&section, summary->missing[i].near);
        wtm_section_entry(&section);
    }
}

/* Many refusals (a glob over a large library): a line per reason. */
static void print_refused_reasons(struct wtm_section *section, const struct wtm_summary *summary)
{
    for (unsigned reason = 0; reason <= WTM_REFUSAL_COUNT; reason++) {
        uint64_t count = 0;
        const struct wtm_refused_row *example = NULL;
        for (size_t i = 0; i < summary->refused_count; i++) {
            const struct wtm_refused_row *row = &summary->refused[i];
            if (row->reason != reason && !(reason == WTM_REFUSAL_COUNT && row->reason > reason))
                continue;
            example = example ? example : row;
            count++;
        }
        if (!count)
            continue;
        wtm_section_name(section, example->label);
        if (count > 1) {
            wtm_text_string(&section->line, " and ");
            wtm_text_grouped(&section->line, count - 1);
            wtm_text_string(&section->line, " more");
        }
        wtm_text_string(&section->line, ": ");
        wtm_text_string(&section->line, wtm_refusal_text(reason));
        wtm_section_entry(section);
    }
}

static void print_refused(struct wtm_text *out, struct wtm_table_layout *layout)
{
    const struct wtm_summary *summary = layout->summary;
    struct wtm_section section;
    wtm_section_begin(&section, out, layout, "refused");
    if (summary->refused_count > LIST_LENGTH && !layout->options->verbose) {
        print_refused_reasons(&section, summary);
        return;
    }
    for (size_t i = 0; i < summary->refused_count; i++) {
        wtm_section_name(&section, summary->refused[i].label);
        wtm_text_string(&section.line, ": ");
        wtm_text_string(&section.line, wtm_refusal_text(summary->refused[i].reason));
        wtm_section_entry(&section);
    }
}

/* Several processes: those with most calls. */
static void print_processes(struct wtm_text *out, struct wtm_table_layout *layout)
{
    const struct wtm_summary *summary = layout->summary;
    struct wtm_section section;
    uint64_t above = UINT64_MAX, more = 0;
    size_t at = SIZE_MAX, listed = 0;
    if (summary->profiles < 2)
        return;
    wtm_section_begin(&section, out, layout, "processes");
    for (size_t most = layout->options->verbose ? SIZE_MAX : LIST_LENGTH; listed < most; listed++) {
        size_t next = SIZE_MAX; /* by calls, then in the order of the files */
        for (size_t i = 0; i < summary->profiles; i++) {
            uint64_t calls = summary->processes[i].calls;
            if ((calls < above || (calls == above && at != SIZE_MAX && i > at)) &&
                (next == SIZE_MAX || calls > summary->processes[next].calls))
                next = i;
        }
        if (next == SIZE_MAX)
            return;
        const struct wtm_process_row *process = &summary->processes[next];
        at = next;
        above = process->calls;
        wtm_section_name(&section, process->program);
        wtm_text_char(&section.line, ' ', 1);
        wtm_text_unsigned(&section.line, process->pid);
        if (strcmp(process->host, summary->processes[0].host)) {
            wtm_text_string(&section.line, " on ");
            wtm_section_name(&section, process->host);
        }
        wtm_text_char(&section.line, ' ', 1);
        wtm_section_number(&section.line, process->calls, "call");
        wtm_text_string(&section.line, process->running ? ", has run " : process->cut ? ", ran at least " : ", ran ");
        wtm_table_duration(&section.line, process->wall_ns, 0);
        wtm_text_string(&section.line, process->cut ? " (killed, _exit or exec)" : "");
        wtm_section_entry(&section);
    }
    more = summary->profiles - listed;
    wtm_section_end(&section, more);
}

static void print_notes(struct wtm_text *out, struct wtm_table_layout *layout)
{
    const struct wtm_summary *summary = layout->summary;
    struct wtm_section section;
    wtm_section_begin(&section, out, layout, "note");
    if (summary->lost_calls) {
        wtm_section_number(&section.line, summary->lost_calls, "call");
        wtm_text_string(&section.line, " ran untimed and uncounted for want of memory");
        wtm_section_entry(&section);
    }
    for (size_t i = 0; i < summary->note_count; i++) {
        wtm_text_name(&section.line, *summary->notes[i] ? summary->notes[i] : "\"\"");
        wtm_section_entry(&section);
    }
}

void wtm_table_sections(struct wtm_text *text, struct wtm_table_layout *layout)
{
    for (unsigned which = 0; which < sizeof counts / sizeof *counts; which++)
        print_counts(text, layout, which);
    wtm_table_noise_sections(text, layout);
    print_callers(text, layout);
    print_never_called(text, layout);
    print_missing(text, layout);
    print_refused(text, layout);
    print_processes(text, layout);
    print_notes(text, layout);
}
