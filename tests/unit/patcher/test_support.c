/* SPDX-License-Identifier: MIT
 * Working memory, sorting, unwind tables. */
#include <criterion/criterion.h>
#include <string.h>
#include "own_module.h"
#include "patcher/dwarf.h"
#include "patcher/extent.h"
#include "patcher/memory.h"

struct item {
    uint32_t key;
    uint8_t payload[7]; /* no multiple of eight */
};

static int by_key(const void *left, const void *right)
{
    const struct item *l = left, *r = right;
    return l->key < r->key ? -1 : l->key > r->key;
}

Test(support, sort)
{
    static struct item items[1000];
    for (size_t count = 0; count <= 1000; count = count < 20 ? count + 1 : count * 7 / 2) {
        for (unsigned order = 0; order < 4; order++) { /* random, rising, falling, all the same */
            uint64_t sum = 0, sum_after = 0;
            for (size_t i = 0; i < count; i++) {
                uint32_t key = order == 0 ? (uint32_t)(i * 2654435761u) % 500 : order == 1 ? (uint32_t)i
                               : order == 2 ? (uint32_t)(count - i) : 7;
                items[i].key = key;
                memset(items[i].payload, (int)key, sizeof items[i].payload);
                sum += (uint64_t)key * key;
            }
            wtm_sort(items, count, sizeof *items, by_key);
            for (size_t i = 0; i < count; i++) {
                cr_assert(!i || items[i - 1].key <= items[i].key, "%zu items, order %u", count, order);
                cr_assert_eq(items[i].payload[6], (uint8_t)items[i].key);
                sum_after += (uint64_t)items[i].key * items[i].key;
            }
            cr_assert_eq(sum, sum_after);
        }
    }
}

Test(support, memory)
{
    struct wtm_pool pool = {0};
    char *last = NULL;
    for (size_t bytes = 0; bytes < 200000; bytes = bytes * 2 + 1) {
        char *piece = wtm_pool_take(&pool, bytes);
        cr_assert_not_null(piece);
        cr_assert_eq((uintptr_t)piece % 16, 0);
        cr_assert_neq(piece, last);
        for (size_t i = 0; i < bytes; i++)
            cr_assert_eq(piece[i], 0);
        memset(piece, 1, bytes);
        last = piece;
    }
    cr_expect_null(wtm_pool_take(&pool, SIZE_MAX - 8));
    wtm_pool_give(&pool);
    struct wtm_vector vector = {.item_bytes = 12};
    for (uint32_t i = 0; i < 100000; i++) {
        uint32_t *item = wtm_vector_push(&vector);
        cr_assert_not_null(item);
        cr_assert_eq(item[2], 0);
        *item = i;
    }
    for (uint32_t i = 0; i < 100000; i++)
        cr_assert_eq(((uint32_t *)vector.items)[3 * i], i);
    wtm_vector_give(&vector);
    cr_expect_eq(vector.count, 0);
}

/* Nearly every function of libc is described, and as long as its symbol says. */
Test(support, extents_of_libc)
{
    struct own_module own;
    struct wtm_extent extent;
    size_t same = 0, lsda = 0;
    own_module_read("libc.so.6", &own);
    cr_assert_neq(own.module.eh_frame_hdr, 0);
    for (size_t i = 0; i < own.function_count; i++) {
        uintptr_t start = own.functions[i].address, middle = start + own.functions[i].size / 2;
        if (wtm_extent_find(&own.module, middle, &extent) < 0)
            continue;
        cr_assert_leq(extent.start, middle);
        same += extent.start == start && extent.end == start + own.functions[i].size;
        lsda += extent.lsda != 0;
        uintptr_t next = wtm_extent_next(&own.module, extent.start);
        cr_assert(!next || next > extent.start);
        cr_assert(!wtm_landing_inside(&own.module, &extent, extent.start, extent.start + 5));
    }
    cr_expect_gt(same, own.function_count * 9 / 10, "%zu of %zu", same, own.function_count);
    cr_expect_gt(lsda, 0, "libc has cleanups");
    cr_expect_eq(wtm_extent_find(&own.module, own.module.span.start, &extent), -1, "below the first");
    struct wtm_code_module cut = own.module;
    cut.eh_frame_hdr_bytes = 100;
    cr_expect_eq(wtm_extent_find(&cut, own.functions[0].address, &extent), -1, "a table that is longer than its section");
    cut.eh_frame_hdr = own.functions[0].address;
    cr_expect_eq(wtm_extent_find(&cut, own.functions[0].address, &extent), -1, "no table at all");
}

Test(support, sorted_arrays)
{
    static const uintptr_t values[] = {10, 20, 20, 30};
    struct wtm_code_module module = {.starts = values, .start_count = 4};
    cr_expect_eq(wtm_start_after(&module, 9), 10);
    cr_expect_eq(wtm_start_after(&module, 10), 20);
    cr_expect_eq(wtm_start_after(&module, 20), 30);
    cr_expect_eq(wtm_start_after(&module, 30), 0);
    cr_expect_eq(wtm_start_before(&module, 9), 0);
    cr_expect_eq(wtm_start_before(&module, 10), 10);
    cr_expect_eq(wtm_start_before(&module, 29), 20);
    cr_expect(wtm_sorted_has(values, 4, 10, 11));
    cr_expect(!wtm_sorted_has(values, 4, 11, 20));
    cr_expect(wtm_sorted_has(values, 4, 11, 21));
    cr_expect(!wtm_sorted_has(values, 4, 31, 100));
    cr_expect(!wtm_sorted_has(values, 4, 20, 20));
    cr_expect(!wtm_sorted_has(values, 0, 0, 100));
}

Test(support, dwarf_numbers)
{
    static const uint8_t bytes[] = {0x7f, 0xe5, 0x8e, 0x26, 0x80, 0x7f, 0x01, 0x02, 0x80};
    struct wtm_dwarf reader = {bytes, bytes + sizeof bytes, 0};
    cr_expect_eq(wtm_dwarf_leb128(&reader, 1), (uint64_t)-1);
    cr_expect_eq(wtm_dwarf_leb128(&reader, 0), 624485);
    cr_expect_eq((int64_t)wtm_dwarf_leb128(&reader, 1), -128);
    cr_expect_eq(wtm_dwarf_unsigned(&reader, 2), 0x0201);
    cr_expect_eq(reader.failed, 0);
    cr_expect_eq(wtm_dwarf_leb128(&reader, 0), 0);
    cr_expect_eq(reader.failed, 1, "cut short");
    cr_expect_eq(wtm_dwarf_unsigned(&reader, 1), 0, "and so for good");
}
