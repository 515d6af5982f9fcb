/* SPDX-License-Identifier: MIT
 * What is refused, by name, and that nothing changes then. At the low address punned jumps of these functions lead out
 * of the address space, so that refusals for want of bytes can be seen at all. */
#include <criterion/criterion.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "golden.h"

#define CHECK_ALL(table)                                                                                               \
    for (unsigned i = 0; i < sizeof table / sizeof *table; i++)                                                        \
    golden_check(&table[i])

static const struct golden encodings[] = {
    {.name = "one byte", .base = GOLDEN_LOW, .code = "c3", .refusal = WTM_REFUSED_TOO_SHORT},
    {.name = "four bytes", .base = GOLDEN_LOW, .code = "89 f8 90 c3", .refusal = WTM_REFUSED_TOO_SHORT},
    {.name = "a symbol in the padding", .base = GOLDEN_LOW, .code = "c3 90 90 90 90 90 90 90", .size = 1,
     .starts = {3}, .refusal = WTM_REFUSED_TOO_SHORT},
    {.name = "a branch to the padding", .base = GOLDEN_LOW, .code = "c3 90 90 90 90 c3 c3 c3", .size = 1,
     .placed = {{0x40, "e9 @2"}}, .refusal = WTM_REFUSED_TOO_SHORT},
    {.name = "a pointer to the padding", .base = GOLDEN_LOW, .code = "c3 90 90 90 90 c3 c3 c3", .size = 1,
     .pointers = {4}, .refusal = WTM_REFUSED_TOO_SHORT},
    {.name = "padding that is run into", .base = GOLDEN_LOW, .code = "31 c0 90 90 90 90 90 90", .size = 2,
     .refusal = WTM_REFUSED_TOO_SHORT},
    {.name = "not padding", .base = GOLDEN_LOW, .code = "c3 90 90 31 c0 c3 c3 c3", .size = 1,
     .refusal = WTM_REFUSED_TOO_SHORT},
    {.name = "undecodable", .base = GOLDEN_LOW, .code = "06 90 90 90 90 c3", .refusal = WTM_REFUSED_UNDECODABLE},
    {.name = "known by its length alone", .code = "62 f3 7d 48 25 05 @fe010!1 01 c3", /* vpternlogd */
     .refusal = WTM_REFUSED_UNDECODABLE},
    {.name = "xbegin", .code = "c7 f8 00 01 00 00 c3", .refusal = WTM_REFUSED_UNDECODABLE},
    {.name = "call *%rsp", .code = "ff d4 90 90 90 c3", .refusal = WTM_REFUSED_UNDECODABLE},
    {.name = "call *-8(%rsp)", .code = "ff 54 24 f8 90 c3", .refusal = WTM_REFUSED_UNDECODABLE},
    {.name = "call *(%rsp,%rbx,8)", .code = "ff 14 dc 90 90 c3", .refusal = WTM_REFUSED_UNDECODABLE},
    {.name = "far call", .code = "ff 1d @fe010 c3", .refusal = WTM_REFUSED_UNDECODABLE},
    {.name = "66 call", .base = GOLDEN_LOW, .code = "66 e8 00 01 00 00 c3", .refusal = WTM_REFUSED_PREFIXED_BRANCH},
    {.name = "66 jcc", .base = GOLDEN_LOW, .code = "66 0f 84 00 01 00 00 c3", .refusal = WTM_REFUSED_PREFIXED_BRANCH},
    {.name = "66 jmp rel8", .base = GOLDEN_LOW, .code = "66 eb 10 90 90 c3", .refusal = WTM_REFUSED_PREFIXED_BRANCH},
    {.name = "66 ret", .base = GOLDEN_LOW, .code = "66 c3 90 90 90 90", .refusal = WTM_REFUSED_PREFIXED_BRANCH},
    {.name = "66 jmp *%rax", .base = GOLDEN_LOW, .code = "66 ff e0 90 90 c3", .refusal = WTM_REFUSED_PREFIXED_BRANCH},
    {.name = "data out of reach", .base = GOLDEN_LOW, .code = "48 8b 05 f0 ff ff 7f c3",
     .refusal = WTM_REFUSED_OUT_OF_REACH},
    {.name = "a module of 3 GiB", .code = "b8 01 00 00 00 c3", .span_bytes = (uintptr_t)3 << 30,
     .refusal = WTM_REFUSED_NO_NEAR_MEMORY},
    {.name = "a breakpoint", .code = "cc b8 01 00 00 00 c3", .refusal = WTM_REFUSED_FOREIGN_HOOK},
    {.name = "not in text", .code = "b8 01 00 00 00 c3", .entry = GOLDEN_DATA, .refusal = WTM_REFUSED_NOT_CODE},
    {.name = "inside an instruction", .code = "b8 01 00 00 00 c3", .entry = 2, .refusal = WTM_REFUSED_NOT_A_START},
};
Test(refusals, encodings)
{
    CHECK_ALL(encodings);
}

