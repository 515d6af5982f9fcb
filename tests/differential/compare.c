/* SPDX-License-Identifier: MIT
 * The same states through the original instructions, their copy, and the changed entry; all that can differ is compared. */
#include "subjects.h"
#include "patcher/near.h"
#include <string.h>

enum { STATES = 2, CONDITION_STATES = SUBJECT_CONDITION_STATES, STEPS = 64, COPY_STEPS = 4 * STEPS, FEW_TURNS = 5 };

/* Flags by which conditional branches go either way: singly, in pairs, all, none. */
static const uint16_t flag_sets[CONDITION_STATES] = {0x000, 0x8d5, 0x040, 0x001, 0x080, 0x800, 0x004, 0x880, 0x0c0, 0x411};

static uint64_t value_for(uint64_t hash, unsigned number)
{
    if (number == 0 || hash % 8 < 3)
        return sandbox_pointer(hash);
    switch (hash >> 32 & 7) {
    case 0:
    case 1:
        return 0;
    case 2:
        return hash >> 40 & 0xff;
    case 3:
        return -(hash >> 40 & 0xff);
    case 4:
        return (uint32_t)sandbox_pointer(hash);
    case 5:
        return 1;
    default:
        return number % 2 ? hash : sandbox_pointer(hash);
    }
}

/* State 0: pointers everywhere. Later ones: also what branches ask for. */
static void make_state(const struct subject *subject, unsigned number, struct machine_state *state)
{
    uint64_t seed = sandbox_mix(subject->patch->entry - subject->mapped->object.bias) + number;
    machine_vectors(seed, state);
    for (unsigned i = 0; i < MACHINE_GENERAL; i++)
        state->general[i] = value_for(sandbox_mix(seed * MACHINE_GENERAL + i), number);
    state->general[MACHINE_RSP] = sandbox_pointer(seed) + (number % 2 ? 8 : 0);
    if (number == 3) /* comparisons that find them equal */
        for (unsigned i = 0; i < MACHINE_RSP; i++)
            state->general[i] = state->general[0];
    if (number % 2 == 0) /* repetitions and loops that end */
        state->general[MACHINE_RCX] = number / 2 % FEW_TURNS;
    state->flags = flag_sets[number % CONDITION_STATES];
    if (!subject->has_condition && number)
        state->flags = sandbox_mix(seed) & 0x8d5;
}

unsigned subject_states(const struct subject *subject)
{
    return subject->has_condition ? CONDITION_STATES : STATES;
}

static int call_ended_at(const struct subject *subject, uintptr_t from)
{
    uintptr_t at = subject->patch->site;
    for (unsigned i = 0; i < subject->count; at += subject->insns[i++].length)
        if (at == from)
            return subject->insns[i].branch == OPINION_CALL;
    return 0;
}

static int in_original(const void *context, uintptr_t ip, uintptr_t from, unsigned steps)
{
    const struct subject *subject = context;
    const struct wtm_patch *patch = subject->patch;
    if (ip == patch->entry || ip == patch->site)
        return !call_ended_at(subject, from); /* a call of itself arrives; a jump is a loop, in which the copy stays */
    return ip > patch->entry && ip < subject->code_end;
}

static int in_copy(const void *context, uintptr_t ip, uintptr_t from, unsigned steps)
{
    return wtm_near_owns(ip);
}

/* A jump of ours that stands in the text: at the entry, or on an island. */
static int leads_to_us(uintptr_t ip)
{
    int32_t displacement;
    memcpy(&displacement, (const uint8_t *)ip + 1, sizeof displacement);
    return *(const uint8_t *)ip == 0xe9 && wtm_near_owns(ip + 5 + (uintptr_t)(intptr_t)displacement);
}

static int in_entry(const void *context, uintptr_t ip, uintptr_t from, unsigned steps)
{
    const struct subject *subject = context;
    const struct wtm_patch *patch = subject->patch;
    int in_text = 0;
    if (wtm_near_owns(ip))
        return 1;
    if (ip == patch->site && steps == 1 && from == patch->entry)
        return 1; /* behind its endbr64 */
    for (unsigned i = 0; i < subject->mapped->module.text_count; i++)
        in_text |= ip >= subject->mapped->module.text[i].start && ip + 5 <= subject->mapped->module.text[i].end;
    return in_text && patch->method == WTM_PATCH_JUMP2 && from == patch->site && leads_to_us(ip);
}

/* A call through memory that faults has pushed its return address already in the copy: known, and harmless, since the
 * program dies of it or runs it again. */
static int faulted_in_call(const struct subject *subject, const struct machine_result *original,
                           const struct machine_result *copy)
{
    struct machine_state popped = copy->state;
    popped.general[MACHINE_RSP] += 8;
    return original->end == MACHINE_FAULTED && call_ended_at(subject, original->at) &&
           !machine_compare(&original->state, &popped, NULL);
}

static const char *const end_names[] = {"arrived", "faulted", "endless", "lost"};

