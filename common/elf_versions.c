/* SPDX-License-Identifier: MIT
 * Names of symbol versions (memcpy@GLIBC_2.2.5 and memcpy@@GLIBC_2.14 are two functions). Read from a loaded
 * object's memory, each record checked before it is read. */
#include "common/elf_internal.h"

/* Definitions first, then needs: each is a chain of records that begin with fixed fields; `vna_other`,
 * `vd_ndx` is what the symbol's version index refers to. */
static const char *definition_name(const struct wtm_object *object, const struct wtm_elf_dynamic *dynamic,
                                   unsigned index)
{
    uintptr_t at = dynamic->version_definitions;
    for (unsigned turns = 0; at && turns < 0x8000; turns++) {
        if (!wtm_object_readable(object, at, sizeof(Elf64_Verdef)))
            return NULL;
        const Elf64_Verdef *record = (const Elf64_Verdef *)at;
        uintptr_t aux = at + record->vd_aux;
        if (record->vd_ndx == index)
            return wtm_object_readable(object, aux, sizeof(Elf64_Verdaux))
                       ? wtm_elf_dynamic_string(dynamic, ((const Elf64_Verdaux *)aux)->vda_name)
                       : NULL;
        at = record->vd_next ? at + record->vd_next : 0;
    }
    return NULL;
}

static const char *need_name(const struct wtm_object *object, const struct wtm_elf_dynamic *dynamic,
                             unsigned index)
{
    uintptr_t at = dynamic->version_needs;
    for (unsigned turns = 0; at && turns < 0x8000; turns++) {
        if (!wtm_object_readable(object, at, sizeof(Elf64_Verneed)))
            return NULL;
        const Elf64_Verneed *record = (const Elf64_Verneed *)at;
        uintptr_t aux = at + record->vn_aux;
        for (unsigned i = 0; i < record->vn_cnt && wtm_object_readable(object, aux, sizeof(Elf64_Vernaux));
             i++) {
            const Elf64_Vernaux *entry = (const Elf64_Vernaux *)aux;
            if ((entry->vna_other & 0x7fff) == index)
                return wtm_elf_dynamic_string(dynamic, entry->vna_name);
            if (!entry->vna_next)
                break;
            aux += entry->vna_next;
        }
        at = record->vn_next ? at + record->vn_next : 0;
    }
    return NULL;
}

const char *wtm_elf_symbol_version(const struct wtm_object *object, uint32_t index)
{
    const struct wtm_elf_dynamic *dynamic = &wtm_object_detail(object)->dynamic;
    uintptr_t at = (uintptr_t)dynamic->versions + (uint64_t)index * sizeof(Elf64_Half);
    if (!dynamic->versions || !wtm_object_readable(object, at, sizeof(Elf64_Half)))
        return NULL;
    unsigned version = dynamic->versions[index] & 0x7fff;
    if (version < 2) /* local, or global without a version */
        return NULL;
    const char *name = definition_name(object, dynamic, version);
    return name ? name : need_name(object, dynamic, version);
}
