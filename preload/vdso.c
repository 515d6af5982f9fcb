/* SPDX-License-Identifier: MIT
 * Finds the vdso's clock_gettime by its symbol table (Documentation/ABI/stable/vdso of the kernel). Nobody patches it: its
 * bodies are refused. */
#include "preload/vdso.h"
#include <elf.h>
#include <string.h>
#include <sys/auxv.h>

struct vdso {
    uintptr_t bias;
    const Elf64_Sym *symbols;
    const char *names;
    const uint32_t *hash, *gnu_hash;
};

/* Number of symbols: stated in the old hash table; in the new one it is one more than the last of the longest chain. */
static uint32_t symbol_count(const struct vdso *vdso)
{
    if (vdso->hash)
        return vdso->hash[1];
    if (!vdso->gnu_hash)
        return 0;
    uint32_t buckets = vdso->gnu_hash[0], first = vdso->gnu_hash[1], words = vdso->gnu_hash[2], last = 0;
    const uint32_t *bucket = vdso->gnu_hash + 4 + words * 2, *chain = bucket + buckets;
    for (uint32_t i = 0; i < buckets; i++)
        last = bucket[i] > last ? bucket[i] : last;
    if (last < first)
        return 0;
    while (!(chain[last - first] & 1))
        last++;
    return last + 1;
}

static void read_dynamic(struct vdso *vdso, const Elf64_Dyn *dynamic)
{
    for (; dynamic->d_tag != DT_NULL; dynamic++) {
        uintptr_t at = vdso->bias + dynamic->d_un.d_ptr;
        if (dynamic->d_tag == DT_SYMTAB)
            vdso->symbols = (const Elf64_Sym *)at;
        else if (dynamic->d_tag == DT_STRTAB)
            vdso->names = (const char *)at;
        else if (dynamic->d_tag == DT_HASH)
            vdso->hash = (const uint32_t *)at;
        else if (dynamic->d_tag == DT_GNU_HASH)
            vdso->gnu_hash = (const uint32_t *)at;
    }
}

wtm_vdso_gettime *wtm_vdso_find(void)
{
    const Elf64_Ehdr *head = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);
    struct vdso vdso = {0};
    const Elf64_Dyn *dynamic = NULL;
    if (!head || memcmp(head->e_ident, ELFMAG, SELFMAG))
        return NULL;
    const Elf64_Phdr *part = (const Elf64_Phdr *)((const char *)head + head->e_phoff);
    for (unsigned i = 0; i < head->e_phnum; i++) {
        if (part[i].p_type == PT_LOAD && !vdso.bias)
            vdso.bias = (uintptr_t)head + part[i].p_offset - part[i].p_vaddr;
        else if (part[i].p_type == PT_DYNAMIC)
            dynamic = (const Elf64_Dyn *)((const char *)head + part[i].p_offset);
    }
    if (!dynamic || !vdso.bias)
        return NULL;
    read_dynamic(&vdso, dynamic);
    uint32_t count = vdso.symbols && vdso.names ? symbol_count(&vdso) : 0;
    for (uint32_t i = 0; i < count; i++) {
        const Elf64_Sym *symbol = &vdso.symbols[i];
        if (symbol->st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol->st_info) == STT_FUNC &&
            !strcmp(vdso.names + symbol->st_name, "__vdso_clock_gettime"))
            return (wtm_vdso_gettime *)(vdso.bias + symbol->st_value);
    }
    return NULL;
}
