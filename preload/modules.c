/* SPDX-License-Identifier: MIT
 * Loaded objects by dl_iterate_phdr: its locks are recursive, and it is the one interface that tells program headers. */
#include "preload/modules.h"
#include "common/sys.h"
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

struct known {
    uintptr_t bias, phdr;
    unsigned phdr_count;
    int is_main, unbound;
    const char *path; /* ours */
};
static struct known *known;
static struct wtm_arena paths; /* for the life of the process */
static size_t known_count, known_capacity;
static struct r_debug *loader;

struct scan {
    struct wtm_object *objects;
    size_t count, capacity;
    struct wtm_arena *arena;
    int error;
    char program[4096];
};

static struct known *known_at(uintptr_t bias, const void *phdr)
{
    for (size_t i = 0; i < known_count; i++)
        if (known[i].bias == bias && known[i].phdr == (uintptr_t)phdr)
            return &known[i];
    return NULL;
}

static void find_loader_state(const struct dl_phdr_info *info)
{
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type != PT_DYNAMIC)
            continue;
        for (const ElfW(Dyn) *d = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr); d->d_tag != DT_NULL; d++)
            if (d->d_tag == DT_DEBUG)
                loader = (struct r_debug *)d->d_un.d_ptr;
    }
}

static int count_one(struct dl_phdr_info *info, size_t size, void *context)
{
    ++*(size_t *)context;
    return 0;
}

static void add(struct scan *scan, const struct dl_phdr_info *info, int is_main)
{
    const char *path = info->dlpi_name;
    if (is_main)
        path = scan->program;
    else if (!path || !*path)
        path = "linux-vdso.so.1";
    struct wtm_object *object = &scan->objects[scan->count];
    int error = wtm_object_from_memory(object, path, info->dlpi_addr, info->dlpi_phdr, info->dlpi_phnum, is_main, scan->arena);
    const struct known *one = known_at(info->dlpi_addr, info->dlpi_phdr);
    object->unbound = one && one->unbound;
    if (!error)
        scan->count++;
    else if (error == -12)
        scan->error = error;
}

struct pass {
    struct scan *scan;
    int want_known;
    size_t seen;
};

static int visit(struct dl_phdr_info *info, size_t size, void *context)
{
    struct pass *pass = context;
    int is_main = pass->seen++ == 0;
    if (is_main && !loader)
        find_loader_state(info);
    if (pass->scan->count < pass->scan->capacity && !!known_at(info->dlpi_addr, info->dlpi_phdr) == pass->want_known)
        add(pass->scan, info, is_main);
    return pass->scan->error;
}

int wtm_modules_scan(struct wtm_modules *modules, struct wtm_arena *arena)
{
    struct scan scan = {.arena = arena};
    size_t loaded = 0;
    dl_iterate_phdr(count_one, &loaded);
    scan.capacity = loaded + 8;
    scan.objects = wtm_arena_alloc(arena, scan.capacity * sizeof *scan.objects);
    if (!scan.objects)
        return -12;
    long n = wtm_syscall3(SYS_readlink, (long)"/proc/self/exe", (long)scan.program, sizeof scan.program - 1);
    if (wtm_sys_failed(n)) {
        const char *name = (const char *)getauxval(AT_EXECFN);
        n = (long)strnlen(name ? name : "", sizeof scan.program - 1);
        memcpy(scan.program, name ? name : "", (size_t)n);
    }
    scan.program[n] = 0;
    struct pass pass = {&scan, 1, 0};
    dl_iterate_phdr(visit, &pass);
    modules->first_new = scan.count;
    pass = (struct pass){&scan, 0, 0};
    dl_iterate_phdr(visit, &pass);
    modules->objects = scan.objects;
    modules->count = scan.count;
    return scan.error;
}

/* The copy of a path that an object known so far has: libraries that come and go leave one each. */
static const char *keep_path(const char *path)
{
    for (size_t i = 0; i < known_count; i++)
        if (known[i].path && !strcmp(known[i].path, path))
            return known[i].path;
    return wtm_arena_string(&paths, path, strlen(path));
}

