/* SPDX-License-Identifier: MIT
 * Patterns against a live process with known libraries, and against objects on disk. */
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <stdio.h>
#include "common/resolve.h"
#include "fixtures.h"

static struct process process;
static void *plain, *sysv;
static struct wtm_resolution found;
static char complaint[1024];

static void complain(void *context, const char *message)
{
    (void)context;
    snprintf(complaint, sizeof complaint, "%s", message);
}

static void open_libraries(void)
{
    cr_assert(plain = dlopen(FIXTURES "/libplain.so.1.2", RTLD_NOW), "%s", dlerror());
    cr_assert(sysv = dlopen(FIXTURES "/libsysv.so", RTLD_NOW), "%s", dlerror());
    describe(&process);
}

/* From scratch each time: what one call has read must not help another. */
static void resolve_in(const char *patterns, size_t first, uintptr_t own_base)
{
    struct wtm_pattern_set set;
    complaint[0] = 0;
    cr_assert_eq(wtm_patterns_parse(&set, patterns, "WTM_TIME", &process.arena, complain, NULL), 0);
    cr_assert_str_eq(complaint, "");
    cr_assert_eq(wtm_resolve(&set, process.objects, process.count, first, own_base, &process.arena, &found),
                 0);
}

static void resolve(const char *patterns)
{
    describe(&process);
    resolve_in(patterns, 0, 0);
}

static const struct wtm_target *target_at(const char *module, const char *name)
{
    for (size_t i = 0; i < found.target_count; i++)
        if (!strcmp(found.targets[i].name, name) && !strcmp(found.targets[i].object->name, module))
            return &found.targets[i];
    return NULL;
}

static void expect_names(const char *patterns, const char *const *names, size_t count)
{
    resolve(patterns);
    for (size_t i = 0; i < count; i++)
        cr_assert(target_at("libplain.so.1.2", names[i]), "%s: %s is missing", patterns, names[i]);
    for (size_t i = 0; i < found.target_count; i++)
        cr_assert_eq(found.targets[i].address, found.targets[i].object->bias + found.targets[i].offset);
    cr_assert_eq(found.target_count, count, "%s: %zu, first %s", patterns, found.target_count,
                 found.target_count ? found.targets[0].name : "-");
    cr_assert_eq(found.missing_count, 0, "%s", patterns);
}
#define EXPECT(patterns, ...)                                                                                \
    do {                                                                                                     \
        static const char *const names[] = {__VA_ARGS__};                                                    \
        expect_names(patterns, names, sizeof names / sizeof *names);                                         \
    } while (0)

TestSuite(resolve, .init = open_libraries);

Test(resolve, one_name_many_bodies)
{
    resolve("fx_exported,fx_local");
    cr_assert_eq(found.target_count, 4, "two bodies each");
    const struct wtm_target *a = target_at("libplain.so.1.2", "fx_exported"),
                            *b = target_at("libsysv.so", "fx_exported");
    cr_assert(a && b && target_at("libplain.so.1.2", "fx_local") && target_at("libsysv.so", "fx_local"));
    cr_assert_eq((void *)a->address, dlsym(plain, "fx_exported"));
    cr_assert_eq((void *)b->address, dlsym(sysv, "fx_exported"));
    cr_assert_str_eq(a->mangled, "fx_exported");
    cr_assert_eq(a->refusal, WTM_REFUSED_NONE);
    cr_assert_gt(a->size, 0);
    cr_assert(strstr(a->aliases, "fx_twin_weak") && strstr(a->aliases, "fx_twin_strong"), "%s", a->aliases);
    cr_assert_null(strstr(a->aliases, "fx_exported"));
    cr_assert_eq(found.missing_count, 0);
}

