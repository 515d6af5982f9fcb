/* SPDX-License-Identifier: MIT
 * Near memory: within reach of all of a module, out of the way of heap and stack, never writable and executable. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "patcher/dictated.h"
#include "patcher/gaps.h"
#include "patcher/maps.h"
#include "patcher/near.h"

static const uintptr_t mib = 1 << 20, gib = 1 << 30;

static int protection(uintptr_t address)
{
    struct wtm_vector mappings = {.item_bytes = sizeof(struct wtm_mapping)};
    int result = -1;
    cr_assert_eq(wtm_maps_read(&mappings), 0);
    const struct wtm_mapping *mapping = mappings.items;
    for (size_t i = 0; i < mappings.count; i++) {
        cr_assert(!i || mapping[i].start >= mapping[i - 1].end, "in the order of addresses");
        if (address >= mapping[i].start && address < mapping[i].end)
            result = mapping[i].protection;
    }
    wtm_vector_give(&mappings);
    return result;
}

static void check_reach(const struct wtm_code_range *span, const struct wtm_near_piece *piece)
{
    uintptr_t places[] = {(uintptr_t)piece->code, (uintptr_t)piece->data};
    for (unsigned i = 0; i < 2; i++) {
        int64_t from_start = (int64_t)(places[i] - span->start), from_end = (int64_t)(places[i] - span->end);
        cr_assert(from_start == (int32_t)from_start && from_end == (int32_t)from_end, "%lx is out of reach of %lx-%lx",
                  places[i], span->start, span->end);
    }
}

Test(near, within_reach_and_sealed)
{
    struct wtm_near_piece first, second, third;
    struct wtm_code_range span = {(uintptr_t)&check_reach & ~4095ul, ((uintptr_t)&check_reach & ~4095ul) + mib};
    cr_assert_eq(wtm_near_take(&span, 100, 16, 100, &first), 0);
    check_reach(&span, &first);
    cr_expect_eq((uintptr_t)first.code % 16, 0);
    cr_expect_eq(protection((uintptr_t)first.code), PROT_READ | PROT_WRITE);
    memset(first.code, 0x90, 100);
    cr_assert_eq(wtm_near_seal(), 0);
    cr_expect_eq(protection((uintptr_t)first.code), PROT_READ | PROT_EXEC);
    cr_expect_eq(protection((uintptr_t)first.data), PROT_READ | PROT_WRITE);
    cr_expect_eq(first.code[112], 0xcc, "what is left of the page traps");
    cr_expect(wtm_near_owns((uintptr_t)first.code) && !wtm_near_owns((uintptr_t)&check_reach));
    cr_assert_eq(wtm_near_take(&span, 100, 16, 100, &second), 0);
    cr_expect_eq(second.block, first.block, "the same block");
    cr_expect_neq((uintptr_t)second.code / 4096, (uintptr_t)first.code / 4096, "but a page that does not run yet");
    cr_expect_eq(protection((uintptr_t)first.code), PROT_READ | PROT_EXEC);
    second.code[0] = 0xc3;
    cr_assert_eq(wtm_near_seal(), 0);
    wtm_near_release(first.block);
    cr_assert_eq(wtm_near_take(&span, 16, 8, 16, &third), 0);
    cr_expect_neq(third.code, first.code, "one piece is in use still");
    wtm_near_release(second.block);
    wtm_near_release(third.block);
    cr_assert_eq(wtm_near_take(&span, 16, 8, 16, &third), 0);
    cr_expect_eq(third.code, first.code, "free as a whole: used anew");
    cr_expect_eq(protection((uintptr_t)third.code), PROT_READ | PROT_WRITE);
}

Test(near, wide_modules)
{
    struct wtm_near_piece piece;
    uintptr_t base = 0x5a0000000000;
    struct wtm_code_range wide = {base, base + 2 * gib - 16 * mib}, wider = {base, base + 2 * gib}, none = {base, base};
    /* all of it in use but 1 MiB in the middle: it must be found */
    cr_assert_neq(mmap((void *)base, gib, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0),
                  MAP_FAILED);
    cr_assert_neq(mmap((void *)(base + gib + mib), gib, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0), MAP_FAILED);
    cr_assert_eq(wtm_near_take(&wide, 100, 8, 100, &piece), 0);
    check_reach(&wide, &piece);
    cr_expect_eq(wtm_near_take(&wider, 100, 8, 100, &piece), -ENOMEM);
    cr_expect_eq(wtm_near_take(&none, 100, 8, 100, &piece), -ENOMEM);
    cr_assert_eq(wtm_near_take(&wide, 300000, 8, 100, &piece), 0, "more than the usual block");
    check_reach(&wide, &piece);
}

