/* SPDX-License-Identifier: MIT
 * Which functions are watched, and how their patches and hooks come about. */
#include "preload/watch.h"
#include "patcher/patcher.h"
#include "preload/clock.h"
#include "preload/cputime.h"
#include "preload/handlers.h"
#include "preload/log.h"
#include "preload/probes.h"
#include "preload/process.h"
#include "preload/stack_switch.h"
#include "preload/thread.h"
#include "preload/watch_handlers.h"
#include <string.h>

enum { MAX_WATCHES = 256 };

uint32_t wtm_watch_bypass;

struct watch {
    struct wtm_probe probe; /* first: the stub's context */
    struct wtm_patch patch;
    wtm_watch_handler *handler;
    uintptr_t bias;
    int used;
};
static struct watch watches[MAX_WATCHES];

/* A handler that works on code: nothing that it calls is timed, and what it takes is no time of the program's. */
static void muted(wtm_watch_handler *handler, uint64_t *slot, const uint64_t *registers)
{
    struct wtm_cpu_work work;
    struct wtm_thread *before = wtm_mute();
    int charged = before->generation == wtm_generation.value && !wtm_process.tsc_off;
    if (charged)
        work = wtm_cpu_work_begin(before);
    handler(slot, registers);
    if (charged)
        wtm_cpu_work_end(before, work);
    wtm_unmute(before);
}

/* What can be timed as well, by wtm_probe_flags. */
static wtm_watch_handler *const timed_handlers[] = {
    [WTM_PROBE_PRCTL] = wtm_on_prctl, [WTM_PROBE_SYSCALL] = wtm_on_syscall, [WTM_PROBE_JUMP] = wtm_on_jump,
    [WTM_PROBE_THROW] = wtm_on_throw, [WTM_PROBE_CATCH] = wtm_on_catch,
    [WTM_PROBE_SIGNAL_STACK] = wtm_on_signal_stack, [WTM_PROBE_CONTEXT] = wtm_on_context,
    [WTM_PROBE_INITIALIZER] = wtm_on_initializer, [WTM_PROBE_LOOKS] = wtm_on_caller_wanted};

/* After the handler: it may have forbidden the TSC. */
static int is_timed(const struct wtm_probe *probe)
{
    return probe->flags && probe->flags != WTM_PROBE_LOOKS && !wtm_watch_bypass;
}

int wtm_watch(uint64_t *slot, struct wtm_probe *probe, const uint64_t *registers)
{
    if (wtm_thread == &wtm_muted_thread)
        return is_timed(probe);
    wtm_watch_handler *handler =
        probe->flags ? timed_handlers[probe->flags] : ((struct watch *)probe)->handler;
    if (handler == wtm_on_prctl || handler == wtm_on_syscall) { /* where the TSC may not be readable */
        handler(slot, registers);
        return is_timed(probe);
    }
    if (handler == wtm_on_loader_change || handler == wtm_on_initializer) {
        muted(handler, slot, registers);
        return is_timed(probe);
    }
    uint64_t begin = wtm_process.tsc_off ? 0 : wtm_clock_ticks();
    handler(slot, registers);
    if (wtm_thread != &wtm_no_thread && begin && !wtm_process.tsc_off)
        wtm_thread->spent_ticks += wtm_clock_ticks() - begin;
    return is_timed(probe);
}

static struct watch *new_watch(void)
{
    for (size_t i = 0; i < MAX_WATCHES; i++)
        if (!watches[i].used)
            return &watches[i];
    return NULL;
}

static uintptr_t hook_of(wtm_watch_handler *handler)
{
    if (handler == wtm_on_caller_wanted)
        return (uintptr_t)wtm_watch_looking;
    return handler == wtm_on_prctl || handler == wtm_on_syscall ? (uintptr_t)wtm_watch_filtered : (uintptr_t)wtm_watch_entry;
}

