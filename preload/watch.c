/* SPDX-License-Identifier: MIT
 * Watched functions. Handlers run in the middle of the program's calls: raw system calls only, and for those on the way of
 * exceptions and jumps not even these. */
#include "preload/watch.h"
#include "common/sys.h"
#include "patcher/patcher.h"
#include "preload/clock.h"
#include "preload/cputime.h"
#include "preload/guest.h"
#include "preload/handlers.h"
#include "preload/install.h"
#include "preload/log.h"
#include "preload/probes.h"
#include "preload/records_internal.h"
#include "preload/thread.h"
#include "preload/process.h"
#include "preload/stack_switch.h"
#include "preload/stacks.h"
#include "preload/sandbox.h"
#include "preload/tsc.h"
#include <linux/seccomp.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>

enum { MAX_WATCHES = 256 };

/* What the hook saved, as trampoline.S lays it out. */
enum { SAVED_R10, SAVED_R9, SAVED_R8, SAVED_RDI, SAVED_RSI, SAVED_RDX, SAVED_RCX };

uint32_t wtm_watch_bypass;

struct watch {
    struct wtm_probe probe; /* first: the stub's context */
    struct wtm_patch patch;
    void (*handler)(uint64_t *slot, const uint64_t *registers);
    uintptr_t bias;
    int used;
};
static struct watch watches[MAX_WATCHES];

static void on_loader_change(uint64_t *slot, const uint64_t *registers)
{
    wtm_install_update();
}

static void on_initializer(uint64_t *slot, const uint64_t *registers)
{
    wtm_install_bind();
}

/* The calling thread's block, or NULL: no block, or a child: nothing of ours is open, or it will be sorted out at the next event. */
static struct wtm_thread *current_block(void)
{
    struct wtm_thread *thread = wtm_thread;
    return thread->generation == wtm_generation.value ? thread : NULL;
}

/* It goes on at `to`; what lies between `from` and there, on the stack of `from`, was left. */
static void leave(struct wtm_thread *thread, uint64_t from, uint64_t to, int thrown)
{
    wtm_records_settle(thread, to, 0);
    if (!from || wtm_on_native(thread, from))
        return;
    uint64_t high = wtm_stacks_left_to(thread, from, to, thrown);
    if (high)
        wtm_records_unwound(thread, from, high);
}

/* Frames from here up to the handler's will be left. On the native stack whatever lies below the handler is. */
static void on_throw(uint64_t *slot, const uint64_t *registers)
{
    uint64_t sp = (uintptr_t)(slot + 1);
    struct wtm_thread *thread = wtm_thread;
    if (thread != &wtm_no_thread && thread != &wtm_muted_thread)
        thread->thrown_sp = wtm_on_native(thread, sp) ? 0 : sp;
}

/* The handler's frame calls it: what lies below that frame's stack pointer was unwound. */
static void on_catch(uint64_t *slot, const uint64_t *registers)
{
    struct wtm_thread *thread = current_block();
    if (!thread)
        return;
    leave(thread, thread->thrown_sp, (uintptr_t)(slot + 1), 1);
    thread->thrown_sp = 0;
}

static void on_stack_switch(uint64_t *slot, const uint64_t *registers)
{
    wtm_stack_switch_enter((uintptr_t)(slot + 1));
}

/* glibc keeps the stack pointer in word 6 of a jmp_buf, rotated left by 17 and xored with the pointer guard at %fs:0x30
 * (sysdeps/x86_64/__longjmp.S, pointer_guard.h). knows_jump_buffers() checks that this holds. */
enum { JUMP_BUFFER_RSP = 6, POINTER_GUARD_AT = 0x30 };

static uint64_t jump_target(const uint64_t *buffer)
{
    uint64_t guard, mangled = buffer[JUMP_BUFFER_RSP];
    __asm__("mov %%fs:%c1, %0" : "=r"(guard) : "i"(POINTER_GUARD_AT));
    return (mangled >> 17 | mangled << 47) ^ guard;
}

static void on_jump(uint64_t *slot, const uint64_t *registers)
{
    struct wtm_thread *thread = current_block();
    if (thread)
        leave(thread, (uintptr_t)(slot + 1), jump_target((const uint64_t *)registers[SAVED_RDI]), 0);
}

/* rt_sigprocmask reads its set before it looks at what to do with it, and does not know this. */
static int is_readable(const void *address)
{
    enum { NOTHING_KNOWN = 99, BAD_ADDRESS = 14 };
    return wtm_syscall6(SYS_rt_sigprocmask, NOTHING_KNOWN, (long)address, 0, 8, 0, 0) != -BAD_ADDRESS;
}

