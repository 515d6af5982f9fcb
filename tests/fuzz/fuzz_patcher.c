/* SPDX-License-Identifier: MIT
 * libFuzzer's entry point for the patcher: any bytes as a module's text and data, some of them asked for as functions. What
 * must hold: a decision changes nothing and comes out the same twice; a commit changes what it announced and nothing else; the
 * copy is what a second disassembler says the original was; no branch of the function's leads into the changed bytes; a
 * revert puts every byte back. The unit tests run the same function over generated input. */
#include "fuzz_patcher.h"
#include "common/status.h"
#include "patcher/decode.h"
#include "patcher/near.h"
#include "patcher/registry.h"
#include "second.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    TEXT = 0x3000,
    CODE_AT = 0x1000, /* the input's code begins here: on both sides there is room for branches to lead to */
    MOST_CODE = 0x1000,
    DATA_AT = 0x10000,
    DATA = 0x1000,
    MOST_REQUESTS = 4,
    MOST_STARTS = 16,
    OPTIONS = 32 /* bytes of the input that are none of text and data */
};
static const uintptr_t places[2] = {0x5a0000000000, 0x10000000};

/* The first OPTIONS bytes of the input. */
struct options {
    uint8_t place, fill, live, frame, no_sizes, request_count, start_count, pointer_count;
    uint8_t data_share;              /* of the rest, in 256ths */
    struct {
        uint8_t at, size;
    } requests[MOST_REQUESTS];
    uint8_t starts[8], pointers[7];
};
_Static_assert(sizeof(struct options) == OPTIONS, "no padding");

struct world {
    struct options options;
    uintptr_t base;
    size_t code_bytes;
    struct wtm_code_module module;
    uintptr_t starts[MOST_STARTS], pointers[MOST_STARTS];
    uint8_t before[TEXT], data_before[DATA], after[TEXT];
};

struct decision {
    struct wtm_patch_request requests[MOST_REQUESTS];
    struct wtm_patch patches[MOST_REQUESTS];
    size_t count;
};

static void print_bytes(const uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        fprintf(stderr, "%02x%c", bytes[i], i + 1 < count ? ' ' : '\n');
}

/* Ends the program: whoever drives this tells of the input. */
static void fail(const struct world *world, const struct wtm_patch_request *request, const char *what)
{
    fprintf(stderr, "fuzz_patcher: %s\n", what);
    if (request) {
        const struct wtm_patch *patch = request->patch;
        fprintf(stderr, "entry %#lx, size %zu, refusal %s, method %d, window %u, changed %u; original, then copy:\n",
                (unsigned long)request->entry, request->size, wtm_refusal_name(request->refusal), patch->method,
                patch->window, patch->changed);
        print_bytes(world->before + (request->entry - world->base), 32);
        print_bytes((const uint8_t *)patch->body, patch->body ? 64 : 0);
    }
    abort();
}

static int by_value(const void *left, const void *right)
{
    uintptr_t l = *(const uintptr_t *)left, r = *(const uintptr_t *)right;
    return l < r ? -1 : l > r;
}

/* Mapped once: the patcher never unmaps a module. A page that is missing lies on each side. */
static uint8_t *room(unsigned place)
{
    static uint8_t *rooms[2];
    if (!rooms[place]) {
        rooms[place] = mmap((void *)places[place], DATA_AT + DATA, PROT_NONE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        if (rooms[place] != (uint8_t *)places[place])
            abort();
    }
    return rooms[place];
}

static void fill_rooms(struct world *world, const uint8_t *input, size_t bytes)
{
    static const uint8_t fills[4] = {0xc3, 0xcc, 0x90, 0x00};
    uint8_t *text = room(world->options.place & 1), *data = text + DATA_AT;
    if (mprotect(text, TEXT, PROT_READ | PROT_WRITE) || mprotect(data, DATA, PROT_READ | PROT_WRITE))
        abort();
    size_t data_bytes = bytes * world->options.data_share / 256;
    data_bytes = data_bytes < DATA ? data_bytes : DATA;
    world->code_bytes = bytes - data_bytes < MOST_CODE ? bytes - data_bytes : MOST_CODE;
    world->base = (uintptr_t)text;
    memset(text, fills[world->options.fill & 3], TEXT);
    memset(data, 0, DATA);
    memcpy(data, input, data_bytes);
    memcpy(text + CODE_AT, input + data_bytes, world->code_bytes);
    memcpy(world->before, text, TEXT);
    memcpy(world->data_before, data, DATA);
    if (mprotect(text, TEXT, PROT_READ | PROT_EXEC))
        abort();
}

static size_t sorted(uintptr_t *to, const struct world *world, const uint8_t *offsets, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] = world->base + CODE_AT + offsets[i];
    qsort(to, count, sizeof *to, by_value);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (!kept || to[kept - 1] != to[i])
            to[kept++] = to[i];
    return kept;
}

