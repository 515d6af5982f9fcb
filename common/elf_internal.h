/* SPDX-License-Identifier: MIT
 * What the ELF reader's files share among themselves and with resolve.c; nobody else includes it.
 *
 * Same rules as elf_object.h: memory from arenas, raw system calls, 0 or negative errno, one thread at a
 * time. */
#ifndef WTM_COMMON_ELF_INTERNAL_H
#define WTM_COMMON_ELF_INTERNAL_H

#include "common/elf_object.h"

/* No table of a sane object is larger; keeps a sparse, hostile file from eating the process's memory. */
#define WTM_ELF_MAX_TABLE_BYTES ((uint64_t)1 << 30)

enum { WTM_ELF_HEAD_BYTES = 2048, WTM_BUILD_ID_MAX = 32 };

/* An open ELF file, or one that was unpacked into memory. Every read is checked against `size`. Must not be
 * moved: `phdr` points into `head` as a rule, so that opening a file needs no memory. */
struct wtm_elf_file {
    int fd; /* -1: `bytes` */
    const unsigned char *bytes;
    uint64_t size;
    uint64_t device, inode;                             /* 0, 0 for bytes in memory */
    struct wtm_arena *arena;                            /* for what does not fit in `head` */
    _Alignas(8) unsigned char head[WTM_ELF_HEAD_BYTES]; /* its begin: headers and, as a rule, the notes */
    size_t head_bytes;
    Elf64_Ehdr header;
    const Elf64_Phdr *phdr;
    unsigned phdr_count;
    const Elf64_Shdr *sections; /* NULL until wtm_elf_file_read_sections, or when there are none */
    unsigned section_count;
    const char *section_names; /* NUL behind; NULL until asked for */
    size_t section_names_bytes;
};

/* -ENOEXEC: not a 64-bit little-endian x86-64 ELF file. Close only what was opened with 0. */
int wtm_elf_file_open(struct wtm_elf_file *file, const char *path, struct wtm_arena *arena);
int wtm_elf_file_from_bytes(struct wtm_elf_file *file, const unsigned char *bytes, size_t size,
                            struct wtm_arena *arena);
void wtm_elf_file_close(struct wtm_elf_file *file);
/* All of the bytes or an error (-EIO beyond the end). */
int wtm_elf_file_read(const struct wtm_elf_file *file, uint64_t offset, void *to, uint64_t bytes);
/* A copy with a NUL behind it; NULL when out of bounds, too large or out of memory. */
void *wtm_elf_file_load(const struct wtm_elf_file *file, uint64_t offset, uint64_t bytes,
                        struct wtm_arena *arena);
int wtm_elf_file_read_sections(struct wtm_elf_file *file);
/* 1: there is a section of this type. Reads the headers piece by piece and keeps nothing. */
int wtm_elf_file_has_section(const struct wtm_elf_file *file, uint32_t type);
/* Index of the first section of a type, or of a name; 0 when there is none. */
unsigned wtm_elf_file_section_of_type(const struct wtm_elf_file *file, uint32_t type);
unsigned wtm_elf_file_section_named(struct wtm_elf_file *file, const char *name);

/* What notes tell. `is_go` is only ever set. */
struct wtm_elf_notes {
    unsigned char build_id[WTM_BUILD_ID_MAX];
    unsigned build_id_bytes;
    int is_go;
};
void wtm_elf_notes_parse(struct wtm_elf_notes *notes, const unsigned char *bytes, size_t count,
                         uint64_t alignment);
void wtm_elf_file_notes(const struct wtm_elf_file *file, struct wtm_elf_notes *notes);

/* The dynamic section of a loaded object; absent tables are NULL with count 0, present ones lie in readable
 * segments. */
struct wtm_elf_dynamic {
    const Elf64_Sym *symbols;
    uint32_t symbol_count;
    const char *strings;
    size_t strings_bytes;
    const uint32_t *gnu_hash, *sysv_hash;
    const Elf64_Half *versions; /* per symbol */
    uintptr_t version_definitions, version_needs;
    const Elf64_Rela *rela, *plt_rela;
    size_t rela_count, plt_rela_count;
    const uint64_t *relr;
    size_t relr_count;
    uint64_t init, init_array; /* file values; 0: none */
    const char *soname;
    int needs_cxx; /* libstdc++ or libc++ is among its dependencies */
};

