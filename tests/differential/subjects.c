/* SPDX-License-Identifier: MIT
 * One function: what stands in its window, and failures told. */
#include "subjects.h"
#include <string.h>

static void count_unfit(struct counts *counts, const char *why)
{
    unsigned i = 0;
    while (i < SUBJECT_REASONS - 1 && counts->unfit[i].why && strcmp(counts->unfit[i].why, why))
        i++;
    counts->unfit[i].why = why;
    counts->unfit[i].count++;
}

void subject_fail(struct counts *counts, const struct subject *subject, const char *what)
{
    const struct wtm_patch *patch = subject->patch;
    if (++counts->failures > SUBJECT_MOST_FAILURES)
        return;
    printf("FAIL %s: %s+%#lx %s: %s\n  original, window of %u bytes, method %d:", subject->mapped->path,
           subject->mapped->object.name, (unsigned long)(patch->entry - subject->mapped->object.bias),
           subject->function->name, what, patch->window, patch->method);
    for (unsigned i = 0; i < patch->window; i++)
        printf(" %02x", patch->original[i]);
    printf("\n  in place:\n");
    opinion_print(stdout, patch->site, patch->window, OPINION_MOST);
    printf("  copy:\n");
    opinion_print(stdout, patch->body, 256, OPINION_MOST);
}

static void note_kind(struct subject *subject, const struct opinion_insn *insn)
{
    subject->has_condition |= insn->branch == OPINION_CONDITION;
    subject->has_kind[SUBJECT_JUMP] |= insn->branch == OPINION_JUMP && insn->is_relative;
    subject->has_kind[SUBJECT_CONDITION] |= insn->branch == OPINION_CONDITION && !insn->is_loop;
    subject->has_kind[SUBJECT_LOOP] |= insn->is_loop;
    subject->has_kind[SUBJECT_CALL] |= insn->branch == OPINION_CALL && insn->is_relative;
    subject->has_kind[SUBJECT_CALL_INDIRECT] |= insn->branch == OPINION_CALL && !insn->is_relative;
    subject->has_kind[SUBJECT_RIP] |= insn->is_rip_relative;
}

int subject_read(struct subject *subject, const struct mapped *mapped, const struct mapped_function *function,
                 const struct wtm_patch *patch, struct counts *counts)
{
    uintptr_t end = patch->site + patch->window, at = patch->site;
    uintptr_t code_end = function->size ? function->address + function->size : end;
    *subject = (struct subject){.mapped = mapped, .function = function, .patch = patch};
    code_end = patch->method == WTM_PATCH_PADDED && code_end < end ? code_end : end;
    while (at < code_end && subject->count < OPINION_MOST) {
        struct opinion_insn *insn = &subject->insns[subject->count];
        if (!opinion_decode((const uint8_t *)at, code_end - at, at, insn)) {
            subject_fail(counts, subject, "the second opinion finds no instruction, or one that crosses the window's end");
            return 0;
        }
        note_kind(subject, insn);
        subject->unfit = insn->unfit ? insn->unfit : subject->unfit;
        subject->count++;
        at += insn->length;
    }
    subject->code_end = at;
    if (at != code_end) {
        subject_fail(counts, subject, "the window does not end where the second opinion's instruction does");
        return 0;
    }
    counts->boundaries++;
    if (subject->unfit)
        count_unfit(counts, subject->unfit);
    return 1;
}
