/* SPDX-License-Identifier: MIT
 * Runs functions before and after they are patched, through closed and open gates, and compares the whole machine. */
#include <criterion/criterion.h>
#include <string.h>
#include "own_module.h"

enum { NEEDS_AVX = 0x100, NEEDS_AVX512 = 0x200, MOST = 160, INPUTS = 24, WORDS = 17, FLAGS = 15, RFLAGS = 0xcd5 };

struct machine {
    uint64_t words[WORDS]; /* rax rbx rcx rdx rsi rdi rbp r8..r15 flags stack argument */
    uint8_t xmm[16][16];
};
struct subject {
    uintptr_t address;
    size_t size;
    const char *name;
    uint64_t method;
};
struct context {
    uint64_t count;
    uintptr_t body;
};
extern const struct subject wtm_test_subjects[];
extern const uintptr_t wtm_test_helper_stack;
void wtm_test_call(uintptr_t function, const struct machine *in, struct machine *out);
void wtm_test_hook(void);
uintptr_t wtm_test_copied_plus(uintptr_t, uintptr_t, uintptr_t);

static struct own_module own;
static const struct subject *subjects[MOST];
static struct wtm_patch patches[MOST];
static struct wtm_patch_request requests[MOST];
static struct context contexts[MOST];
static size_t count;

static void prepare(void)
{
    own_module_read("", &own);
    for (const struct subject *subject = wtm_test_subjects; subject->address; subject++) {
        if (((subject->method & NEEDS_AVX) && !__builtin_cpu_supports("avx")) ||
            ((subject->method & NEEDS_AVX512) && !__builtin_cpu_supports("avx512f")))
            continue;
        cr_assert_lt(count, MOST);
        requests[count] = (struct wtm_patch_request){.entry = subject->address,
                                                     .size = subject->size,
                                                     .hook = (uintptr_t)wtm_test_hook,
                                                     .context = &contexts[count],
                                                     .patch = &patches[count]};
        subjects[count++] = subject;
    }
    cr_assert_gt(count, 85, "%zu subjects", count);
    cr_assert_eq(wtm_patch_prepare(&own.module, requests, count), 0);
    for (size_t i = 0; i < count; i++) {
        cr_assert_eq(requests[i].refusal, WTM_REFUSED_NONE, "%s: %s", subjects[i]->name,
                     wtm_refusal_name(requests[i].refusal));
        cr_assert_eq(patches[i].method, subjects[i]->method & 0xff, "%s: method %d", subjects[i]->name,
                     patches[i].method);
        contexts[i].body = patches[i].body;
    }
}

/* All flags that a conditional branch sees, in turn; rcx 0, 1, 2; some turns of the loops. */
static void fill(unsigned input, struct machine *in)
{
    static const uint64_t flags[] = {0x001, 0x004, 0x010, 0x040, 0x080, 0x800}; /* CF PF AF ZF SF OF */
    for (unsigned i = 0; i < WORDS; i++)
        in->words[i] = 0x0101010101010101u * (i + 1) + input;
    for (unsigned i = 0; i < 16; i++)
        memset(in->xmm[i], (int)(i + 16 * input), 16);
    in->words[FLAGS] = 0x202;
    for (unsigned i = 0; i < 6; i++)
        if ((input * 11 + 3) >> i & 1)
            in->words[FLAGS] |= flags[i];
    in->words[1] = input % 3 + 1;
    in->words[2] = input % 3;
    in->words[5] = wtm_test_helper_stack;
    if (input % 8 == 7)
        in->words[FLAGS] |= 0x400; /* DF */
}

static struct machine expected[MOST][INPUTS];

static void run_all(const char *when, int compare, unsigned calls)
{
    for (size_t i = 0; i < count; i++) {
        contexts[i].count = 0;
        for (unsigned input = 0; input < INPUTS; input++) {
            struct machine in, out;
            memset(&out, 0, sizeof out);
            fill(input, &in);
            wtm_test_call(subjects[i]->address, &in, &out);
            out.words[FLAGS] &= RFLAGS;
            if (!compare)
                expected[i][input] = out;
            for (unsigned word = 0; word < WORDS; word++)
                cr_assert_eq(out.words[word], expected[i][input].words[word], "%s, %s: word %u is %lx, was %lx",
                             subjects[i]->name, when, word, (unsigned long)out.words[word],
                             (unsigned long)expected[i][input].words[word]);
            cr_assert_eq(memcmp(out.xmm, expected[i][input].xmm, sizeof out.xmm), 0, "%s, %s: a vector register",
                         subjects[i]->name, when);
        }
        cr_assert_eq(contexts[i].count, calls, "%s, %s: %lu calls", subjects[i]->name, when,
                     (unsigned long)contexts[i].count);
    }
}

Test(execution, same_machine)
{
    struct wtm_patch *all[MOST];
    prepare();
    run_all("unpatched", 0, 0);
    cr_assert_eq(wtm_patch_commit(requests, count, 1), 0);
    run_all("closed", 1, 0);
    cr_assert_eq(wtm_test_copied_plus(100, 0, 7), 107);
    for (size_t i = 0; i < count; i++) {
        cr_assert_eq(requests[i].refusal, WTM_REFUSED_NONE);
        wtm_patch_open(all[i] = &patches[i]);
    }
    run_all("open", 1, INPUTS);
    cr_assert_eq(wtm_test_copied_plus(100, 0, 40), 180);
    for (size_t i = 0; i < count; i++)
        wtm_patch_close(&patches[i]);
    run_all("closed again", 1, 0);
    cr_assert_eq(wtm_patch_revert(all, count, 1), 0);
    run_all("reverted", 1, 0);
    for (size_t i = 0; i < count; i++)
        wtm_patch_open(&patches[i]);
    run_all("reverted, gates open", 1, 0);
    cr_assert_eq(wtm_patch_commit(requests, count, 1), 0);
    run_all("committed again", 1, INPUTS);
    cr_assert_eq(wtm_patch_revert(all, count, 1), 0);
    wtm_patch_forget(all, count);
}

/* One after the other, each by a prepare of its own, with all before still in place: the text that is scanned and
 * decoded has jumps in it by then. */
Test(execution, one_by_one)
{
    prepare();
    run_all("unpatched", 0, 0);
    struct wtm_patch *all[MOST];
    for (size_t i = 0; i < count; i++)
        all[i] = &patches[i];
    wtm_patch_forget(all, count);
    for (size_t i = 0; i < count; i++) {
        size_t at = (i * 37) % count;
        while (requests[at].patch->committed)
            at = (at + 1) % count;
        cr_assert_eq(wtm_patch_prepare(&own.module, &requests[at], 1), 0);
        cr_assert_eq(requests[at].refusal, WTM_REFUSED_NONE, "%s: %s", subjects[at]->name,
                     wtm_refusal_name(requests[at].refusal));
        contexts[at].body = patches[at].body;
        cr_assert_eq(wtm_patch_commit(&requests[at], 1, 1), 0);
        wtm_patch_open(&patches[at]);
    }
    run_all("all open", 1, INPUTS);
    for (size_t i = 0; i < count; i++) {
        size_t at = (i * 53) % count;
        while (!all[at]->committed)
            at = (at + 1) % count;
        cr_assert_eq(wtm_patch_revert(&all[at], 1, 1), 0);
        wtm_patch_forget(&all[at], 1);
    }
    run_all("reverted", 1, 0);
}