static void tell(const struct machine_state *start, const struct machine_result *left, const struct machine_result *right)
{
    printf("  first: %s at %#lx after %u steps (signal %d, trap %d, address %#lx)\n", end_names[left->end],
           (unsigned long)left->at, left->steps, left->signal, left->trap, (unsigned long)left->fault_address);
    printf("  second: %s at %#lx after %u steps (signal %d, trap %d, address %#lx)\n", end_names[right->end],
           (unsigned long)right->at, right->steps, right->signal, right->trap, (unsigned long)right->fault_address);
    machine_compare(&left->state, &right->state, stdout);
    sandbox_compare(&left->memory, &right->memory, stdout);
    printf("  started from:");
    for (unsigned i = 0; i < MACHINE_GENERAL; i++)
        printf(" %s=%#lx", machine_register_names[i], start->general[i]);
    printf(" flags=%#lx\n", start->flags);
}

int subject_same(const struct subject *subject, const struct machine_result *left, const struct machine_result *right)
{
    if (left->end != right->end || left->signal != right->signal || left->trap != right->trap ||
        left->fault_address != right->fault_address || (left->end == MACHINE_ARRIVED && left->at != right->at))
        return 0;
    if (left->end == MACHINE_FAULTED && faulted_in_call(subject, left, right))
        return 2;
    return !machine_compare(&left->state, &right->state, NULL) && !sandbox_compare(&left->memory, &right->memory, NULL);
}

static int agree(const struct subject *subject, const struct machine_state *start, const struct machine_result *left,
                 const struct machine_result *right, const char *what, struct counts *counts)
{
    int same = subject_same(subject, left, right);
    counts->indirect_faults += same == 2;
    if (same)
        return 1;
    subject_fail(counts, subject, what);
    if (counts->failures <= SUBJECT_MOST_FAILURES)
        tell(start, left, right);
    return 0;
}

void subject_run_original(const struct subject *subject, unsigned number, struct machine_result *result)
{
    struct machine_state state;
    make_state(subject, number, &state);
    machine_run(&state, subject->patch->site, STEPS, in_original, subject, result);
    int64_t stack = (int64_t)result->state.general[MACHINE_RSP];
    if (result->end == MACHINE_ARRIVED && stack != (int64_t)((uint64_t)stack << 16) >> 16)
        result->end = MACHINE_LOST;
}

void subject_run_copy(const struct subject *subject, unsigned number, machine_inside *inside, const void *context,
                      struct machine_result *result)
{
    struct machine_state state;
    make_state(subject, number, &state);
    machine_run(&state, subject->patch->body, COPY_STEPS, inside ? inside : in_copy, context, result);
}

static struct machine_result first, second; /* some 200 KiB */

void subject_compare(const struct subject *subject, unsigned states, struct counts *counts)
{
    const struct wtm_patch *patch = subject->patch;
    uintptr_t arrived = 0;
    unsigned ended = 0, ways = 0;
    machine_subject = subject->function->name;
    states = states < subject_states(subject) ? subject_states(subject) : states;
    for (unsigned i = 0; i < states; i++) {
        struct machine_state state;
        make_state(subject, i, &state);
        subject_run_original(subject, i, &first);
        counts->runs++;
        counts->endless_runs += first.end == MACHINE_ENDLESS;
        counts->lost_runs += first.end == MACHINE_LOST;
        if (first.end == MACHINE_ENDLESS || first.end == MACHINE_LOST)
            continue;
        subject_run_copy(subject, i, NULL, subject, &second);
        if (!agree(subject, &state, &first, &second, "the copy does not do what the original does", counts))
            return;
        counts->faulted_runs += first.end == MACHINE_FAULTED;
        ended++;
        ways |= first.end == MACHINE_ARRIVED ? (arrived && arrived != first.at ? 3 : 1) : 0;
        arrived = first.end == MACHINE_ARRIVED ? first.at : arrived;
    }
    counts->conditional += subject->has_condition;
    counts->both_ways += subject->has_condition && ways == 3;
    counts->compared[patch->method] += ended > 0;
    counts->compared_all += ended > 0;
    counts->all_endless += ended == 0;
    for (unsigned i = 0; i < SUBJECT_KINDS && ended; i++)
        counts->kinds[i] += subject->has_kind[i];
}

void subject_compare_entry(const struct subject *subject, unsigned states, struct counts *counts)
{
    const struct wtm_patch *patch = subject->patch;
    machine_subject = subject->function->name;
    for (unsigned i = 0; i < states; i++) {
        struct machine_state state;
        make_state(subject, i, &state);
        subject_run_copy(subject, i, NULL, subject, &first);
        if (first.end == MACHINE_ENDLESS)
            continue;
        machine_run(&state, patch->entry, 2 * COPY_STEPS, in_entry, subject, &second);
        if (!agree(subject, &state, &first, &second, "its changed entry does not do what the copy does", counts))
            return;
    }
    counts->through_entry++;
}