static size_t want(const struct wtm_object *object, uintptr_t entry, size_t size,
                   wtm_watch_handler *handler, struct wtm_patch_request *request)
{
    struct watch *watch = new_watch();
    if (!watch)
        return 0;
    memset(watch, 0, sizeof *watch);
    watch->used = 1;
    watch->handler = handler;
    watch->bias = object->bias;
    *request = (struct wtm_patch_request){.entry = entry, .size = size, .hook = hook_of(handler), .looking_hook = hook_of(handler),
                                          .context = &watch->probe, .patch = &watch->patch};
    return 1;
}

/* Exported, or, where a table of all symbols was read anyway, linked in (-static-libstdc++). */
static int find(const struct wtm_object *object, const char *name, struct wtm_symbol *symbol)
{
    if (wtm_object_lookup(object, name, symbol))
        return !symbol->ifunc;
    for (size_t i = 0; i < object->symbol_count; i++) {
        if (object->symbols[i].name[0] == '_' && !strcmp(object->symbols[i].name, name)) {
            *symbol = object->symbols[i];
            return !symbol->ifunc;
        }
    }
    return 0;
}

static int is_libc(const struct wtm_object *object)
{
    return !strncmp(object->name, "libc.so.", 8);
}

/* Names, and what else must hold of the object. */
enum { ANYWHERE, IN_LIBC, KNOWS_JUMPS };
static const struct watched {
    const char *name;
    wtm_watch_handler *handler;
    int where;
    enum wtm_probe_flags flag; /* 0: refused by name, so never timed */
} watched[] = {
    {"__cxa_begin_catch", wtm_on_catch, ANYWHERE, WTM_PROBE_CATCH},
    {"__cxa_throw", wtm_on_throw, ANYWHERE, WTM_PROBE_THROW},
    {"__cxa_rethrow", wtm_on_throw, ANYWHERE, WTM_PROBE_THROW},
    {"_ZSt17rethrow_exceptionNSt15__exception_ptr13exception_ptrE", wtm_on_throw, ANYWHERE, WTM_PROBE_THROW},
    {"longjmp", wtm_on_jump, KNOWS_JUMPS, WTM_PROBE_JUMP},
    {"__longjmp_chk", wtm_on_jump, KNOWS_JUMPS, WTM_PROBE_JUMP},
    {"prctl", wtm_on_prctl, IN_LIBC, WTM_PROBE_PRCTL},
    {"syscall", wtm_on_syscall, IN_LIBC, WTM_PROBE_SYSCALL},
    {"sigaltstack", wtm_on_signal_stack, IN_LIBC, WTM_PROBE_SIGNAL_STACK},
    {"makecontext", wtm_on_context, IN_LIBC, WTM_PROBE_CONTEXT},
    {"clone", wtm_on_clone, IN_LIBC, 0},
    {"dlsym", wtm_on_caller_wanted, IN_LIBC, 0},
    {"dlvsym", wtm_on_caller_wanted, IN_LIBC, 0},
    {"dlopen", wtm_on_caller_wanted, IN_LIBC, 0},
    {"dlmopen", wtm_on_caller_wanted, IN_LIBC, 0},
};
enum { WATCHED = sizeof watched / sizeof *watched };
_Static_assert(WATCHED + 4 <= WTM_WATCHES_PER_OBJECT, "and the loader's notification, initializers, greenlet's switch, sigaction");

static int is_there(const struct watched *what, const struct wtm_object *object, struct wtm_symbol *symbol)
{
    return (what->where != IN_LIBC || is_libc(object)) && find(object, what->name, symbol) &&
           (what->where != KNOWS_JUMPS || wtm_knows_jump_buffers());
}

/* Addresses of what may be timed as well; targets come object by object. */
static const uintptr_t *watched_in(const struct wtm_object *object)
{
    static uintptr_t addresses[WATCHED];
    static const struct wtm_object *last;
    static uintptr_t last_bias;
    struct wtm_symbol symbol;
    if (object == last && object->bias == last_bias)
        return addresses;
    for (size_t i = 0; i < WATCHED; i++)
        addresses[i] = watched[i].flag && is_there(&watched[i], object, &symbol) ? object->bias + symbol.offset : 0;
    last = object;
    last_bias = object->bias;
    return addresses;
}

