/* SPDX-License-Identifier: MIT
 * Resolves patterns, patches, tells the profile. Ordinary C, but without libc's allocator and without anything that could
 * be timed: it also runs inside dlopen. */
#include "preload/install.h"
#include "common/resolve.h"
#include "common/sys.h"
#include "preload/callers.h"
#include "preload/clock.h"
#include "preload/company.h"
#include "preload/config.h"
#include "preload/handlers.h"
#include "preload/log.h"
#include "preload/modules.h"
#include "preload/patching.h"
#include "preload/probes.h"
#include "preload/profile.h"
#include "preload/special.h"
#include "preload/thread.h"
#include "preload/watch.h"
#include <string.h>
#include <time.h>

static struct wtm_pattern_set patterns, subtracted; /* WTM_TIME, WTM_SUBTRACT */
static struct wtm_arena pattern_arena;

static void complain(void *context, const char *message)
{
    wtm_log(message);
}

/* What WTM_SUBTRACT names is timed as well, whether WTM_TIME names it or not: adds it to `found`, one target a body. */
static int merge_subtracted(struct wtm_resolution *found, const struct wtm_resolution *more, struct wtm_arena *arena)
{
    size_t size = 16, all = found->target_count + more->target_count;
    while (size < more->target_count * 2)
        size *= 2;
    struct wtm_target **by_address = wtm_arena_alloc(arena, size * sizeof(struct wtm_target *));
    struct wtm_target *targets = wtm_arena_alloc(arena, (all + 1) * sizeof *targets);
    if (!by_address || !targets)
        return -12;
    for (size_t i = 0; i < more->target_count; i++) {
        struct wtm_target *target = &more->targets[i];
        size_t slot = (target->address >> 4) & (size - 1);
        while (by_address[slot])
            slot = (slot + 1) & (size - 1);
        by_address[slot] = target;
        target->special = WTM_SPECIAL_SUBTRACT;
    }
    size_t n = 0;
    for (size_t i = 0; i < found->target_count; i++) {
        targets[n] = found->targets[i];
        for (size_t slot = (targets[n].address >> 4) & (size - 1); by_address[slot]; slot = (slot + 1) & (size - 1)) {
            if (by_address[slot]->address != targets[n].address)
                continue;
            targets[n].special = WTM_SPECIAL_SUBTRACT;
            by_address[slot]->special = 0; /* it is there */
        }
        n++;
    }
    for (size_t i = 0; i < more->target_count; i++)
        if (more->targets[i].special)
            targets[n++] = more->targets[i];
    found->targets = targets;
    found->target_count = n;
    return 0;
}

static void tell_missing(const struct wtm_resolution *found)
{
    for (size_t i = 0; i < found->missing_count; i++)
        wtm_probes_missing(found->missing[i].pattern, found->missing[i].near);
}

static int resolve_all(struct wtm_modules *modules, size_t first, struct wtm_resolution *found, struct wtm_arena *arena)
{
    struct wtm_resolution more;
    uintptr_t own = wtm_modules_own_address();
    int error = wtm_resolve(&patterns, modules->objects, modules->count, first, own, arena, found);
    if (!error && subtracted.count) {
        error = wtm_resolve(&subtracted, modules->objects, modules->count, first, own, arena, &more);
        if (!error)
            error = merge_subtracted(found, &more, arena);
        if (!error)
            tell_missing(&more);
    }
    if (!error)
        wtm_callers_admit(modules->objects, modules->count, found);
    return error;
}

static int patch_targets(struct wtm_modules *modules, const struct wtm_resolution *found, enum wtm_company company,
                         struct wtm_arena *arena)
{
    int patched = 0;
    const struct wtm_target **group = wtm_arena_alloc(arena, (found->target_count + 1) * sizeof *group);
    if (!group)
        return -12;
    for (size_t o = 0; o < modules->count; o++) {
        size_t n = 0;
        for (size_t i = 0; i < found->target_count; i++)
            if (found->targets[i].object == &modules->objects[o] && found->targets[i].refusal == WTM_REFUSED_NONE)
                group[n++] = &found->targets[i];
        patched += wtm_patching_object(&modules->objects[o], group, n, o >= modules->first_new, company, arena);
    }
    return patched;
}

