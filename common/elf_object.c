/* SPDX-License-Identifier: MIT
 * Describes an object of this process or of the disk, and finds the file that belongs to it. */
#include "common/elf_internal.h"
#include "common/sys.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>

enum { MAX_SEGMENTS = 4096, MAX_PATH = 4096 };
static const char replaced[] = "its file on disk was replaced since it was loaded";

int wtm_object_readable(const struct wtm_object *object, uintptr_t address, size_t bytes)
{
    uint64_t offset = address - object->bias;
    for (unsigned i = 0; i < object->phdr_count; i++) {
        const Elf64_Phdr *segment = &object->phdr[i];
        if (segment->p_type == PT_LOAD && segment->p_flags & PF_R && offset >= segment->p_vaddr &&
            offset - segment->p_vaddr <= segment->p_memsz &&
            bytes <= segment->p_memsz - (offset - segment->p_vaddr))
            return 1;
    }
    return 0;
}

int wtm_object_executable(const struct wtm_object *object, uint64_t offset)
{
    for (unsigned i = 0; i < object->phdr_count; i++) {
        const Elf64_Phdr *segment = &object->phdr[i];
        if (segment->p_type == PT_LOAD && segment->p_flags & PF_X && offset >= segment->p_vaddr &&
            offset - segment->p_vaddr < segment->p_memsz)
            return 1;
    }
    return 0;
}

int wtm_object_contains(const struct wtm_object *object, uintptr_t address)
{
    uint64_t offset = address - object->bias;
    for (unsigned i = 0; i < object->phdr_count; i++) {
        const Elf64_Phdr *segment = &object->phdr[i];
        if (segment->p_type == PT_LOAD && offset >= segment->p_vaddr &&
            offset - segment->p_vaddr < segment->p_memsz)
            return 1;
    }
    return 0;
}

