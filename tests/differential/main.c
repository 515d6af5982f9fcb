/* SPDX-License-Identifier: MIT
 * Every function of a library whose entry wtm can redirect: does the copy of its first instructions do what they do?
 *
 *   differential [--states N] [--sample N] [--inside SEED] [--boundaries | --damage] OBJECT
 *
 * --inside asks for an instruction somewhere in each function instead of its first: of all kinds, not only those that
 * functions begin with. --boundaries runs nothing; --damage breaks each copy by one bit and counts how often that is noticed.
 * Prints what was compared; the status is 0 when nothing differed. How much must have been compared is for the caller to
 * say: the last line has the counts as name=number. */
#include "subjects.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ENTRY_STATES = 2 };
static const char *const method_names[SUBJECT_METHODS] = {"none", "jump5", "padded", "jump2", "punned"};

static const char *const kind_names[SUBJECT_KINDS] = {"jumps", "conditional branches", "loop or jrcxz", "calls",
                                                      "indirect calls", "rip-relative operands"};

struct options {
    unsigned states, sample, seed; /* seed 0: not inside */
    int boundaries, damage;
    const char *path;
};

struct work {
    struct mapped mapped;
    struct wtm_patch_request *requests;
    struct wtm_patch *patches, **committed;
    struct mapped_function *functions; /* of the requests */
    struct subject *subjects;
    size_t request_count, subject_count;
    uint8_t *before[WTM_MAX_TEXT_RANGES];
    struct counts counts;
};

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void fail(struct work *work, const char *what)
{
    work->counts.failures++;
    printf("FAIL %s: %s\n", work->mapped.path, what);
}

static struct options parse(int count, char **words)
{
    struct options options = {.states = 2, .sample = 1};
    for (int i = 1; i < count; i++) {
        if (!strcmp(words[i], "--states") && i + 1 < count)
            options.states = (unsigned)atoi(words[++i]);
        else if (!strcmp(words[i], "--sample") && i + 1 < count)
            options.sample = (unsigned)atoi(words[++i]);
        else if (!strcmp(words[i], "--inside") && i + 1 < count)
            options.seed = (unsigned)atoi(words[++i]);
        else if (!strcmp(words[i], "--boundaries"))
            options.boundaries = 1;
        else if (!strcmp(words[i], "--damage"))
            options.damage = 1;
        else
            options.path = words[i];
    }
    if (!options.path || !options.sample) {
        fprintf(stderr, "usage: differential [--states N] [--sample N] [--inside SEED] [--boundaries | --damage] OBJECT\n");
        exit(2);
    }
    return options;
}

static void keep_text(struct work *work)
{
    const struct wtm_code_module *module = &work->mapped.module;
    for (unsigned i = 0; i < module->text_count; i++) {
        size_t bytes = module->text[i].end - module->text[i].start;
        work->before[i] = malloc(bytes + 16);
        memcpy(work->before[i], (const void *)module->text[i].start, bytes);
    }
}

static int text_is_as_before(const struct work *work)
{
    const struct wtm_code_module *module = &work->mapped.module;
    for (unsigned i = 0; i < module->text_count; i++)
        if (memcmp(work->before[i], (const void *)module->text[i].start, module->text[i].end - module->text[i].start))
            return 0;
    return 1;
}

/* Cuts a function's beginning off, up to one of its instructions; not to padding, which nothing runs into. */
static void move_inside(struct mapped_function *function, uintptr_t bias, unsigned seed)
{
    uintptr_t at = function->address, end = at + function->size;
    uintptr_t wanted = at + sandbox_mix((at - bias) * 64 + seed) % (function->size + 1);
    struct opinion_insn insn;
    while (at < wanted && opinion_decode_fast((const uint8_t *)at, end - at, at, &insn))
        at += insn.length;
    if (at < end && opinion_decode((const uint8_t *)at, end - at, at, &insn) && !insn.is_padding) {
        function->address = at;
        function->size = end - at;
    }
}

static void request(struct work *work, const struct options *options)
{
    const struct mapped *mapped = &work->mapped;
    size_t most = mapped->function_count;
    work->requests = calloc(most, sizeof *work->requests);
    work->patches = calloc(most, sizeof *work->patches);
    work->committed = calloc(most, sizeof *work->committed);
    work->functions = calloc(most, sizeof *work->functions);
    work->subjects = calloc(most, sizeof *work->subjects);
    for (size_t i = 0; i < most; i += options->sample) {
        const struct mapped_function *function = &mapped->functions[i];
        work->counts.functions++;
        if (function->refusal != WTM_REFUSED_NONE)
            continue;
        size_t n = work->request_count++;
        work->functions[n] = *function;
        if (options->seed)
            move_inside(&work->functions[n], mapped->object.bias, options->seed);
        work->requests[n] = (struct wtm_patch_request){.entry = work->functions[n].address,
                                                       .size = work->functions[n].size,
                                                       .hook = (uintptr_t)fail,
                                                       .patch = &work->patches[n]};
    }
}

