/* SPDX-License-Identifier: MIT
 * What each kind of instruction becomes in the relocated body. */
#include <criterion/criterion.h>
#include <stdio.h>
#include "golden.h"

#define CHECK_ALL(table)                                                                                               \
    for (unsigned i = 0; i < sizeof table / sizeof *table; i++)                                                        \
    golden_check(&table[i])

/* Padding to five bytes and more where the kind under test is shorter: mov %edi,%eax (2), nopl 0(%rax) (4), ret. */
static const struct golden plain[] = {
    {.name = "mov imm32, exactly five", .code = "b8 01 00 00 00 c3", /* mov $1,%eax; ret */
     .body = "b8 01 00 00 00 e9 @5", .method = WTM_PATCH_JUMP5, .window = 5},
    {.name = "push, mov, sub", .code = "55 48 89 e5 48 83 ec 10 c9 c3",
     .body = "55 48 89 e5 48 83 ec 10 e9 @8", .method = WTM_PATCH_JUMP5, .window = 8},
    {.name = "ret inside", .code = "85 ff 75 02 f3 c3 31 c0 c3", /* test; jne +2 -> 6; rep ret; xor; ret */
     .body = "85 ff 0f 85 @6 f3 c3", .method = WTM_PATCH_JUMP5, .window = 6},
    {.name = "ret and dead code to the end", .code = "c3 0f 1f 40 00 c3",
     .body = "c3 0f 1f 40 00 e9 @5", .method = WTM_PATCH_JUMP5, .window = 5},
    {.name = "lock prefix", .code = "f0 ff 07 31 c0 c3", /* lock incl (%rdi); xor; ret */
     .body = "f0 ff 07 31 c0 e9 @5", .method = WTM_PATCH_JUMP5, .window = 5},
    {.name = "rep prefix", .code = "48 89 d1 f3 a4 c3", /* mov %rdx,%rcx; rep movsb; ret */
     .body = "48 89 d1 f3 a4 e9 @5", .method = WTM_PATCH_JUMP5, .window = 5},
    {.name = "behind endbr64", .code = "f3 0f 1e fa 89 f8 83 c0 01 c3",
     .body = "89 f8 83 c0 01 e9 @9", .method = WTM_PATCH_JUMP5, .site = 4, .window = 5},
    {.name = "endbr64 inside", .code = "90 f3 0f 1e fa c3",
     .body = "90 f3 0f 1e fa e9 @5", .method = WTM_PATCH_JUMP5, .window = 5},
    {.name = "moffs64 is absolute", .code = "48 a1 88 77 66 55 44 33 22 11 c3",
     .body = "48 a1 88 77 66 55 44 33 22 11 e9 @a", .method = WTM_PATCH_JUMP5, .window = 10},
    {.name = "size unknown", .no_size = 1, .code = "b8 01 00 00 00 c3",
     .body = "b8 01 00 00 00 e9 @5", .method = WTM_PATCH_JUMP5, .window = 5},
    {.name = "a window's longest instruction", .code = "89 f8 48 8b 94 24 80 01 00 00 c3",
     .body = "89 f8 48 8b 94 24 80 01 00 00 e9 @a", .method = WTM_PATCH_JUMP5, .window = 10},
};
Test(relocation, plain)
{
    CHECK_ALL(plain);
}

