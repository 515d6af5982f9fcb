/* SPDX-License-Identifier: MIT
 * Sorts symbols by address, then by name. Addresses by radix, on keys half as large as symbols; names are
 * compared only where addresses are equal, since comparing them costs a cache miss each. */
#include "common/elf_internal.h"
#include <errno.h>
#include <string.h>

int wtm_symbols_compare(const struct wtm_symbol *a, const struct wtm_symbol *b)
{
    if (a->offset != b->offset)
        return a->offset < b->offset ? -1 : 1;
    if (a->ifunc != b->ifunc)
        return a->ifunc - b->ifunc;
    return strcmp(a->name, b->name);
}

/* Merge sort, bottom up, from runs made by insertion. */
static void merge_sort(struct wtm_symbol *symbols, struct wtm_symbol *scratch, size_t count)
{
    enum { RUN = 8 };
    for (size_t low = 0; low < count; low += RUN) {
        size_t high = low + RUN < count ? low + RUN : count;
        for (size_t i = low + 1; i < high; i++) {
            struct wtm_symbol moving = symbols[i];
            size_t j = i;
            for (; j > low && wtm_symbols_compare(&symbols[j - 1], &moving) > 0; j--)
                symbols[j] = symbols[j - 1];
            symbols[j] = moving;
        }
    }
    struct wtm_symbol *from = symbols, *to = scratch;
    for (size_t width = RUN; width < count; width *= 2) {
        for (size_t low = 0; low < count; low += 2 * width) {
            size_t middle = low + width < count ? low + width : count;
            size_t high = low + 2 * width < count ? low + 2 * width : count;
            size_t a = low, b = middle;
            for (size_t i = low; i < high; i++)
                to[i] = a < middle && (b >= high || wtm_symbols_compare(&from[a], &from[b]) <= 0) ? from[a++]
                                                                                                  : from[b++];
        }
        struct wtm_symbol *swap = from;
        from = to;
        to = swap;
    }
    if (from != symbols)
        memcpy(symbols, from, count * sizeof *symbols);
}

struct key {
    uint64_t offset;
    size_t index;
};

/* Least significant byte first; bytes in which all agree are passed over. Gives whichever buffer the result
 * is in. */
static struct key *radix_sort(struct key *keys, struct key *spare, size_t count)
{
    uint64_t differs = 0;
    for (size_t i = 1; i < count; i++)
        differs |= keys[i].offset ^ keys[0].offset;
    for (unsigned shift = 0; shift < 64; shift += 8) {
        if (!(differs >> shift & 255))
            continue;
        size_t starts[256] = {0}, total = 0;
        for (size_t i = 0; i < count; i++)
            starts[keys[i].offset >> shift & 255]++;
        for (unsigned b = 0; b < 256; b++) {
            size_t here = starts[b];
            starts[b] = total;
            total += here;
        }
        for (size_t i = 0; i < count; i++)
            spare[starts[keys[i].offset >> shift & 255]++] = keys[i];
        struct key *swap = keys;
        keys = spare;
        spare = swap;
    }
    return keys;
}

int wtm_symbols_sort(struct wtm_symbol *symbols, size_t count, struct wtm_arena *scratch)
{
    struct key *keys = wtm_arena_alloc(scratch, count * sizeof *keys);
    struct key *spare_keys = wtm_arena_alloc(scratch, count * sizeof *spare_keys);
    struct wtm_symbol *spare = wtm_arena_alloc(scratch, count * sizeof *spare);
    if (!keys || !spare_keys || !spare)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        keys[i] = (struct key){symbols[i].offset, i};
    keys = radix_sort(keys, spare_keys, count);
    if (count)
        memcpy(spare, symbols, count * sizeof *symbols);
    for (size_t i = 0; i < count; i++)
        symbols[i] = spare[keys[i].index];
    for (size_t begin = 0, end; begin < count; begin = end) {
        for (end = begin + 1; end < count && symbols[end].offset == symbols[begin].offset; end++)
            ;
        if (end - begin > 1)
            merge_sort(symbols + begin, spare, end - begin);
    }
    return 0;
}