Test(resolve, aliases_are_one_target)
{
    resolve("libplain*:fx_twin_strong,libplain*:fx_exported,libplain*:fx_twin_*");
    cr_assert_eq(found.target_count, 1);
    cr_assert_str_eq(found.targets[0].name, "fx_twin_strong", "of the pattern that comes first");
    resolve("libplain*:fx_[et]*d,libplain*:fx_tw*");
    cr_assert_str_eq(found.targets[0].name, "fx_exported");
}

Test(resolve, modules)
{
    EXPECT("libplain:fx_local", "fx_local");
    EXPECT("libplain.so:fx_local", "fx_local");
    EXPECT("libplain.so.1.2:fx_local", "fx_local");
    EXPECT("libpl*n:fx_local", "fx_local");
    EXPECT(FIXTURES "/libplain.so.1.2:fx_local", "fx_local");
    EXPECT("*/libplain*:fx_local", "fx_local");
    resolve("main:describe_one,main:fx_local");
    cr_assert_eq(found.target_count, 1);
    cr_assert(found.targets[0].object->is_main);
    cr_assert_eq(found.missing_count, 1);
    cr_assert_str_eq(found.missing[0].pattern, "main:fx_local");
    resolve("libnowhere.so:f,libpl:fx_local");
    cr_assert_eq(found.target_count, 0);
    cr_assert_eq(found.missing_count, 2);
    cr_assert_str_eq(found.missing[0].note,
                     "no object named libnowhere.so is loaded; it will be looked for when it is");
}

Test(resolve, globs_and_regular_expressions)
{
    EXPECT("libplain:fx_exp*", "fx_exported"); /* not its cold part */
    EXPECT("libplain:/^fx_(local|calls_local)$/", "fx_local", "fx_calls_local");
    EXPECT("libplain:fx_calls_*,!fx_calls_pick", "fx_calls_local");
    EXPECT("!libplain:/pick/,libplain:fx_calls_*,!libsysv:fx_calls_local", "fx_calls_local");
    EXPECT("libplain:/^fx::Box::get\\(int\\)/", "fx::Box::get");
    resolve("fx_loc*");
    cr_assert_eq(found.target_count, 2, "the libraries' local functions: their files have a .symtab");
    resolve("libplain:fx_exported,!libplain:fx_twin_weak");
    cr_assert_eq(found.target_count, 0, "an alias takes the body out");
    cr_assert_eq(found.missing_count, 0);
    resolve("libplain:nothing*,libplain:/nothing/");
    cr_assert_eq(found.missing_count, 2);
    cr_assert_null(found.missing[0].near);
}

Test(resolve, compilers_clones)
{
    EXPECT("libplain:fx_cloned", "fx_cloned.constprop.0");
    EXPECT("libplain:fx_cloned.constprop.0", "fx_cloned.constprop.0");
    EXPECT("libplain:fx_parted", "fx_parted.part.1.isra.0");
    EXPECT("libplain:fx_*ed", "fx_cloned.constprop.0", "fx_parted.part.1.isra.0", "fx_exported",
           "fx_versioned", "fx_versioned");
    EXPECT("libplain:fx_cold*", "fx_coldness");
    EXPECT("libplain:fx_size_zero", "fx_size_zero");
    EXPECT("libplain:fx_versioned", "fx_versioned", "fx_versioned");
    EXPECT("libplain:fx_label", "fx_label");
    resolve("libplain:fx_lab*");
    cr_assert_eq(found.target_count, 0, "no type: only by its exact name");
    resolve("libplain:fx_exported.cold");
    cr_assert_eq(found.target_count, 1);
    cr_assert_eq(found.targets[0].refusal, WTM_REFUSED_COLD_PART);
}