/* push %rbp; mov %rsp,%rbp; mov %edi,%eax: a jump over its first byte alone would lead 1.9 GiB down */
#define FRAME "55 48 89 e5 89 f8 5d c3"
static const struct golden branches[] = {
    {.name = "jmp rel32 to byte 1", .base = GOLDEN_LOW, .code = FRAME, .placed = {{-0x100, "e9 @1"}},
     .refusal = WTM_REFUSED_BRANCH_INSIDE},
    {.name = "jmp rel32 to byte 1 from far below", .base = GOLDEN_LOW, .code = FRAME, .placed = {{-0x1f00, "e9 @1"}},
     .refusal = WTM_REFUSED_BRANCH_INSIDE},
    {.name = "call of byte 1", .base = GOLDEN_LOW, .code = FRAME, .placed = {{0x100, "e8 @1"}},
     .refusal = WTM_REFUSED_BRANCH_INSIDE},
    {.name = "jcc rel32 to byte 1", .base = GOLDEN_LOW, .code = FRAME, .placed = {{0x100, "0f 8f @1"}},
     .refusal = WTM_REFUSED_BRANCH_INSIDE},
    {.name = "jcc rel8 to byte 1", .base = GOLDEN_LOW, .code = FRAME, .placed = {{0x40, "75 bf"}},
     .refusal = WTM_REFUSED_BRANCH_INSIDE},
    {.name = "jmp rel8 to byte 1, the farthest", .base = GOLDEN_LOW, .code = FRAME, .placed = {{0x7f, "eb 80"}},
     .refusal = WTM_REFUSED_BRANCH_INSIDE},
    {.name = "loop to byte 1", .base = GOLDEN_LOW, .code = FRAME, .placed = {{0x40, "e2 bf"}},
     .refusal = WTM_REFUSED_BRANCH_INSIDE},
    {.name = "jrcxz to byte 1", .base = GOLDEN_LOW, .code = FRAME, .placed = {{0x40, "e3 bf"}},
     .refusal = WTM_REFUSED_BRANCH_INSIDE},
    {.name = "xbegin whose abort is byte 1", .base = GOLDEN_LOW, .code = FRAME, .placed = {{0x40, "c7 f8 @1"}},
     .refusal = WTM_REFUSED_BRANCH_INSIDE},
    {.name = "lea of byte 1", .base = GOLDEN_LOW, .code = FRAME, .placed = {{0x40, "48 8d 05 @1"}},
     .refusal = WTM_REFUSED_BRANCH_INSIDE},
    {.name = "a pointer to byte 1", .base = GOLDEN_LOW, .code = FRAME, .pointers = {1},
     .refusal = WTM_REFUSED_BRANCH_INSIDE},
    {.name = "a symbol at byte 1", .base = GOLDEN_LOW, .code = FRAME, .starts = {1},
     .refusal = WTM_REFUSED_BRANCH_INSIDE},
    {.name = "its own loop to byte 1", .base = GOLDEN_LOW, .code = "55 48 89 e5 89 f8 75 f9 5d c3",
     .refusal = WTM_REFUSED_BRANCH_INSIDE},
    {.name = "behind bytes that nobody can decode", .base = GOLDEN_LOW, .code = FRAME, .placed = {{0x40, "06 75 be"}},
     .refusal = WTM_REFUSED_BRANCH_INSIDE},
    {.name = "a call that returns into the jump", .base = GOLDEN_LOW, .code = "ff d0 31 c0 90 c3",
     .refusal = WTM_REFUSED_BRANCH_INSIDE},
    {.name = "from the window into an instruction", .base = GOLDEN_LOW, .code = "75 01 b8 00 00 90 90 c3",
     .refusal = WTM_REFUSED_BRANCH_INSIDE},
    {.name = "a table of 32-bit offsets", .base = GOLDEN_LOW,
     .code = "55 48 89 e5 89 f8 48 8d 15 @fe000 48 63 04 ba 48 01 d0 ff e0 c3",
     .data = {{0, "05 20 f0 ff 01 20 f0 ff"}}, .refusal = WTM_REFUSED_BRANCH_INSIDE},
    {.name = "a table of addresses", .base = GOLDEN_LOW, .code = "55 48 89 e5 89 f8 ff 24 fd 00 00 10 10 c3",
     .data = {{0, "05 20 00 10 00 00 00 00 01 20 00 10 00 00 00 00"}}, .refusal = WTM_REFUSED_BRANCH_INSIDE},
    {.name = "a table that leads to byte 0", .base = GOLDEN_LOW, .code = "55 48 89 e5 89 f8 ff 24 fd 00 00 10 10 c3",
     .data = {{0, "05 20 00 10 00 00 00 00 00 20 00 10 00 00 00 00"}}, .refusal = WTM_REFUSED_SHORT_LOOP},
    {.name = "a short loop, and no free bytes", .base = GOLDEN_LOW, .code = "ff cf 90 90 90 75 f9 c3",
     .refusal = WTM_REFUSED_SHORT_LOOP},
    {.name = "a pointer behind the endbr64", .base = GOLDEN_LOW, .code = "f3 0f 1e fa 55 48 89 e5 89 f8 5d c3",
     .pointers = {4}, .refusal = WTM_REFUSED_SHORT_LOOP},
};
Test(refusals, branches)
{
    CHECK_ALL(branches);
}

