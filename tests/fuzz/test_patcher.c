/* SPDX-License-Identifier: MIT
 * The patcher over generated input: instructions as compilers make them and random bytes, with branches of all kinds into and
 * out of the first bytes. What the fuzzer found wrong once is kept here as bytes. */
#include "fuzz_patcher.h"
#include <criterion/criterion.h>
#include <string.h>

enum { ROUNDS = 2000, INPUT_BYTES = 320, OPTION_BYTES = 32 };

static uint64_t state = 0x9e3779b97f4a7c15;

static uint32_t random_below(uint32_t limit)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)((state >> 33) % limit);
}

/* What functions are made of, `?` being any byte. */
static const struct {
    uint8_t length;
    const char *bytes;
} pieces[] = {
    {1, "\x55"}, {3, "\x48\x89\xe5"}, {4, "\x48\x83\xec?"}, {4, "\xf3\x0f\x1e\xfa"}, {2, "\x41\x57"}, {1, "\xc3"},
    {7, "\x48\x8b\x05????"}, {7, "\x48\x8d\x3d????"}, {10, "\xc7\x05????????"}, {7, "\x83\x3d?????"}, {2, "\x74?"},
    {2, "\xeb?"}, {6, "\x0f\x85????"}, {5, "\xe9????"}, {5, "\xe8????"}, {2, "\xe2?"}, {2, "\xe3?"}, {2, "\xff\xd0"},
    {6, "\xff\x15????"}, {4, "\xff\x54\x24?"}, {3, "\xff\x50?"}, {6, "\xff\x25????"}, {2, "\xff\xe0"}, {5, "\xb8????"},
    {2, "\x31\xc0"}, {1, "\x90"}, {4, "\x0f\x1f\x40?"}, {4, "\xc5\xf8\x28?"}, {4, "\x48\x8b\x04\x24"}, {1, "\xcc"},
    {5, "\x66\xe9????"}, {3, "\x66\x74?"}, {6, "\x62\xf1\x7c\x48\x28?"}, {1, "?"}, {1, "?"},
};

static size_t add_piece(uint8_t *to, size_t room)
{
    size_t which = random_below(sizeof pieces / sizeof *pieces), length = pieces[which].length;
    if (length > room)
        return 0;
    int near = random_below(2) != 0; /* a branch's displacement stays small */
    for (size_t i = 0; i < length; i++) {
        int free_byte = pieces[which].bytes[i] == '?';
        int tail = near && length >= 5 && i + 3 >= length;
        to[i] = (uint8_t)(!free_byte ? (uint8_t)pieces[which].bytes[i] :
                          tail ? 0 - (random_below(2)) :
                          random_below(2) ? random_below(256) : (uint32_t)(random_below(24) - 12));
    }
    return length;
}

/* A function of one to four bytes as the first that is asked for, and padding up to the next. */
static size_t add_short_function(uint8_t *input, uint8_t at)
{
    static const char *const bodies[] = {"\xc3", "\x90\xc3", "\x31\xc0\xc3", "\x89\xf8\x90\xc3"};
    uint8_t size = (uint8_t)(1 + random_below(4)), *code = input + OPTION_BYTES;
    memset(code, random_below(2) ? 0x90 : 0xcc, 16);
    memcpy(code, bodies[size - 1], size);
    input[9] = input[17] = at; /* the request, and a start */
    input[10] = size;
    input[18] = 16;
    input[6] = 2;
    input[7] = 0;
    return 16;
}

static size_t generate(uint8_t *input)
{
    memset(input, 0, INPUT_BYTES);
    for (size_t i = 0; i < OPTION_BYTES; i++)
        input[i] = (uint8_t)random_below(256);
    input[2] = (uint8_t)(random_below(8) == 0);              /* live */
    input[3] = (uint8_t)(random_below(4) ? 0 : input[3] | 1); /* unwind tables out of noise */
    input[4] &= (uint8_t)random_below(16);
    input[8] = (uint8_t)random_below(input[3] ? 128 : 24);
    input[9] = (uint8_t)random_below(4);
    size_t at = OPTION_BYTES;
    if (random_below(4) == 0)
        at += add_short_function(input, input[8] = input[3] = 0);
    for (size_t n; at < INPUT_BYTES && (n = add_piece(input + at, INPUT_BYTES - at)); at += n)
        ;
    return at;
}

Test(fuzz_patcher, generated_functions_hold_all_promises)
{
    struct wtm_fuzz_counts counts = {{0}, {0}};
    uint8_t input[INPUT_BYTES];
    for (unsigned round = 0; round < ROUNDS; round++)
        wtm_fuzz_patcher(input, generate(input), &counts);
    for (unsigned method = 1; method < WTM_FUZZ_METHODS; method++)
        cr_assert_gt(counts.methods[method], 10, "method %u was taken %u times", method, counts.methods[method]);
}