/* How much of an object's symbols has been read. */
enum wtm_symbol_level { WTM_LEVEL_NONE = 0, WTM_LEVEL_OWN = 1, WTM_LEVEL_ALL = 2 };

struct wtm_object_detail {
    struct wtm_elf_dynamic dynamic; /* zero for an object on disk */
    enum wtm_symbol_level level;
    int file_looked_at; /* whether has_symtab was found out */
    int has_symtab;     /* its own file has a .symtab */
};

static inline struct wtm_object_detail *wtm_object_detail(const struct wtm_object *object)
{
    return object->detail;
}

/* The pointer at an offset of a loaded object; 0 where nothing can be read. */
uintptr_t wtm_object_slot(const struct wtm_object *object, uint64_t offset);

/* All of [address, address + bytes) inside one readable segment of a loaded object. */
int wtm_object_readable(const struct wtm_object *object, uintptr_t address, size_t bytes);

void wtm_elf_dynamic_read(struct wtm_object *object, struct wtm_elf_dynamic *dynamic);
const Elf64_Sym *wtm_elf_dynamic_symbol(const struct wtm_object *object, uint32_t index);
const char *wtm_elf_dynamic_string(const struct wtm_elf_dynamic *dynamic, uint64_t offset);
/* All definitions of a name in a loaded object (versions differ), at most `max`; their number. */
unsigned wtm_object_lookup_all(const struct wtm_object *object, const char *name, struct wtm_symbol *out,
                               unsigned max);
/* Turns a table's entry into a symbol; 0 when it is no function of this object. */
int wtm_elf_symbol_accept(const struct wtm_object *object, const Elf64_Sym *entry, const char *name,
                          int source, struct wtm_symbol *out);
/* Version of a dynamic symbol: the definition's own, or the one a reference needs. NULL: none. */
const char *wtm_elf_symbol_version(const struct wtm_object *object, uint32_t index);

/* Path of the file that is mapped at an address of this process, or NULL. */
const char *wtm_elf_path_at(uintptr_t address, struct wtm_arena *arena);

/* Opens the file of an object and makes sure that it is the one in memory. Sets `note` when it is not. */
int wtm_object_open_file(struct wtm_object *object, struct wtm_elf_file *file, struct wtm_arena *scratch);
/* 1: the object's own file has a .symtab. One open and two reads, once. */
int wtm_object_has_symtab(struct wtm_object *object);
/* As wtm_object_read_symbols, or (WTM_LEVEL_OWN) only .dynsym and the .symtab of its own file. What is needed
 * meanwhile comes from `scratch`. */
int wtm_object_read_to_level(struct wtm_object *object, enum wtm_symbol_level level, struct wtm_arena *arena,
                             struct wtm_arena *scratch);
/* First symbol at an offset in a read table, or NULL; the others of that offset follow it. */
const struct wtm_symbol *wtm_object_symbols_at(const struct wtm_object *object, uint64_t offset);
/* By offset, then type, then name. */
int wtm_symbols_compare(const struct wtm_symbol *a, const struct wtm_symbol *b);
int wtm_symbols_sort(struct wtm_symbol *symbols, size_t count, struct wtm_arena *scratch);

/* Finds a separate debug file as gdb does. `own` is the object's file, sections read. 0: `debug` is open. */
int wtm_elf_debug_open(const struct wtm_object *object, struct wtm_elf_file *own, struct wtm_elf_file *debug,
                       struct wtm_arena *scratch);
/* Unpacks .gnu_debugdata into `scratch`. -ENOENT: there is none; -ENOSYS: built without liblzma. */
int wtm_elf_mini_open(struct wtm_elf_file *own, struct wtm_elf_file *mini, struct wtm_arena *scratch);
uint32_t wtm_crc32(uint32_t crc, const unsigned char *bytes, size_t count);

#endif