/* The data page is at function + fe000. */
static const struct golden rip[] = {
    {.name = "mov", .code = "48 8b 05 @fe010 c3", .body = "48 8b 05 @fe010 e9 @7", .method = WTM_PATCH_JUMP5, .window = 7},
    {.name = "lea", .code = "48 8d 3d @fe010 c3", .body = "48 8d 3d @fe010 e9 @7", .method = WTM_PATCH_JUMP5, .window = 7},
    {.name = "below the function", .code = "8b 05 @-100 c3", .body = "8b 05 @-100 e9 @6", .method = WTM_PATCH_JUMP5,
     .window = 6},
    {.name = "cmpb imm8", .code = "80 3d @fe010!1 07 c3", .body = "80 3d @fe010!1 07 e9 @7", .method = WTM_PATCH_JUMP5,
     .window = 7},
    {.name = "testb imm8", .code = "f6 05 @fe010!1 80 c3", .body = "f6 05 @fe010!1 80 e9 @7",
     .method = WTM_PATCH_JUMP5, .window = 7},
    {.name = "movw imm16", .code = "66 c7 05 @fe010!2 34 12 c3", .body = "66 c7 05 @fe010!2 34 12 e9 @9",
     .method = WTM_PATCH_JUMP5, .window = 9},
    {.name = "movl imm32", .code = "c7 05 @fe010!4 44 33 22 11 c3", .body = "c7 05 @fe010!4 44 33 22 11 e9 @a",
     .method = WTM_PATCH_JUMP5, .window = 10},
    {.name = "movq imm32", .code = "48 c7 05 @fe010!4 44 33 22 11 c3", .body = "48 c7 05 @fe010!4 44 33 22 11 e9 @b",
     .method = WTM_PATCH_JUMP5, .window = 11},
    {.name = "imul imm8", .code = "6b 05 @fe010!1 0b c3", .body = "6b 05 @fe010!1 0b e9 @7", .method = WTM_PATCH_JUMP5,
     .window = 7},
    {.name = "imul imm32", .code = "69 05 @fe010!4 0b 00 00 00 c3", .body = "69 05 @fe010!4 0b 00 00 00 e9 @a",
     .method = WTM_PATCH_JUMP5, .window = 10},
    {.name = "shl imm8", .code = "c1 25 @fe010!1 03 c3", .body = "c1 25 @fe010!1 03 e9 @7", .method = WTM_PATCH_JUMP5,
     .window = 7},
    {.name = "an immediate that looks like the displacement", .code = "c7 05 08 00 00 00 08 00 00 00 c3",
     .body = "c7 05 @12!4 08 00 00 00 e9 @a", .method = WTM_PATCH_JUMP5, .window = 10},
    {.name = "lock incl", .code = "f0 ff 05 @fe010 c3", .body = "f0 ff 05 @fe010 e9 @7", .method = WTM_PATCH_JUMP5,
     .window = 7},
    {.name = "push", .code = "ff 35 @fe010 c3", .body = "ff 35 @fe010 e9 @6", .method = WTM_PATCH_JUMP5, .window = 6},
    {.name = "movsd", .code = "f2 0f 10 05 @fe010 c3", .body = "f2 0f 10 05 @fe010 e9 @8", .method = WTM_PATCH_JUMP5,
     .window = 8},
    {.name = "pshufd imm8", .code = "66 0f 70 05 @fe010!1 1b c3", .body = "66 0f 70 05 @fe010!1 1b e9 @9",
     .method = WTM_PATCH_JUMP5, .window = 9},
    {.name = "three-byte opcode", .code = "66 0f 38 00 05 @fe010 c3", .body = "66 0f 38 00 05 @fe010 e9 @9",
     .method = WTM_PATCH_JUMP5, .window = 9}, /* pshufb */
    {.name = "palignr imm8", .code = "66 0f 3a 0f 05 @fe010!1 04 c3", .body = "66 0f 3a 0f 05 @fe010!1 04 e9 @a",
     .method = WTM_PATCH_JUMP5, .window = 10},
    {.name = "vaddps, two-byte VEX", .code = "c5 f8 58 05 @fe010 c3", .body = "c5 f8 58 05 @fe010 e9 @8",
     .method = WTM_PATCH_JUMP5, .window = 8},
    {.name = "vaddps of a high register", .code = "c5 78 58 3d @fe010 c3", .body = "c5 78 58 3d @fe010 e9 @8",
     .method = WTM_PATCH_JUMP5, .window = 8},
    {.name = "vpermilps imm8, three-byte VEX", .code = "c4 e3 79 04 05 @fe010!1 1b c3",
     .body = "c4 e3 79 04 05 @fe010!1 1b e9 @a", .method = WTM_PATCH_JUMP5, .window = 10},
    {.name = "vmovdqu64, EVEX", .code = "62 f1 fe 48 6f 05 @fe010 c3", .body = "62 f1 fe 48 6f 05 @fe010 e9 @a",
     .method = WTM_PATCH_JUMP5, .window = 10},
    {.name = "vpcmpltud imm8, EVEX", .code = "62 f3 7d 48 1e 0d @fe010!1 01 c3",
     .body = "62 f3 7d 48 1e 0d @fe010!1 01 e9 @b", .method = WTM_PATCH_JUMP5, .window = 11},
    {.name = "jmp through memory", .code = "ff 25 @fe010 c3", .body = "ff 25 @fe010", .method = WTM_PATCH_JUMP5,
     .window = 6},
    {.name = "notrack bnd jmp through memory", .code = "3e f2 ff 25 @fe010 c3", .body = "3e f2 ff 25 @fe010",
     .method = WTM_PATCH_JUMP5, .window = 8},
};
Test(relocation, rip_relative)
{
    CHECK_ALL(rip);
}

