/* SPDX-License-Identifier: MIT
 * How far the loader is with an object: it tells of a library when it has mapped it, then relocates it, then runs its
 * initializers. */
#include "common/elf_internal.h"
#include <string.h>

uintptr_t wtm_object_slot(const struct wtm_object *object, uint64_t offset)
{
    uintptr_t at = object->bias + offset;
    uintptr_t value;
    if (!wtm_object_readable(object, at, sizeof value))
        return 0;
    memcpy(&value, (const void *)at, sizeof value);
    return value;
}

/* The loader applies relative relocations first and all at once, and no slot of an object with a bias holds such a value by
 * itself. Slots in data may have changed since, so one that fits is enough. */
int wtm_object_relocated(const struct wtm_object *object)
{
    const struct wtm_elf_dynamic *dynamic = &wtm_object_detail(object)->dynamic;
    if (!object->bias)
        return 1;
    for (size_t i = 0; i < dynamic->rela_count; i++)
        if (ELF64_R_TYPE(dynamic->rela[i].r_info) == R_X86_64_RELATIVE &&
            wtm_object_slot(object, dynamic->rela[i].r_offset) == object->bias + (uint64_t)dynamic->rela[i].r_addend)
            return 1;
    for (size_t i = 0; i < dynamic->plt_rela_count; i++) /* packed relative relocations are in no table of this kind */
        if (wtm_object_slot(object, dynamic->plt_rela[i].r_offset) >= object->bias)
            return 1;
    return 0;
}

/* The first entry of an array of initializers, relocated or not. Packed relocations keep the value in the slot. */
static uintptr_t first_of_array(const struct wtm_object *object, uint64_t array)
{
    const struct wtm_elf_dynamic *dynamic = &wtm_object_detail(object)->dynamic;
    for (size_t i = 0; i < dynamic->rela_count; i++)
        if (dynamic->rela[i].r_offset == array && ELF64_R_TYPE(dynamic->rela[i].r_info) == R_X86_64_RELATIVE)
            return object->bias + (uint64_t)dynamic->rela[i].r_addend;
    uintptr_t value = wtm_object_slot(object, array);
    return value >= object->bias ? value : object->bias + value;
}

uintptr_t wtm_object_initializer(const struct wtm_object *object)
{
    const struct wtm_elf_dynamic *dynamic = &wtm_object_detail(object)->dynamic;
    uintptr_t address = 0;
    if (dynamic->init)
        address = object->bias + dynamic->init;
    else if (dynamic->init_array)
        address = first_of_array(object, dynamic->init_array);
    return address && wtm_object_executable(object, address - object->bias) ? address : 0;
}