Test(resolve, cxx_and_rust)
{
    EXPECT("libplain:fx_compute", "fx_compute");
    EXPECT("libplain:fx_hidden", "fx_hidden");
    EXPECT("libplain:fx_hid*", "fx_hidden");
    EXPECT("libplain:fx_inner", "(anonymous namespace)::fx_inner");
    EXPECT("libplain:(anonymous namespace)::fx_inner", "(anonymous namespace)::fx_inner");
    EXPECT("libplain:fx_compute(int)", "fx_compute(int)");
    EXPECT("libplain:fx::Box::get", "fx::Box::get() const", "fx::Box::get(int)"); /* told apart */
    EXPECT("libplain:fx::Box::get()", "fx::Box::get() const");
    EXPECT("libplain:fx::Box::get() const", "fx::Box::get() const");
    EXPECT("libplain:fx::Box::get(int)", "fx::Box::get(int)");
    EXPECT("libplain:fx::add(double,  double)", "fx::add(double, double)");
    EXPECT("libplain:fx::add", "fx::add(int, int)", "fx::add(double, double)");
    EXPECT("libplain:fx::pair::make", "fx::pair<int>::make");
    EXPECT("libplain:fx::pair<int>::make", "fx::pair<int>::make");
    EXPECT("libplain:fx::pair<*>::make", "fx::pair<int>::make");
    EXPECT("libplain:fx::operator<", "fx::operator<");
    EXPECT("libplain:fx::length(std::string const&)", "fx::length(std::string const&)");
    EXPECT("libplain:fx::a*", "fx::add(int, int)", "fx::add(double, double)");
    EXPECT("libplain:fx_crate::inner::solve", "fx_crate::inner::solve");
    EXPECT("libplain:fx_crate::inner::parse", "fx_crate::inner::parse");
    EXPECT("libplain:fx_crate::inner::*", "fx_crate::inner::parse", "fx_crate::inner::solve");
    EXPECT("libplain:fx_crate::Square::area", "<fx_crate::Square as fx_crate::Shape>::area");
    EXPECT("libplain:<fx_crate::Square as fx_crate::Shape>::area",
           "<fx_crate::Square as fx_crate::Shape>::area");
    EXPECT("libplain:_ZN2fx3addEii", "fx::add");
    cr_assert_str_eq(found.targets[0].mangled, "_ZN2fx3addEii");
    resolve("libplain:fx::add(int)");
    cr_assert_eq(found.target_count, 0);
    cr_assert(strstr(found.missing[0].near, "fx::add(int, int)"), "%s", found.missing[0].near);
    resolve("libplain:fx::Box::gte");
    cr_assert_str_eq(found.missing[0].near, "fx::Box::get");
}

Test(resolve, addresses)
{
    const struct wtm_object *object = object_named(&process, "libplain.so.1.2");
    uintptr_t exported = (uintptr_t)dlsym(plain, "fx_exported"),
              calls = (uintptr_t)dlsym(plain, "fx_calls_local");
    char patterns[512];
    snprintf(patterns, sizeof patterns,
             "0x%lx=mine,libplain+0x%lx,0x%lx,0x%lx=data,0x%lx=inside,0x10=nowhere", exported,
             calls - object->bias, exported, (uintptr_t)dlsym(plain, "fx_data"), calls + 2);
    resolve(patterns);
    cr_assert_eq(found.target_count, 4);
    cr_assert_str_eq(found.targets[0].name, "mine");
    cr_assert_null(found.targets[0].mangled);
    cr_assert_eq(found.targets[0].address, exported);
    cr_assert_eq(found.targets[0].refusal, WTM_REFUSED_NONE);
    cr_assert(strstr(found.targets[0].aliases, "fx_exported"));
    cr_assert_eq(found.targets[1].address, calls);
    cr_assert(strstr(found.targets[1].name, "libplain+0x"));
    cr_assert_eq(found.targets[2].refusal, WTM_REFUSED_NOT_CODE);
    cr_assert_eq(found.targets[3].refusal, WTM_REFUSED_NOT_A_START);
    cr_assert_eq(found.missing_count, 1);
    cr_assert_str_eq(found.missing[0].pattern, "0x10=nowhere");
}

