/* SPDX-License-Identifier: MIT
 * Headers of an executable. */
#include "report/elf_check.h"
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_HEADERS = 256, MOST_DYNAMIC = 4096, NAME_BYTES = 256 };

/* A string of at most 255 bytes; 0 when it could be read and ends. */
static int read_string(int fd, char to[NAME_BYTES], off_t offset)
{
    ssize_t got = offset > 0 ? pread(fd, to, NAME_BYTES - 1, offset) : 0;
    if (got <= 0) {
        to[0] = 0;
        return -1;
    }
    to[got] = 0;
    return 0;
}

static const char *foreign(const Elf64_Ehdr *header)
{
    if (header->e_ident[EI_CLASS] != ELFCLASS64)
        return "is a 32-bit program; only 64-bit ones for x86-64 can be timed";
    if (header->e_ident[EI_DATA] != ELFDATA2LSB || header->e_machine != EM_X86_64)
        return "is for another machine than x86-64";
    if (header->e_type != ET_EXEC && header->e_type != ET_DYN)
        return "is not an executable";
    return NULL;
}

static off_t file_offset(const Elf64_Phdr *headers, unsigned count, uint64_t address)
{
    for (unsigned i = 0; i < count; i++)
        if (headers[i].p_type == PT_LOAD && address >= headers[i].p_vaddr &&
            address - headers[i].p_vaddr < headers[i].p_filesz)
            return (off_t)(headers[i].p_offset + (address - headers[i].p_vaddr));
    return -1;
}

static int is_sanitizer(const char *name)
{
    static const char *const names[] = {"libasan.so", "libtsan.so", "libclang_rt.asan", "libclang_rt.tsan"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strncmp(name, names[i], strlen(names[i])))
            return 1;
    return 0;
}

static void read_dynamic(struct wtm_elf_facts *facts, int fd, const Elf64_Phdr *headers, unsigned count,
                         const Elf64_Phdr *dynamic)
{
    size_t bytes = dynamic->p_filesz < MOST_DYNAMIC * sizeof(Elf64_Dyn) ? dynamic->p_filesz
                                                                        : MOST_DYNAMIC * sizeof(Elf64_Dyn);
    Elf64_Dyn *entries = malloc(bytes ? bytes : 1);
    ssize_t got = entries ? pread(fd, entries, bytes, (off_t)dynamic->p_offset) : 0;
    size_t number = got > 0 ? (size_t)got / sizeof *entries : 0;
    off_t strings = -1;
    for (size_t i = 0; i < number && entries[i].d_tag != DT_NULL; i++)
        if (entries[i].d_tag == DT_STRTAB)
            strings = file_offset(headers, count, entries[i].d_un.d_ptr);
    for (size_t i = 0; i < number && strings > 0 && entries[i].d_tag != DT_NULL; i++) {
        char name[NAME_BYTES];
        if (entries[i].d_tag == DT_NEEDED && entries[i].d_un.d_val < 1u << 30 &&
            !read_string(fd, name, strings + (off_t)entries[i].d_un.d_val) && is_sanitizer(name)) {
            strcpy(facts->sanitizer, name);
            break;
        }
    }
    free(entries);
}

/* The linker of Go leaves a note of its own. */
static int is_go_note(int fd, const Elf64_Phdr *note)
{
    struct {
        Elf64_Nhdr header;
        char name[4];
    } begin;
    return pread(fd, &begin, sizeof begin, (off_t)note->p_offset) == (ssize_t)sizeof begin &&
           begin.header.n_namesz == 4 && !memcmp(begin.name, "Go\0\0", 4);
}

void wtm_elf_facts_read(struct wtm_elf_facts *facts, int fd)
{
    Elf64_Ehdr header;
    Elf64_Phdr headers[MOST_HEADERS];
    memset(facts, 0, sizeof *facts);
    if (pread(fd, &header, sizeof header, 0) != (ssize_t)sizeof header) {
        facts->is_broken = 1;
        return;
    }
    facts->foreign = foreign(&header);
    if (facts->foreign)
        return;
    unsigned count = header.e_phnum;
    if (!count || count > MOST_HEADERS || header.e_phentsize != sizeof *headers ||
        pread(fd, headers, count * sizeof *headers, (off_t)header.e_phoff) !=
            (ssize_t)(count * sizeof *headers)) {
        facts->is_broken = 1;
        return;
    }
    for (unsigned i = 0; i < count; i++) {
        if (headers[i].p_type == PT_INTERP)
            facts->is_broken |= read_string(fd, facts->interpreter, (off_t)headers[i].p_offset) != 0;
        else if (headers[i].p_type == PT_DYNAMIC)
            read_dynamic(facts, fd, headers, count, &headers[i]);
        else if (headers[i].p_type == PT_NOTE)
            facts->is_go |= is_go_note(fd, &headers[i]);
    }
}
