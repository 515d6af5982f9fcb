/* SPDX-License-Identifier: MIT
 * The dynamic section of a loaded object: what its tables are, and one name looked up as the loader does. No
 * file is read; each table must lie within a readable segment, or it is taken as absent. */
#include "common/elf_internal.h"
#include <string.h>

/* glibc relocates the pointers of a writable dynamic section in place; the vdso's and other C libraries' stay
 * file addresses. What lies within the object as it stands is taken so. */
static uintptr_t pointer(const struct wtm_object *object, uint64_t value)
{
    return wtm_object_contains(object, value) ? value : value + object->bias;
}

static const void *table(const struct wtm_object *object, uint64_t value, uint64_t bytes)
{
    uintptr_t at = pointer(object, value);
    return value && wtm_object_readable(object, at, bytes) ? (const void *)at : NULL;
}

static uint32_t count_sysv(const struct wtm_object *object, const uint32_t *hash)
{
    uint64_t words = 2 + (uint64_t)hash[0] + hash[1];
    return wtm_object_readable(object, (uintptr_t)hash, words * 4) ? hash[1] : 0;
}

/* The GNU table does not tell how many symbols there are: the last chain's end does. */
static uint32_t count_gnu(const struct wtm_object *object, const uint32_t *hash)
{
    uint32_t buckets = hash[0], first = hash[1], bloom = hash[2], last = 0;
    const uint32_t *bucket = hash + 4 + 2 * (uint64_t)bloom;
    if (!buckets || !bloom ||
        !wtm_object_readable(object, (uintptr_t)hash, 16 + 8 * (uint64_t)bloom + 4 * (uint64_t)buckets))
        return 0;
    for (uint32_t i = 0; i < buckets; i++)
        last = bucket[i] > last ? bucket[i] : last;
    if (last < first)
        return first;
    const uint32_t *chain = bucket + buckets;
    for (; wtm_object_readable(object, (uintptr_t)&chain[last - first], 4); last++)
        if (chain[last - first] & 1)
            return last + 1;
    return 0;
}

static void count_symbols(const struct wtm_object *object, struct wtm_elf_dynamic *dynamic)
{
    uint32_t count = dynamic->sysv_hash ? count_sysv(object, dynamic->sysv_hash) : 0;
    if (dynamic->sysv_hash && !count)
        dynamic->sysv_hash = NULL;
    if (dynamic->gnu_hash) {
        uint32_t gnu = count_gnu(object, dynamic->gnu_hash);
        if (!gnu)
            dynamic->gnu_hash = NULL;
        count = gnu ? gnu : count; /* never more than the chains have */
    }
    if (!dynamic->symbols || !dynamic->strings ||
        !wtm_object_readable(object, (uintptr_t)dynamic->symbols, count * sizeof(Elf64_Sym)))
        count = 0;
    dynamic->symbol_count = count;
    if (dynamic->versions &&
        !wtm_object_readable(object, (uintptr_t)dynamic->versions, count * sizeof(Elf64_Half)))
        dynamic->versions = NULL;
}

/* `symbol_count` leaves out undefined symbols where nothing is exported, and relocations refer to just those.
 */
const Elf64_Sym *wtm_elf_dynamic_symbol(const struct wtm_object *object, uint32_t index)
{
    const struct wtm_elf_dynamic *dynamic = &wtm_object_detail(object)->dynamic;
    uintptr_t at = (uintptr_t)dynamic->symbols + (uint64_t)index * sizeof(Elf64_Sym);
    if (!dynamic->symbols || !wtm_object_readable(object, at, sizeof(Elf64_Sym)))
        return NULL;
    return (const Elf64_Sym *)at;
}

const char *wtm_elf_dynamic_string(const struct wtm_elf_dynamic *dynamic, uint64_t offset)
{
    return offset < dynamic->strings_bytes ? dynamic->strings + offset : "";
}

static const Elf64_Dyn *find_section(const struct wtm_object *object, size_t *count)
{
    for (unsigned i = 0; i < object->phdr_count; i++) {
        const Elf64_Phdr *segment = &object->phdr[i];
        uintptr_t at = object->bias + segment->p_vaddr;
        if (segment->p_type == PT_DYNAMIC && wtm_object_readable(object, at, segment->p_memsz)) {
            *count = segment->p_memsz / sizeof(Elf64_Dyn);
            return (const Elf64_Dyn *)at;
        }
    }
    *count = 0;
    return NULL;
}