/* Arguments of sigaltstack: the new one, or NULL. The kernel refuses one that is too small, and any while the old one is in use. */
static void on_signal_stack(uint64_t *slot, const uint64_t *registers)
{
    enum { LEAST_BYTES = 2048 }; /* MINSIGSTKSZ */
    const stack_t *stack = (const stack_t *)registers[SAVED_RDI];
    if (!stack || wtm_process.sandboxed || wtm_thread_is_alternate((uintptr_t)slot) || !is_readable(&stack->ss_sp) ||
        !is_readable(&stack->ss_size))
        return;
    if (stack->ss_flags & SS_DISABLE)
        wtm_thread_alternate(0, 0);
    else if (stack->ss_size >= LEAST_BYTES)
        wtm_stacks_learn((uintptr_t)stack->ss_sp, stack->ss_size, WTM_STACK_SIGNAL);
}

/* clone(function, stack, flags, ...) */
static void on_clone(uint64_t *slot, const uint64_t *registers)
{
    uint64_t flags = registers[SAVED_RDX];
    if ((flags & CLONE_VM) && !(flags & (CLONE_SETTLS | CLONE_VFORK)) && wtm_process.ready)
        wtm_guest_expect();
}

static void on_context(uint64_t *slot, const uint64_t *registers)
{
    const stack_t *stack = &((const ucontext_t *)registers[SAVED_RDI])->uc_stack;
    wtm_stacks_learn((uintptr_t)stack->ss_sp, stack->ss_size, WTM_STACK_CONTEXT);
}

/* It looks at its return address. Where a timed function called it by a tail call, that would be ours. */
static void on_caller_wanted(uint64_t *slot, const uint64_t *registers)
{
    struct wtm_thread *thread = wtm_thread;
    if (!wtm_is_return_point(*slot) || thread == &wtm_muted_thread)
        return;
    if (thread->generation != wtm_generation.value)
        thread = wtm_thread_sync();
    if (thread)
        wtm_records_give_back(thread, slot);
}

__attribute__((noinline)) static int knows_jump_buffers(void)
{
    jmp_buf buffer;
    uint64_t here = (uintptr_t)__builtin_frame_address(0);
    if (_setjmp(buffer))
        return 0;
    uint64_t target = jump_target((const uint64_t *)buffer);
    return target <= here && here - target < 4096;
}

static void on_prctl(uint64_t *slot, const uint64_t *registers)
{
    if ((uint32_t)registers[SAVED_RDI] == PR_SET_SECCOMP)
        wtm_sandbox_enter(registers[SAVED_RSI], registers[SAVED_RDX]);
    else if ((uint32_t)registers[SAVED_RDI] == PR_SET_TSC)
        wtm_tsc_change((int)registers[SAVED_RSI], (uintptr_t)slot);
}

static void on_syscall(uint64_t *slot, const uint64_t *registers)
{
    uint64_t shifted[SAVED_RCX + 1] = {[SAVED_RDI] = registers[SAVED_RSI], [SAVED_RSI] = registers[SAVED_RDX],
                                     [SAVED_RDX] = registers[SAVED_RCX]};
    if ((uint32_t)registers[SAVED_RDI] == SYS_prctl)
        on_prctl(slot, shifted);
    else if ((uint32_t)registers[SAVED_RDI] == SYS_seccomp && registers[SAVED_RSI] == SECCOMP_SET_MODE_STRICT)
        wtm_sandbox_enter(SECCOMP_MODE_STRICT, 0);
    else if ((uint32_t)registers[SAVED_RDI] == SYS_seccomp && registers[SAVED_RSI] == SECCOMP_SET_MODE_FILTER)
        wtm_sandbox_enter(SECCOMP_MODE_FILTER, registers[SAVED_RCX]);
}

static void on_sigaction(uint64_t *slot, const uint64_t *registers)
{
    wtm_handlers_learn((int)registers[SAVED_RDI], registers[SAVED_RSI]);
}

/* A handler that works on code: nothing that it calls is timed, and what it takes is no time of the program's. */
static void muted(void (*handler)(uint64_t *, const uint64_t *), uint64_t *slot, const uint64_t *registers)
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
static void (*const timed_handlers[])(uint64_t *, const uint64_t *) = {
    [WTM_PROBE_PRCTL] = on_prctl, [WTM_PROBE_SYSCALL] = on_syscall, [WTM_PROBE_JUMP] = on_jump,
    [WTM_PROBE_THROW] = on_throw, [WTM_PROBE_CATCH] = on_catch,
    [WTM_PROBE_SIGNAL_STACK] = on_signal_stack, [WTM_PROBE_CONTEXT] = on_context,
    [WTM_PROBE_INITIALIZER] = on_initializer, [WTM_PROBE_LOOKS] = on_caller_wanted};

/* After the handler: it may have forbidden the TSC. */
static int is_timed(const struct wtm_probe *probe)
{
    return probe->flags && probe->flags != WTM_PROBE_LOOKS && !wtm_watch_bypass;
}