Test(resolve, ifuncs)
{
    resolve("libplain:fx_pick");
    cr_assert_eq(found.target_count, 1);
    cr_assert_str_eq(found.targets[0].name, "fx_pick");
    cr_assert_eq(((int (*)(int))found.targets[0].address)(1), 13);
    cr_assert(strstr(found.targets[0].aliases, "fx_pick_other"), "%s", found.targets[0].aliases);
    cr_assert_eq(found.targets[0].refusal, WTM_REFUSED_NONE);
    resolve("libplain:fx_pick,libplain:fx_pick_other,libplain:fx_unused_pick");
    cr_assert_eq(found.target_count, 1, "one body");
    resolve("libplain:fx_choose");
    cr_assert_eq(found.target_count, 1);
    cr_assert_eq(found.targets[0].refusal, WTM_REFUSED_RESOLVER);
    resolve("memcpy,memmove");
    const struct wtm_target *target = target_at("libc.so.6", "memcpy");
    cr_assert(target);
    if (dlsym(RTLD_DEFAULT, "memcpy") == dlsym(RTLD_DEFAULT, "memmove"))
        cr_assert(target->aliases && strstr(target->aliases, "memmove"), "%s", target->aliases);
}

static void expect_refusal(const char *pattern, enum wtm_refusal refusal)
{
    resolve(pattern);
    cr_assert_geq(found.target_count, 1, "%s", pattern);
    for (size_t i = 0; i < found.target_count; i++)
        cr_assert_eq(found.targets[i].refusal, refusal, "%s in %s: %s", pattern,
                     found.targets[i].object->name, wtm_refusal_name(found.targets[i].refusal));
}

