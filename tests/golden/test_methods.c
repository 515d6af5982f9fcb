/* SPDX-License-Identifier: MIT
 * Where five bytes are not to be had, and loops to the entry. */
#include <criterion/criterion.h>
#include "golden.h"

#define CHECK_ALL(table)                                                                                               \
    for (unsigned i = 0; i < sizeof table / sizeof *table; i++)                                                        \
    golden_check(&table[i])

static const struct golden padded[] = {
    {.name = "nops behind", .size = 3, .code = "31 c0 c3 0f 1f 44 00 00", .body = "31 c0 c3",
     .method = WTM_PATCH_PADDED, .window = 5},
    {.name = "long nop", .size = 1, .code = "c3 66 66 2e 0f 1f 84 00 00 00 00 00 0f 1f 40 00", .body = "c3",
     .method = WTM_PATCH_PADDED, .window = 5},
    {.name = "int3 behind", .size = 1, .code = "c3 cc cc cc cc cc cc cc", .body = "c3", .method = WTM_PATCH_PADDED,
     .window = 5},
    {.name = "zeros behind", .size = 3, .code = "31 c0 c3 00 00 00 00 00", .body = "31 c0 c3",
     .method = WTM_PATCH_PADDED, .window = 5},
    {.name = "a short jump and padding", .size = 2, .code = "eb 20 90 90 90 90 90 90", .body = "e9 @22",
     .method = WTM_PATCH_PADDED, .window = 5},
    {.name = "endbr64 and padding", .size = 7, .code = "f3 0f 1e fa 31 c0 c3 0f 1f 80 00 00 00 00 90 90",
     .body = "31 c0 c3", .method = WTM_PATCH_PADDED, .site = 4, .window = 5},
};
Test(methods, padded)
{
    CHECK_ALL(padded);
}

/* `b8 00 00 00 00` would do for five bytes, but somebody jumps to +3: two bytes to an island in padding. */
#define FREE_BYTES {.at = 0x20, .code = "c3 cc cc cc cc cc cc cc cc"}
static const struct golden jump2[] = {
    {.name = "foreign branch to byte 3", .code = "48 89 f8 48 83 fa 20 c3", .body = "48 89 f8 e9 @3",
     .placed = {{-0x40, "e9 @3"}, FREE_BYTES}, .starts = {0x29}, .method = WTM_PATCH_JUMP2, .window = 3, .changed = 2,
     .site_code = "eb 1f"},
    {.name = "foreign short branch", .code = "48 89 f8 48 83 fa 20 c3", .body = "48 89 f8 e9 @3",
     .placed = {{-0x40, "eb 41"}, FREE_BYTES}, .starts = {0x29}, .method = WTM_PATCH_JUMP2, .window = 3, .changed = 2,
     .site_code = "eb 1f"},
    {.name = "a pointer to byte 2", .code = "89 f8 48 83 fa 20 c3", .body = "89 f8 e9 @2", .pointers = {2},
     .placed = {FREE_BYTES}, .starts = {0x29}, .method = WTM_PATCH_JUMP2, .window = 2, .changed = 2,
     .site_code = "eb 1f"},
    {.name = "two bytes, a symbol right behind", .code = "31 c0 c3", .size = 3, .body = "31 c0 e9 @2",
     .placed = {FREE_BYTES}, .starts = {0x29}, .method = WTM_PATCH_JUMP2, .window = 2, .changed = 2,
     .site_code = "eb 1f"},
    {.name = "island below", .code = "31 c0 c3", .body = "31 c0 e9 @2", .placed = {{-0x10, "c3 90 90 90 90 90"}},
     .starts = {-0xa}, .method = WTM_PATCH_JUMP2, .window = 2, .changed = 2, .site_code = "eb ef"},
    {.name = "a branch into the first free bytes moves the island on", .code = "31 c0 c3", .body = "31 c0 e9 @2",
     .placed = {FREE_BYTES, {-0x40, "e9 @21"}}, .starts = {0x29}, .method = WTM_PATCH_JUMP2, .window = 2,
     .changed = 2, .site_code = "eb 20"},
    {.name = "call through a register that returns to byte 2", .code = "ff d0 31 c0 c3",
     .body = "68 lo:2 c7 44 24 04 hi:2 ff e0", .placed = {FREE_BYTES}, .starts = {0x29}, .method = WTM_PATCH_JUMP2,
     .window = 2, .changed = 2, .site_code = "eb 1f"},
};
Test(methods, jump2)
{
    CHECK_ALL(jump2);
}

