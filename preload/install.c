/* SPDX-License-Identifier: MIT
 * Resolves patterns, patches, tells the profile. Ordinary C, but without libc's allocator and without anything that could
 * be timed: it also runs inside dlopen. */
#include "preload/install.h"
#include "common/resolve.h"
#include "common/sys.h"
#include "patcher/patcher.h"
#include "preload/clock.h"
#include "preload/config.h"
#include "preload/describe.h"
#include "preload/log.h"
#include "preload/modules.h"
#include "preload/probes.h"
#include "preload/profile.h"
#include "preload/thread.h"
#include "preload/watch.h"
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>

static struct wtm_pattern_set patterns;
static struct wtm_arena pattern_arena;

static void complain(void *context, const char *message)
{
    wtm_log(message);
}

/* Other threads may already run when a library's constructor started them. */
static int single_threaded(void)
{
    char text[512];
    long fd = wtm_sys_open("/proc/self/stat", O_RDONLY | O_CLOEXEC, 0);
    if (wtm_sys_failed(fd))
        return 1;
    long got = wtm_sys_read((int)fd, text, sizeof text - 1);
    wtm_sys_close((int)fd);
    if (got <= 0)
        return 1;
    text[got] = 0;
    const char *p = strrchr(text, ')'); /* "pid (name) state ..."; num_threads is field 20, see proc(5) */
    for (int field = 2; p && field < 20; field++)
        p = strchr(p + 1, ' ');
    return !p || (p[1] == '1' && p[2] == ' ');
}

static enum wtm_refusal first_refusal; /* since somebody asked */

static void refuse(const struct wtm_target *target, enum wtm_refusal reason)
{
    first_refusal = first_refusal ? first_refusal : reason;
    wtm_probes_refused(target->name, target->mangled, target->object ? target->object->path : "", target->address, reason);
    if (wtm_settings.verbose)
        wtm_log("not timed: ", target->name, " (", target->object ? target->object->name : "?", "): ", wtm_refusal_text(reason));
}

static const char *const method_names[] = {
    [WTM_PATCH_NONE] = "", [WTM_PATCH_JUMP5] = "by a five-byte jump", [WTM_PATCH_PADDED] = "by a jump into its padding",
    [WTM_PATCH_JUMP2] = "by a two-byte jump", [WTM_PATCH_PUNNED] = "by a punned jump"};

/* Requests for the targets that are not patched yet. Their probes are the requests' contexts. */
static size_t request_targets(const struct wtm_target *const *targets, size_t count, struct wtm_patch_request *requests,
                              const struct wtm_target **of)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        if (wtm_probes_at(targets[i]->address))
            continue;
        struct wtm_probe *probe = wtm_probes_new();
        if (!probe) {
            refuse(targets[i], WTM_REFUSED_NO_MEMORY);
            continue;
        }
        requests[n] = (struct wtm_patch_request){
            .entry = targets[i]->address, .size = targets[i]->size, .hook = wtm_watch_hook(targets[i], probe),
            .context = probe, .patch = probe->patch};
        of[n++] = targets[i];
    }
    return n;
}

static int finish_target(const struct wtm_patch_request *request, const struct wtm_target *target)
{
    if (request->refusal) {
        struct wtm_probe *probe = request->context;
        if (probe->index) /* prepared, and refused when it was to be written: it may be tried again */
            wtm_patch_forget(&request->patch, 1);
        wtm_probes_drop(probe);
        refuse(target, request->refusal);
        return 0;
    }
    wtm_probes_ready(request->context);
    wtm_probes_found(target->pattern);
    if (wtm_settings.verbose)
        wtm_log("timed: ", target->name, " (", target->object->name, ") ", method_names[request->patch->method]);
    return 1;
}

/* All that is to be patched in one object: one scan of its text, one commit. Gives the number of functions timed. */
static int patch_object(const struct wtm_object *object, const struct wtm_target *const *targets, size_t count, int watch,
                        int alone, struct wtm_arena *arena)
{
    struct wtm_code_module module;
    size_t most = count + WTM_WATCHES_PER_OBJECT;
    struct wtm_patch_request *requests = wtm_arena_alloc(arena, most * sizeof *requests);
    const struct wtm_target **of = wtm_arena_alloc(arena, most * sizeof *of);
    int timed = 0;
    if (!requests || !of)
        return 0;
    size_t n = request_targets(targets, count, requests, of);
    size_t all = n + (watch ? wtm_watch_wanted(object, requests + n) : 0);
    if (!all)
        return 0;
    wtm_describe_module(object, &module, arena);
    wtm_patch_prepare(&module, requests, all);
    for (size_t i = 0; i < all; i++) {
        if (!requests[i].refusal && i < n)
            wtm_probes_describe(requests[i].context, of[i]);
        else if (!requests[i].refusal)
            wtm_watch_prepared(&requests[i]);
    }
    wtm_patch_commit(requests, all, alone);
    for (size_t i = 0; i < n; i++)
        timed += finish_target(&requests[i], of[i]);
    for (size_t i = n; i < all; i++)
        wtm_watch_patched(&requests[i]);
    return timed;
}