static int is_there(const struct wtm_modules *modules, const struct known *one)
{
    for (size_t i = 0; i < modules->count; i++)
        if (modules->objects[i].bias == one->bias && (uintptr_t)modules->objects[i].loaded_phdr == one->phdr)
            return 1;
    return 0;
}

void wtm_modules_remember(const struct wtm_modules *modules, void (*gone)(uintptr_t bias))
{
    for (size_t i = 0; i < known_count && gone; i++)
        if (!is_there(modules, &known[i]))
            gone(known[i].bias);
    struct known *fresh = known;
    size_t capacity = known_capacity;
    if (modules->count > known_capacity) {
        capacity = modules->count * 2 + 64;
        long at = wtm_sys_mmap(NULL, capacity * sizeof *known, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (wtm_sys_failed(at))
            return;
        fresh = (struct known *)at;
    }
    /* Known ones come first and in their order, so that a path is looked up before its entry is written over. */
    for (size_t i = 0; i < modules->count; i++) {
        const struct wtm_object *object = &modules->objects[i];
        fresh[i] = (struct known){object->bias, (uintptr_t)object->loaded_phdr, object->loaded_phdr_count, object->is_main,
                                  object->unbound, keep_path(object->path)};
    }
    if (fresh != known && known)
        wtm_sys_munmap(known, known_capacity * sizeof *known);
    known = fresh;
    known_capacity = capacity;
    known_count = modules->count;
}

void wtm_modules_await(const struct wtm_modules *modules)
{
    for (size_t i = modules->first_new; i < modules->count; i++) {
        struct known *one = known_at(modules->objects[i].bias, modules->objects[i].loaded_phdr);
        if (one)
            one->unbound = modules->objects[i].unbound;
    }
}

size_t wtm_modules_bound(struct wtm_modules *modules)
{
    size_t end = modules->first_new, first = end;
    for (size_t i = end; i-- > 0;) {
        struct wtm_object object = modules->objects[i];
        struct known *one = known_at(object.bias, object.loaded_phdr);
        if (!one || !one->unbound || !wtm_object_relocated(&object))
            continue;
        one->unbound = 0;
        modules->objects[i] = modules->objects[--first];
        modules->objects[first] = object;
    }
    modules->count = end;
    return first;
}

int wtm_modules_recall(struct wtm_modules *modules, struct wtm_arena *arena)
{
    *modules = (struct wtm_modules){.objects = wtm_arena_alloc(arena, (known_count + 1) * sizeof *modules->objects)};
    if (!modules->objects)
        return -12;
    for (size_t i = 0; i < known_count; i++) {
        if (!known[i].path)
            continue;
        int error = wtm_object_from_memory(&modules->objects[modules->count], known[i].path, known[i].bias,
                                           (const Elf64_Phdr *)known[i].phdr, known[i].phdr_count, known[i].is_main, arena);
        if (error == -12)
            return error;
        modules->count += !error;
    }
    modules->first_new = modules->count;
    return 0;
}

struct company {
    const char *other;
    int has_program, saw_own;
};

static int look_for_other(struct dl_phdr_info *info, size_t size, void *context)
{
    static const char file[] = "libwtmtime.so";
    struct company *company = context;
    const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
    uintptr_t own = wtm_modules_own_address() - info->dlpi_addr;
    company->has_program |= (uintptr_t)info->dlpi_phdr == getauxval(AT_PHDR);
    for (unsigned i = 0; i < info->dlpi_phnum; i++)
        company->saw_own |= info->dlpi_phdr[i].p_type == PT_LOAD && own >= info->dlpi_phdr[i].p_vaddr &&
                            own < info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
    if (!company->saw_own && slash && !strncmp(slash + 1, file, sizeof file - 1))
        company->other = info->dlpi_name;
    return 0;
}

const char *wtm_modules_other(void)
{
    struct company company = {NULL, 0, 0};
    dl_iterate_phdr(look_for_other, &company);
    return company.has_program ? company.other : "the program is in another name space";
}

uintptr_t wtm_modules_notification(void)
{
    return loader ? loader->r_brk : 0;
}

int wtm_modules_consistent(void)
{
    return loader && loader->r_state == RT_CONSISTENT;
}

uintptr_t wtm_modules_own_address(void)
{
    return (uintptr_t)&known;
}