/* Those that wait for their object to be relocated are not refused, if we shall hear of that. */
static void refuse_targets(const struct wtm_resolution *found)
{
    for (size_t i = 0; i < found->target_count; i++) {
        const struct wtm_target *target = &found->targets[i];
        if ((target->refusal == WTM_REFUSED_NONE && target->object) || target->swept)
            continue;
        enum wtm_refusal reason = target->refusal ? target->refusal : WTM_REFUSED_NOT_CODE;
        if (target->unbound && reason == WTM_REFUSED_RESOLVER) {
            if (wtm_watch_initializer(target->object))
                continue;
            reason = WTM_REFUSED_UNBOUND;
        }
        wtm_install_refuse(target, reason);
    }
}

static int install(struct wtm_modules *modules, enum wtm_company company, struct wtm_arena *arena)
{
    struct wtm_resolution found;
    int error = resolve_all(modules, modules->first_new, &found, arena);
    if (error)
        return error;
    int patched = patch_targets(modules, &found, company, arena);
    if (patched >= 0) {
        refuse_targets(&found);
        tell_missing(&found);
    }
    return patched;
}

static size_t append(char *to, size_t at, size_t bytes, const char *text)
{
    size_t n = strnlen(text, bytes - 1 - at);
    memcpy(to + at, text, n);
    to[at + n] = 0;
    return at + n;
}

/* Patterns that sweep over everything do not name each function that they leave out; a whole language must be told. */
static void tell_walker(const struct wtm_object *object)
{
    char text[512];
    size_t at = append(text, 0, sizeof text, object->name);
    at = append(text, at, sizeof text, wtm_callers_are_of(object) ? ": calls of its C++ functions by code that it generates are only counted: "
                                                                  : ": its C++ functions are not timed: ");
    append(text, at, sizeof text, wtm_refusal_text(WTM_REFUSED_STACK_WALKER));
    wtm_profile_note(text);
}

static void tell_notes(const struct wtm_modules *modules, size_t first)
{
    for (size_t i = first; i < modules->count; i++) {
        if (modules->objects[i].note)
            wtm_log(modules->objects[i].path, ": ", modules->objects[i].note);
        if (modules->objects[i].is_walker)
            tell_walker(&modules->objects[i]);
    }
}

/* nongnu libunwind, taken for the C++ runtime's unwinder by a program that happens to link it, finds its way through timed
 * frames but then continues at the handler with a wrong stack pointer. Nothing else is known that does. */
static void warn_of_unwinder(const struct wtm_modules *modules)
{
    struct wtm_symbol symbol;
    int throws = 0;
    for (size_t i = 0; i < modules->count && !throws; i++)
        throws = wtm_object_lookup(&modules->objects[i], "__cxa_throw", &symbol);
    for (size_t i = 0; i < modules->count && throws; i++) {
        if (!wtm_object_lookup(&modules->objects[i], "_Unwind_RaiseException", &symbol))
            continue;
        if (!strncmp(modules->objects[i].name, "libunwind.so.8", 14))
            wtm_log("C++ exceptions of this program are thrown by ", modules->objects[i].path,
                    ", which cannot pass timed functions: leave out those that exceptions pass through");
        return; /* the first definition is the one that is used */
    }
}

int wtm_install_begin(const char *text)
{
    struct wtm_arena arena = {0};
    struct wtm_modules modules;
    int result = wtm_patterns_parse(&patterns, text, "WTM_TIME", &pattern_arena, complain, NULL);
    char *out = wtm_settings.subtract;
    if (out)
        wtm_handlers_asked(out);
    if (!result && out && *out)
        result = wtm_patterns_parse(&subtracted, out, "WTM_SUBTRACT", &pattern_arena, complain, NULL);
    wtm_special_samples = wtm_settings.samples;
    if (!result)
        result = wtm_modules_scan(&modules, &arena);
    if (!result) {
        modules.first_new = 0;
        if (*text)
            wtm_callers_stay(modules.objects, modules.count);
        /* A library's constructor may have started threads, and with wtmtime_time() the program runs long since. */
        struct wtm_company_state state;
        enum wtm_company company = wtm_company_begin(&state);
        result = install(&modules, company == WTM_COMPANY_STILL ? WTM_COMPANY_NONE : company, &arena);
        wtm_company_end(&state);
        tell_notes(&modules, 0);
        warn_of_unwinder(&modules);
        wtm_modules_remember(&modules, NULL);
        if (wtm_handlers_wanted())
            wtm_handlers_present();
    }
    wtm_arena_free(&arena);
    return result;
}

