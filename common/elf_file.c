/* SPDX-License-Identifier: MIT
 * Reads ELF files that nobody vouches for: pread into the arena, every offset and count checked against the
 * size. */
#include "common/elf_internal.h"
#include "common/sys.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

int wtm_elf_file_read(const struct wtm_elf_file *file, uint64_t offset, void *to, uint64_t bytes)
{
    if (offset > file->size || bytes > file->size - offset)
        return -EIO;
    if (file->fd < 0) {
        memcpy(to, file->bytes + offset, bytes);
        return 0;
    }
    for (uint64_t done = 0; done < bytes;) {
        long got = wtm_sys_pread(file->fd, (char *)to + done, bytes - done, (long)(offset + done));
        if (got == -EINTR)
            continue;
        if (got <= 0)
            return got ? (int)got : -EIO; /* it shrank since it was opened */
        done += (uint64_t)got;
    }
    return 0;
}

void *wtm_elf_file_load(const struct wtm_elf_file *file, uint64_t offset, uint64_t bytes,
                        struct wtm_arena *arena)
{
    if (offset > file->size || bytes > file->size - offset || bytes > WTM_ELF_MAX_TABLE_BYTES)
        return NULL;
    void *copy = wtm_arena_alloc(arena, bytes + 1);
    if (!copy || wtm_elf_file_read(file, offset, copy, bytes))
        return NULL;
    return copy;
}

static int read_program_headers(struct wtm_elf_file *file)
{
    const Elf64_Ehdr *header = &file->header;
    if (!header->e_phnum)
        return 0;
    if (header->e_phentsize != sizeof(Elf64_Phdr) || header->e_phnum == PN_XNUM)
        return -ENOEXEC;
    uint64_t bytes = header->e_phnum * sizeof(Elf64_Phdr);
    if (header->e_phoff <= file->head_bytes && bytes <= file->head_bytes - header->e_phoff &&
        header->e_phoff % 8 == 0)
        file->phdr = (const Elf64_Phdr *)(file->head + header->e_phoff);
    else
        file->phdr = wtm_elf_file_load(file, header->e_phoff, bytes, file->arena);
    if (!file->phdr)
        return -ENOEXEC;
    file->phdr_count = header->e_phnum;
    return 0;
}

static int read_headers(struct wtm_elf_file *file)
{
    file->head_bytes = file->size < WTM_ELF_HEAD_BYTES ? file->size : WTM_ELF_HEAD_BYTES;
    if (file->head_bytes < sizeof file->header)
        return -ENOEXEC;
    int error = wtm_elf_file_read(file, 0, file->head, file->head_bytes);
    if (error)
        return error;
    memcpy(&file->header, file->head, sizeof file->header);
    const Elf64_Ehdr *header = &file->header;
    if (memcmp(header->e_ident, ELFMAG, SELFMAG) || header->e_ident[EI_CLASS] != ELFCLASS64 ||
        header->e_ident[EI_DATA] != ELFDATA2LSB || header->e_machine != EM_X86_64)
        return -ENOEXEC;
    return read_program_headers(file);
}

int wtm_elf_file_open(struct wtm_elf_file *file, const char *path, struct wtm_arena *arena)
{
    memset(file, 0, sizeof *file);
    file->fd = -1;
    file->arena = arena;
    /* O_NONBLOCK: a FIFO of that name must not hang the program. */
    long fd = wtm_sys_open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);
    if (wtm_sys_failed(fd))
        return (int)fd;
    struct stat status;
    memset(&status, 0, sizeof status);
    long error = wtm_syscall3(SYS_fstat, fd, (long)&status, 0);
    if (!error && (!S_ISREG(status.st_mode) || status.st_size <= 0))
        error = -ENOEXEC;
    if (!error) {
        file->fd = (int)fd;
        file->size = (uint64_t)status.st_size;
        file->device = status.st_dev;
        file->inode = status.st_ino;
        error = read_headers(file);
    }
    if (error) {
        wtm_sys_close((int)fd);
        file->fd = -1;
    }
    return (int)error;
}

int wtm_elf_file_from_bytes(struct wtm_elf_file *file, const unsigned char *bytes, size_t size,
                            struct wtm_arena *arena)
{
    memset(file, 0, sizeof *file);
    file->fd = -1;
    file->bytes = bytes;
    file->size = size;
    file->arena = arena;
    return read_headers(file);
}

void wtm_elf_file_close(struct wtm_elf_file *file)
{
    if (file->fd >= 0)
        wtm_sys_close(file->fd);
    file->fd = -1;
}

/* More sections than fit in 16 bits: their number is in the first one's sh_size. */
static int count_sections(const struct wtm_elf_file *file, uint64_t *count)
{
    *count = file->header.e_shnum;
    if (*count || !file->header.e_shoff)
        return 0;
    Elf64_Shdr first;
    int error = wtm_elf_file_read(file, file->header.e_shoff, &first, sizeof first);
    if (!error)
        *count = first.sh_size;
    return error;
}

static int check_sections(const struct wtm_elf_file *file, uint64_t *count)
{
    if (!file->header.e_shoff)
        return -ENOENT;
    if (file->header.e_shentsize != sizeof(Elf64_Shdr))
        return -ENOEXEC;
    int error = count_sections(file, count);
    if (error)
        return error;
    return *count && *count <= file->size / sizeof(Elf64_Shdr) ? 0 : -ENOEXEC;
}

