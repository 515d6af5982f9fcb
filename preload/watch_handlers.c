/* SPDX-License-Identifier: MIT */
#include "preload/watch_handlers.h"
#include "common/sys.h"
#include "preload/guest.h"
#include "preload/handlers.h"
#include "preload/install.h"
#include "preload/process.h"
#include "preload/records_internal.h"
#include "preload/sandbox.h"
#include "preload/stack_switch.h"
#include "preload/stacks.h"
#include "preload/thread.h"
#include "preload/tsc.h"
#include <linux/seccomp.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>

void wtm_on_loader_change(uint64_t *slot, const uint64_t *registers)
{
    wtm_install_update();
}

void wtm_on_initializer(uint64_t *slot, const uint64_t *registers)
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
void wtm_on_throw(uint64_t *slot, const uint64_t *registers)
{
    uint64_t sp = (uintptr_t)(slot + 1);
    struct wtm_thread *thread = wtm_thread;
    if (thread != &wtm_no_thread && thread != &wtm_muted_thread)
        thread->thrown_sp = wtm_on_native(thread, sp) ? 0 : sp;
}

/* The handler's frame calls it: what lies below that frame's stack pointer was unwound. */
void wtm_on_catch(uint64_t *slot, const uint64_t *registers)
{
    struct wtm_thread *thread = current_block();
    if (!thread)
        return;
    leave(thread, thread->thrown_sp, (uintptr_t)(slot + 1), 1);
    thread->thrown_sp = 0;
}

void wtm_on_stack_switch(uint64_t *slot, const uint64_t *registers)
{
    wtm_stack_switch_enter((uintptr_t)(slot + 1));
}

/* glibc keeps the stack pointer in word 6 of a jmp_buf, rotated left by 17 and xored with the pointer guard at %fs:0x30
 * (sysdeps/x86_64/__longjmp.S, pointer_guard.h). wtm_knows_jump_buffers() checks that this holds. */
enum { JUMP_BUFFER_RSP = 6, POINTER_GUARD_AT = 0x30 };

static uint64_t jump_target(const uint64_t *buffer)
{
    uint64_t guard, mangled = buffer[JUMP_BUFFER_RSP];
    __asm__("mov %%fs:%c1, %0" : "=r"(guard) : "i"(POINTER_GUARD_AT));
    return (mangled >> 17 | mangled << 47) ^ guard;
}

void wtm_on_jump(uint64_t *slot, const uint64_t *registers)
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
void wtm_on_signal_stack(uint64_t *slot, const uint64_t *registers)
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
void wtm_on_clone(uint64_t *slot, const uint64_t *registers)
{
    uint64_t flags = registers[SAVED_RDX];
    if ((flags & CLONE_VM) && !(flags & (CLONE_SETTLS | CLONE_VFORK)) && wtm_process.ready)
        wtm_guest_expect();
}

void wtm_on_context(uint64_t *slot, const uint64_t *registers)
{
    const stack_t *stack = &((const ucontext_t *)registers[SAVED_RDI])->uc_stack;
    wtm_stacks_learn((uintptr_t)stack->ss_sp, stack->ss_size, WTM_STACK_CONTEXT);
}

/* It looks at its return address. Where a timed function called it by a tail call, that would be ours. */
void wtm_on_caller_wanted(uint64_t *slot, const uint64_t *registers)
{
    struct wtm_thread *thread = wtm_thread;
    if (!wtm_is_return_point(*slot) || thread == &wtm_muted_thread)
        return;
    if (thread->generation != wtm_generation.value)
        thread = wtm_thread_sync();
    if (thread)
        wtm_records_give_back(thread, slot);
}

__attribute__((noinline)) int wtm_knows_jump_buffers(void)
{
    jmp_buf buffer;
    uint64_t here = (uintptr_t)__builtin_frame_address(0);
    if (_setjmp(buffer))
        return 0;
    uint64_t target = jump_target((const uint64_t *)buffer);
    return target <= here && here - target < 4096;
}

void wtm_on_prctl(uint64_t *slot, const uint64_t *registers)
{
    if ((uint32_t)registers[SAVED_RDI] == PR_SET_SECCOMP)
        wtm_sandbox_enter(registers[SAVED_RSI], registers[SAVED_RDX]);
    else if ((uint32_t)registers[SAVED_RDI] == PR_SET_TSC)
        wtm_tsc_change((int)registers[SAVED_RSI], (uintptr_t)slot);
}

void wtm_on_syscall(uint64_t *slot, const uint64_t *registers)
{
    uint64_t shifted[SAVED_RCX + 1] = {[SAVED_RDI] = registers[SAVED_RSI], [SAVED_RSI] = registers[SAVED_RDX],
                                     [SAVED_RDX] = registers[SAVED_RCX]};
    if ((uint32_t)registers[SAVED_RDI] == SYS_prctl)
        wtm_on_prctl(slot, shifted);
    else if ((uint32_t)registers[SAVED_RDI] == SYS_seccomp && registers[SAVED_RSI] == SECCOMP_SET_MODE_STRICT)
        wtm_sandbox_enter(SECCOMP_MODE_STRICT, 0);
    else if ((uint32_t)registers[SAVED_RDI] == SYS_seccomp && registers[SAVED_RSI] == SECCOMP_SET_MODE_FILTER)
        wtm_sandbox_enter(SECCOMP_MODE_FILTER, registers[SAVED_RCX]);
}

void wtm_on_sigaction(uint64_t *slot, const uint64_t *registers)
{
    wtm_handlers_learn((int)registers[SAVED_RDI], registers[SAVED_RSI]);
}
