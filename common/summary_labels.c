/* SPDX-License-Identifier: MIT
 * Tells functions of one name apart, by module, and by place in it where that is the same too. */
#include "common/summary_build.h"
#include "common/text.h"
#include <errno.h>
#include <string.h>

static const char *last_component(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

/* name [program 4242, worker] */
static const char *grouped_label(const struct wtm_row *row, const char *name, struct wtm_arena *arena)
{
    size_t bytes = strlen(name) + strlen(row->group->label) + 4;
    char *label = wtm_arena_alloc(arena, bytes);
    if (!label)
        return NULL;
    struct wtm_text text;
    wtm_text_init(&text, label, bytes - 1, NULL, NULL);
    wtm_text_string(&text, name);
    wtm_text_string(&text, " [");
    wtm_text_string(&text, row->group->label);
    wtm_text_char(&text, ']', 1);
    return label;
}

/* name (module), and where the module is the same, name (module+0x1234). */
static const char *make_label(const char *name, const char *path, uint64_t offset, int with_offset,
                              struct wtm_arena *arena)
{
    const char *module = last_component(path);
    size_t bytes = strlen(name) + strlen(module) + 32;
    char *label = wtm_arena_alloc(arena, bytes);
    if (!label)
        return NULL;
    struct wtm_text text;
    wtm_text_init(&text, label, bytes - 1, NULL, NULL);
    wtm_text_string(&text, name);
    wtm_text_string(&text, " (");
    wtm_text_string(&text, module);
    if (with_offset) {
        wtm_text_char(&text, '+', 1);
        wtm_text_hex(&text, offset);
    }
    wtm_text_char(&text, ')', 1);
    return label;
}

static int label_rows(struct wtm_builder *builder, int with_offset)
{
    struct wtm_summary *summary = builder->summary;
    struct wtm_key_table names;
    if (wtm_key_table_init(&names, summary->row_count, builder->arena))
        return -ENOMEM;
    for (size_t i = 0; i < summary->row_count; i++) {
        struct wtm_row *row = &summary->rows[i];
        if (row->group)
            continue;
        uint64_t slot = wtm_key_hash(5, row->label);
        uint32_t found;
        for (; (found = names.slots[slot &= names.mask]); slot++)
            if (!strcmp(summary->rows[found - 1].label, row->label))
                break;
        if (found)
            summary->rows[found - 1].ambiguous = row->ambiguous = with_offset ? 2 : 1;
        else
            names.slots[slot] = (uint32_t)i + 1;
    }
    for (size_t i = 0; i < summary->row_count; i++) {
        struct wtm_row *row = &summary->rows[i];
        if (!row->group && row->ambiguous == (with_offset ? 2 : 1) &&
            !(row->label = make_label(row->name, row->module, row->offset, with_offset, builder->arena)))
            return -ENOMEM;
    }
    return 0;
}

/* Refused functions beside timed or other refused ones of their name. */
static int label_refused(struct wtm_builder *builder)
{
    struct wtm_summary *summary = builder->summary;
    struct wtm_key_table names; /* entries: rows, then refused rows */
    size_t rows = summary->row_count, count = rows + summary->refused_count;
    if (wtm_key_table_init(&names, count, builder->arena))
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        const char *name = i < rows ? summary->rows[i].name : summary->refused[i - rows].name;
        uint64_t slot = wtm_key_hash(7, name);
        uint32_t found;
        for (; (found = names.slots[slot &= names.mask]); slot++)
            if (!strcmp(found <= rows ? summary->rows[found - 1].name
                                      : summary->refused[found - 1 - rows].name,
                        name))
                break;
        if (!found)
            names.slots[slot] = (uint32_t)i + 1;
        if (i < rows)
            continue;
        struct wtm_refused_row *row = &summary->refused[i - rows];
        struct wtm_refused_row *other = found > rows ? &summary->refused[found - 1 - rows] : NULL;
        row->label = found ? make_label(row->name, row->module, 0, 0, builder->arena) : row->name;
        if (other && other->label == other->name)
            other->label = make_label(other->name, other->module, 0, 0, builder->arena);
        if (!row->label || (other && !other->label))
            return -ENOMEM;
    }
    return 0;
}

int wtm_summary_label(struct wtm_builder *builder)
{
    struct wtm_summary *summary = builder->summary;
    for (size_t i = 0; i < summary->row_count; i++)
        summary->rows[i].label = summary->rows[i].name;
    int result = label_rows(builder, 0);
    for (size_t i = 0; i < summary->row_count && !result && summary->by & WTM_BY_MODULE; i++) {
        struct wtm_row *row = &summary->rows[i];
        if (!row->group && !row->ambiguous && !(row->label = make_label(row->name, row->module, 0, 0, builder->arena)))
            result = -ENOMEM;
    }
    if (!result)
        result = label_rows(builder, 1);
    if (!result)
        result = label_refused(builder);
    for (size_t i = 0; i < summary->row_count; i++)
        summary->rows[i].ambiguous = summary->rows[i].ambiguous != 0;
    for (size_t i = 0; i < summary->row_count && !result; i++) {
        struct wtm_row *row = &summary->rows[i], *base = &summary->rows[row->base];
        if (!row->group)
            continue;
        row->ambiguous = base->ambiguous;
        row->label = grouped_label(row, base->label, builder->arena);
        result = row->label ? 0 : -ENOMEM;
    }
    return result;
}