static const struct golden returns[] = {
    {.name = "mov (%rsp),%rax", .code = "48 8b 04 24 90 c3", .refusal = WTM_REFUSED_READS_RETURN},
    {.name = "push, mov 8(%rsp)", .code = "53 48 8b 7c 24 08 5b c3", .refusal = WTM_REFUSED_READS_RETURN},
    {.name = "push, sub, mov 0x18(%rsp)", .code = "53 48 83 ec 10 48 8b 7c 24 18 c3",
     .refusal = WTM_REFUSED_READS_RETURN},
    {.name = "by a frame pointer", .code = "55 48 89 e5 48 8b 45 08 5d c3", .refusal = WTM_REFUSED_READS_RETURN},
    {.name = "by a frame pointer, the stack realigned", .code = "55 48 89 e5 48 83 e4 e0 48 8b 45 08 c9 c3",
     .refusal = WTM_REFUSED_READS_RETURN},
    {.name = "its upper half", .code = "8b 44 24 04 90 c3", .refusal = WTM_REFUSED_READS_RETURN},
    {.name = "pushes it", .code = "ff 34 24 90 90 58 c3", .refusal = WTM_REFUSED_READS_RETURN},
    {.name = "behind endbr64", .code = "f3 0f 1e fa 48 8b 04 24 90 c3", .refusal = WTM_REFUSED_READS_RETURN},
    {.name = "behind a branch", .code = "85 ff 74 10 48 8b 04 24 c3", .refusal = WTM_REFUSED_READS_RETURN},
    {.name = "pop %rdi", .code = "5f 31 c0 90 90 c3", .refusal = WTM_REFUSED_POPS_RETURN},
    {.name = "push, pop, pop", .code = "50 58 58 31 c0 90 c3", .refusal = WTM_REFUSED_POPS_RETURN},
    {.name = "add $8,%rsp", .code = "48 83 c4 08 31 c0 c3", .refusal = WTM_REFUSED_POPS_RETURN},
    {.name = "lea 8(%rsp),%rsp", .code = "48 8d 64 24 08 c3", .refusal = WTM_REFUSED_POPS_RETURN},
    {.name = "lock add $1,(%rsp)", .code = "f0 48 83 04 24 01 c3", .refusal = WTM_REFUSED_READS_RETURN},
    {.name = "lock sub $0,(%rsp)", .code = "f0 48 83 2c 24 00 c3", .refusal = WTM_REFUSED_READS_RETURN},
    {.name = "lock or $1,(%rsp)", .code = "f0 48 83 0c 24 01 c3", .refusal = WTM_REFUSED_READS_RETURN},
    {.name = "lock and $0,(%rsp)", .code = "f0 83 24 24 00 c3", .refusal = WTM_REFUSED_READS_RETURN},
    /* and what is none of this */
    {.name = "lock orq $0,(%rsp)", .code = "f0 48 83 0c 24 00 c3", .body = "f0 48 83 0c 24 00 e9 @6",
     .method = WTM_PATCH_JUMP5, .window = 6},
    {.name = "lock orl $0,(%rsp)", .code = "f0 83 0c 24 00 c3", .body = "f0 83 0c 24 00 e9 @5",
     .method = WTM_PATCH_JUMP5, .window = 5},
    {.name = "lock addl $0,(%rsp)", .code = "f0 83 04 24 00 c3", .body = "f0 83 04 24 00 e9 @5",
     .method = WTM_PATCH_JUMP5, .window = 5},
    {.name = "lock addq $0,(%rsp)", .code = "f0 48 83 04 24 00 c3", .body = "f0 48 83 04 24 00 e9 @6",
     .method = WTM_PATCH_JUMP5, .window = 6},
    {.name = "address of stack arguments", .code = "48 8d 44 24 08 c3", .body = "48 8d 44 24 08 e9 @5",
     .method = WTM_PATCH_JUMP5, .window = 5},
    {.name = "a stack argument", .code = "48 8b 44 24 08 c3", .body = "48 8b 44 24 08 e9 @5",
     .method = WTM_PATCH_JUMP5, .window = 5},
    {.name = "below the return address", .code = "48 89 44 24 f8 c3", .body = "48 89 44 24 f8 e9 @5",
     .method = WTM_PATCH_JUMP5, .window = 5},
    {.name = "an aligned frame", .code = "4c 8d 54 24 08 48 83 e4 e0 41 ff 72 f8 c3", .body = "4c 8d 54 24 08 e9 @5",
     .method = WTM_PATCH_JUMP5, .window = 5},
    {.name = "behind the end", .code = "31 c0 90 90 c3 48 8b 04 24 c3", .body = "31 c0 90 90 c3",
     .method = WTM_PATCH_JUMP5, .window = 5},
    {.name = "nopl (%rsp)", .code = "0f 1f 04 24 90 c3", .body = "0f 1f 04 24 90 e9 @5", .method = WTM_PATCH_JUMP5,
     .window = 5},
};
Test(refusals, returns)
{
    CHECK_ALL(returns);
}

