/* SPDX-License-Identifier: MIT
 * All function symbols of an object in one sorted table: .dynsym from memory, then .symtab, then a separate
 * debug file, then .gnu_debugdata. A pair of address and name occurs once, whichever tables tell it. */
#include "common/elf_internal.h"
#include <errno.h>
#include <string.h>

enum { MAX_SKIPPED = 8 };

/* `foo.cold`, `foo.cold.3`, `foo.part.0.cold`: what the compiler moved out of the way; jumped to, never
 * called. */
static int is_cold(const char *name)
{
    for (const char *at = name; (at = strstr(at, ".cold")); at += 5)
        if (at > name && (!at[5] || at[5] == '.'))
            return 1;
    return 0;
}

int wtm_elf_symbol_accept(const struct wtm_object *object, const Elf64_Sym *entry, const char *name,
                          int source, struct wtm_symbol *out)
{
    unsigned type = ELF64_ST_TYPE(entry->st_info), binding = ELF64_ST_BIND(entry->st_info);
    int global = binding == STB_GLOBAL || binding == STB_WEAK || binding == STB_GNU_UNIQUE;
    int notype = type == STT_NOTYPE && global;
    if (type != STT_FUNC && type != STT_GNU_IFUNC && !notype)
        return 0;
    if (entry->st_shndx == SHN_UNDEF || entry->st_shndx == SHN_ABS || entry->st_shndx == SHN_COMMON ||
        !entry->st_value || !*name || !wtm_object_executable(object, entry->st_value))
        return 0;
    /* A table without sections cannot tell; the dynamic one names these two only as DT_INIT and DT_FINI. */
    if (source == WTM_SYMBOL_DYNAMIC && (!strcmp(name, "_init") || !strcmp(name, "_fini")))
        return 0;
    *out = (struct wtm_symbol){.offset = entry->st_value,
                               .size = entry->st_size,
                               .name = name,
                               .ifunc = type == STT_GNU_IFUNC,
                               .global = (uint8_t)global,
                               .source = (uint8_t)source,
                               .cold = (uint8_t)is_cold(name),
                               .notype = (uint8_t)notype};
    return 1;
}

/* One fact of two: the better source stays, and what either knows. */
static size_t merge_equal(struct wtm_symbol *symbols, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        struct wtm_symbol *last = kept ? &symbols[kept - 1] : NULL;
        if (!last || wtm_symbols_compare(last, &symbols[i])) {
            symbols[kept++] = symbols[i];
            continue;
        }
        if (symbols[i].source < last->source)
            last->source = symbols[i].source, last->name = symbols[i].name;
        last->global |= symbols[i].global;
        last->notype &= symbols[i].notype;
        if (last->size < symbols[i].size)
            last->size = symbols[i].size;
    }
    return kept;
}

/* A growing list while tables are read. */
struct list {
    const struct wtm_object *object;
    struct wtm_symbol *items;
    size_t count, capacity;
    struct wtm_arena *scratch;
};

static int reserve(struct list *list, size_t more)
{
    if (more <= list->capacity - list->count)
        return 0;
    if (more > WTM_ELF_MAX_TABLE_BYTES / sizeof *list->items)
        return -EFBIG;
    size_t capacity = list->count + more;
    struct wtm_symbol *items = wtm_arena_alloc(list->scratch, capacity * sizeof *items);
    if (!items)
        return -ENOMEM;
    if (list->count)
        memcpy(items, list->items, list->count * sizeof *items);
    list->items = items;
    list->capacity = capacity;
    return 0;
}

static void note_runtime(struct wtm_object *object, const struct wtm_symbol *symbol)
{
    if (symbol->name[0] == 'r' &&
        (!strcmp(symbol->name, "runtime.morestack") || !strcmp(symbol->name, "runtime.morestack.abi0")))
        object->is_go = 1;
    /* V8's builtins and its class Isolate; HotSpot's one exported way in. */
    if (symbol->name[0] == 'B' && !strncmp(symbol->name, "Builtins_", 9)) {
        if (!object->builtins_end || symbol->offset < object->builtins)
            object->builtins = symbol->offset;
        if (symbol->offset + symbol->size > object->builtins_end)
            object->builtins_end = symbol->offset + symbol->size;
        object->has_v8 |= !strcmp(symbol->name, "Builtins_InterpreterEntryTrampoline");
    }
    object->has_v8 |= !strcmp(symbol->name, "_ZN2v87Isolate8AllocateEv");
    object->is_walker |= object->has_v8 || !strcmp(symbol->name, "JNI_CreateJavaVM");
}