static void describe(struct world *world)
{
    struct wtm_code_module *module = &world->module;
    const struct options *options = &world->options;
    module->text[0] = (struct wtm_code_range){world->base, world->base + TEXT};
    module->data[0] = (struct wtm_code_range){world->base + DATA_AT, world->base + DATA_AT + DATA};
    module->text_count = module->data_count = 1;
    module->span = (struct wtm_code_range){world->base, world->base + DATA_AT + DATA};
    module->starts = world->starts;
    module->start_count = sorted(world->starts, world, options->starts, options->start_count % 9);
    module->code_pointers = world->pointers;
    module->code_pointer_count = sorted(world->pointers, world, options->pointers, options->pointer_count % 8);
    if (options->frame & 1) {
        module->eh_frame_hdr = world->base + DATA_AT;
        module->eh_frame_hdr_bytes = (size_t)(options->frame >> 1) * 16;
    }
}

static void request(const struct world *world, struct decision *decision)
{
    const struct options *options = &world->options;
    memset(decision, 0, sizeof *decision);
    decision->count = 1 + options->request_count % MOST_REQUESTS;
    for (size_t i = 0; i < decision->count; i++)
        decision->requests[i] =
            (struct wtm_patch_request){.entry = world->base + CODE_AT + options->requests[i].at,
                                       .size = options->no_sizes >> i & 1 ? 0 : options->requests[i].size,
                                       .hook = 0x123456789000,
                                       .context = (void *)0x1122334455667788,
                                       .patch = &decision->patches[i]};
}

static int text_is(const struct world *world, const uint8_t *expected)
{
    return !memcmp((const void *)world->base, expected, TEXT) &&
           !memcmp((const void *)(world->base + DATA_AT), world->data_before, DATA);
}

static void forget(struct decision *decision)
{
    for (size_t i = 0; i < decision->count; i++) {
        struct wtm_patch *patch = &decision->patches[i];
        if (patch->detail)
            wtm_patch_forget(&patch, 1);
    }
}

static void decide(const struct world *world, struct decision *decision)
{
    request(world, decision);
    if (wtm_patch_prepare(&world->module, decision->requests, decision->count))
        fail(world, NULL, "prepare failed");
    if (!text_is(world, world->before))
        fail(world, NULL, "prepare changed something");
}

/* A function that begins with a jump into nowhere, where the first decision put a page: it now looks like one of ours. */
static int looks_hooked(const struct world *world, const struct wtm_patch_request *request)
{
    uintptr_t site = request->entry + (wtm_is_endbr64((const uint8_t *)request->entry) ? 4 : 0);
    int32_t displacement;
    memcpy(&displacement, world->before + (site - world->base) + 1, sizeof displacement);
    return *(const uint8_t *)site == 0xe9 && wtm_near_owns(site + 5 + (uintptr_t)(intptr_t)displacement);
}

static void compare(const struct world *world, const struct decision *one, const struct decision *two)
{
    for (size_t i = 0; i < one->count; i++) {
        const struct wtm_patch *l = &one->patches[i], *r = &two->patches[i];
        if (looks_hooked(world, &one->requests[i]))
            continue;
        if (one->requests[i].refusal != two->requests[i].refusal)
            fail(world, &one->requests[i], "refused otherwise the second time");
        if (one->requests[i].refusal == WTM_REFUSED_NONE &&
            (l->method != r->method || l->site != r->site || l->window != r->window || l->changed != r->changed ||
             memcmp(l->original, r->original, l->window)))
            fail(world, &one->requests[i], "decided otherwise the second time");
    }
}

static uintptr_t end_of(const struct world *world, const struct wtm_patch_request *request)
{
    uintptr_t end = request->size ? request->entry + request->size : world->base + TEXT;
    return end < world->base + TEXT ? end : world->base + TEXT;
}

/* Where a function without a size ends is for the patcher to say; to look no further than the next start is to be sure. */
static uintptr_t known_end(const struct world *world, const struct wtm_patch_request *request)
{
    uintptr_t end = end_of(world, request);
    for (size_t i = 0; !request->size && i < world->module.start_count; i++)
        if (world->starts[i] > request->entry && world->starts[i] < end)
            end = world->starts[i];
    return end;
}