static uint8_t *put(uint8_t *to, const void *bytes, size_t count)
{
    memcpy(to, bytes, count);
    return to + count;
}
static uint8_t *put_offset(uint8_t *to, uintptr_t target, uintptr_t from)
{
    int32_t offset = (int32_t)(target - from);
    return put(to, &offset, sizeof offset);
}

/* One function of eight bytes with an exception table: a call at +4 whose landing pad is at +`pad`. */
static const uint8_t *frames(uintptr_t base, size_t *bytes, uint8_t pad)
{
    uint8_t *header = (uint8_t *)(base + GOLDEN_DATA + 0x400), *cie = header + 0x40, *lsda = header + 0x100, *to;
    uintptr_t function = base + GOLDEN_FUNCTION;
    static const uint8_t cie_bytes[] = {20, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'L', 'R', 0, 1, 0x78, 16, 2, 0x1b, 0x1b, 0, 0, 0, 0, 0};
    static const uint8_t header_start[] = {1, 0x1b, 0x03, 0x3b, 0, 0, 0, 0, 1, 0, 0, 0};
    const uint8_t lsda_bytes[] = {0xff, 0xff, 0x01, 4, 4, 2, pad, 0};
    uint8_t *fde = put(cie, cie_bytes, sizeof cie_bytes);
    uint32_t length = 20, back = (uint32_t)(fde + 4 - cie), range = 8;
    to = put(put(fde, &length, 4), &back, 4);
    to = put_offset(to, function, (uintptr_t)to);
    to = put(to, &range, 4);
    to = put(to, (const uint8_t[]){4}, 1);
    put_offset(to, (uintptr_t)lsda, (uintptr_t)to);
    put(lsda, lsda_bytes, sizeof lsda_bytes);
    to = put(header, header_start, sizeof header_start);
    to = put_offset(to, function, (uintptr_t)header);
    put_offset(to, (uintptr_t)fde, (uintptr_t)header);
    *bytes = sizeof header_start + 8;
    return header;
}
static const uint8_t *pad_at_1(uintptr_t base, size_t *bytes)
{
    return frames(base, bytes, 1);
}
static const uint8_t *pad_at_6(uintptr_t base, size_t *bytes)
{
    return frames(base, bytes, 6);
}