static const char *last_component(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static int is_name_of_loader(const char *name)
{
    return !strncmp(name, "ld-linux-x86-64.so", 18) || !strncmp(name, "ld-2.", 5) || !strcmp(name, "ld.so");
}

/* The main program's name is empty in the loader's list, and where it was started as `ld.so ./program` the
 * kernel's executable is the loader. `code` is an address inside the program. */
static const char *program_path(uintptr_t code, struct wtm_arena *arena)
{
    char *path = wtm_arena_alloc(arena, MAX_PATH);
    if (!path)
        return "";
    long length = wtm_syscall3(SYS_readlink, (long)"/proc/self/exe", (long)path, MAX_PATH - 1);
    if (length > 0 && !is_name_of_loader(last_component(path)))
        return path;
    const char *mapped = wtm_elf_path_at(code, arena);
    return mapped ? mapped : length > 0 ? path : "";
}

static uintptr_t first_address(uintptr_t bias, const Elf64_Phdr *phdr, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (phdr[i].p_type == PT_LOAD)
            return bias + phdr[i].p_vaddr;
    return 0;
}

static int copy_segments(struct wtm_object *object, const Elf64_Phdr *phdr, unsigned count,
                         struct wtm_arena *arena)
{
    if (!count || count > MAX_SEGMENTS)
        return -ENOEXEC;
    Elf64_Phdr *copy = wtm_arena_alloc(arena, count * sizeof *copy);
    if (!copy)
        return -ENOMEM;
    unsigned kept = 0;
    for (unsigned i = 0; i < count; i++) {
        if (phdr[i].p_memsz > UINT64_MAX - phdr[i].p_vaddr)
            continue; /* would wrap around: no segment of a loadable object */
        copy[kept++] = phdr[i];
    }
    object->phdr = copy;
    object->phdr_count = kept;
    return 0;
}

static void take_notes(struct wtm_object *object, const struct wtm_elf_notes *notes)
{
    memcpy(object->build_id, notes->build_id, sizeof object->build_id);
    object->build_id_bytes = notes->build_id_bytes;
    object->is_go |= notes->is_go;
}

static void read_notes_in_memory(struct wtm_object *object)
{
    struct wtm_elf_notes notes = {.build_id_bytes = 0};
    for (unsigned i = 0; i < object->phdr_count; i++) {
        const Elf64_Phdr *segment = &object->phdr[i];
        uintptr_t at = object->bias + segment->p_vaddr;
        if (segment->p_type == PT_NOTE && wtm_object_readable(object, at, segment->p_memsz))
            wtm_elf_notes_parse(&notes, (const unsigned char *)at, segment->p_memsz, segment->p_align);
    }
    take_notes(object, &notes);
}

static int start(struct wtm_object *object, const char *path, struct wtm_arena *arena)
{
    object->detail = wtm_arena_alloc(arena, sizeof(struct wtm_object_detail));
    object->path = wtm_arena_string(arena, path, strlen(path));
    if (!object->detail || !object->path)
        return -ENOMEM;
    object->name = last_component(object->path);
    return 0;
}

int wtm_object_from_memory(struct wtm_object *object, const char *path, uintptr_t bias,
                           const Elf64_Phdr *phdr, unsigned phdr_count, int is_main, struct wtm_arena *arena)
{
    memset(object, 0, sizeof *object);
    object->bias = bias;
    object->loaded = 1;
    object->is_main = is_main;
    if (is_main && (!path || !*path))
        path = program_path(first_address(bias, phdr, phdr_count), arena);
    int error = start(object, path ? path : "", arena);
    if (!error)
        error = copy_segments(object, phdr, phdr_count, arena);
    object->loaded_phdr = phdr;
    object->loaded_phdr_count = phdr_count;
    if (error)
        return error;
    struct wtm_elf_dynamic *dynamic = &wtm_object_detail(object)->dynamic;
    wtm_elf_dynamic_read(object, dynamic);
    read_notes_in_memory(object);
    const char *soname = dynamic->soname ? dynamic->soname : object->name;
    object->is_loader = !is_main && (is_name_of_loader(soname) || is_name_of_loader(object->name));
    object->is_vdso =
        !is_main && (!strncmp(object->name, "linux-vdso.so", 13) || !strncmp(soname, "linux-vdso.so", 13));
    if (!*object->name && dynamic->soname)
        object->name = dynamic->soname;
    return 0;
}

int wtm_object_from_file(struct wtm_object *object, const char *path, struct wtm_arena *arena)
{
    struct wtm_elf_file file;
    memset(object, 0, sizeof *object);
    int error = start(object, path, arena);
    if (!error)
        error = wtm_elf_file_open(&file, path, arena);
    if (error)
        return error;
    if (file.header.e_type != ET_EXEC && file.header.e_type != ET_DYN)
        error = -ENOEXEC;
    if (!error)
        error = copy_segments(object, file.phdr, file.phdr_count, arena);
    if (!error) {
        struct wtm_elf_notes notes = {.build_id_bytes = 0};
        wtm_elf_file_notes(&file, &notes);
        take_notes(object, &notes);
        object->is_loader = is_name_of_loader(object->name);
        for (unsigned i = 0; i < object->phdr_count; i++)
            object->is_main |= object->phdr[i].p_type == PT_INTERP;
    }
    wtm_elf_file_close(&file);
    return error;
}

/* Same program headers: what can be compared when neither side has a build-id. */
static int same_segments(const struct wtm_object *object, const struct wtm_elf_file *file)
{
    return object->phdr_count == file->phdr_count &&
           !memcmp(object->phdr, file->phdr, file->phdr_count * sizeof(Elf64_Phdr));
}

static int is_file_of(const struct wtm_object *object, struct wtm_elf_file *file)
{
    struct wtm_elf_notes notes = {.build_id_bytes = 0};
    wtm_elf_file_notes(file, &notes);
    if (object->build_id_bytes || notes.build_id_bytes)
        return object->build_id_bytes == notes.build_id_bytes &&
               !memcmp(object->build_id, notes.build_id, notes.build_id_bytes);
    return same_segments(object, file);
}

static int open_checked(struct wtm_object *object, const char *path, struct wtm_elf_file *file,
                        struct wtm_arena *scratch)
{
    int error = wtm_elf_file_open(file, path, scratch);
    if (error)
        return error;
    if (is_file_of(object, file))
        return 0;
    wtm_elf_file_close(file);
    return -ESTALE;
}

int wtm_object_open_file(struct wtm_object *object, struct wtm_elf_file *file, struct wtm_arena *scratch)
{
    if (object->is_vdso || (!*object->path && !object->is_main))
        return -ENOENT;
    int error = -ENOENT;
    /* The running program by way of the kernel: right also when its file was deleted or replaced. Started
     * through the loader (ld.so ./program) this is the loader, and does not match. */
    if (object->loaded && object->is_main)
        error = open_checked(object, "/proc/self/exe", file, scratch);
    if (error && *object->path)
        error = open_checked(object, object->path, file, scratch);
    if (error == -ESTALE)
        object->note = replaced;
    else if (error && !object->note)
        object->note =
            error == -ENOEXEC ? "its file on disk is no ELF object" : "its file on disk cannot be opened";
    return error;
}
