/* SPDX-License-Identifier: MIT */
#include "golden.h"
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { LONGEST = 256 };
static const uintptr_t hook_address = 0x123456789000, context_address = 0x1122334455667788;

static long number(const char **text)
{
    char *end;
    long value = strtol(*text, &end, 16);
    cr_assert_neq(end, *text, "no number at '%s'", *text);
    *text = end;
    return value;
}

static uint8_t *put32(uint8_t *to, uintptr_t value)
{
    uint32_t low = (uint32_t)value;
    memcpy(to, &low, sizeof low);
    return to + sizeof low;
}

unsigned golden_assemble(const char *text, uintptr_t function, uintptr_t body, uintptr_t address, uint8_t *bytes)
{
    uint8_t *to = bytes;
    while (*text) {
        if (*text == ' ') {
            text++;
        } else if (*text == '@') {
            uintptr_t origin = *++text == '^' ? text++, body : function;
            uintptr_t target = origin + (uintptr_t)number(&text);
            long behind = *text == '!' ? text++, number(&text) : 0;
            to = put32(to, target - (address + (uintptr_t)(to - bytes) + 4 + (uintptr_t)behind));
        } else if (!strncmp(text, "lo:", 3) || !strncmp(text, "hi:", 3)) {
            unsigned shift = *text == 'h' ? 32 : 0;
            text += 3;
            to = put32(to, (function + (uintptr_t)number(&text)) >> shift);
        } else {
            char digits[3] = {text[0], text[1], 0};
            *to++ = (uint8_t)strtoul(digits, NULL, 16);
            text += 2;
        }
        cr_assert_lt(to - bytes, LONGEST);
    }
    return (unsigned)(to - bytes);
}

static int by_value(const void *left, const void *right)
{
    uintptr_t l = *(const uintptr_t *)left, r = *(const uintptr_t *)right;
    return l < r ? -1 : l > r;
}

