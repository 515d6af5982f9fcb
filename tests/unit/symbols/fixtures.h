/* SPDX-License-Identifier: MIT
 * Finding things in what make-fixtures.sh built (FIXTURES is its folder). */
#ifndef WTM_TESTS_SYMBOLS_FIXTURES_H
#define WTM_TESTS_SYMBOLS_FIXTURES_H

#include <link.h>
#include <string.h>
#include "common/elf_internal.h"

static inline const struct wtm_symbol *find_symbol(const struct wtm_object *object, const char *name)
{
    for (size_t i = 0; i < object->symbol_count; i++)
        if (!strcmp(object->symbols[i].name, name))
            return &object->symbols[i];
    return NULL;
}

static inline size_t count_symbols(const struct wtm_object *object, const char *name)
{
    size_t count = 0;
    for (size_t i = 0; i < object->symbol_count; i++)
        count += !strcmp(object->symbols[i].name, name);
    return count;
}

/* All objects of this process as the preloaded library describes them. */
enum { MAX_OBJECTS = 128 };
struct process {
    struct wtm_object objects[MAX_OBJECTS];
    size_t count;
    struct wtm_arena arena;
};

static inline int describe_one(struct dl_phdr_info *info, size_t size, void *context)
{
    struct process *process = context;
    (void)size;
    if (process->count < MAX_OBJECTS &&
        !wtm_object_from_memory(&process->objects[process->count], info->dlpi_name, info->dlpi_addr,
                                info->dlpi_phdr, info->dlpi_phnum, process->count == 0, &process->arena))
        process->count++;
    return 0;
}

static inline void describe(struct process *process)
{
    process->count = 0;
    dl_iterate_phdr(describe_one, process);
}

static inline struct wtm_object *object_named(struct process *process, const char *name)
{
    for (size_t i = 0; i < process->count; i++)
        if (!strcmp(process->objects[i].name, name))
            return &process->objects[i];
    return NULL;
}

#endif