static const struct golden described[] = {
    {.name = "landing pad at byte 1", .base = GOLDEN_LOW, .code = FRAME, .frame_header = pad_at_1,
     .refusal = WTM_REFUSED_BRANCH_INSIDE},
    {.name = "landing pad at byte 6", .base = GOLDEN_LOW, .code = FRAME, .frame_header = pad_at_6,
     .body = "55 48 89 e5 89 f8 e9 @6", .method = WTM_PATCH_JUMP5, .window = 6},
    {.name = "a branch behind data that decodes to something else, with no symbol between", .base = GOLDEN_LOW, .code = FRAME,
     .frame_header = pad_at_6, .placed = {{30, "48 b8 e9 dc ff ff ff c3 c3 c3"}}, .refusal = WTM_REFUSED_BRANCH_INSIDE},
    {.name = "the same bytes inside of an instruction, whatever begins where", .base = GOLDEN_LOW, .code = FRAME,
     .frame_header = pad_at_6, .placed = {{29, "48 b8 90 e9 db ff ff ff c3 c3"}}, .body = "55 48 89 e5 89 f8 e9 @6",
     .method = WTM_PATCH_JUMP5, .window = 6},
    {.name = "the described end, where symbols tell none", .base = GOLDEN_LOW, .no_size = 1,
     .code = "f3 0f 1e fa 89 f8 90 c3 c3 c3 c3 c3", .frame_header = pad_at_6, .refusal = WTM_REFUSED_TOO_SHORT},
};
Test(refusals, described)
{
    CHECK_ALL(described);
}

