/* SPDX-License-Identifier: MIT */
#include "mapped.h"
#include "common/resolve.h"
#include "preload/describe.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGE = 4096, TLS_OFFSET = 0x400, TAG_RELRSZ = 35, TAG_RELR = 36 };
uintptr_t mapped_outside;

struct file {
    int fd;
    const Elf64_Ehdr *header; /* all of the file, mapped */
    const Elf64_Phdr *segments;
};

static int open_file(const char *path, struct file *file)
{
    struct stat status;
    file->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (file->fd < 0 || fstat(file->fd, &status))
        return -errno;
    file->header = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file->fd, 0);
    if (file->header == MAP_FAILED)
        return -errno;
    if (memcmp(file->header->e_ident, ELFMAG, SELFMAG) || file->header->e_machine != EM_X86_64)
        return -ENOEXEC;
    file->segments = (const Elf64_Phdr *)((const char *)file->header + file->header->e_phoff);
    return 0;
}

static int protection(const Elf64_Phdr *segment)
{
    return (segment->p_flags & PF_R ? PROT_READ : 0) | (segment->p_flags & PF_W ? PROT_WRITE : 0) |
           (segment->p_flags & PF_X ? PROT_EXEC : 0);
}

/* One segment at its place; what the file does not hold of it is zero. */
static int map_segment(const struct file *file, const Elf64_Phdr *segment, uintptr_t bias)
{
    uintptr_t at = bias + segment->p_vaddr, start = at & ~(uintptr_t)(PAGE - 1);
    uintptr_t file_end = at + segment->p_filesz, end = at + segment->p_memsz;
    uintptr_t mapped_end = (file_end + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
    if (segment->p_filesz && mmap((void *)start, file_end - start, protection(segment), MAP_PRIVATE | MAP_FIXED, file->fd,
                                  (off_t)(segment->p_offset - (at - start))) == MAP_FAILED)
        return -errno;
    if (segment->p_flags & PF_W && segment->p_filesz)
        memset((void *)file_end, 0, mapped_end - file_end);
    if (end > mapped_end && mmap((void *)mapped_end, end - mapped_end, protection(segment),
                                 MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
        return -errno;
    return 0;
}

static int map_segments(struct mapped *mapped, const struct file *file, uintptr_t *bias)
{
    uintptr_t low = UINTPTR_MAX, high = 0;
    unsigned count = file->header->e_phnum;
    for (const Elf64_Phdr *segment = file->segments; segment < file->segments + count; segment++) {
        if (segment->p_type != PT_LOAD)
            continue;
        low = segment->p_vaddr < low ? segment->p_vaddr : low;
        high = segment->p_vaddr + segment->p_memsz > high ? segment->p_vaddr + segment->p_memsz : high;
    }
    low &= ~(uintptr_t)(PAGE - 1);
    int is_fixed = file->header->e_type == ET_EXEC;
    void *place = mmap(is_fixed ? (void *)low : NULL, high - low, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (is_fixed ? MAP_FIXED_NOREPLACE : 0), -1, 0);
    if (place == MAP_FAILED)
        return -errno;
    *bias = (uintptr_t)place - low;
    for (const Elf64_Phdr *segment = file->segments; segment < file->segments + count; segment++) {
        int error = segment->p_type == PT_LOAD ? map_segment(file, segment, *bias) : 0;
        if (error)
            return error;
        uintptr_t start = *bias + segment->p_vaddr;
        if (segment->p_type == PT_LOAD && segment->p_flags & PF_W && mapped->writable_count < WTM_MAX_TEXT_RANGES)
            mapped->writable[mapped->writable_count++] = (struct wtm_code_range){start, start + segment->p_memsz};
    }
    return 0;
}

static int is_writable(const struct mapped *mapped, uintptr_t slot)
{
    for (unsigned i = 0; i < mapped->writable_count; i++)
        if (slot >= mapped->writable[i].start && slot + 8 <= mapped->writable[i].end)
            return 1;
    return 0;
}

static void relocate(const struct mapped *mapped, uintptr_t bias, const Elf64_Sym *symbols, const Elf64_Rela *relocation)
{
    uintptr_t *slot = (uintptr_t *)(bias + relocation->r_offset), addend = (uintptr_t)relocation->r_addend;
    const Elf64_Sym *symbol = &symbols[ELF64_R_SYM(relocation->r_info)];
    unsigned number = (unsigned)(relocation->r_offset / sizeof *slot % 4096);
    uintptr_t value = mapped_outside ? mapped_outside + 16 * number : *slot;
    if (!is_writable(mapped, (uintptr_t)slot))
        return;
    switch (ELF64_R_TYPE(relocation->r_info)) {
    case R_X86_64_RELATIVE:
        *slot = bias + addend;
        return;
    case R_X86_64_64:
    case R_X86_64_GLOB_DAT:
    case R_X86_64_JUMP_SLOT:
        if (symbol->st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol->st_info) != STT_GNU_IFUNC)
            value = bias + symbol->st_value + (ELF64_R_TYPE(relocation->r_info) == R_X86_64_64 ? addend : 0);
        *slot = value;
        return;
    case R_X86_64_IRELATIVE:
        *slot = value;
        return;
    case R_X86_64_TPOFF64:
        *slot = (uintptr_t)-TLS_OFFSET - 8 * (number % 64);
        return;
    default:
        return;
    }
}

static void relocate_packed(uintptr_t bias, const uint64_t *words, size_t count)
{
    uintptr_t *at = NULL;
    for (size_t i = 0; i < count; i++) {
        if (!(words[i] & 1)) {
            at = (uintptr_t *)(bias + words[i]);
            *at++ += bias;
            continue;
        }
        for (unsigned bit = 0; bit < 63; bit++)
            if (words[i] >> (bit + 1) & 1)
                at[bit] += bias;
        at += 63;
    }
}

static void relocate_all(const struct mapped *mapped, uintptr_t bias, const Elf64_Dyn *dynamic)
{
    uintptr_t values[40] = {0};
    for (; dynamic->d_tag != DT_NULL; dynamic++)
        if (dynamic->d_tag > 0 && dynamic->d_tag < 40)
            values[dynamic->d_tag] = dynamic->d_un.d_val;
    const Elf64_Sym *symbols = (const Elf64_Sym *)(bias + values[DT_SYMTAB]);
    const Elf64_Rela *rela = (const Elf64_Rela *)(bias + values[DT_RELA]);
    const Elf64_Rela *plt = (const Elf64_Rela *)(bias + values[DT_JMPREL]);
    for (size_t i = 0; i < values[DT_RELASZ] / sizeof *rela; i++)
        relocate(mapped, bias, symbols, &rela[i]);
    for (size_t i = 0; i < values[DT_PLTRELSZ] / sizeof *plt; i++)
        relocate(mapped, bias, symbols, &plt[i]);
    relocate_packed(bias, (const uint64_t *)(bias + values[TAG_RELR]), values[TAG_RELRSZ] / sizeof(uint64_t));
}

static enum wtm_refusal refusal_of(const struct mapped *mapped, const struct wtm_symbol *symbol)
{
    if (symbol->ifunc)
        return WTM_REFUSED_RESOLVER;
    if (symbol->cold)
        return WTM_REFUSED_COLD_PART;
    enum wtm_refusal refusal = wtm_refused_by_name(symbol->name, &mapped->object);
    int told_apart = wtm_object_tells_generated(&mapped->object) && wtm_is_walked(symbol->name, &mapped->object);
    return refusal == WTM_REFUSED_STACK_WALKER && told_apart ? WTM_REFUSED_NONE : refusal;
}

/* Labels without a type are left out, as wtm's patterns do. */
static void list_functions(struct mapped *mapped)
{
    const struct wtm_object *object = &mapped->object;
    mapped->functions = calloc(object->symbol_count + 1, sizeof *mapped->functions);
    for (size_t i = 0; i < object->symbol_count && mapped->functions; i++) {
        const struct wtm_symbol *symbol = &object->symbols[i];
        mapped->has_debug_symbols |= symbol->source != WTM_SYMBOL_DYNAMIC;
        if (symbol->notype)
            continue;
        uintptr_t address = object->bias + symbol->offset;
        struct mapped_function *last = mapped->functions + mapped->function_count - 1;
        if (!mapped->function_count || last->address != address) {
            last = &mapped->functions[mapped->function_count++];
            *last = (struct mapped_function){address, symbol->size, symbol->name, WTM_REFUSED_NONE};
        }
        last->size = symbol->size > last->size ? symbol->size : last->size;
        if (last->refusal == WTM_REFUSED_NONE)
            last->refusal = refusal_of(mapped, symbol);
    }
}

int mapped_open(struct mapped *mapped, const char *path)
{
    struct file file = {.fd = -1};
    uintptr_t bias = 0;
    memset(mapped, 0, sizeof *mapped);
    mapped->path = path;
    int error = open_file(path, &file);
    if (!error)
        error = map_segments(mapped, &file, &bias);
    if (error)
        return error;
    for (unsigned i = 0; i < file.header->e_phnum; i++)
        if (file.segments[i].p_type == PT_DYNAMIC)
            relocate_all(mapped, bias, (const Elf64_Dyn *)(bias + file.segments[i].p_vaddr));
    error = wtm_object_from_memory(&mapped->object, path, bias, file.segments, file.header->e_phnum, 0, &mapped->arena);
    if (!error)
        error = wtm_object_read_symbols(&mapped->object, &mapped->arena);
    if (error)
        return error;
    wtm_describe_module(&mapped->object, &mapped->module, &mapped->arena);
    list_functions(mapped);
    close(file.fd);
    return mapped->functions ? 0 : -ENOMEM;
}