static void *map_at(uintptr_t at, size_t bytes)
{
    void *got = mmap((void *)at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    cr_assert_eq((uintptr_t)got, at, "the test's address is taken");
    return got;
}

static void describe(const struct golden *golden, struct golden_world *world)
{
    struct wtm_code_module *module = &world->module;
    size_t count = 0;
    world->starts[count++] = world->base;
    world->starts[count++] = world->function;
    world->starts[count++] = world->function + world->code_bytes;
    for (unsigned i = 0; i < GOLDEN_MOST_POINTERS && golden->starts[i]; i++)
        world->starts[count++] = world->function + (uintptr_t)(long)golden->starts[i];
    qsort(world->starts, count, sizeof *world->starts, by_value);
    module->starts = world->starts;
    module->start_count = count;
    for (count = 0; count < GOLDEN_MOST_POINTERS && golden->pointers[count]; count++)
        world->pointers[count] = world->function + (uintptr_t)(long)golden->pointers[count];
    qsort(world->pointers, count, sizeof *world->pointers, by_value);
    module->code_pointers = world->pointers;
    module->code_pointer_count = count;
    module->text[0] = (struct wtm_code_range){world->base, world->base + GOLDEN_TEXT_BYTES};
    module->data[0] = (struct wtm_code_range){world->base + GOLDEN_DATA, world->base + GOLDEN_DATA + 4096};
    module->text_count = module->data_count = 1;
    module->span = (struct wtm_code_range){world->base, world->base + GOLDEN_DATA + 4096};
    if (golden->span_bytes)
        module->span.end = world->base + golden->span_bytes;
    if (golden->frame_header)
        module->eh_frame_hdr = (uintptr_t)golden->frame_header(world->base, &module->eh_frame_hdr_bytes);
}

void golden_map(const struct golden *golden, struct golden_world *world)
{
    memset(world, 0, sizeof *world);
    world->base = golden->base ? golden->base : GOLDEN_HIGH;
    world->function = world->base + GOLDEN_FUNCTION;
    uint8_t *text = map_at(world->base, GOLDEN_TEXT_BYTES), *data = map_at(world->base + GOLDEN_DATA, 4096);
    memset(text, golden->fill ? golden->fill : 0xc3, GOLDEN_TEXT_BYTES);
    if (golden->fill) /* what comes before must not run into the padding */
        text[0] = 0xc3;
    world->code_bytes = golden_assemble(golden->code, world->function, 0, world->function, text + GOLDEN_FUNCTION);
    for (unsigned i = 0; i < GOLDEN_MOST_PLACED && golden->placed[i].code; i++) {
        uintptr_t at = world->function + (uintptr_t)(long)golden->placed[i].at;
        golden_assemble(golden->placed[i].code, world->function, 0, at, (uint8_t *)at);
    }
    for (unsigned i = 0; i < 2 && golden->data[i].code; i++)
        golden_assemble(golden->data[i].code, world->function, 0, 0, data + golden->data[i].at);
    describe(golden, world);
    memcpy(world->before, text, GOLDEN_TEXT_BYTES);
    cr_assert_eq(mprotect(text, GOLDEN_TEXT_BYTES, PROT_READ | PROT_EXEC), 0);
}

void golden_unmap(struct golden_world *world)
{
    munmap((void *)world->base, GOLDEN_TEXT_BYTES);
    munmap((void *)(world->base + GOLDEN_DATA), 4096);
}

static void expect_bytes(const struct golden *golden, const char *what, const void *at, const uint8_t *expected,
                         unsigned count)
{
    const uint8_t *bytes = at;
    for (unsigned i = 0; i < count; i++)
        cr_assert_eq(bytes[i], expected[i], "%s: %s: byte %u is %02x, expected %02x", golden->name, what, i, bytes[i],
                     expected[i]);
}

static uintptr_t jump_target(uintptr_t at)
{
    int32_t displacement;
    memcpy(&displacement, (const void *)(at + 1), sizeof displacement);
    return at + 5 + (uintptr_t)(intptr_t)displacement;
}

static uintptr_t word_at(uintptr_t at)
{
    uintptr_t word;
    memcpy(&word, (const void *)at, sizeof word);
    return word;
}

/* jmp *gate(%rip); the armed path behind it; the body behind that */
static void check_stub(const struct golden *golden, const struct wtm_patch *patch, uintptr_t stub)
{
    static const uint8_t save_r11[7] = {0x4c, 0x89, 0x5c, 0x24, 0xf0, 0x49, 0xbb};
    int32_t displacement;
    memcpy(&displacement, (const void *)(stub + 2), sizeof displacement);
    expect_bytes(golden, "stub", (const void *)stub, (const uint8_t[]){0xff, 0x25}, 2);
    cr_assert_eq(stub + 6 + (uintptr_t)(intptr_t)displacement, (uintptr_t)patch->gate, "%s: gate", golden->name);
    cr_assert_eq(*patch->gate, patch->body, "%s: the gate must be closed", golden->name);
    cr_assert_eq(patch->armed, stub + 6, "%s: armed", golden->name);
    expect_bytes(golden, "armed", (const void *)patch->armed, save_r11, sizeof save_r11);
    cr_assert_eq(memcmp((const void *)(patch->armed + 7), &context_address, 8), 0, "%s: context", golden->name);
    const uint8_t *jump = (const uint8_t *)patch->armed + 15;
    if (*jump == 0xe9) {
        cr_assert_eq(jump_target((uintptr_t)jump), hook_address, "%s: hook", golden->name);
    } else {
        memcpy(&displacement, jump + 2, sizeof displacement);
        expect_bytes(golden, "hook jump", jump, (const uint8_t[]){0xff, 0x25}, 2);
        cr_assert_eq(word_at((uintptr_t)jump + 6 + (uintptr_t)(intptr_t)displacement), hook_address, "%s: hook",
                     golden->name);
    }
    wtm_patch_open(patch);
    cr_assert_eq(*patch->gate, patch->armed, "%s: open", golden->name);
    wtm_patch_close(patch);
}

/* Where the five-byte jump stands in the end, and that it leads to the stub. */
static uintptr_t find_stub(const struct golden *golden, const struct wtm_patch *patch)
{
    const uint8_t *site = (const uint8_t *)patch->site;
    uintptr_t at = patch->site;
    if (golden->method == WTM_PATCH_JUMP2) {
        cr_assert_eq(site[0], 0xeb, "%s: jmp rel8", golden->name);
        at = patch->site + 2 + (uintptr_t)(intptr_t)(int8_t)site[1];
    }
    while (*(const uint8_t *)at != 0xe9 && golden->method == WTM_PATCH_PUNNED)
        at++; /* prefixes */
    cr_assert_eq(*(const uint8_t *)at, 0xe9, "%s: jmp rel32", golden->name);
    uintptr_t target = jump_target(at);
    if (golden->method != WTM_PATCH_PUNNED)
        return target;
    expect_bytes(golden, "dictated jump", (const void *)target, (const uint8_t[]){0xff, 0x25, 0, 0, 0, 0}, 6);
    return word_at(target + 6);
}

static void check_text(const struct golden *golden, const struct golden_world *world, const struct wtm_patch *patch)
{
    uint8_t expected[GOLDEN_TEXT_BYTES];
    memcpy(expected, world->before, sizeof expected);
    memcpy(expected + (patch->site - world->base), patch->replacement, patch->changed);
    for (unsigned i = 0; i < GOLDEN_MOST_PLACED && golden->edits[i].code; i++) {
        uintptr_t at = world->function + (uintptr_t)(long)golden->edits[i].at;
        golden_assemble(golden->edits[i].code, world->function, patch->body, at, expected + (at - world->base));
    }
    if (golden->method == WTM_PATCH_JUMP2) { /* its place is free to choose; what it leads to was checked */
        uintptr_t island = patch->site + 2 + (uintptr_t)(intptr_t)(int8_t)patch->replacement[1];
        memcpy(expected + (island - world->base), (const void *)island, 5);
    }
    expect_bytes(golden, "text", (const void *)world->base, expected, sizeof expected);
}

static void check_patched(const struct golden *golden, const struct golden_world *world, const struct wtm_patch *patch)
{
    uint8_t bytes[LONGEST];
    cr_assert_eq(patch->method, golden->method, "%s: method %d, expected %d", golden->name, patch->method,
                 golden->method);
    cr_assert_eq(patch->entry, world->function, "%s: entry", golden->name);
    cr_assert_eq(patch->site - world->function, golden->site, "%s: site", golden->name);
    cr_assert_eq(patch->window, golden->window, "%s: window %u, expected %u", golden->name, patch->window,
                 golden->window);
    cr_assert_eq(patch->changed, golden->changed ? golden->changed : 5, "%s: changed %u", golden->name, patch->changed);
    check_text(golden, world, patch);
    check_stub(golden, patch, find_stub(golden, patch));
    if (golden->site_code) {
        unsigned count = golden_assemble(golden->site_code, world->function, patch->body, patch->site, bytes);
        expect_bytes(golden, "site", (const void *)patch->site, bytes, count);
    }
    if (golden->body) {
        unsigned count = golden_assemble(golden->body, world->function, patch->body, patch->body, bytes);
        expect_bytes(golden, "body", (const void *)patch->body, bytes, count);
    }
}

void golden_check(const struct golden *golden)
{
    struct golden_world world;
    struct wtm_patch patch, *patches[] = {&patch};
    golden_map(golden, &world);
    struct wtm_patch_request request = {.entry = world.function + (uintptr_t)(long)golden->entry,
                                        .size = golden->no_size ? 0 : golden->size ? golden->size : world.code_bytes,
                                        .hook = hook_address,
                                        .context = (void *)context_address,
                                        .patch = &patch};
    int result = wtm_patch_prepare(&world.module, &request, 1);
    cr_assert_eq(result, 0, "%s: prepare gave %d", golden->name, result);
    cr_assert_eq(request.refusal, golden->refusal, "%s: refusal %s, expected %s", golden->name,
                 wtm_refusal_name(request.refusal), wtm_refusal_name(golden->refusal));
    expect_bytes(golden, "text after prepare", (const void *)world.base, world.before, GOLDEN_TEXT_BYTES);
    if (request.refusal == WTM_REFUSED_NONE) {
        cr_assert_eq(wtm_patch_commit(&request, 1, 1), 0, "%s: commit", golden->name);
        cr_assert_eq(request.refusal, WTM_REFUSED_NONE, "%s: commit refused", golden->name);
        check_patched(golden, &world, &patch);
        cr_assert_eq(wtm_patch_revert(patches, 1, 1), 0, "%s: revert", golden->name);
        expect_bytes(golden, "reverted text", (const void *)world.base, world.before, GOLDEN_TEXT_BYTES);
        wtm_patch_forget(patches, 1);
    }
    golden_unmap(&world);
}