/* Values by tag, for the tags that are small numbers; 0 where absent (0 is no valid value of any of them). */
enum { SMALL_TAGS = 40 };
struct raw_dynamic {
    uint64_t small[SMALL_TAGS], gnu_hash, versions, definitions, needs;
};

static void collect(const Elf64_Dyn *entries, size_t count, struct raw_dynamic *raw)
{
    for (size_t i = 0; i < count && entries[i].d_tag != DT_NULL; i++) {
        uint64_t value = entries[i].d_un.d_val;
        switch (entries[i].d_tag) {
        case DT_GNU_HASH:
            raw->gnu_hash = value;
            break;
        case DT_VERSYM:
            raw->versions = value;
            break;
        case DT_VERDEF:
            raw->definitions = value;
            break;
        case DT_VERNEED:
            raw->needs = value;
            break;
        default:
            if (entries[i].d_tag > 0 && entries[i].d_tag < SMALL_TAGS)
                raw->small[entries[i].d_tag] = value;
        }
    }
}

static void read_relocations(const struct wtm_object *object, struct wtm_elf_dynamic *dynamic,
                             const struct raw_dynamic *raw)
{
    dynamic->rela = table(object, raw->small[DT_RELA], raw->small[DT_RELASZ]);
    dynamic->rela_count = dynamic->rela ? raw->small[DT_RELASZ] / sizeof(Elf64_Rela) : 0;
    dynamic->plt_rela = raw->small[DT_PLTREL] == DT_RELA
                            ? table(object, raw->small[DT_JMPREL], raw->small[DT_PLTRELSZ])
                            : NULL;
    dynamic->plt_rela_count = dynamic->plt_rela ? raw->small[DT_PLTRELSZ] / sizeof(Elf64_Rela) : 0;
    enum { TAG_RELRSZ = 35, TAG_RELR = 36 }; /* newer than some elf.h */
    dynamic->relr = table(object, raw->small[TAG_RELR], raw->small[TAG_RELRSZ]);
    dynamic->relr_count = dynamic->relr ? raw->small[TAG_RELRSZ] / sizeof(uint64_t) : 0;
}

static int names_cxx(const char *needed)
{
    return !strncmp(needed, "libstdc++.so", 12) || !strncmp(needed, "libc++.so", 9);
}

void wtm_elf_dynamic_read(struct wtm_object *object, struct wtm_elf_dynamic *dynamic)
{
    struct raw_dynamic raw;
    size_t count;
    const Elf64_Dyn *entries = find_section(object, &count);
    memset(dynamic, 0, sizeof *dynamic);
    if (!entries)
        return;
    memset(&raw, 0, sizeof raw);
    collect(entries, count, &raw);
    dynamic->symbols = table(object, raw.small[DT_SYMTAB], sizeof(Elf64_Sym));
    dynamic->strings = table(object, raw.small[DT_STRTAB], raw.small[DT_STRSZ]);
    dynamic->strings_bytes = raw.small[DT_STRSZ];
    if (!dynamic->strings_bytes || !dynamic->strings || dynamic->strings[dynamic->strings_bytes - 1])
        dynamic->strings = NULL, dynamic->strings_bytes = 0;
    dynamic->gnu_hash = table(object, raw.gnu_hash, 16);
    dynamic->sysv_hash = table(object, raw.small[DT_HASH], 8);
    dynamic->versions = table(object, raw.versions, sizeof(Elf64_Half));
    dynamic->version_definitions = raw.definitions ? pointer(object, raw.definitions) : 0;
    dynamic->version_needs = raw.needs ? pointer(object, raw.needs) : 0;
    count_symbols(object, dynamic);
    read_relocations(object, dynamic, &raw);
    dynamic->init = raw.small[DT_INIT];
    dynamic->init_array = raw.small[DT_INIT_ARRAYSZ] >= sizeof(uintptr_t) ? raw.small[DT_INIT_ARRAY] : 0;
    if (raw.small[DT_SONAME] && dynamic->strings)
        dynamic->soname = wtm_elf_dynamic_string(dynamic, raw.small[DT_SONAME]);
    for (size_t i = 0; i < count && entries[i].d_tag != DT_NULL; i++)
        if (entries[i].d_tag == DT_NEEDED)
            dynamic->needs_cxx |= names_cxx(wtm_elf_dynamic_string(dynamic, entries[i].d_un.d_val));
}