static int add_dynamic(struct list *list)
{
    const struct wtm_elf_dynamic *dynamic = &wtm_object_detail(list->object)->dynamic;
    int error = reserve(list, dynamic->symbol_count);
    for (uint32_t i = 1; !error && i < dynamic->symbol_count; i++) {
        const char *name = wtm_elf_dynamic_string(dynamic, dynamic->symbols[i].st_name);
        list->count += (size_t)wtm_elf_symbol_accept(list->object, &dynamic->symbols[i], name,
                                                     WTM_SYMBOL_DYNAMIC, &list->items[list->count]);
    }
    return error;
}

/* What a lower level has read. */
static int add_known(struct list *list)
{
    const struct wtm_object *object = list->object;
    int error = reserve(list, object->symbol_count);
    if (!error && object->symbol_count)
        memcpy(list->items, object->symbols, object->symbol_count * sizeof *list->items);
    list->count = error ? 0 : object->symbol_count;
    return error;
}

/* Sections whose symbols are no functions. */
struct skipped {
    unsigned index[MAX_SKIPPED], count;
};

static void find_skipped(struct wtm_elf_file *file, struct skipped *skipped)
{
    static const char names[][9] = {".init", ".fini", ".plt", ".plt.got", ".plt.sec", ".iplt"};
    skipped->count = 0;
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        unsigned index = wtm_elf_file_section_named(file, names[i]);
        if (index)
            skipped->index[skipped->count++] = index;
    }
}

static int is_skipped(const struct skipped *skipped, unsigned section)
{
    for (unsigned i = 0; i < skipped->count; i++)
        if (skipped->index[i] == section)
            return 1;
    return 0;
}

/* The version is cut where it stands: a name that shares the tail (`cpy@@V` in `memcpy@@V`) is cut at the
 * same place. */
static char *plain_name(char *name)
{
    if (name[0] == '@')
        return name;
    char *at = strchr(name, '@');
    if (at)
        *at = 0;
    return name;
}

static void add_entries(struct list *list, const Elf64_Sym *entries, uint64_t count, char *strings,
                        uint64_t strings_bytes, int source, const struct skipped *skipped)
{
    for (uint64_t i = 1; i < count; i++) {
        const Elf64_Sym *entry = &entries[i];
        unsigned type = ELF64_ST_TYPE(entry->st_info);
        if ((type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE) ||
            entry->st_name >= strings_bytes || is_skipped(skipped, entry->st_shndx))
            continue;
        struct wtm_symbol *next = &list->items[list->count];
        list->count += (size_t)wtm_elf_symbol_accept(list->object, entry,
                                                     plain_name(strings + entry->st_name), source, next);
    }
}

/* A symbol table of a file whose sections were read. 1: there was one. */
static int add_table(struct list *list, struct wtm_elf_file *file, uint32_t type, int source,
                     struct wtm_arena *arena)
{
    unsigned index = wtm_elf_file_section_of_type(file, type);
    if (!index)
        return 0;
    const Elf64_Shdr *table = &file->sections[index];
    if (table->sh_entsize != sizeof(Elf64_Sym) || table->sh_link >= file->section_count ||
        file->sections[table->sh_link].sh_type != SHT_STRTAB)
        return -ENOEXEC;
    const Elf64_Shdr *names = &file->sections[table->sh_link];
    const Elf64_Sym *entries = wtm_elf_file_load(file, table->sh_offset, table->sh_size, list->scratch);
    char *strings = wtm_elf_file_load(file, names->sh_offset, names->sh_size, arena);
    if (!entries || !strings)
        return -ENOEXEC;
    int error = reserve(list, table->sh_size / sizeof(Elf64_Sym));
    if (error)
        return error;
    struct skipped skipped;
    find_skipped(file, &skipped);
    add_entries(list, entries, table->sh_size / sizeof(Elf64_Sym), strings, names->sh_size, source, &skipped);
    return 1;
}

/* Each file in an arena of its own: what is kept (names) goes to the caller's. */
static int add_debug(struct list *list, struct wtm_elf_file *own, struct wtm_arena *arena)
{
    struct wtm_elf_file debug;
    int found = wtm_elf_debug_open(list->object, own, &debug, list->scratch);
    if (!found) {
        found = add_table(list, &debug, SHT_SYMTAB, WTM_SYMBOL_DEBUG, arena);
        wtm_elf_file_close(&debug);
        if (found > 0)
            return found;
    }
    if (!wtm_elf_mini_open(own, &debug, list->scratch))
        return add_table(list, &debug, SHT_SYMTAB, WTM_SYMBOL_MINI, arena);
    return found < 0 ? 0 : found;
}

