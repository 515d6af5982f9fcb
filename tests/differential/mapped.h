/* SPDX-License-Identifier: MIT
 * Any ELF object mapped into this process by hand, as data to look at and as code to be single-stepped: segments where
 * the loader would put them, relocations against itself applied, nothing of it initialised or called. */
#ifndef WTM_TESTS_MAPPED_H
#define WTM_TESTS_MAPPED_H

#include "common/elf_object.h"
#include "common/status.h"
#include "patcher/patcher.h"

struct mapped_function {
    uintptr_t address;
    size_t size;              /* the largest of its symbols' */
    const char *name;
    enum wtm_refusal refusal; /* by its names or its kind, as wtm itself judges them */
};

struct mapped {
    const char *path;
    struct wtm_arena arena;
    struct wtm_object object;
    struct wtm_code_module module;
    struct mapped_function *functions; /* by address, each once */
    size_t function_count;
    struct wtm_code_range writable[WTM_MAX_TEXT_RANGES];
    unsigned writable_count;
    int has_debug_symbols;             /* other than .dynsym */
};

/* What a relocation that cannot be resolved is set to: its value is this plus its number times 16; 0: left as it is. */
extern uintptr_t mapped_outside;

/* 0 or a negative errno. Never unmapped. Writable segments stay writable. */
int mapped_open(struct mapped *mapped, const char *path);

#endif