struct hits {
    const struct wtm_object *object;
    const char *name;
    struct wtm_symbol *out;
    unsigned count, max;
};

/* The default version goes first: it is what a program that is linked today gets. */
static void take(struct hits *hits, uint32_t index)
{
    const struct wtm_elf_dynamic *dynamic = &wtm_object_detail(hits->object)->dynamic;
    if (index >= dynamic->symbol_count || hits->count == hits->max)
        return;
    const Elf64_Sym *entry = &dynamic->symbols[index];
    const char *name = wtm_elf_dynamic_string(dynamic, entry->st_name);
    struct wtm_symbol symbol;
    if (strcmp(name, hits->name) ||
        !wtm_elf_symbol_accept(hits->object, entry, name, WTM_SYMBOL_DYNAMIC, &symbol))
        return;
    for (unsigned i = 0; i < hits->count; i++)
        if (hits->out[i].offset == symbol.offset && hits->out[i].ifunc == symbol.ifunc)
            return;
    int hidden = dynamic->versions && dynamic->versions[index] & 0x8000;
    hits->out[hits->count] = symbol;
    if (!hidden && hits->count) {
        hits->out[hits->count] = hits->out[0];
        hits->out[0] = symbol;
    }
    hits->count++;
}

static void lookup_gnu(struct hits *hits, const uint32_t *table_, uint32_t symbol_count)
{
    uint32_t hash = 5381;
    for (const unsigned char *c = (const unsigned char *)hits->name; *c; c++)
        hash = hash * 33 + *c;
    uint32_t buckets = table_[0], first = table_[1], bloom_count = table_[2], shift = table_[3] & 31;
    const uint64_t *bloom = (const uint64_t *)(table_ + 4);
    const uint32_t *bucket = table_ + 4 + 2 * (uint64_t)bloom_count, *chain = bucket + buckets;
    uint64_t word = bloom[hash / 64 % bloom_count], mask = 1ull << hash % 64 | 1ull << (hash >> shift) % 64;
    if ((word & mask) != mask)
        return;
    for (uint32_t index = bucket[hash % buckets]; index >= first && index < symbol_count; index++) {
        uint32_t entry = chain[index - first];
        if ((entry ^ hash) < 2)
            take(hits, index);
        if (entry & 1)
            return;
    }
}

static void lookup_sysv(struct hits *hits, const uint32_t *table_, uint32_t symbol_count)
{
    uint32_t hash = 0;
    for (const unsigned char *c = (const unsigned char *)hits->name; *c; c++) {
        hash = (hash << 4) + *c;
        hash ^= (hash >> 24) & 0xf0;
        hash &= 0x0fffffff;
    }
    if (!table_[0])
        return;
    const uint32_t *chain = table_ + 2 + table_[0];
    uint32_t index = table_[2 + hash % table_[0]];
    for (uint32_t turns = 0; index && index < symbol_count && index < table_[1] && turns <= table_[1];
         turns++) {
        take(hits, index);
        index = chain[index];
    }
}

unsigned wtm_object_lookup_all(const struct wtm_object *object, const char *name, struct wtm_symbol *out,
                               unsigned max)
{
    struct hits hits = {object, name, out, 0, max};
    const struct wtm_elf_dynamic *dynamic = &wtm_object_detail(object)->dynamic;
    if (!object->loaded || !dynamic->symbol_count || !*name)
        return 0;
    if (dynamic->gnu_hash)
        lookup_gnu(&hits, dynamic->gnu_hash, dynamic->symbol_count);
    else if (dynamic->sysv_hash)
        lookup_sysv(&hits, dynamic->sysv_hash, dynamic->symbol_count);
    return hits.count;
}

int wtm_object_lookup(const struct wtm_object *object, const char *name, struct wtm_symbol *out)
{
    struct wtm_symbol found[4];
    if (!wtm_object_lookup_all(object, name, found, 4))
        return 0;
    *out = found[0];
    return 1;
}