static void forget_object(uintptr_t bias)
{
    wtm_callers_unloaded(bias);
    wtm_probes_unloaded(bias);
    wtm_watch_unloaded(bias);
}

/* Sets all gates as they are to be. The one who raised the count from 0 works until nobody has asked for more. */
void wtm_install_gates(void)
{
    uint32_t *asked = &wtm_process.gates_asked;
    if (__atomic_fetch_add(asked, 1, __ATOMIC_SEQ_CST))
        return;
    uint32_t seen;
    do {
        seen = __atomic_load_n(asked, __ATOMIC_SEQ_CST);
        uint32_t armed = __atomic_load_n(&wtm_process.armed, __ATOMIC_SEQ_CST) && !wtm_clock_is_barred();
        wtm_watch_bypass = !armed;
        wtm_probes_gates((int)armed);
        if (wtm_profile_header())
            __atomic_store_n(&wtm_profile_header()->armed, armed, __ATOMIC_RELEASE);
    } while (!__atomic_compare_exchange_n(asked, &seen, 0, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
}

static int take_lock(uint32_t me)
{
    uint32_t nobody = 0;
    if (__atomic_compare_exchange_n(&wtm_process.installer, &nobody, me, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        return 0;
    return nobody == me ? -16 /* EBUSY */ : -11 /* EAGAIN */;
}

int wtm_install_lock(void)
{
    const struct timespec pause = {0, 100000};
    uint32_t me = (uint32_t)wtm_syscall3(SYS_gettid, 0, 0, 0);
    int result;
    while ((result = take_lock(me)) == -11)
        wtm_syscall3(SYS_nanosleep, (long)&pause, 0, 0);
    return result;
}

/* Loaders tell of a change before they make it, and then wait for the lock in hold_up(). Both sides write first and then look
 * at what the other wrote. */
int wtm_install_try_lock(void)
{
    int result = take_lock((uint32_t)wtm_syscall3(SYS_gettid, 0, 0, 0));
    if (result == 0 && !wtm_modules_consistent()) {
        wtm_install_unlock();
        result = -11;
    }
    return result == -16 ? -11 : result;
}

void wtm_install_unlock(void)
{
    __atomic_store_n(&wtm_process.installer, 0, __ATOMIC_RELEASE);
}

static void added(int patched)
{
    if (patched <= 0)
        return;
    wtm_generation_advance();
    wtm_install_gates();
}

static void update(struct wtm_modules *modules, struct wtm_arena *arena)
{
    wtm_modules_remember(modules, forget_object);
    if (modules->first_new == modules->count)
        return;
    added(install(modules, WTM_COMPANY_NONE, arena));
    tell_notes(modules, modules->first_new);
    wtm_modules_await(modules);
}

/* Bodies of IFUNCs whose objects were relocated since they were found; all else of these objects was seen to then. No thread
 * runs in them yet. */
static void bind(struct wtm_modules *modules, struct wtm_arena *arena)
{
    struct wtm_resolution found;
    size_t first = wtm_modules_bound(modules), n = 0;
    if (first == modules->count || resolve_all(modules, first, &found, arena))
        return;
    for (size_t i = 0; i < found.target_count; i++)
        if (found.targets[i].ifunc && !wtm_refused_by_name(found.targets[i].mangled, found.targets[i].object))
            found.targets[n++] = found.targets[i];
    found.target_count = n;
    added(patch_targets(modules, &found, WTM_COMPANY_NONE, arena));
    refuse_targets(&found);
}

static void changed(void (*react)(struct wtm_modules *, struct wtm_arena *))
{
    struct wtm_arena arena = {0};
    struct wtm_modules modules;
    if (wtm_process.sandboxed || wtm_install_lock())
        return;
    /* Not consistent: somebody who works on code must have ended before the loader goes on. */
    if (wtm_modules_consistent() && !wtm_modules_scan(&modules, &arena))
        react(&modules, &arena);
    wtm_arena_free(&arena);
    wtm_install_unlock();
}

void wtm_install_update(void)
{
    changed(update);
}

void wtm_install_bind(void)
{
    changed(bind);
}

void wtm_install_arm(int armed)
{
    __atomic_store_n(&wtm_process.armed, armed != 0, __ATOMIC_SEQ_CST);
    wtm_install_gates();
}