static const struct golden calls[] = {
    {.name = "call rel32", .code = "e8 @800 c3", .body = "68 lo:5 c7 44 24 04 hi:5 e9 @800", .method = WTM_PATCH_JUMP5,
     .window = 5},
    {.name = "call rel32 at a low address", .base = GOLDEN_LOW, .code = "e8 @800 c3", .body = "68 lo:5 e9 @800",
     .method = WTM_PATCH_JUMP5, .window = 5},
    {.name = "push, mov, call", .code = "53 89 fb e8 @-800 5b c3",
     .body = "53 89 fb 68 lo:8 c7 44 24 04 hi:8 e9 @-800", .method = WTM_PATCH_JUMP5, .window = 8},
    {.name = "call with an address prefix", .code = "67 e8 @800 c3",
     .body = "68 lo:6 c7 44 24 04 hi:6 e9 @800", .method = WTM_PATCH_JUMP5, .window = 6},
    {.name = "the TLS sequence's call", .code = "66 66 48 e8 @800 c3",
     .body = "68 lo:8 c7 44 24 04 hi:8 e9 @800", .method = WTM_PATCH_JUMP5, .window = 8},
    {.name = "call of the next instruction", .code = "e8 00 00 00 00 58 c3",
     .body = "68 lo:5 c7 44 24 04 hi:5 e9 @5", .method = WTM_PATCH_JUMP5, .window = 5},
    {.name = "call of itself stays a call", .code = "89 f8 e8 @0 c3",
     .body = "89 f8 68 lo:7 c7 44 24 04 hi:7 e9 @0", .method = WTM_PATCH_JUMP5, .window = 7},
    {.name = "call through memory", .code = "ff 15 @fe010 c3",
     .body = "68 lo:6 c7 44 24 04 hi:6 ff 25 @fe010", .method = WTM_PATCH_JUMP5, .window = 6},
    {.name = "call through memory with REX.W", .code = "48 ff 15 @fe010 c3",
     .body = "68 lo:7 c7 44 24 04 hi:7 48 ff 25 @fe010", .method = WTM_PATCH_JUMP5, .window = 7},
    {.name = "call through a table", .code = "ff 14 fd 78 56 34 12 c3", /* call *0x12345678(,%rdi,8) */
     .body = "68 lo:7 c7 44 24 04 hi:7 ff 24 fd 78 56 34 12", .method = WTM_PATCH_JUMP5, .window = 7},
    {.name = "call through a pointer's field", .code = "ff 97 80 00 00 00 c3", /* call *0x80(%rdi) */
     .body = "68 lo:6 c7 44 24 04 hi:6 ff a7 80 00 00 00", .method = WTM_PATCH_JUMP5, .window = 6},
    {.name = "call through a register", .code = "4c 89 f8 ff d0 c3",
     .body = "4c 89 f8 68 lo:5 c7 44 24 04 hi:5 ff e0", .method = WTM_PATCH_JUMP5, .window = 5},
    {.name = "call through r12", .code = "90 90 41 ff d4 c3",
     .body = "90 90 68 lo:5 c7 44 24 04 hi:5 41 ff e4", .method = WTM_PATCH_JUMP5, .window = 5},
    {.name = "call *8(%rsp)", .code = "90 ff 54 24 08 c3",
     .body = "90 68 lo:5 c7 44 24 04 hi:5 ff a4 24 10 00 00 00", .method = WTM_PATCH_JUMP5, .window = 5},
    {.name = "call *0x7c(%rsp)", .code = "90 ff 54 24 7c c3",
     .body = "90 68 lo:5 c7 44 24 04 hi:5 ff a4 24 84 00 00 00", .method = WTM_PATCH_JUMP5, .window = 5},
    {.name = "call *0x1000(%rsp)", .code = "ff 94 24 00 10 00 00 c3",
     .body = "68 lo:7 c7 44 24 04 hi:7 ff a4 24 08 10 00 00", .method = WTM_PATCH_JUMP5, .window = 7},
    {.name = "call *8(%r12), whose encoding is rsp's", .code = "41 ff 54 24 08 c3",
     .body = "68 lo:5 c7 44 24 04 hi:5 41 ff 64 24 08", .method = WTM_PATCH_JUMP5, .window = 5},
};
Test(relocation, calls)
{
    CHECK_ALL(calls);
}