int wtm_elf_file_read_sections(struct wtm_elf_file *file)
{
    uint64_t count;
    if (file->sections)
        return 0;
    int error = check_sections(file, &count);
    if (error)
        return error;
    const Elf64_Shdr *sections =
        wtm_elf_file_load(file, file->header.e_shoff, count * sizeof(Elf64_Shdr), file->arena);
    if (!sections)
        return -ENOEXEC;
    file->sections = sections;
    file->section_count = (unsigned)count;
    return 0;
}

int wtm_elf_file_has_section(const struct wtm_elf_file *file, uint32_t type)
{
    enum { PIECE = 40 };
    Elf64_Shdr piece[PIECE];
    uint64_t count;
    if (check_sections(file, &count))
        return 0;
    for (uint64_t at = 0; at < count; at += PIECE) {
        uint64_t here = count - at < PIECE ? count - at : PIECE;
        if (wtm_elf_file_read(file, file->header.e_shoff + at * sizeof *piece, piece, here * sizeof *piece))
            return 0;
        for (uint64_t i = 0; i < here; i++)
            if (piece[i].sh_type == type)
                return 1;
    }
    return 0;
}

unsigned wtm_elf_file_section_of_type(const struct wtm_elf_file *file, uint32_t type)
{
    for (unsigned i = 1; i < file->section_count; i++)
        if (file->sections[i].sh_type == type)
            return i;
    return 0;
}

static void load_section_names(struct wtm_elf_file *file)
{
    unsigned index = file->header.e_shstrndx;
    if (index == SHN_XINDEX)
        index = file->sections[0].sh_link;
    if (!index || index >= file->section_count || file->sections[index].sh_type != SHT_STRTAB)
        return;
    const Elf64_Shdr *section = &file->sections[index];
    file->section_names = wtm_elf_file_load(file, section->sh_offset, section->sh_size, file->arena);
    if (file->section_names)
        file->section_names_bytes = section->sh_size;
}

unsigned wtm_elf_file_section_named(struct wtm_elf_file *file, const char *name)
{
    if (file->section_count && !file->section_names)
        load_section_names(file);
    if (!file->section_names)
        return 0;
    for (unsigned i = 1; i < file->section_count; i++)
        if (file->sections[i].sh_name < file->section_names_bytes &&
            !strcmp(file->section_names + file->sections[i].sh_name, name))
            return i;
    return 0;
}

void wtm_elf_notes_parse(struct wtm_elf_notes *notes, const unsigned char *bytes, size_t count,
                         uint64_t alignment)
{
    uint64_t align = alignment == 8 ? 8 : 4;
    for (uint64_t at = 0; count >= sizeof(Elf64_Nhdr) && at <= count - sizeof(Elf64_Nhdr);) {
        Elf64_Nhdr note;
        memcpy(&note, bytes + at, sizeof note);
        uint64_t name = at + sizeof note;
        uint64_t content = (name + note.n_namesz + align - 1) & ~(align - 1);
        if (content > count || note.n_descsz > count - content)
            return;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && !memcmp(bytes + name, "GNU", 4) &&
            !notes->build_id_bytes) {
            unsigned length = note.n_descsz < WTM_BUILD_ID_MAX ? note.n_descsz : WTM_BUILD_ID_MAX;
            memcpy(notes->build_id, bytes + content, length);
            notes->build_id_bytes = length;
        }
        if (note.n_namesz >= 3 && !memcmp(bytes + name, "Go", 3))
            notes->is_go = 1;
        at = (content + note.n_descsz + align - 1) & ~(align - 1);
    }
}

static void parse_notes_at(const struct wtm_elf_file *file, uint64_t offset, uint64_t bytes,
                           uint64_t alignment, struct wtm_elf_notes *notes)
{
    if (bytes > 1 << 16)
        return;
    if (offset <= file->head_bytes && bytes <= file->head_bytes - offset) {
        wtm_elf_notes_parse(notes, file->head + offset, bytes, alignment);
        return;
    }
    unsigned char *copy = wtm_elf_file_load(file, offset, bytes, file->arena);
    if (copy)
        wtm_elf_notes_parse(notes, copy, bytes, alignment);
}

/* Sections first where they were read: in files made by `objcopy --only-keep-debug` the program headers still
 * tell the offsets of the original. Without sections the program headers are what strip and packers leave. */
void wtm_elf_file_notes(const struct wtm_elf_file *file, struct wtm_elf_notes *notes)
{
    for (unsigned i = 1; i < file->section_count; i++) {
        const Elf64_Shdr *section = &file->sections[i];
        if (section->sh_type == SHT_NOTE)
            parse_notes_at(file, section->sh_offset, section->sh_size, section->sh_addralign, notes);
    }
    if (notes->build_id_bytes)
        return;
    for (unsigned i = 0; i < file->phdr_count; i++) {
        const Elf64_Phdr *segment = &file->phdr[i];
        if (segment->p_type == PT_NOTE)
            parse_notes_at(file, segment->p_offset, segment->p_filesz, segment->p_align, notes);
    }
}