static void note_go_sections(struct wtm_object *object, struct wtm_elf_file *file)
{
    if (wtm_elf_file_section_named(file, ".go.buildinfo") || wtm_elf_file_section_named(file, ".gopclntab"))
        object->is_go = 1;
}

static int add_files(struct list *list, struct wtm_object *object, enum wtm_symbol_level level,
                     struct wtm_arena *arena)
{
    struct wtm_object_detail *detail = wtm_object_detail(object);
    struct wtm_elf_file own;
    if (detail->file_looked_at && !detail->has_symtab && level == WTM_LEVEL_OWN && object->loaded)
        return 0; /* known to have nothing more than its memory */
    int error = wtm_object_open_file(object, &own, list->scratch);
    if (error)
        return 0; /* `note` tells it */
    error = wtm_elf_file_read_sections(&own);
    int found = 0;
    if (!error) {
        note_go_sections(object, &own);
        if (!object->loaded && detail->level == WTM_LEVEL_NONE)
            add_table(list, &own, SHT_DYNSYM, WTM_SYMBOL_DYNAMIC, arena);
        found =
            detail->level == WTM_LEVEL_NONE ? add_table(list, &own, SHT_SYMTAB, WTM_SYMBOL_STATIC, arena) : 0;
        detail->has_symtab = found > 0;
        detail->file_looked_at = 1;
    }
    if (found < 0)
        object->note = "the symbol table of its file is damaged";
    if (found <= 0 && level == WTM_LEVEL_ALL)
        error = add_debug(list, &own, arena);
    wtm_elf_file_close(&own);
    return error == -ENOMEM || error == -EFBIG ? error : 0;
}

static int publish(struct list *list, struct wtm_object *object, struct wtm_arena *arena)
{
    if (object->symbols && list->count == object->symbol_count)
        return 0; /* nothing came to what was there */
    int error = wtm_symbols_sort(list->items, list->count, list->scratch);
    if (error)
        return error;
    size_t count = merge_equal(list->items, list->count);
    struct wtm_symbol *kept = wtm_arena_alloc(arena, count * sizeof *kept);
    if (!kept)
        return -ENOMEM;
    if (count)
        memcpy(kept, list->items, count * sizeof *kept);
    for (size_t i = 0; i < count; i++)
        note_runtime(object, &kept[i]);
    object->symbols = kept;
    object->symbol_count = count;
    return 0;
}

int wtm_object_read_to_level(struct wtm_object *object, enum wtm_symbol_level level, struct wtm_arena *arena,
                             struct wtm_arena *scratch)
{
    struct wtm_object_detail *detail = wtm_object_detail(object);
    if (detail->level >= level)
        return 0;
    struct list list = {.object = object, .scratch = scratch};
    int error = 0;
    /* With a .symtab of its own there is nothing that a debug file could add. */
    if (detail->level == WTM_LEVEL_NONE || !detail->has_symtab) {
        error = detail->level == WTM_LEVEL_NONE ? add_dynamic(&list) : add_known(&list);
        if (!error)
            error = add_files(&list, object, level, arena);
        if (!error)
            error = publish(&list, object, arena);
    }
    if (!error) {
        detail->level = level;
        object->symbols_read = level == WTM_LEVEL_ALL;
    }
    return error;
}

int wtm_object_read_symbols(struct wtm_object *object, struct wtm_arena *arena)
{
    struct wtm_arena scratch = {.limit_bytes = arena->limit_bytes};
    int error = wtm_object_read_to_level(object, WTM_LEVEL_ALL, arena, &scratch);
    wtm_arena_free(&scratch);
    return error;
}

int wtm_object_has_symtab(struct wtm_object *object)
{
    struct wtm_object_detail *detail = wtm_object_detail(object);
    if (detail->file_looked_at)
        return detail->has_symtab;
    struct wtm_arena scratch = {0}; /* stays empty for all but odd files */
    struct wtm_elf_file file;
    detail->file_looked_at = 1;
    if (!wtm_object_open_file(object, &file, &scratch)) {
        detail->has_symtab = wtm_elf_file_has_section(&file, SHT_SYMTAB);
        wtm_elf_file_close(&file);
    }
    wtm_arena_free(&scratch);
    return detail->has_symtab;
}

const struct wtm_symbol *wtm_object_symbols_at(const struct wtm_object *object, uint64_t offset)
{
    size_t low = 0, high = object->symbol_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (object->symbols[middle].offset < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low < object->symbol_count && object->symbols[low].offset == offset ? &object->symbols[low] : NULL;
}