Test(resolve, refusals)
{
    static const struct {
        const char *name;
        enum wtm_refusal refusal;
    } table[] = {
        {"vfork", WTM_REFUSED_POPS_RETURN},
        {"__vfork", WTM_REFUSED_POPS_RETURN},
        {"dlopen", WTM_REFUSED_USES_CALLER},
        {"dlsym", WTM_REFUSED_USES_CALLER},
        {"clone", WTM_REFUSED_NEW_STACK},
        {"setjmp", WTM_REFUSED_RETURNS_TWICE},
        {"_setjmp", WTM_REFUSED_RETURNS_TWICE},
        {"__sigsetjmp", WTM_REFUSED_RETURNS_TWICE},
        {"swapcontext", WTM_REFUSED_SWITCHES_STACK},
        {"getcontext", WTM_REFUSED_SWITCHES_STACK},
        {"libplain:jump_fcontext", WTM_REFUSED_SWITCHES_STACK},
        {"__tls_get_addr", WTM_REFUSED_OWN_CONVENTION},
        {"main:_start", WTM_REFUSED_OWN_CONVENTION},
        {"fork", WTM_REFUSED_NONE},
        {"longjmp", WTM_REFUSED_NONE},
        {"main", WTM_REFUSED_NONE},
        {"malloc", WTM_REFUSED_NONE},
        {"__vdso_time", WTM_REFUSED_VDSO},
        {"libc.so.6:time", WTM_REFUSED_VDSO},
        {"_dl_map_object", WTM_REFUSED_LOADER},
        {"ld-linux-x86-64.so.2:_dl_map_object", WTM_REFUSED_NONE},
        {"ld-linux-x86-64.so.2:_dl_runtime_resolve*", WTM_REFUSED_OWN_CONVENTION},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        expect_refusal(table[i].name, table[i].refusal);
    struct wtm_object go = {.is_go = 1}, program = {.is_main = 1};
    cr_assert_eq(wtm_refused_by_name("main.main", &go), WTM_REFUSED_GO);
    cr_assert_eq(wtm_refused_by_name("c_helper", &go), WTM_REFUSED_NONE);
    cr_assert_eq(wtm_refused_by_name("c_helper.constprop.0", &go), WTM_REFUSED_NONE);
    cr_assert_eq(wtm_refused_by_name("crosscall2", &go), WTM_REFUSED_GO);
    cr_assert_eq(wtm_refused_by_name("clone", &program), WTM_REFUSED_NONE, "a program's own");
    cr_assert_eq(wtm_refused_by_name("_Unwind_Backtrace", NULL), WTM_REFUSED_UNWINDER);
    cr_assert_eq(wtm_refused_by_name("", NULL), WTM_REFUSED_NONE);
    cr_assert_eq(wtm_refused_by_name("vforks", NULL), WTM_REFUSED_NONE);
}

/* What a sweep merely brushes is not told; what is asked for is. */
Test(resolve, sweeps)
{
    resolve("libc:*,libplain:*");
    cr_assert_gt(found.target_count, 1500);
    for (size_t i = 0; i < found.target_count; i++)
        cr_assert_eq(found.targets[i].refusal, WTM_REFUSED_NONE, "%s", found.targets[i].name);
    cr_assert_null(target_at("libc.so.6", "vfork"));
    expect_refusal("vfor*", WTM_REFUSED_POPS_RETURN);
    resolve("*");
    for (size_t i = 0; i < found.target_count; i++)
        cr_assert_not(found.targets[i].object->is_loader || found.targets[i].object->is_vdso, "%s",
                      found.targets[i].name);
    describe(&process);
    resolve_in("fx_*,fx_local", 0, (uintptr_t)dlsym(plain, "fx_exported"));
    cr_assert_gt(found.target_count, 10);
    for (size_t i = 0; i < found.target_count; i++)
        cr_assert_str_neq(found.targets[i].object->name, "libplain.so.1.2", "the library itself");
}

Test(resolve, near_names)
{
    resolve("mallocx,fx_exportd,FX_LOCAL,zzzzzzzzzzzz");
    cr_assert_eq(found.target_count, 0);
    cr_assert_eq(found.missing_count, 4);
    cr_assert_eq(strncmp(found.missing[0].near, "malloc\n", 7), 0, "%s", found.missing[0].near);
    cr_assert_str_eq(found.missing[1].near, "fx_exported");
    cr_assert_str_eq(found.missing[2].near, "fx_local");
    cr_assert_null(found.missing[3].near);
}

Test(resolve, libraries_loaded_later)
{
    size_t before = process.count;
    cr_assert(dlopen(FIXTURES "/liblazy.so", RTLD_LAZY));
    describe(&process);
    cr_assert_gt(process.count, before);
    resolve_in("fx_exported,nowhere,liblazy:fx_local", before, 0);
    cr_assert_eq(found.target_count, 2);
    cr_assert(target_at("liblazy.so", "fx_exported") && target_at("liblazy.so", "fx_local"));
    cr_assert_eq(found.missing_count, 0);
}

Test(resolve, on_disk)
{
    struct wtm_object object;
    struct wtm_pattern_set set;
    cr_assert_eq(wtm_object_from_file(&object, FIXTURES "/pie", &process.arena), 0);
    cr_assert_eq(wtm_patterns_parse(&set, "fx_local,main:fx_pick,fx_choose,0x1000", "list", &process.arena,
                                    complain, NULL),
                 0);
    cr_assert_eq(wtm_resolve(&set, &object, 1, 0, 0, &process.arena, &found), 0);
    cr_assert(target_at("pie", "fx_local") && target_at("pie", "fx_pick"));
    cr_assert_eq(target_at("pie", "fx_pick")->refusal, WTM_REFUSED_NONE);
    cr_assert(strstr(target_at("pie", "fx_pick")->aliases, "fx_unused_pick"));
    cr_assert_eq(target_at("pie", "fx_choose")->refusal, WTM_REFUSED_RESOLVER);
    cr_assert_eq(target_at("pie", "0x1000")->offset, 0x1000, "an address of the file");
    cr_assert_eq(found.target_count, 4);
}