static void expect_site(struct world *world, const struct wtm_patch *patch)
{
    const struct wtm_detail *detail = patch->detail;
    memcpy(world->after + (patch->site - world->base), patch->replacement, patch->changed);
    for (unsigned i = 0; i < detail->edit_count; i++)
        memcpy(world->after + (detail->edits[i].at - world->base), detail->edits[i].replacement, detail->edits[i].bytes);
}

/* Nothing begins within, so that it is clear where instructions do. */
static int is_one_run(const struct world *world, uintptr_t entry, uintptr_t end)
{
    for (size_t i = 0; i < world->module.start_count; i++)
        if (world->starts[i] > entry && world->starts[i] < end)
            return 0;
    return !world->module.eh_frame_hdr;
}

static void check_one(const struct world *world, const struct wtm_patch_request *request)
{
    const struct wtm_patch *patch = request->patch;
    const uint8_t *was = world->before + (patch->site - world->base);
    uintptr_t end = known_end(world, request);
    if (memcmp(patch->original, was, patch->window) || patch->changed > patch->window)
        fail(world, request, "the original bytes are not what stood there");
    if (patch->site < request->entry || patch->site > request->entry + 4 || *patch->gate != patch->body)
        fail(world, request, "site or gate");
    const char *wrong = second_judges_copy(patch, was, patch->method == WTM_PATCH_PADDED ? end : patch->site + patch->window);
    if (wrong)
        fail(world, request, wrong);
    if (request->size && is_one_run(world, request->entry, end) && second_finds_branch(world->before + (request->entry - world->base), request->entry, end,
                                             patch->site + patch->window, patch->site + 1, patch->site + patch->changed))
        fail(world, request, "a branch of the function's leads into the changed bytes");
}

static void commit(struct world *world, struct decision *decision)
{
    struct wtm_patch *patches[MOST_REQUESTS];
    size_t committed = 0;
    int alone = !(world->options.live & 1);
    memcpy(world->after, world->before, TEXT);
    for (size_t i = 0; i < decision->count; i++)
        if (decision->requests[i].refusal == WTM_REFUSED_NONE)
            check_one(world, &decision->requests[i]);
    if (wtm_patch_commit(decision->requests, decision->count, alone))
        fail(world, NULL, "commit failed");
    for (size_t i = 0; i < decision->count; i++) {
        if (decision->requests[i].refusal == WTM_REFUSED_NONE) {
            expect_site(world, &decision->patches[i]);
            patches[committed++] = &decision->patches[i];
        } else if (decision->patches[i].detail && (alone || decision->requests[i].refusal != WTM_REFUSED_BUSY)) {
            fail(world, &decision->requests[i], "refused by the commit");
        } else if (decision->patches[i].detail) {
            const struct wtm_detail *detail = decision->patches[i].detail;
            for (unsigned e = 0; e < detail->island_count; e++) /* islands stand before it is known */
                memcpy(world->after + (detail->edits[e].at - world->base), (const void *)detail->edits[e].at,
                       detail->edits[e].bytes);
        }
    }
    if (!text_is(world, world->after))
        fail(world, NULL, "the commit changed more or less than announced");
    if (wtm_patch_revert(patches, committed, 1))
        fail(world, NULL, "revert failed");
    if (alone && !text_is(world, world->before))
        fail(world, NULL, "the revert did not put everything back");
}

int wtm_fuzz_patcher(const uint8_t *data, size_t size, struct wtm_fuzz_counts *counts)
{
    static struct world world;
    static struct decision first, second;
    if (size <= OPTIONS)
        return 0;
    memset(&world, 0, sizeof world);
    memcpy(&world.options, data, OPTIONS);
    fill_rooms(&world, data + OPTIONS, size - OPTIONS);
    describe(&world);
    decide(&world, &first);
    forget(&first);
    decide(&world, &second);
    compare(&world, &first, &second);
    int patched = 0;
    for (size_t i = 0; i < second.count; i++) {
        enum wtm_refusal refusal = second.requests[i].refusal;
        patched += refusal == WTM_REFUSED_NONE;
        if (counts && refusal == WTM_REFUSED_NONE)
            counts->methods[second.patches[i].method]++;
        else if (counts && (unsigned)refusal < WTM_FUZZ_REFUSALS)
            counts->refusals[refusal]++;
    }
    commit(&world, &second);
    forget(&second);
    return patched;
}

#ifndef WTM_FUZZ_AS_UNIT
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    wtm_fuzz_patcher(data, size, NULL);
    return 0;
}
#endif