Test(refusals, one_entry_twice)
{
    struct golden golden = {.name = "twice", .code = "b8 01 00 00 00 c3"};
    struct golden_world world;
    struct wtm_patch patches[3], *all[] = {&patches[1]};
    golden_map(&golden, &world);
    struct wtm_patch_request requests[3];
    for (unsigned i = 0; i < 3; i++)
        requests[i] = (struct wtm_patch_request){.entry = world.function, .size = 6, .hook = 1, .patch = &patches[i]};
    cr_assert_eq(wtm_patch_prepare(&world.module, &requests[1], 2), 0);
    cr_expect_eq(requests[1].refusal, WTM_REFUSED_NONE);
    cr_expect_eq(requests[2].refusal, WTM_REFUSED_FOREIGN_HOOK, "the same entry in one call");
    cr_assert_eq(wtm_patch_prepare(&world.module, requests, 1), 0);
    cr_expect_eq(requests[0].refusal, WTM_REFUSED_FOREIGN_HOOK, "prepared, not yet committed");
    cr_assert_eq(wtm_patch_commit(&requests[1], 2, 1), 0);
    cr_assert_eq(wtm_patch_prepare(&world.module, requests, 1), 0);
    cr_expect_eq(requests[0].refusal, WTM_REFUSED_FOREIGN_HOOK, "committed");
    cr_assert_eq(wtm_patch_revert(all, 1, 1), 0);
    wtm_patch_forget(all, 1);
    cr_assert_eq(wtm_patch_prepare(&world.module, requests, 1), 0);
    cr_expect_eq(requests[0].refusal, WTM_REFUSED_NONE, "free again");
}

/* Text that is a shared mapping of a file: writing to it would change the file. */
Test(refusals, shared_text)
{
    struct golden golden = {.name = "shared", .code = "b8 01 00 00 00 c3"};
    struct golden_world world;
    struct wtm_patch patch;
    golden_map(&golden, &world);
    int fd = memfd_create("text", 0);
    cr_assert_eq(write(fd, world.before, GOLDEN_TEXT_BYTES), GOLDEN_TEXT_BYTES);
    cr_assert_eq((uintptr_t)mmap((void *)world.base, GOLDEN_TEXT_BYTES, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_FIXED, fd, 0),
                 world.base);
    struct wtm_patch_request request = {.entry = world.function, .size = 6, .hook = 1, .patch = &patch};
    cr_assert_eq(wtm_patch_prepare(&world.module, &request, 1), 0);
    cr_assert_eq(request.refusal, WTM_REFUSED_NONE);
    cr_assert_eq(wtm_patch_commit(&request, 1, 1), 0);
    cr_expect_eq(request.refusal, WTM_REFUSED_PROTECTED);
    cr_expect_eq(memcmp((void *)world.base, world.before, GOLDEN_TEXT_BYTES), 0);
}

/* Somebody else changed the bytes between prepare and commit, or between commit and revert. */
Test(refusals, changed_meanwhile)
{
    struct golden golden = {.name = "changed", .code = "b8 01 00 00 00 c3"};
    struct golden_world world;
    struct wtm_patch patch, *patches[] = {&patch};
    golden_map(&golden, &world);
    struct wtm_patch_request request = {.entry = world.function, .size = 6, .hook = 1, .patch = &patch};
    uint8_t *site = (uint8_t *)world.function;
    cr_assert_eq(wtm_patch_prepare(&world.module, &request, 1), 0);
    mprotect((void *)world.base, GOLDEN_TEXT_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC);
    site[1] = 2;
    cr_assert_eq(wtm_patch_commit(&request, 1, 1), 0);
    cr_assert_eq(request.refusal, WTM_REFUSED_FOREIGN_HOOK);
    site[1] = 1;
    request.refusal = WTM_REFUSED_NONE;
    cr_assert_eq(wtm_patch_commit(&request, 1, 1), 0);
    cr_assert_eq(request.refusal, WTM_REFUSED_NONE);
    site[4] ^= 1;
    cr_assert_lt(wtm_patch_revert(patches, 1, 1), 0);
    cr_expect_eq(patch.committed, 1);
    site[4] ^= 1;
    cr_assert_eq(wtm_patch_revert(patches, 1, 1), 0);
    cr_expect_eq(memcmp((void *)world.base, world.before, GOLDEN_TEXT_BYTES), 0);
}