static const struct golden punned[] = {
    {.name = "foreign branch to byte 3", .code = "48 89 f8 48 83 fa 20 c3", .body = "48 89 f8 e9 @3",
     .placed = {{-0x40, "e9 @3"}}, .method = WTM_PATCH_PUNNED, .window = 3, .changed = 3, .site_code = "e9"},
    {.name = "one byte", .code = "c3", .placed = {{1, "90 90 90 90"}}, .body = "c3", .method = WTM_PATCH_PUNNED,
     .window = 1, .changed = 1, .site_code = "e9 90 90 90 90"},
    {.name = "two bytes", .code = "90 c3", .placed = {{2, "55 48 89 e5"}}, .body = "90 c3",
     .method = WTM_PATCH_PUNNED, .window = 2, .changed = 2, .site_code = "e9"},
    {.name = "four bytes", .code = "89 f8 90 c3", .placed = {{4, "90"}}, .body = "89 f8 90 c3",
     .method = WTM_PATCH_PUNNED, .window = 4, .changed = 4, .site_code = "e9"},
    {.name = "with a prefix, because the first place is the module itself", .code = "48 89 f8 00 00 91 c3",
     .body = "48 89 f8 e9 @3", .placed = {{-0x40, "e9 @3"}}, .method = WTM_PATCH_PUNNED, .window = 3, .changed = 3,
     .site_code = "48 e9"},
};
Test(methods, punned)
{
    CHECK_ALL(punned);
}

static const struct golden loops[] = {
    {.name = "rel32 to byte 0", .code = "ff cf 90 90 90 0f 85 @0 c3", .body = "ff cf 90 90 90 e9 @5",
     .edits = {{7, "@^0"}}, .method = WTM_PATCH_JUMP5, .window = 5},
    {.name = "jmp rel32 to the endbr64", .code = "f3 0f 1e fa ff cf 90 90 90 74 05 e9 @0 c3",
     .body = "ff cf 90 90 90 e9 @9", .edits = {{12, "@^0"}}, .method = WTM_PATCH_JUMP5, .site = 4, .window = 5},
    {.name = "rel8, ten bytes to be had", .code = "ff cf 90 90 90 85 ff 90 90 90 75 f4 c3",
     .body = "ff cf 90 90 90 85 ff 90 90 90 e9 @a", .edits = {{5, "e9 @^0"}, {11, "f9"}}, .method = WTM_PATCH_JUMP5,
     .window = 10, .changed = 10},
    {.name = "rel8 in the second five bytes moves along", .code = "ff cf 90 90 90 90 90 90 75 f6 c3",
     .body = "ff cf 90 90 90 90 90 90 0f 85 @^0 e9 @a", .edits = {{5, "e9 @^0"}}, .method = WTM_PATCH_JUMP5,
     .window = 10, .changed = 10},
    {.name = "rel8 by way of free bytes", .code = "ff cf 90 90 90 75 f9 c3", .body = "ff cf 90 90 90 e9 @5",
     .placed = {FREE_BYTES}, .starts = {0x29}, .edits = {{6, "1a"}, {0x21, "e9 @^0"}}, .method = WTM_PATCH_JUMP5,
     .window = 5},
    {.name = "several", .code = "ff cf 90 90 90 0f 85 @0 0f 84 @0 e9 @0 c3", .body = "ff cf 90 90 90 e9 @5",
     .edits = {{7, "@^0"}, {13, "@^0"}, {18, "@^0"}}, .method = WTM_PATCH_JUMP5, .window = 5},
    {.name = "a call of itself is none", .code = "89 f8 90 90 90 e8 @0 c3", .body = "89 f8 90 90 90 e9 @5",
     .method = WTM_PATCH_JUMP5, .window = 5},
    {.name = "another function's tail call is none", .code = "89 f8 90 90 90 c3", .body = "89 f8 90 90 90 e9 @5",
     .placed = {{0x100, "e9 @0"}}, .method = WTM_PATCH_JUMP5, .window = 5},
    {.name = "bytes that only look like a branch", .code = "89 f8 90 90 90 b8 75 f8 00 00 c3",
     .body = "89 f8 90 90 90 e9 @5", .method = WTM_PATCH_JUMP5, .window = 5},
    {.name = "bytes that only look like a branch inside", .code = "89 f8 90 90 90 b8 75 fb 00 00 c3",
     .body = "89 f8 90 90 90 e9 @5", .method = WTM_PATCH_JUMP5, .window = 5},
};
Test(methods, loops)
{
    CHECK_ALL(loops);
}
