/* SPDX-License-Identifier: MIT
 * What is done with each function of one library: the parts of the differential test and their counts. */
#ifndef WTM_TESTS_SUBJECTS_H
#define WTM_TESTS_SUBJECTS_H

#include "machine.h"
#include "mapped.h"
#include "opinion.h"

enum { SUBJECT_METHODS = 5, SUBJECT_REASONS = 16, SUBJECT_MOST_FAILURES = 20, SUBJECT_CONDITION_STATES = 10 };

/* What a copy does not take over byte for byte. */
enum subject_kind {
    SUBJECT_JUMP, SUBJECT_CONDITION, SUBJECT_LOOP, SUBJECT_CALL, SUBJECT_CALL_INDIRECT, SUBJECT_RIP,
    SUBJECT_KINDS
};

struct subject {
    const struct mapped *mapped;
    const struct mapped_function *function;
    const struct wtm_patch *patch;
    struct opinion_insn insns[OPINION_MOST];
    unsigned count;
    uintptr_t code_end;      /* behind the window's last instruction; padding may follow */
    int has_condition;
    uint8_t has_kind[SUBJECT_KINDS];
    const char *unfit;       /* why it is not run */
};

struct counts {
    unsigned functions, refused, patched[SUBJECT_METHODS];
    unsigned compared[SUBJECT_METHODS], compared_all, runs, faulted_runs, endless_runs, lost_runs, all_endless;
    unsigned conditional, both_ways;
    unsigned kinds[SUBJECT_KINDS];        /* compared windows that hold an instruction of the kind */
    unsigned through_entry;               /* also run from the changed entry on */
    unsigned boundaries, branches_seen, loops_seen, islands_seen;
    unsigned indirect_faults;             /* a call through memory faulted after its push */
    struct {
        const char *why;
        unsigned count;
    } unfit[SUBJECT_REASONS];
    unsigned exits_damaged, exits_noticed, bits_damaged, bits_noticed;
    unsigned failures;
};

/* Tells of a failure with the function's name, its bytes and both disassemblies; lines that follow are the caller's. */
void subject_fail(struct counts *counts, const struct subject *subject, const char *what);

/* Decodes the window by the second opinion; 0 when that differs about its end (told). */
int subject_read(struct subject *subject, const struct mapped *mapped, const struct mapped_function *function,
                 const struct wtm_patch *patch, struct counts *counts);

/* Runs the original and the copy from the same states. Before the commit. */
void subject_compare(const struct subject *subject, unsigned states, struct counts *counts);
/* Runs the copy, and the entry as it is now. After the commit. */
void subject_compare_entry(const struct subject *subject, unsigned states, struct counts *counts);

/* Number of states that are worth it. */
unsigned subject_states(const struct subject *subject);
/* One run each, from the state of that number. `inside` NULL: until the copy is left. */
void subject_run_original(const struct subject *subject, unsigned number, struct machine_result *result);
void subject_run_copy(const struct subject *subject, unsigned number, machine_inside *inside, const void *context,
                      struct machine_result *result);
/* 0: they differ. */
int subject_same(const struct subject *subject, const struct machine_result *left, const struct machine_result *right);
/* Changes one bit of the copy, twice, and counts whether the comparison notices. Before the commit. */
void subject_damage(const struct subject *subject, struct counts *counts);

/* All branches of the module's described code, against what was changed: none leads into changed bytes, loops to the
 * entry lead to the copy. `before`: a copy of each text range as it was. After the commit. */
void sweep_branches(const struct mapped *mapped, const struct subject *subjects, size_t count, uint8_t *const *before,
                    struct counts *counts);

#endif
