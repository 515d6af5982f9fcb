/* SPDX-License-Identifier: MIT
 * The text after a commit, by the second disassembler: every function that a symbol describes is decoded from its start. */
#include "subjects.h"
#include "patcher/near.h"
#include <stdlib.h>
#include <string.h>

enum { EXPLAINED = 1 /* a change there was looked at */, TARGETED = 2 /* a branch leads there */, ISLAND_BYTES = 5 };

struct sweep {
    const struct mapped *mapped;
    const struct subject *subjects; /* by entry */
    size_t count;
    uint8_t *const *before;
    uint8_t *marks[WTM_MAX_TEXT_RANGES]; /* of each byte of text */
    struct counts *counts;
};

/* The text range that holds an address, -1: none. */
static int range_of(const struct sweep *sweep, uintptr_t address)
{
    const struct wtm_code_module *module = &sweep->mapped->module;
    for (unsigned i = 0; i < module->text_count; i++)
        if (address >= module->text[i].start && address < module->text[i].end)
            return (int)i;
    return -1;
}

static void mark(struct sweep *sweep, uintptr_t address, unsigned bytes, uint8_t what)
{
    int range = range_of(sweep, address);
    for (unsigned i = 0; range >= 0 && i < bytes; i++)
        sweep->marks[range][address - sweep->mapped->module.text[range].start + i] |= what;
}

/* The patch with the highest entry at or below an address. */
static const struct subject *subject_below(const struct sweep *sweep, uintptr_t address)
{
    size_t low = 0, high = sweep->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (sweep->subjects[middle].patch->entry <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? &sweep->subjects[low - 1] : NULL;
}

static uintptr_t jump_target(uintptr_t at)
{
    struct opinion_insn insn;
    return opinion_decode_fast((const uint8_t *)at, 15, at, &insn) && insn.branch == OPINION_JUMP ? insn.target : 0;
}

/* A jump within the function to its first byte: in the changed text it must lead to the copy, at once or by a jump. */
static void check_loop(struct sweep *sweep, const struct subject *subject, uintptr_t at, const struct opinion_insn *insn)
{
    struct opinion_insn now;
    uintptr_t body = subject->patch->body;
    sweep->counts->loops_seen++;
    mark(sweep, at, insn->length, EXPLAINED);
    if (!opinion_decode_fast((const uint8_t *)at, insn->length, at, &now) || now.length != insn->length ||
        now.branch != insn->branch)
        subject_fail(sweep->counts, subject, "a loop to its entry is no longer a branch of this length");
    else if (now.target != body && jump_target(now.target) != body)
        subject_fail(sweep->counts, subject, "a loop to its entry does not lead to the copy");
    else if (now.target != body)
        mark(sweep, now.target, ISLAND_BYTES, EXPLAINED);
}

static void check_branch(struct sweep *sweep, const struct mapped_function *function, uintptr_t at,
                         const struct opinion_insn *insn)
{
    const struct subject *subject = subject_below(sweep, insn->target);
    sweep->counts->branches_seen++;
    mark(sweep, insn->target, 1, TARGETED);
    if (!subject || insn->target >= subject->patch->site + subject->patch->changed)
        return;
    const struct wtm_patch *patch = subject->patch;
    int in_window = at >= patch->site && at < patch->site + patch->window;
    if (in_window)
        return;
    if (insn->target > patch->site) {
        subject_fail(sweep->counts, subject, "a branch leads into its changed bytes");
        if (sweep->counts->failures <= SUBJECT_MOST_FAILURES)
            printf("  from %#lx in %s to %#lx\n", (unsigned long)at, function->name, (unsigned long)insn->target);
    } else if ((insn->target == patch->entry || insn->target == patch->site) && at >= patch->entry &&
               at < patch->entry + subject->function->size && insn->branch != OPINION_CALL) {
        check_loop(sweep, subject, at, insn);
    }
}

static void sweep_function(struct sweep *sweep, const struct mapped_function *function)
{
    int range = range_of(sweep, function->address);
    if (range < 0)
        return;
    const struct wtm_code_range *text = &sweep->mapped->module.text[range];
    uintptr_t end = function->size < text->end - function->address ? function->address + function->size : text->end;
    struct opinion_insn insn;
    for (uintptr_t at = function->address; at < end; at += insn.length) {
        if (!opinion_decode_fast(sweep->before[range] + (at - text->start), end - at, at, &insn))
            return;
        if (insn.is_relative)
            check_branch(sweep, function, at, &insn);
    }
}

static int inside_a_function(const struct sweep *sweep, uintptr_t address)
{
    const struct mapped *mapped = sweep->mapped;
    size_t low = 0, high = mapped->function_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (mapped->functions[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low && address < mapped->functions[low - 1].address + mapped->functions[low - 1].size;
}

/* Five bytes that nobody needs: no branch leads there, and those that a symbol's size covers were padding before. */
static int is_free_place(const struct sweep *sweep, unsigned range, size_t offset)
{
    uintptr_t at = sweep->mapped->module.text[range].start + offset;
    const uint8_t *before = sweep->before[range] + offset;
    struct opinion_insn insn = {.length = 1};
    for (unsigned i = 0; i < ISLAND_BYTES; i++)
        if (sweep->marks[range][offset + i] & TARGETED)
            return 0;
    for (unsigned i = 0; i < ISLAND_BYTES && inside_a_function(sweep, at + i); i += insn.length)
        if (!opinion_decode(before + i, 15, at + i, &insn) || !insn.is_padding)
            return 0;
    return 1;
}

/* What is left of the changes must be jumps of ours in free places. */
static void check_islands(struct sweep *sweep, unsigned range)
{
    const struct wtm_code_range *text = &sweep->mapped->module.text[range];
    for (uintptr_t at = text->start; at < text->end; at++) {
        size_t offset = at - text->start;
        if (sweep->marks[range][offset] & EXPLAINED || *(const uint8_t *)at == sweep->before[range][offset])
            continue;
        uintptr_t target = jump_target(at);
        if (!target || !wtm_near_owns(target) || !is_free_place(sweep, range, offset)) {
            sweep->counts->failures++;
            printf("FAIL %s: the byte at %s+%#lx was changed, and nothing tells why\n", sweep->mapped->path,
                   sweep->mapped->object.name, (unsigned long)(at - sweep->mapped->object.bias));
            return;
        }
        sweep->counts->islands_seen++;
        mark(sweep, at, ISLAND_BYTES, EXPLAINED);
    }
}

void sweep_branches(const struct mapped *mapped, const struct subject *subjects, size_t count, uint8_t *const *before,
                    struct counts *counts)
{
    struct sweep sweep = {.mapped = mapped, .subjects = subjects, .count = count, .before = before, .counts = counts};
    for (unsigned i = 0; i < mapped->module.text_count; i++)
        sweep.marks[i] = calloc(mapped->module.text[i].end - mapped->module.text[i].start + 16, 1);
    for (size_t i = 0; i < count; i++)
        mark(&sweep, subjects[i].patch->site, subjects[i].patch->changed, EXPLAINED);
    for (size_t i = 0; i < mapped->function_count; i++)
        sweep_function(&sweep, &mapped->functions[i]);
    for (unsigned i = 0; i < mapped->module.text_count; i++) {
        check_islands(&sweep, i);
        free(sweep.marks[i]);
    }
}