static void prepare(struct work *work, const struct options *options)
{
    request(work, options);
    keep_text(work);
    if (sandbox_start(work->mapped.writable, work->mapped.writable_count))
        fail(work, "the sandbox's place is taken");
    double start = seconds();
    if (wtm_patch_prepare(&work->mapped.module, work->requests, work->request_count))
        fail(work, "prepare failed");
    printf("%s: %u functions, prepared in %.2f s\n", work->mapped.path, work->counts.functions, seconds() - start);
    if (!text_is_as_before(work))
        fail(work, "prepare changed the text");
    for (size_t i = 0; i < work->request_count; i++) {
        if (work->requests[i].refusal != WTM_REFUSED_NONE)
            continue;
        work->counts.patched[work->patches[i].method]++;
        struct subject *subject = &work->subjects[work->subject_count];
        if (subject_read(subject, &work->mapped, &work->functions[i], &work->patches[i], &work->counts))
            work->committed[work->subject_count++] = &work->patches[i];
    }
}

static void run_all(struct work *work, unsigned states)
{
    for (size_t i = 0; i < work->subject_count; i++)
        if (!work->subjects[i].unfit)
            subject_compare(&work->subjects[i], states, &work->counts);
    if (!text_is_as_before(work))
        fail(work, "running changed the text");
    if (wtm_patch_commit(work->requests, work->request_count, 1))
        fail(work, "commit failed");
    for (size_t i = 0; i < work->subject_count; i++)
        if (!work->committed[i]->committed)
            subject_fail(&work->counts, &work->subjects[i], "commit refused it");
    sweep_branches(&work->mapped, work->subjects, work->subject_count, work->before, &work->counts);
    for (size_t i = 0; i < work->subject_count; i++)
        if (!work->subjects[i].unfit)
            subject_compare_entry(&work->subjects[i], ENTRY_STATES, &work->counts);
    if (wtm_patch_revert(work->committed, work->subject_count, 1))
        fail(work, "revert failed");
    if (!text_is_as_before(work))
        fail(work, "revert did not restore the text");
}

static void report(const struct work *work, double took)
{
    const struct counts *c = &work->counts;
    printf("  %-8s %9s %9s\n", "method", "patched", "compared");
    for (unsigned i = 1; i < SUBJECT_METHODS; i++)
        printf("  %-8s %9u %9u\n", method_names[i], c->patched[i], c->compared[i]);
    for (unsigned i = 0; i < SUBJECT_REASONS && c->unfit[i].why; i++)
        printf("  not run, as the window %s: %u\n", c->unfit[i].why, c->unfit[i].count);
    printf("  runs of the original: %u, of these faulted in both: %u, without end: %u, without a stack: %u; functions never "
           "compared for that: %u\n",
           c->runs, c->faulted_runs, c->endless_runs, c->lost_runs, c->all_endless);
    printf("  windows with conditional branches: %u, seen to go both ways: %u; faults in a call's operand: %u\n",
           c->conditional, c->both_ways, c->indirect_faults);
    printf("  compared windows with");
    for (unsigned i = 0; i < SUBJECT_KINDS; i++)
        printf("%s %s: %u", i ? "," : "", kind_names[i], c->kinds[i]);
    printf("\n");
    printf("  branches looked at: %u, of these loops to an entry: %u; islands: %u; %.1f s\n", c->branches_seen,
           c->loops_seen, c->islands_seen, took);
    printf("functions=%u boundaries=%u compared=%u entries=%u jump5=%u padded=%u jump2=%u punned=%u runs=%u faulted=%u "
           "conditional=%u both_ways=%u branches=%u loops=%u islands=%u exits_damaged=%u exits_noticed=%u bits_damaged=%u "
           "bits_noticed=%u jumps=%u conditions=%u loop_insns=%u calls=%u indirect_calls=%u rip_relative=%u failures=%u\n",
           c->functions, c->boundaries, c->compared_all, c->through_entry, c->compared[WTM_PATCH_JUMP5],
           c->compared[WTM_PATCH_PADDED], c->compared[WTM_PATCH_JUMP2], c->compared[WTM_PATCH_PUNNED], c->runs,
           c->faulted_runs, c->conditional, c->both_ways, c->branches_seen, c->loops_seen, c->islands_seen,
           c->exits_damaged, c->exits_noticed, c->bits_damaged, c->bits_noticed, c->kinds[SUBJECT_JUMP],
           c->kinds[SUBJECT_CONDITION], c->kinds[SUBJECT_LOOP], c->kinds[SUBJECT_CALL], c->kinds[SUBJECT_CALL_INDIRECT],
           c->kinds[SUBJECT_RIP], c->failures);
}

int main(int count, char **words)
{
    static struct work work;
    struct options options = parse(count, words);
    double start = seconds();
    setvbuf(stdout, NULL, _IOLBF, 0);
    mapped_outside = SANDBOX_BASE + 64 * (uintptr_t)SANDBOX_BYTES;
    int error = mapped_open(&work.mapped, options.path);
    if (error) {
        fprintf(stderr, "%s: cannot be mapped: %s\n", options.path, strerror(-error));
        return 2;
    }
    machine_start();
    prepare(&work, &options);
    for (size_t i = 0; options.damage && i < work.subject_count; i++)
        if (!work.subjects[i].unfit)
            subject_damage(&work.subjects[i], &work.counts);
    if (!options.boundaries && !options.damage)
        run_all(&work, options.states);
    report(&work, seconds() - start);
    return work.counts.failures != 0;
}
