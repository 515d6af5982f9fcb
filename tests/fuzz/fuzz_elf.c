/* SPDX-License-Identifier: MIT
 * libFuzzer's entry point for the ELF reader. The unit tests run the same function over mutated real files.
 */
#include <string.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "common/elf_internal.h"
#include "common/resolve.h"
#include "fuzz_elf.h"

enum { MAX_IMAGE_BYTES = 1 << 20, PAGE = 4096 };
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Reads every byte that the object promises. */
static size_t touch(const struct wtm_object *object)
{
    size_t sum = 0;
    for (size_t i = 0; i < object->symbol_count; i++) {
        sum += strlen(object->symbols[i].name);
        if (!wtm_object_executable(object, object->symbols[i].offset) || object->symbols[i].offset == 0 ||
            (i && object->symbols[i].offset < object->symbols[i - 1].offset))
            abort();
    }
    sum += strlen(object->path) + strlen(object->name);
    if (sum == SIZE_MAX)
        abort(); /* it is of use */
    return object->symbol_count;
}

static void look_up(const struct wtm_object *object, struct wtm_arena *arena)
{
    static const char *const names[] = {"fx_exported",  "fx_pick",      "malloc", "",
                                        "fx_versioned", "_ZN2fx3addEii"};
    struct wtm_symbol symbols[4];
    size_t count;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        unsigned found = wtm_object_lookup_all(object, names[i], symbols, 4);
        for (unsigned s = 0; s < found; s++)
            if (strcmp(symbols[s].name, names[i]))
                abort();
    }
    for (uint32_t i = 0; i < 64; i++) {
        const char *version = wtm_elf_symbol_version(object, i);
        if (version && strlen(version) > MAX_IMAGE_BYTES)
            abort();
    }
    const uintptr_t *pointers = wtm_object_code_pointers(object, arena, &count);
    for (size_t i = 0; i < count; i++)
        if (!wtm_object_executable(object, pointers[i] - object->bias) ||
            (i && pointers[i] <= pointers[i - 1]))
            abort();
}

static size_t resolve(struct wtm_object *object, struct wtm_arena *arena)
{
    struct wtm_pattern_set set;
    struct wtm_resolution found;
    if (wtm_patterns_parse(&set, "fx_local,fx_exportex,fx::Box::get,/^fx_c/,fx_*,0x1234", "fuzz", arena, NULL,
                           NULL) ||
        wtm_resolve(&set, object, 1, 0, 0, arena, &found))
        return 0;
    for (size_t i = 0; i < found.target_count; i++)
        if (!found.targets[i].name || !strlen(found.targets[i].name))
            abort();
    return found.target_count;
}

static size_t as_file(const char *path)
{
    struct wtm_arena arena = {.limit_bytes = 256 << 20};
    struct wtm_object object;
    size_t seen = 0;
    if (!wtm_object_from_file(&object, path, &arena)) {
        wtm_object_has_symtab(&object);
        wtm_object_read_symbols(&object, &arena);
        seen = touch(&object) + resolve(&object, &arena);
    }
    wtm_arena_free(&arena);
    return seen;
}

/* One mapping for all runs: a page behind it faults. */
static char *room(void)
{
    static char *image;
    if (!image) {
        image =
            mmap(NULL, MAX_IMAGE_BYTES + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (image == MAP_FAILED || mprotect(image + MAX_IMAGE_BYTES, PAGE, PROT_NONE))
            abort();
    }
    return image;
}

static int fits(const Elf64_Phdr *segment, size_t size)
{
    return segment->p_vaddr <= MAX_IMAGE_BYTES && segment->p_memsz <= MAX_IMAGE_BYTES - segment->p_vaddr &&
           segment->p_filesz <= segment->p_memsz && segment->p_offset <= size &&
           segment->p_filesz <= size - segment->p_offset;
}

/* What the kernel and the loader would have made of it; IFUNCs are left out, since there is no code to be
 * called. */
static void *make_image(const uint8_t *data, size_t size, Elf64_Phdr *phdr, unsigned *count)
{
    Elf64_Ehdr header;
    if (size < sizeof header)
        return NULL;
    memcpy(&header, data, sizeof header);
    *count = header.e_phnum < 32 ? header.e_phnum : 32;
    if (header.e_phoff > size || *count * sizeof *phdr > size - header.e_phoff)
        return NULL;
    memcpy(phdr, data + header.e_phoff, *count * sizeof *phdr);
    for (unsigned i = 0; i < *count; i++)
        if (phdr[i].p_type == PT_LOAD && !fits(&phdr[i], size))
            return NULL; /* the kernel would not have mapped it */
    for (unsigned i = 0; i < *count; i++) {
        if (phdr[i].p_type != PT_LOAD)
            continue;
        memset(room() + phdr[i].p_vaddr, 0, phdr[i].p_memsz);
        memcpy(room() + phdr[i].p_vaddr, data + phdr[i].p_offset, phdr[i].p_filesz);
    }
    return room();
}

static size_t as_image(const uint8_t *data, size_t size, const char *path)
{
    struct wtm_arena arena = {.limit_bytes = 256 << 20};
    struct wtm_object object;
    Elf64_Phdr phdr[32];
    unsigned count;
    size_t seen = 0;
    void *image = make_image(data, size, phdr, &count);
    if (!image)
        return 0;
    if (!wtm_object_from_memory(&object, path, (uintptr_t)image, phdr, count, 0, &arena)) {
        look_up(&object, &arena);
        wtm_object_read_symbols(&object, &arena);
        seen = touch(&object);
    }
    wtm_arena_free(&arena);
    return seen;
}

size_t wtm_fuzz_elf(const uint8_t *data, size_t size)
{
    char path[64];
    static int fd = -1;
    if (fd < 0)
        fd = memfd_create("fuzz_elf", 0);
    if (fd < 0 || ftruncate(fd, (off_t)size) || pwrite(fd, data, size, 0) != (ssize_t)size)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return as_file(path) + as_image(data, size, path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    wtm_fuzz_elf(data, size);
    return 0;
}
