/* SPDX-License-Identifier: MIT
 * One ELF object, loaded in this process or only on disk: where its code is, what functions it has.
 *
 * A loaded object's dynamic symbols are read from memory (the loader validated them by using them).
 * Everything else comes from files, which may be truncated, hostile or replaced since they were loaded: they
 * are read with pread into the arena, never mapped (a mapped file that shrinks kills its reader), every
 * offset is checked, and a file whose build-id differs from the one in memory is not used and that is told in
 * `note`.
 *
 * All memory is from the arena given. Raw system calls only. One thread at a time. 0 or negative errno. */
#ifndef WTM_COMMON_ELF_OBJECT_H
#define WTM_COMMON_ELF_OBJECT_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include "common/arena.h"

enum wtm_symbol_source {                         /* the better one wins where two tables name one address */
                         WTM_SYMBOL_DYNAMIC = 1, /* .dynsym */
                         WTM_SYMBOL_STATIC = 2,  /* .symtab */
                         WTM_SYMBOL_DEBUG = 3,   /* separate debug file */
                         WTM_SYMBOL_MINI = 4,    /* .gnu_debugdata */
};

struct wtm_symbol {
    uint64_t offset;  /* value in the file: address less load bias */
    uint64_t size;    /* 0: unknown */
    const char *name; /* mangled, version suffix (@...) cut */
    uint8_t ifunc;    /* 1: `offset` is a resolver */
    uint8_t global;   /* 1: GLOBAL or WEAK, 0: LOCAL */
    uint8_t source;   /* enum wtm_symbol_source */
    uint8_t cold;     /* 1: a `.cold` part: never an entry */
    uint8_t notype;   /* 1: a label of an assembler's file without a type: taken only by its exact name */
};

struct wtm_object {
    const char *path; /* as the loader tells it; the executable's real path for the main program */
    const char *name; /* last component of path */
    uintptr_t bias;   /* load bias; 0 for an object on disk */
    int loaded;       /* 1: in this process */
    int is_main;      /* 1: the main program */
    int is_loader;    /* 1: ld-linux-x86-64.so.2 */
    int is_vdso;
    const Elf64_Phdr *phdr; /* validated copy in the arena */
    const Elf64_Phdr *loaded_phdr; /* where the loader says they are: identifies a loaded object */
    unsigned phdr_count;
    unsigned loaded_phdr_count; /* at loaded_phdr; the copy leaves out what cannot be */
    unsigned char build_id[32];
    unsigned build_id_bytes; /* 0: none */
    const char
        *note; /* why symbols may be missing ("file on disk was replaced since it was loaded"), or NULL */
    struct wtm_symbol
        *symbols; /* after wtm_object_read_symbols: sorted by offset, aliases adjacent, duplicates merged */
    size_t symbol_count;
    int symbols_read;
    int is_go;    /* 1: a Go program or library (build info or pclntab); known after
                     wtm_object_open/_read_symbols */
    int has_v8;    /* 1: the runtime is V8; code that it generates is then in the object itself as well: its builtins */
    uint64_t builtins, builtins_end; /* where, as offsets; 0, 0: unknown */
    int unbound;   /* set by wtm_resolve: a pattern names an IFUNC of it, and the loader has not relocated it yet */
    int is_walker; /* 1: holds a runtime (V8, HotSpot) that walks the stack by return addresses; as above */
    void *detail; /* the reader's own */
};

/* 1: it holds such a runtime, and it is known what of its text that runtime generated. After its symbols were read. */
static inline int wtm_object_tells_generated(const struct wtm_object *object)
{
    return object->is_walker && (!object->has_v8 || object->builtins_end > object->builtins);
}

/* An object in this process, from what the loader tells (dl_iterate_phdr or link_map and its program
 * headers). */
int wtm_object_from_memory(struct wtm_object *object, const char *path, uintptr_t bias,
                           const Elf64_Phdr *phdr, unsigned phdr_count, int is_main, struct wtm_arena *arena);
/* An object on disk. -ENOEXEC when it is not a 64-bit little-endian x86-64 ELF object that can be loaded. */
int wtm_object_from_file(struct wtm_object *object, const char *path, struct wtm_arena *arena);

/* The file offset-free address (value less bias) lies in an executable segment. */
int wtm_object_executable(const struct wtm_object *object, uint64_t offset);
/* Run-time address inside any segment of a loaded object. */
int wtm_object_contains(const struct wtm_object *object, uintptr_t address);

/* One exported function by the loader's hash tables, without reading any file: cheap. 1 found, 0 not. Loaded
 * objects. */
int wtm_object_lookup(const struct wtm_object *object, const char *name, struct wtm_symbol *out);

/* Reads all function symbols: dynamic, then .symtab, then separate debug files (build-id below
 * /usr/lib/debug, then .gnu_debuglink with its CRC, in the places gdb looks), then .gnu_debugdata.
 * Idempotent. Missing tables are no error. */
int wtm_object_read_symbols(struct wtm_object *object, struct wtm_arena *arena);

/* What a loaded IFUNC symbol was resolved to: looked up in the relocations of `objects` (what the loader
 * wrote there), and only if nobody refers to it by calling its resolver. 0 when it cannot be told. */
uintptr_t wtm_object_ifunc_target(const struct wtm_object *object, const struct wtm_symbol *symbol,
                                  const struct wtm_object *objects, size_t count);

/* 1: the loader has relocated this loaded object; before, no IFUNC of it has its body. */
int wtm_object_relocated(const struct wtm_object *object);
/* The first function that the loader calls in a loaded object, once that and what it needs is relocated: DT_INIT, or the
 * first of DT_INIT_ARRAY. 0: there is none. */
uintptr_t wtm_object_initializer(const struct wtm_object *object);

/* Sorted, unique run-time addresses inside executable segments that relocated data of this loaded object
 * points to (RELATIVE relocations, RELR as well). NULL with *count 0 when there are none. */
const uintptr_t *wtm_object_code_pointers(const struct wtm_object *object, struct wtm_arena *arena,
                                          size_t *count);

#endif
