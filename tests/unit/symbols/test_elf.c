/* SPDX-License-Identifier: MIT
 * Objects and their symbols: on disk, in this process, with their symbols elsewhere, replaced, or gone. */
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "fixtures.h"

static struct wtm_arena arena;

static void open_object(struct wtm_object *object, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, FIXTURES "/%s", name);
    cr_assert_eq(wtm_object_from_file(object, path, &arena), 0, "%s", path);
    cr_assert_eq(wtm_object_read_symbols(object, &arena), 0);
    cr_assert(object->symbols_read);
}

static void expect_sorted(const struct wtm_object *object)
{
    for (size_t i = 1; i < object->symbol_count; i++) {
        const struct wtm_symbol *a = &object->symbols[i - 1], *b = &object->symbols[i];
        cr_assert(a->offset < b->offset ||
                      (a->offset == b->offset && (a->ifunc < b->ifunc || strcmp(a->name, b->name) < 0)),
                  "%s, %s", a->name, b->name);
    }
}

static void expect_all_symbols(const struct wtm_object *object)
{
    static const char *const names[] = {
        "fx_exported",           "fx_twin_weak", "fx_twin_strong", "fx_local",     "fx_calls_local",
        "fx_cloned.constprop.0", "fx_choose",    "fx_pick",        "fx_size_zero", "fx_coldness"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        cr_assert_eq(count_symbols(object, names[i]), 1, "%s: %s %zu times", object->path, names[i],
                     count_symbols(object, names[i]));
    static const char *const absent[] = {"fx_data", "fx_table", "_init", "_fini", ""};
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
        cr_assert_eq(count_symbols(object, absent[i]), 0, "%s: %s", object->path, absent[i]);
    expect_sorted(object);
}

Test(elf, on_disk)
{
    static const char *const files[] = {"libplain.so.1.2", "libsysv.so", "librelr.so",
                                        "liblazy.so",      "pie",        "nopie"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct wtm_object object;
        open_object(&object, files[i]);
        expect_all_symbols(&object);
        cr_assert_str_eq(object.name, files[i]);
        cr_assert_eq(object.loaded, 0);
        cr_assert_eq(object.is_main, i >= 4, "%s", files[i]);
        cr_assert_null(object.note);
        cr_assert_eq(object.is_go, 0);
        size_t count = object.symbol_count;
        cr_assert_eq(wtm_object_read_symbols(&object, &arena), 0);
        cr_assert_eq(object.symbol_count, count, "idempotent");
    }
}

Test(elf, facts_of_symbols)
{
    struct wtm_object object;
    open_object(&object, "libplain.so.1.2");
    const struct wtm_symbol *exported = find_symbol(&object, "fx_exported"),
                            *local = find_symbol(&object, "fx_local");
    const struct wtm_symbol *weak = find_symbol(&object, "fx_twin_weak"),
                            *pick = find_symbol(&object, "fx_pick");
    const struct wtm_symbol *choose = find_symbol(&object, "fx_choose"),
                            *label = find_symbol(&object, "fx_label");
    cr_assert(exported->global && weak->global && !local->global);
    cr_assert_eq(exported->offset, weak->offset, "aliases");
    cr_assert_eq(exported->source, WTM_SYMBOL_DYNAMIC, "the better source of two");
    cr_assert_eq(local->source, WTM_SYMBOL_STATIC);
    cr_assert_gt(exported->size, 0);
    cr_assert(pick->ifunc && !choose->ifunc && pick->offset == choose->offset);
    cr_assert(label->notype && !exported->notype);
    cr_assert_eq(find_symbol(&object, "fx_size_zero")->size, 0);
    cr_assert(find_symbol(&object, "fx_exported.cold")->cold &&
              find_symbol(&object, "fx_local.part.0.cold.7")->cold);
    cr_assert_not(find_symbol(&object, "fx_coldness")->cold);
    cr_assert_eq(count_symbols(&object, "fx_versioned"), 2,
                 "two versions at two addresses, their suffixes cut");
    const struct wtm_symbol *at = wtm_object_symbols_at(&object, exported->offset);
    cr_assert(at && at->offset == exported->offset && (at == object.symbols || at[-1].offset < at->offset));
    cr_assert_null(wtm_object_symbols_at(&object, exported->offset + 1));
    cr_assert_eq(object.build_id_bytes, 20);
}

/* Where a stripped object's symbols are found, and where they must not be believed. */
Test(elf, separate_debug_files)
{
    static const struct {
        const char *file;
        int source; /* 0: not found */
    } table[] = {
        {"link/libsplit.so", WTM_SYMBOL_DEBUG},   /* .debug/, by its CRC */
        {"beside/libsplit.so", WTM_SYMBOL_DEBUG}, /* the same folder */
        {"id/libsplit.so", WTM_SYMBOL_DEBUG},     /* by its build-id */
        {"crc/libsplit.so", 0},                   /* changed since */
        {"stale/libsplit.so", 0},                 /* of another build */
        {"libstripped.so", 0},                    /* nowhere */
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct wtm_object object;
        open_object(&object, table[i].file);
        const struct wtm_symbol *local = find_symbol(&object, "fx_local"),
                                *exported = find_symbol(&object, "fx_exported");
        cr_assert_eq(local ? local->source : 0, table[i].source, "%s", table[i].file);
        cr_assert(exported && exported->source == WTM_SYMBOL_DYNAMIC, "%s", table[i].file);
        if (local)
            expect_all_symbols(&object);
    }
    cr_assert_eq(wtm_crc32(0, (const unsigned char *)"123456789", 9), 0xcbf43926u);
    cr_assert_eq(wtm_crc32(wtm_crc32(0, (const unsigned char *)"1234", 4), (const unsigned char *)"56789", 5),
                 0xcbf43926u);
}

Test(elf, minidebuginfo)
{
    struct wtm_object object;
    if (access(FIXTURES "/mini.debug.xz", R_OK))
        cr_skip_test("xz was not there when the fixtures were made");
#ifndef WTM_HAVE_LZMA
    cr_skip_test("built without liblzma");
#endif
    open_object(&object, "libmini.so");
    cr_assert(find_symbol(&object, "fx_local"));
    cr_assert_eq(find_symbol(&object, "fx_local")->source, WTM_SYMBOL_MINI);
    cr_assert_eq(find_symbol(&object, "fx_exported")->source, WTM_SYMBOL_DYNAMIC);
}

/* Debian's package of debug symbols for libc: below /usr/lib/debug/.build-id. */
Test(elf, system_debug_files)
{
    struct process process = {0};
    describe(&process);
    struct wtm_object *libc = object_named(&process, "libc.so.6");
    cr_assert(libc && libc->build_id_bytes);
    cr_assert_eq(wtm_object_has_symtab(libc), 0);
    cr_assert_eq(wtm_object_read_symbols(libc, &process.arena), 0);
    const struct wtm_symbol *local = find_symbol(libc, "_int_malloc");
    cr_assert(local, "is libc6-dbg installed?");
    cr_assert_eq(local->source, WTM_SYMBOL_DEBUG);
    cr_assert_eq((char *)(libc->bias + find_symbol(libc, "malloc")->offset),
                 (char *)dlsym(RTLD_NEXT, "malloc"));
    cr_assert_eq(count_symbols(libc, "malloc"), 1, "from two tables, once");
    expect_sorted(libc);
}

Test(elf, this_process)
{
    struct process process = {0};
    describe(&process);
    char self[4096] = "";
    cr_assert_gt(readlink("/proc/self/exe", self, sizeof self - 1), 0);
    cr_assert(process.objects[0].is_main && !process.objects[0].is_loader);
    cr_assert_str_eq(process.objects[0].path, self);
    unsigned loaders = 0, vdsos = 0;
    for (size_t i = 0; i < process.count; i++) {
        struct wtm_object *object = &process.objects[i];
        loaders += (unsigned)object->is_loader;
        vdsos += (unsigned)object->is_vdso;
        cr_assert(object->loaded);
        cr_assert_eq(wtm_object_read_symbols(object, &process.arena), 0);
        if (object->is_vdso)
            cr_assert(find_symbol(object, "__vdso_clock_gettime"));
    }
    cr_assert_eq(loaders, 1);
    cr_assert_eq(vdsos, getauxval(AT_SYSINFO_EHDR) != 0);
    cr_assert(find_symbol(&process.objects[0], "wtm_object_lookup"), "its own .symtab");
}

Test(elf, what_is_mapped_where)
{
    static const char constant[] = "in the program's file";
    char self[4096] = "", local = 0;
    cr_assert_gt(readlink("/proc/self/exe", self, sizeof self - 1), 0);
    cr_assert_str_eq(wtm_elf_path_at((uintptr_t)&describe_one, &arena), self);
    cr_assert_str_eq(wtm_elf_path_at((uintptr_t)constant, &arena), self);
    const char *libc = wtm_elf_path_at((uintptr_t)dlsym(RTLD_NEXT, "malloc"), &arena);
    cr_assert(libc && strstr(libc, "/libc.so.6"), "%s", libc);
    cr_assert_null(wtm_elf_path_at((uintptr_t)&local, &arena), "the stack");
    cr_assert_null(wtm_elf_path_at(16, &arena));
}

/* Every exported function by its name, and names that are not there: what the hash tables say is what the
 * table says. */
static void compare_lookup_with_table(struct wtm_object *object, const void *handle)
{
    struct wtm_symbol found;
    size_t compared = 0;
    cr_assert_eq(wtm_object_read_symbols(object, &arena), 0);
    for (size_t i = 0; i < object->symbol_count; i++) {
        const struct wtm_symbol *symbol = &object->symbols[i];
        if (symbol->source != WTM_SYMBOL_DYNAMIC)
            continue;
        cr_assert_eq(wtm_object_lookup(object, symbol->name, &found), 1, "%s: %s", object->name,
                     symbol->name);
        cr_assert_str_eq(found.name, symbol->name);
        if (!found.ifunc && handle)
            cr_assert_eq((void *)(object->bias + found.offset), dlsym((void *)handle, symbol->name), "%s",
                         symbol->name);
        char wrong[512];
        snprintf(wrong, sizeof wrong, "%sx", symbol->name);
        if (!find_symbol(object, wrong))
            cr_assert_eq(wtm_object_lookup(object, wrong, &found), 0, "%s", wrong);
        compared++;
    }
    cr_assert_gt(compared, 5, "%s", object->name);
    cr_assert_eq(wtm_object_lookup(object, "", &found), 0);
    cr_assert_eq(wtm_object_lookup(object, "fx_data", &found), 0, "data");
    cr_assert_eq(wtm_object_lookup(object, "fx_local", &found), 0, "not exported");
}

Test(elf, lookup)
{
    static const char *const files[] = {FIXTURES "/libplain.so.1.2", FIXTURES "/libsysv.so",
                                        FIXTURES "/librelr.so", FIXTURES "/libstripped.so", "libm.so.6"};
    struct process process = {0};
    void *handles[5];
    for (size_t i = 0; i < 5; i++)
        cr_assert(handles[i] = dlopen(files[i], RTLD_NOW), "%s", dlerror());
    describe(&process);
    for (size_t i = 0; i < 5; i++) {
        struct wtm_object *object =
            object_named(&process, strrchr(files[i], '/') ? strrchr(files[i], '/') + 1 : files[i]);
        cr_assert(object, "%s", files[i]);
        compare_lookup_with_table(object,
                                  i < 4 ? handles[i] : NULL); /* libm: dlsym gives default versions alone */
    }
    struct wtm_symbol versions[4];
    cr_assert_eq(
        wtm_object_lookup_all(object_named(&process, "libplain.so.1.2"), "fx_versioned", versions, 4), 2);
    cr_assert_eq((void *)(object_named(&process, "libplain.so.1.2")->bias + versions[0].offset),
                 dlsym(handles[0], "fx_versioned"), "the default version goes first");
}

static void copy_file(const char *from, const char *to)
{
    char buffer[65536];
    FILE *in = fopen(from, "r"), *out = fopen(to, "w");
    cr_assert(in && out, "%s, %s", from, to);
    for (size_t got; (got = fread(buffer, 1, sizeof buffer, in));)
        cr_assert_eq(fwrite(buffer, 1, got, out), got);
    fclose(in);
    cr_assert_eq(fclose(out), 0);
}

/* A library is replaced while it is loaded: its file's symbols are another build's. With build-ids, and
 * without. */
Test(elf, replaced_on_disk)
{
    static const char *const pairs[][2] = {{"libplain.so.1.2", "liblazy.so"}, {"libsysv.so", "librelr.so"}};
    for (size_t i = 0; i < 2; i++) {
        char path[] = "/tmp/wtm-replaced-XXXXXX", from[512];
        int fd = mkstemp(path);
        cr_assert_geq(fd, 0);
        close(fd);
        unlink(path);
        snprintf(from, sizeof from, FIXTURES "/%s", pairs[i][0]);
        copy_file(from, path);
        cr_assert(dlopen(path, RTLD_NOW), "%s", dlerror());
        for (int replaced = 0; replaced < 2; replaced++) {
            struct process process = {0};
            if (replaced) {
                unlink(path);
                snprintf(from, sizeof from, FIXTURES "/%s", pairs[i][1]);
                copy_file(from, path);
            }
            describe(&process);
            struct wtm_object *object = object_named(&process, strrchr(path, '/') + 1);
            cr_assert(object);
            cr_assert_eq(wtm_object_has_symtab(object), !replaced);
            cr_assert_eq(wtm_object_read_symbols(object, &process.arena), 0);
            cr_assert_eq(find_symbol(object, "fx_local") != NULL, !replaced);
            cr_assert(find_symbol(object, "fx_exported"), "what memory tells stays");
            cr_assert_eq(object->note != NULL, replaced);
            if (replaced)
                cr_assert(strstr(object->note, "replaced"), "%s", object->note);
        }
        unlink(path);
        struct process process = {0};
        describe(&process);
        struct wtm_object *object = object_named(&process, strrchr(path, '/') + 1);
        cr_assert_eq(wtm_object_read_symbols(object, &process.arena), 0);
        cr_assert(object->note && strstr(object->note, "cannot be opened"), "%s", object->note);
    }
}

Test(elf, not_an_object)
{
    static const char *const files[] = {"/nonexistent", "/", "/etc/passwd", "/dev/null", "/proc/self/maps"};
    struct wtm_object object;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        cr_assert_lt(wtm_object_from_file(&object, files[i], &arena), 0, "%s", files[i]);
    cr_assert_eq(wtm_object_from_file(&object, "/etc/passwd", &arena), -ENOEXEC);
    cr_assert_eq(wtm_object_from_file(&object, "/nonexistent", &arena), -ENOENT);
    /* A FIFO must not hang its reader. */
    char path[64];
    snprintf(path, sizeof path, "/tmp/wtm-fifo-%d", getpid());
    cr_assert_eq(mkfifo(path, 0600), 0);
    cr_assert_lt(wtm_object_from_file(&object, path, &arena), 0);
    unlink(path);
}

static const struct wtm_object *loaded(struct process *process, const char *file, void **handle)
{
    char path[512];
    snprintf(path, sizeof path, FIXTURES "/%s", file);
    /* liblazy's own slots stay unbound: they point back into its PLT. */
    cr_assert(*handle = dlopen(path, strcmp(file, "liblazy.so") ? RTLD_NOW : RTLD_LAZY), "%s", dlerror());
    describe(process);
    return object_named(process, file);
}

Test(elf, ifunc_targets)
{
    static const char *const files[] = {"libplain.so.1.2", "liblazy.so", "libsysv.so"};
    for (size_t i = 0; i < 3; i++) {
        struct process process = {0};
        void *handle;
        const struct wtm_object *object = loaded(&process, files[i], &handle);
        int (*resolutions)(void) = (int (*)(void))dlsym(handle, "fx_resolutions");
        int before = resolutions();
        struct wtm_symbol symbol, unused;
        cr_assert(wtm_object_lookup(object, "fx_pick", &symbol) && symbol.ifunc);
        uintptr_t target = wtm_object_ifunc_target(object, &symbol, process.objects, process.count);
        cr_assert_neq(target, 0);
        cr_assert_neq(target, object->bias + symbol.offset, "not the resolver");
        cr_assert_eq(((int (*)(int))target)(1), 13, "the chosen body");
        if (i != 1) /* bound at once: what the loader wrote is there, and nobody is asked again */
            cr_assert_eq(resolutions(), before, "%s", files[i]);
        cr_assert(wtm_object_lookup(object, "fx_unused_pick", &unused));
        cr_assert_eq(wtm_object_ifunc_target(object, &unused, process.objects, process.count), target);
    }
    struct process process = {0};
    describe(&process);
    const struct wtm_object *libc = object_named(&process, "libc.so.6");
    static const char *const names[] = {"strlen", "memcpy", "memmove", "memset", "strchr"};
    for (size_t i = 0; i < 5; i++) {
        struct wtm_symbol symbol;
        cr_assert(wtm_object_lookup(libc, names[i], &symbol));
        uintptr_t target = wtm_object_ifunc_target(libc, &symbol, process.objects, process.count);
        cr_assert_eq(target, (uintptr_t)dlsym(RTLD_NEXT, names[i]), "%s", names[i]);
    }
}

Test(elf, code_pointers)
{
    static const char *const files[] = {"libplain.so.1.2", "librelr.so", "libsysv.so"};
    for (size_t i = 0; i < 3; i++) {
        struct process process = {0};
        void *handle;
        size_t count = 0;
        const struct wtm_object *object = loaded(&process, files[i], &handle);
        const uintptr_t *pointers = wtm_object_code_pointers(object, &process.arena, &count);
        int (**table)(int) = dlsym(handle, "fx_table");
        cr_assert(pointers && count >= 3 && table, "%s: %zu", files[i], count);
        unsigned found = 0;
        for (size_t p = 0; p < count; p++) {
            cr_assert(!p || pointers[p - 1] < pointers[p], "sorted and unique");
            cr_assert(wtm_object_executable(object, pointers[p] - object->bias));
            for (int t = 0; t < 3; t++)
                found += pointers[p] == (uintptr_t)table[t];
        }
        cr_assert_eq(found, 3, "%s", files[i]);
    }
    struct wtm_object on_disk;
    size_t count = 1;
    cr_assert_eq(wtm_object_from_file(&on_disk, FIXTURES "/pie", &arena), 0);
    cr_assert_null(wtm_object_code_pointers(&on_disk, &arena, &count));
    cr_assert_eq(count, 0);
}
