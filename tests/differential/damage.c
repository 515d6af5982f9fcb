/* SPDX-License-Identifier: MIT
 * Proof that the comparison sees: a copy with one wrong bit in what a run executes must be noticed. */
#include "subjects.h"
#include "patcher/near.h"
#include <string.h>
#include <sys/mman.h>

enum { MOST_TRACED = 64, TRIES = 40, PAGE = 4096 };

struct trace {
    uintptr_t ips[MOST_TRACED];
    unsigned count;
};
static struct trace trace;
static struct machine_result original[SUBJECT_CONDITION_STATES], copy;

static int traced(const void *context, uintptr_t ip, uintptr_t from, unsigned steps)
{
    if (trace.count < MOST_TRACED)
        trace.ips[trace.count++] = from;
    return wtm_near_owns(ip);
}

static void flip(uintptr_t at, uint8_t bit)
{
    void *page = (void *)(at & ~(uintptr_t)(PAGE - 1));
    mprotect(page, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
    *(uint8_t *)at ^= bit;
    mprotect(page, PAGE, PROT_READ | PROT_EXEC);
}

/* Still an instruction of this length that may be run, and another one? */
static int is_fit(uintptr_t at, unsigned length, int was_branch, const char *was)
{
    struct opinion_insn insn;
    char text[OPINION_TEXT];
    opinion_text(at, length, text);
    return opinion_decode((const uint8_t *)at, length, at, &insn) && insn.length == length && !insn.unfit &&
           (insn.branch != OPINION_NO_BRANCH) == was_branch && strcmp(text, was) != 0;
}

static int is_noticed(const struct subject *subject)
{
    for (unsigned i = 0; i < subject_states(subject); i++) {
        if (original[i].end == MACHINE_ENDLESS || original[i].end == MACHINE_LOST)
            continue;
        subject_run_copy(subject, i, NULL, subject, &copy);
        if (!subject_same(subject, &original[i], &copy))
            return 1;
    }
    return 0;
}

static void damage_exit(const struct subject *subject, uintptr_t at, struct counts *counts)
{
    enum { DISPLACEMENT = 1 };
    if (*(const uint8_t *)at != 0xe9)
        return;
    counts->exits_damaged++;
    flip(at + DISPLACEMENT, 1);
    counts->exits_noticed += (unsigned)is_noticed(subject);
    flip(at + DISPLACEMENT, 1);
}

/* Any bit of any instruction that ran, but the one that leaves. */
static void damage_bit(const struct subject *subject, struct counts *counts)
{
    for (unsigned try = 0; try < TRIES; try++) {
        uint64_t hash = sandbox_mix((subject->patch->entry - subject->mapped->object.bias) * TRIES + try);
        uintptr_t at = trace.ips[hash % (trace.count - 1)];
        struct opinion_insn insn;
        if (!opinion_decode((const uint8_t *)at, 15, at, &insn))
            return;
        uintptr_t byte = at + (hash >> 20) % insn.length;
        uint8_t bit = (uint8_t)(1u << (hash >> 32) % 8);
        char was[OPINION_TEXT];
        opinion_text(at, insn.length, was);
        flip(byte, bit);
        int fits = is_fit(at, insn.length, insn.branch != OPINION_NO_BRANCH, was);
        int noticed = fits && is_noticed(subject);
        flip(byte, bit);
        if (!fits)
            continue;
        counts->bits_damaged++;
        counts->bits_noticed += (unsigned)noticed;
        return;
    }
}

void subject_damage(const struct subject *subject, struct counts *counts)
{
    machine_subject = subject->function->name;
    for (unsigned i = 0; i < subject_states(subject); i++)
        subject_run_original(subject, i, &original[i]);
    trace.count = 0;
    subject_run_copy(subject, 0, traced, subject, &copy);
    if (original[0].end != MACHINE_ARRIVED || copy.end != MACHINE_ARRIVED || trace.count < 2)
        return;
    damage_exit(subject, trace.ips[trace.count - 1], counts);
    damage_bit(subject, counts);
}
