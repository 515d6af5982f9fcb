/* SPDX-License-Identifier: MIT
 * Addresses of code that a loaded object's data holds: jump tables in position-independent code aside,
 * whatever is jumped to through memory is named by a relocation. */
#include "common/elf_internal.h"
#include <string.h>

struct pointers {
    const struct wtm_object *object;
    uintptr_t *items; /* NULL: only counted */
    size_t count, capacity;
};

static void add(struct pointers *pointers, uintptr_t value)
{
    if (!wtm_object_executable(pointers->object, value - pointers->object->bias))
        return;
    if (pointers->items && pointers->count == pointers->capacity)
        return; /* the program changed slots since they were counted */
    if (pointers->items)
        pointers->items[pointers->count] = value;
    pointers->count++;
}

static int load_slot(const struct wtm_object *object, uintptr_t at, uintptr_t *value)
{
    if (!wtm_object_readable(object, at, sizeof *value))
        return 0;
    memcpy(value, (const void *)at, sizeof *value);
    return 1;
}

static void add_rela(struct pointers *pointers, const Elf64_Rela *table, size_t count)
{
    const struct wtm_object *object = pointers->object;
    for (size_t i = 0; i < count; i++) {
        unsigned type = ELF64_R_TYPE(table[i].r_info);
        uintptr_t value;
        if (type == R_X86_64_RELATIVE)
            add(pointers, object->bias + (uint64_t)table[i].r_addend);
        else if (type == R_X86_64_64) {
            /* From the symbol, not the slot, which the program may have changed by now. */
            const Elf64_Sym *entry = wtm_elf_dynamic_symbol(object, (uint32_t)ELF64_R_SYM(table[i].r_info));
            if (entry && entry->st_shndx != SHN_UNDEF && entry->st_value)
                add(pointers, object->bias + entry->st_value + (uint64_t)table[i].r_addend);
            else if (load_slot(object, object->bias + table[i].r_offset, &value))
                add(pointers, value);
        }
    }
}

/* RELR: an even word is the address of a slot, an odd one a bitmap of the 63 slots that follow. The original
 * values are gone once relocated, so the slots are read as they are now. */
static void add_relr(struct pointers *pointers, const uint64_t *table, size_t count)
{
    const struct wtm_object *object = pointers->object;
    uintptr_t at = 0, value;
    for (size_t i = 0; i < count; i++) {
        uint64_t word = table[i];
        if (!(word & 1)) {
            at = object->bias + word;
            if (load_slot(object, at, &value))
                add(pointers, value);
            at += 8;
            continue;
        }
        for (unsigned bit = 0; bit < 63; bit++)
            if (word >> (bit + 1) & 1 && load_slot(object, at + 8 * bit, &value))
                add(pointers, value);
        at += 63 * 8;
    }
}

static void visit(struct pointers *pointers)
{
    const struct wtm_elf_dynamic *dynamic = &wtm_object_detail(pointers->object)->dynamic;
    pointers->count = 0;
    add_rela(pointers, dynamic->rela, dynamic->rela_count);
    add_relr(pointers, dynamic->relr, dynamic->relr_count);
}

/* Least significant byte first; bytes in which all agree are passed over, so four or five turns as a rule. */
static uintptr_t *sort(uintptr_t *items, uintptr_t *spare, size_t count)
{
    uintptr_t differs = 0;
    for (size_t i = 1; i < count; i++)
        differs |= items[i] ^ items[0];
    for (unsigned shift = 0; shift < 64; shift += 8) {
        if (!(differs >> shift & 255))
            continue;
        size_t starts[256] = {0}, total = 0;
        for (size_t i = 0; i < count; i++)
            starts[items[i] >> shift & 255]++;
        for (unsigned b = 0; b < 256; b++) {
            size_t here = starts[b];
            starts[b] = total;
            total += here;
        }
        for (size_t i = 0; i < count; i++)
            spare[starts[items[i] >> shift & 255]++] = items[i];
        uintptr_t *swap = items;
        items = spare;
        spare = swap;
    }
    return items;
}

const uintptr_t *wtm_object_code_pointers(const struct wtm_object *object, struct wtm_arena *arena,
                                          size_t *count)
{
    struct pointers pointers = {.object = object};
    *count = 0;
    if (!object->loaded)
        return NULL;
    visit(&pointers);
    if (!pointers.count)
        return NULL;
    pointers.capacity = pointers.count;
    uintptr_t *items = wtm_arena_alloc(arena, pointers.capacity * sizeof *items);
    uintptr_t *spare = wtm_arena_alloc(arena, pointers.capacity * sizeof *spare);
    if (!items || !spare)
        return NULL;
    pointers.items = items;
    visit(&pointers);
    items = sort(items, spare, pointers.count);
    size_t kept = 0;
    for (size_t i = 0; i < pointers.count; i++)
        if (!kept || items[kept - 1] != items[i])
            items[kept++] = items[i];
    *count = kept;
    return items;
}