static const struct golden jumps[] = {
    {.name = "jmp rel32", .code = "e9 @800 c3", .body = "e9 @800", .method = WTM_PATCH_JUMP5, .window = 5},
    {.name = "jmp rel32 backwards", .code = "e9 @-800 c3", .body = "e9 @-800", .method = WTM_PATCH_JUMP5, .window = 5},
    {.name = "bnd jmp rel32", .code = "f2 e9 @800 c3", .body = "e9 @800", .method = WTM_PATCH_JUMP5, .window = 6},
    {.name = "jmp rel8", .code = "89 f8 90 eb 10 c3", .body = "89 f8 90 e9 @15", .method = WTM_PATCH_JUMP5, .window = 5},
    {.name = "jmp rel8 backwards", .code = "89 f8 90 eb 80 c3", .body = "89 f8 90 e9 @-7b", .method = WTM_PATCH_JUMP5,
     .window = 5},
    {.name = "jrcxz", .code = "e3 10 31 c0 90 c3", .body = "e3 02 eb 05 e9 @12 31 c0 90 e9 @5",
     .method = WTM_PATCH_JUMP5, .window = 5},
    {.name = "jrcxz backwards", .code = "e3 f0 31 c0 90 c3", .body = "e3 02 eb 05 e9 @-e 31 c0 90 e9 @5",
     .method = WTM_PATCH_JUMP5, .window = 5},
    {.name = "jecxz", .code = "67 e3 10 31 c0 c3", .body = "67 e3 02 eb 05 e9 @13 31 c0 e9 @5",
     .method = WTM_PATCH_JUMP5, .window = 5},
    {.name = "loop", .code = "31 c0 90 e2 10 c3", .body = "31 c0 90 e2 02 eb 05 e9 @15 e9 @5",
     .method = WTM_PATCH_JUMP5, .window = 5},
    {.name = "loope", .code = "31 c0 90 e1 10 c3", .body = "31 c0 90 e1 02 eb 05 e9 @15 e9 @5",
     .method = WTM_PATCH_JUMP5, .window = 5},
    {.name = "loopne", .code = "31 c0 90 e0 80 c3", .body = "31 c0 90 e0 02 eb 05 e9 @-7b e9 @5",
     .method = WTM_PATCH_JUMP5, .window = 5},
    {.name = "into the window", .code = "74 01 90 85 ff 31 c0 c3", /* je over the nop */
     .body = "0f 84 @^7 90 85 ff e9 @5", .method = WTM_PATCH_JUMP5, .window = 5},
    {.name = "into the window, backwards", .code = "90 ff c7 75 fc c3", /* 1: inc %edi; jne 1b */
     .body = "90 ff c7 0f 85 @^1 e9 @5", .method = WTM_PATCH_JUMP5, .window = 5},
    {.name = "from the window to its first byte", .code = "90 ff cf 75 fb c3",
     .body = "90 ff cf 0f 85 @^0 e9 @5", .method = WTM_PATCH_JUMP5, .window = 5},
    {.name = "from the window to the endbr64", .code = "f3 0f 1e fa 90 ff cf 75 f7 c3",
     .body = "90 ff cf 0f 85 @^0 e9 @9", .method = WTM_PATCH_JUMP5, .site = 4, .window = 5},
    {.name = "right behind the window", .code = "85 ff 75 02 31 c0 c3", .body = "85 ff 0f 85 @6 31 c0 e9 @6",
     .method = WTM_PATCH_JUMP5, .window = 6},
};
Test(relocation, jumps)
{
    CHECK_ALL(jumps);
}

/* All sixteen conditions, in both lengths, both signs, and as the last and not the last instruction. */
Test(relocation, conditions)
{
    for (unsigned condition = 0; condition < 16; condition++) {
        static const struct {
            const char *code, *body;
            unsigned window;
        } forms[] = {
            {"7%x 10 31 c0 90 c3", "0f 8%x @12 31 c0 90 e9 @5", 5},
            {"31 c0 90 7%x 80 c3", "31 c0 90 0f 8%x @-7b e9 @5", 5},
            {"0f 8%x @900 c3", "0f 8%x @900 e9 @6", 6},
            {"0f 8%x @-900 c3", "0f 8%x @-900 e9 @6", 6},
            {"2e 7%x 10 31 c0 c3", "0f 8%x @13 31 c0 e9 @5", 5}, /* with a branch hint */
        };
        for (unsigned i = 0; i < sizeof forms / sizeof *forms; i++) {
            char code[64], body[64], name[64];
            snprintf(name, sizeof name, "condition %x, form %u", condition, i);
            snprintf(code, sizeof code, forms[i].code, condition);
            snprintf(body, sizeof body, forms[i].body, condition);
            struct golden golden = {.name = name, .code = code, .body = body, .method = WTM_PATCH_JUMP5,
                                    .window = forms[i].window};
            golden_check(&golden);
        }
    }
}
