/* SPDX-License-Identifier: MIT */
#include "own_module.h"
#include <criterion/criterion.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct wanted {
    const char *name;
    struct own_module *own;
    uintptr_t base;
    char path[4096];
};

static void add_segment(struct wtm_code_module *module, uintptr_t base, const ElfW(Phdr) *header)
{
    uintptr_t start = base + header->p_vaddr, end = start + header->p_memsz;
    if (header->p_type == PT_GNU_EH_FRAME) {
        module->eh_frame_hdr = start;
        module->eh_frame_hdr_bytes = header->p_memsz;
    }
    if (header->p_type != PT_LOAD)
        return;
    module->span.start = start < module->span.start ? start & ~4095ul : module->span.start;
    module->span.end = end > module->span.end ? (end + 4095) & ~4095ul : module->span.end;
    if (header->p_flags & PF_X)
        module->text[module->text_count++] = (struct wtm_code_range){start, end};
    else
        module->data[module->data_count++] = (struct wtm_code_range){start, end};
}

static int visit(struct dl_phdr_info *info, size_t size, void *context)
{
    struct wanted *wanted = context;
    size_t length = strlen(info->dlpi_name), tail = strlen(wanted->name);
    if (length < tail || strcmp(info->dlpi_name + length - tail, wanted->name) || (!tail && length))
        return 0;
    wanted->base = info->dlpi_addr;
    strcpy(wanted->path, length ? info->dlpi_name : "/proc/self/exe");
    memset(wanted->own, 0, sizeof *wanted->own);
    wanted->own->module.span.start = UINTPTR_MAX;
    for (int i = 0; i < info->dlpi_phnum; i++)
        add_segment(&wanted->own->module, info->dlpi_addr, &info->dlpi_phdr[i]);
    return 1;
}

static int by_address(const void *left, const void *right)
{
    const struct own_function *l = left, *r = right;
    return l->address < r->address ? -1 : l->address > r->address;
}

static void read_symbols(const char *file, const struct wanted *wanted)
{
    const ElfW(Ehdr) *elf = (const void *)file;
    const ElfW(Shdr) *sections = (const void *)(file + elf->e_shoff), *symbols = NULL;
    for (unsigned i = 0; i < elf->e_shnum; i++)
        if (sections[i].sh_type == SHT_SYMTAB || (sections[i].sh_type == SHT_DYNSYM && !symbols))
            symbols = &sections[i];
    cr_assert_not_null(symbols);
    const ElfW(Sym) *symbol = (const void *)(file + symbols->sh_offset);
    const char *names = file + sections[symbols->sh_link].sh_offset;
    size_t count = symbols->sh_size / sizeof *symbol, kept = 0;
    struct own_module *own = wanted->own;
    own->functions = calloc(count, sizeof *own->functions);
    uintptr_t *starts = calloc(count, sizeof *starts);
    for (size_t i = 0; i < count; i++)
        if (ELF64_ST_TYPE(symbol[i].st_info) == STT_FUNC && symbol[i].st_shndx)
            own->functions[kept++] = (struct own_function){wanted->base + symbol[i].st_value, symbol[i].st_size,
                                                           names + symbol[i].st_name};
    qsort(own->functions, kept, sizeof *own->functions, by_address);
    for (size_t i = 0; i < kept; i++)
        if (!own->function_count || own->functions[own->function_count - 1].address != own->functions[i].address)
            own->functions[own->function_count++] = own->functions[i];
    for (size_t i = 0; i < own->function_count; i++)
        starts[i] = own->functions[i].address;
    own->module.starts = starts;
    own->module.start_count = own->function_count;
}

void own_module_read(const char *name, struct own_module *own)
{
    struct wanted wanted = {.name = name, .own = own};
    struct stat status;
    cr_assert_eq(dl_iterate_phdr(visit, &wanted), 1, "%s is not loaded", name);
    int fd = open(wanted.path, O_RDONLY | O_CLOEXEC);
    cr_assert_geq(fd, 0);
    cr_assert_eq(fstat(fd, &status), 0);
    const char *file = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    cr_assert_neq((const void *)file, MAP_FAILED);
    close(fd);
    read_symbols(file, &wanted);
}