int wtm_watch(uint64_t *slot, struct wtm_probe *probe, const uint64_t *registers)
{
    if (wtm_thread == &wtm_muted_thread)
        return is_timed(probe);
    void (*handler)(uint64_t *, const uint64_t *) =
        probe->flags ? timed_handlers[probe->flags] : ((struct watch *)probe)->handler;
    if (handler == on_prctl || handler == on_syscall) { /* where the TSC may not be readable */
        handler(slot, registers);
        return is_timed(probe);
    }
    if (handler == on_loader_change || handler == on_initializer) {
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

static uintptr_t hook_of(void (*handler)(uint64_t *, const uint64_t *))
{
    if (handler == on_caller_wanted)
        return (uintptr_t)wtm_watch_looking;
    return handler == on_prctl || handler == on_syscall ? (uintptr_t)wtm_watch_filtered : (uintptr_t)wtm_watch_entry;
}

static size_t want(const struct wtm_object *object, uintptr_t entry, size_t size,
                   void (*handler)(uint64_t *, const uint64_t *), struct wtm_patch_request *request)
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
    void (*handler)(uint64_t *, const uint64_t *);
    int where;
    enum wtm_probe_flags flag; /* 0: refused by name, so never timed */
} watched[] = {
    {"__cxa_begin_catch", on_catch, ANYWHERE, WTM_PROBE_CATCH},
    {"__cxa_throw", on_throw, ANYWHERE, WTM_PROBE_THROW},
    {"__cxa_rethrow", on_throw, ANYWHERE, WTM_PROBE_THROW},
    {"_ZSt17rethrow_exceptionNSt15__exception_ptr13exception_ptrE", on_throw, ANYWHERE, WTM_PROBE_THROW},
    {"longjmp", on_jump, KNOWS_JUMPS, WTM_PROBE_JUMP},
    {"__longjmp_chk", on_jump, KNOWS_JUMPS, WTM_PROBE_JUMP},
    {"prctl", on_prctl, IN_LIBC, WTM_PROBE_PRCTL},
    {"syscall", on_syscall, IN_LIBC, WTM_PROBE_SYSCALL},
    {"sigaltstack", on_signal_stack, IN_LIBC, WTM_PROBE_SIGNAL_STACK},
    {"makecontext", on_context, IN_LIBC, WTM_PROBE_CONTEXT},
    {"clone", on_clone, IN_LIBC, 0},
    {"dlsym", on_caller_wanted, IN_LIBC, 0},
    {"dlvsym", on_caller_wanted, IN_LIBC, 0},
    {"dlopen", on_caller_wanted, IN_LIBC, 0},
    {"dlmopen", on_caller_wanted, IN_LIBC, 0},
};
enum { WATCHED = sizeof watched / sizeof *watched };
_Static_assert(WATCHED + 4 <= WTM_WATCHES_PER_OBJECT, "and the loader's notification, initializers, greenlet's switch, sigaction");

static int is_there(const struct watched *what, const struct wtm_object *object, struct wtm_symbol *symbol)
{
    return (what->where != IN_LIBC || is_libc(object)) && find(object, what->name, symbol) &&
           (what->where != KNOWS_JUMPS || knows_jump_buffers());
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
        return what->handler == on_prctl || what->handler == on_syscall ? (uintptr_t)wtm_watch_timed : (uintptr_t)wtm_watch_entry;
    }
    return wtm_timed_entry;
}

size_t wtm_watch_wanted(const struct wtm_object *object, struct wtm_patch_request *requests)
{
    struct wtm_symbol symbol;
    size_t n = 0;
    if (object->is_loader && wtm_modules_notification())
        n += want(object, wtm_modules_notification(), 0, on_loader_change, requests);
    if (object->is_loader || object->is_vdso)
        return n;
    for (size_t i = 0; i < WATCHED; i++)
        if (is_there(&watched[i], object, &symbol))
            n += want(object, object->bias + symbol.offset, symbol.size, watched[i].handler, requests + n);
    if (object->unbound && wtm_object_initializer(object)) /* refused where it is timed, with a hook that does both */
        n += want(object, wtm_object_initializer(object), 0, on_initializer, requests + n);
    size_t size;
    uintptr_t copier = wtm_stack_switch_find(object, &size);
    if (copier)
        n += want(object, copier, size, on_stack_switch, requests + n);
    if (wtm_handlers_wanted() && is_libc(object) && find(object, "sigaction", &symbol))
        n += want(object, object->bias + symbol.offset, symbol.size, on_sigaction, requests + n);
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
    if (watch->handler == on_stack_switch)
        wtm_log("greenlet's switch of stacks cannot be watched: time no function that calls back into Python: ",
                wtm_refusal_text(request->refusal));
    if (watch->handler == on_loader_change)
        wtm_log("libraries loaded later will not be timed: the loader's notification cannot be watched: ",
                wtm_refusal_text(request->refusal));
    if (watch->handler == on_sigaction)
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
        if (watches[i].used && watches[i].handler == on_initializer && watches[i].bias == object->bias)
            return 1;
    return 0;
}

int wtm_watch_follows_loader(void)
{
    for (size_t i = 0; i < MAX_WATCHES; i++)
        if (watches[i].used && watches[i].handler == on_loader_change && watches[i].patch.committed)
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