Test(near, nothing_free)
{
    struct wtm_near_piece piece;
    uintptr_t base = 0x5a0000000000;
    struct wtm_code_range span = {base, base + mib};
    cr_assert_neq(mmap((void *)(base - 3 * gib), 6 * gib, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0), MAP_FAILED);
    cr_expect_eq(wtm_near_take(&span, 100, 8, 100, &piece), -ENOMEM);
    cr_assert_eq(munmap((void *)(base + gib), 64 * 1024), 0);
    cr_expect_eq(wtm_near_take(&span, 100, 8, 100, &piece), -ENOMEM, "not asked again before the next seal");
    cr_assert_eq(wtm_near_seal(), 0);
    cr_expect_eq(wtm_near_take(&span, 100, 8, 100, &piece), 0, "the only gap");
    cr_expect_eq((uintptr_t)piece.code, base + gib);
}

/* The heap must go on growing in place, whatever was asked for near the program. */
Test(near, room_for_the_heap)
{
    uintptr_t heap = (uintptr_t)sbrk(0);
    struct wtm_code_range span = {heap & ~4095ul, (heap & ~4095ul) + 4096}; /* as near as can be */
    struct wtm_near_piece piece;
    cr_assert_eq(wtm_near_take(&span, 100, 8, 4 * mib, &piece), 0);
    cr_expect((uintptr_t)piece.code < heap || (uintptr_t)piece.code >= heap + gib, "%p is in the heap's way (%lx)",
              (void *)piece.code, heap);
    cr_expect_neq(sbrk(256 * (intptr_t)mib), (void *)-1);
    struct wtm_kept kept;
    wtm_gap_read_kept(&kept);
    cr_expect(wtm_gap_is_kept(&kept, heap + 300 * mib, heap + 301 * mib));
    uintptr_t stack = (uintptr_t)__builtin_frame_address(0);
    cr_expect(wtm_gap_is_kept(&kept, stack - 64 * mib, stack - 63 * mib), "where the stack grows");
    cr_expect(wtm_gap_is_kept(&kept, 0, 4096));
    cr_expect(wtm_gap_is_kept(&kept, (uintptr_t)-4096, 0), "an address that wrapped round");
    cr_expect(!wtm_gap_is_kept(&kept, 0x5a0000000000, 0x5a0000001000));
}

Test(near, dictated)
{
    uintptr_t at = 0x5a0000000ff8; /* across two pages */
    cr_assert_eq((uintptr_t)wtm_dictated_take(at, 14), at);
    memset((void *)at, 0x90, 14);
    cr_expect_null(wtm_dictated_take(at + 4, 14), "taken already");
    cr_expect_eq((uintptr_t)wtm_dictated_take(at + 32, 14), at + 32, "the same pages while they are not sealed");
    memset((void *)(at + 32), 0x90, 14);
    cr_assert_eq(wtm_near_seal(), 0);
    cr_expect_eq(protection(at), PROT_READ | PROT_EXEC);
    cr_expect_null(wtm_dictated_take(at + 64, 14), "sealed and in use");
    cr_expect_null(wtm_dictated_take((uintptr_t)&check_reach, 14), "somebody else's");
    cr_expect(wtm_near_owns(at));
    wtm_dictated_release(at);
    cr_expect_null(wtm_dictated_take(at + 64, 14), "one use is left");
    wtm_dictated_release(at + 32);
    cr_expect_eq((uintptr_t)wtm_dictated_take(at + 64, 14), at + 64, "free again");
    cr_expect_eq(*(uint8_t *)at, 0xcc);
}
