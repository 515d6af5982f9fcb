/* SPDX-License-Identifier: MIT
 * Which body the loader chose for an IFUNC symbol. What it wrote into slots of the process is the truth: a
 * resolver that is called again may have side effects or (unlikely) answer otherwise. It is called only if
 * nobody refers to the symbol. */
#include "common/elf_internal.h"
#include <string.h>

struct query {
    const struct wtm_object *object;
    const char *name;
    uintptr_t resolver;
    const struct wtm_object *objects;
    size_t count;
};

/* Unbound slots of lazy binding point back into the PLT: [endbr64] push imm32. No compiler begins a function
 * so. */
static int is_plt_stub(const unsigned char *code)
{
    static const unsigned char endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
    if (!memcmp(code, endbr64, sizeof endbr64))
        code += sizeof endbr64;
    return code[0] == 0x68;
}

/* A body lies in the object that defines the symbol, or in the vdso (time, gettimeofday); anything else in a
 * slot is another object's definition that took precedence. */
static int is_body(const struct query *query, uintptr_t value)
{
    const struct wtm_object *object = query->object;
    enum { STUB_BYTES = 8 };
    if (value == query->resolver)
        return 0;
    if (wtm_object_executable(object, value - object->bias))
        return wtm_object_readable(object, value, STUB_BYTES) && !is_plt_stub((const unsigned char *)value);
    for (size_t i = 0; i < query->count; i++)
        if (query->objects[i].is_vdso &&
            wtm_object_executable(&query->objects[i], value - query->objects[i].bias))
            return 1;
    return 0;
}

/* A reference without a version, or with one under which the symbol is defined at this resolver. */
static int version_fits(const struct query *query, const struct wtm_object *user, uint32_t index)
{
    const char *wanted = wtm_elf_symbol_version(user, index);
    const struct wtm_elf_dynamic *dynamic = &wtm_object_detail(query->object)->dynamic;
    if (!wanted)
        return 1;
    for (uint32_t i = 1; i < dynamic->symbol_count; i++) {
        const Elf64_Sym *entry = &dynamic->symbols[i];
        if (entry->st_value + query->object->bias != query->resolver || entry->st_shndx == SHN_UNDEF ||
            strcmp(wtm_elf_dynamic_string(dynamic, entry->st_name), query->name))
            continue;
        const char *version = wtm_elf_symbol_version(query->object, i);
        if (!version || !strcmp(version, wanted))
            return 1;
    }
    return 0;
}

static int refers(const struct query *query, const struct wtm_object *user, const Elf64_Rela *relocation)
{
    unsigned type = ELF64_R_TYPE(relocation->r_info);
    if (type == R_X86_64_IRELATIVE)
        return user == query->object && user->bias + (uint64_t)relocation->r_addend == query->resolver;
    if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT && type != R_X86_64_64)
        return 0;
    if (type == R_X86_64_64 && relocation->r_addend)
        return 0;
    uint32_t index = (uint32_t)ELF64_R_SYM(relocation->r_info);
    const Elf64_Sym *entry = wtm_elf_dynamic_symbol(user, index);
    if (!entry ||
        strcmp(wtm_elf_dynamic_string(&wtm_object_detail(user)->dynamic, entry->st_name), query->name))
        return 0;
    return version_fits(query, user, index);
}

static uintptr_t search(const struct query *query, const struct wtm_object *user, const Elf64_Rela *table,
                        size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!refers(query, user, &table[i]))
            continue;
        uintptr_t value = wtm_object_slot(user, table[i].r_offset);
        if (value && is_body(query, value))
            return value;
    }
    return 0;
}

static uintptr_t search_object(const struct query *query, const struct wtm_object *user)
{
    if (!user->loaded)
        return 0;
    const struct wtm_elf_dynamic *dynamic = &wtm_object_detail(user)->dynamic;
    uintptr_t found = search(query, user, dynamic->plt_rela, dynamic->plt_rela_count);
    return found ? found : search(query, user, dynamic->rela, dynamic->rela_count);
}

uintptr_t wtm_object_ifunc_target(const struct wtm_object *object, const struct wtm_symbol *symbol,
                                  const struct wtm_object *objects, size_t count)
{
    if (!object->loaded || !symbol->ifunc || !wtm_object_executable(object, symbol->offset))
        return 0;
    struct query query = {object, symbol->name, object->bias + symbol->offset, objects, count};
    uintptr_t found = search_object(&query, object);
    for (size_t i = 0; i < count && !found; i++)
        if (&objects[i] != object)
            found = search_object(&query, &objects[i]);
    if (found)
        return found;
    if (!wtm_object_relocated(object)) /* a resolver would go through empty slots */
        return 0;
    /* On x86-64 a resolver takes no arguments. */
    found = ((uintptr_t(*)(void))query.resolver)();
    return found && is_body(&query, found) ? found : 0;
}