uintptr_t wtm_watch_hook(const struct wtm_target *target, struct wtm_probe *probe)
{
    if (target->object->unbound && wtm_object_initializer(target->object) == target->address) {
        probe->flags = WTM_PROBE_INITIALIZER;
        return (uintptr_t)wtm_watch_entry;
    }
    const uintptr_t *addresses = watched_in(target->object);
    for (size_t i = 0; i < WATCHED; i++) {
        const struct watched *what = &watched[i];
        if (!what->flag || addresses[i] != target->address)
            continue;
        probe->flags = what->flag;
        return what->handler == wtm_on_prctl || what->handler == wtm_on_syscall ? (uintptr_t)wtm_watch_timed : (uintptr_t)wtm_watch_entry;
    }
    return wtm_timed_entry;
}

size_t wtm_watch_wanted(const struct wtm_object *object, struct wtm_patch_request *requests)
{
    struct wtm_symbol symbol;
    size_t n = 0;
    if (object->is_loader && wtm_modules_notification())
        n += want(object, wtm_modules_notification(), 0, wtm_on_loader_change, requests);
    if (object->is_loader || object->is_vdso)
        return n;
    for (size_t i = 0; i < WATCHED; i++)
        if (is_there(&watched[i], object, &symbol))
            n += want(object, object->bias + symbol.offset, symbol.size, watched[i].handler, requests + n);
    if (object->unbound && wtm_object_initializer(object)) /* refused where it is timed, with a hook that does both */
        n += want(object, wtm_object_initializer(object), 0, wtm_on_initializer, requests + n);
    size_t size;
    uintptr_t copier = wtm_stack_switch_find(object, &size);
    if (copier)
        n += want(object, copier, size, wtm_on_stack_switch, requests + n);
    if (wtm_handlers_wanted() && is_libc(object) && find(object, "sigaction", &symbol))
        n += want(object, object->bias + symbol.offset, symbol.size, wtm_on_sigaction, requests + n);
    return n;
}

void wtm_watch_prepared(struct wtm_patch_request *request)
{
    ((struct watch *)request->context)->probe.body = request->patch->body;
}

/* What cannot be watched, or is timed by the user: such exits are then noticed a little later. */
void wtm_watch_patched(struct wtm_patch_request *request)
{
    struct watch *watch = request->context;
    if (!request->refusal) {
        wtm_patch_open(request->patch);
        return;
    }
    if (watch->handler == wtm_on_stack_switch)
        wtm_log("greenlet's switch of stacks cannot be watched: time no function that calls back into Python: ",
                wtm_refusal_text(request->refusal));
    if (watch->handler == wtm_on_loader_change)
        wtm_log("libraries loaded later will not be timed: the loader's notification cannot be watched: ",
                wtm_refusal_text(request->refusal));
    if (watch->handler == wtm_on_sigaction)
        wtm_log("signal handlers will not be found: sigaction cannot be watched: ", wtm_refusal_text(request->refusal));
    watch->used = 0;
}

int wtm_watch_initializer(const struct wtm_object *object)
{
    uintptr_t address = wtm_object_initializer(object);
    struct wtm_probe *probe = address ? wtm_probes_at(address) : NULL;
    if (probe && probe->flags == WTM_PROBE_INITIALIZER)
        return 1;
    for (size_t i = 0; i < MAX_WATCHES; i++)
        if (watches[i].used && watches[i].handler == wtm_on_initializer && watches[i].bias == object->bias)
            return 1;
    return 0;
}

int wtm_watch_follows_loader(void)
{
    for (size_t i = 0; i < MAX_WATCHES; i++)
        if (watches[i].used && watches[i].handler == wtm_on_loader_change && watches[i].patch.committed)
            return 1;
    return 0;
}

void wtm_watch_unloaded(uintptr_t bias)
{
    for (size_t i = 0; i < MAX_WATCHES; i++) {
        struct wtm_patch *patch = &watches[i].patch;
        if (!watches[i].used || watches[i].bias != bias)
            continue;
        wtm_patch_forget(&patch, 1);
        watches[i].used = 0;
    }
}