static int install(struct wtm_modules *modules, int alone, struct wtm_arena *arena)
{
    struct wtm_resolution found;
    int patched = 0;
    int error = wtm_resolve(&patterns, modules->objects, modules->count, modules->first_new, wtm_modules_own_address(), arena, &found);
    if (error)
        return error;
    const struct wtm_target **group = wtm_arena_alloc(arena, (found.target_count + 1) * sizeof *group);
    if (!group)
        return -12;
    for (size_t o = 0; o < modules->count; o++) {
        size_t n = 0;
        for (size_t i = 0; i < found.target_count; i++)
            if (found.targets[i].object == &modules->objects[o] && found.targets[i].refusal == WTM_REFUSED_NONE)
                group[n++] = &found.targets[i];
        patched += patch_object(&modules->objects[o], group, n, o >= modules->first_new, alone, arena);
    }
    for (size_t i = 0; i < found.target_count; i++)
        if (found.targets[i].refusal != WTM_REFUSED_NONE || !found.targets[i].object)
            refuse(&found.targets[i], found.targets[i].refusal ? found.targets[i].refusal : WTM_REFUSED_NOT_CODE);
    for (size_t i = 0; i < found.missing_count; i++)
        wtm_probes_missing(found.missing[i].pattern, found.missing[i].near);
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
    at = append(text, at, sizeof text, ": its C++ functions are not timed: ");
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
    if (!result)
        result = wtm_modules_scan(&modules, &arena);
    if (!result) {
        modules.first_new = 0;
        result = install(&modules, single_threaded(), &arena);
        tell_notes(&modules, 0);
        warn_of_unwinder(&modules);
        wtm_modules_remember(&modules, NULL);
    }
    wtm_arena_free(&arena);
    return result;
}

static void forget_object(uintptr_t bias)
{
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

int wtm_install_lock(void)
{
    const struct timespec pause = {0, 100000};
    uint32_t me = (uint32_t)wtm_syscall3(SYS_gettid, 0, 0, 0), nobody = 0;
    while (!__atomic_compare_exchange_n(&wtm_process.installer, &nobody, me, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
        if (nobody == me)
            return -16; /* EBUSY */
        nobody = 0;
        wtm_syscall3(SYS_nanosleep, (long)&pause, 0, 0);
    }
    return 0;
}

void wtm_install_unlock(void)
{
    __atomic_store_n(&wtm_process.installer, 0, __ATOMIC_RELEASE);
}

static void update(void)
{
    struct wtm_arena arena = {0};
    struct wtm_modules modules;
    if (!patterns.count || wtm_process.sandboxed || wtm_modules_scan(&modules, &arena)) {
        wtm_arena_free(&arena);
        return;
    }
    wtm_modules_remember(&modules, forget_object);
    if (modules.first_new < modules.count) {
        int patched = install(&modules, 1, &arena);
        tell_notes(&modules, modules.first_new);
        if (patched > 0) {
            wtm_generation_advance();
            wtm_install_gates();
        }
    }
    wtm_arena_free(&arena);
}

void wtm_install_update(void)
{
    if (wtm_process.sandboxed || wtm_install_lock())
        return;
    update();
    wtm_install_unlock();
}

/* In a process of one thread nobody stands anywhere but in frames of this one. A return address inside the bytes would be
 * somewhere on its stack; whatever looks like one counts. */
static int stand_clear(void *context, const struct wtm_code_range *bytes, uint8_t *busy, size_t count)
{
    const struct wtm_process *process = context;
    uintptr_t here = (uintptr_t)__builtin_frame_address(0) & ~(uintptr_t)7;
    if (here < process->stack_low || here >= process->stack_high)
        return -1;
    uintptr_t top = (uintptr_t)getauxval(AT_RANDOM); /* above the first frame; the page behind it may be missing */
    for (const uintptr_t *word = (const uintptr_t *)here; (uintptr_t)word < top; word++)
        for (size_t i = 0; i < count; i++)
            busy[i] |= *word > bytes[i].start && *word < bytes[i].end;
    return 0;
}

/* No signal comes while a process of one thread changes its text: its handler could run into a breakpoint. */
int wtm_install_live(const struct wtm_object *object, const struct wtm_target *const *targets, size_t count,
                     enum wtm_refusal *refusal, struct wtm_arena *arena)
{
    struct wtm_patch_live live = {.stand_clear = stand_clear, .context = &wtm_process};
    uint64_t all = UINT64_MAX, before = 0;
    first_refusal = WTM_REFUSED_NONE;
    long blocked = wtm_syscall6(SYS_rt_sigprocmask, SIG_BLOCK, (long)&all, (long)&before, sizeof all, 0, 0);
    wtm_patch_set_live(!wtm_sys_failed(blocked) && single_threaded() ? &live : NULL);
    int timed = patch_object(object, targets, count, 0, 0, arena);
    wtm_patch_set_live(NULL);
    if (!wtm_sys_failed(blocked))
        wtm_syscall6(SYS_rt_sigprocmask, SIG_SETMASK, (long)&before, 0, sizeof before, 0, 0);
    *refusal = first_refusal;
    return timed;
}

void wtm_install_arm(int armed)
{
    __atomic_store_n(&wtm_process.armed, armed != 0, __ATOMIC_SEQ_CST);
    wtm_install_gates();
}
