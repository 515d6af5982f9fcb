/* SPDX-License-Identifier: MIT
 * Built without a stack protector, and linked without lazy binding: while the code runs fs points into the sandbox, and
 * the handlers keep it so. */
#include "machine.h"
#include "common/sys.h"
#include <asm/prctl.h>
#include <cpuid.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

enum {
    TRAP_FLAG = 0x100, RESUME_FLAG = 0x10000, PAGE_FAULT = 14,
    FAULT_PRESENT = 1, FAULT_WRITE = 2, FAULT_FETCH = 16,
    FRAME_FEATURES = 464, XSAVE_HEADER = 512, MAGIC = 0x46505853,
    MXCSR_AT = 24, INSTRUCTION_POINTER_AT = 8, XMM_AT = 160, LEGACY_BYTES = 416, MOST_FRAME = 16384
};

const char *const machine_register_names[MACHINE_GENERAL] = {
    "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "rdi", "rsi", "rbp", "rbx", "rdx", "rax", "rcx", "rsp"};
const char *machine_subject = "nothing yet";

/* Parts of an XSAVE image that are set and compared. */
static struct part {
    unsigned feature, at, bytes;
} parts[] = {{0, 0, LEGACY_BYTES}, {2, 0, 256}, {5, 0, 64}, {6, 0, 512}, {7, 0, 1024}};
enum { PARTS = sizeof parts / sizeof *parts };

static struct {
    int phase; /* 0 idle, 1 starting, 2 running */
    uintptr_t own_fs, fs;
    const struct machine_state *state;
    uintptr_t ip, from;
    unsigned most_steps;
    machine_inside *inside;
    const void *context;
    struct machine_result *result;
    gregset_t saved;
    uint8_t saved_frame[MOST_FRAME];
    uint32_t frame_bytes;
} run;

struct features {
    uint32_t magic, extended_bytes;
    uint64_t features;
    uint32_t bytes;
};

static void set_fs(uintptr_t base)
{
    wtm_syscall3(SYS_arch_prctl, ARCH_SET_FS, (long)base, 0);
}

static __attribute__((noreturn)) void die(int signal, const ucontext_t *context)
{
    static const char digits[] = "0123456789abcdef";
    char text[] = "the test itself got signal 00 at 0000000000000000, subject ";
    uintptr_t ip = (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
    text[27] = (char)('0' + signal / 10);
    text[28] = (char)('0' + signal % 10);
    for (unsigned i = 0; i < 16; i++)
        text[33 + i] = digits[ip >> (60 - 4 * i) & 15];
    wtm_sys_write(2, text, sizeof text - 1);
    wtm_sys_write(2, machine_subject, strlen(machine_subject));
    wtm_sys_write(2, "\n", 1);
    wtm_syscall3(SYS_exit_group, 3, 0, 0);
    __builtin_unreachable();
}

static uint64_t *present(uint8_t *frame)
{
    return (uint64_t *)(frame + XSAVE_HEADER);
}

static void load(const struct machine_state *state, ucontext_t *context)
{
    uint8_t *frame = (uint8_t *)context->uc_mcontext.fpregs;
    struct features known;
    memcpy(&known, frame + FRAME_FEATURES, sizeof known);
    const uint8_t *from = state->vectors;
    for (unsigned i = 0; i < PARTS; from += parts[i++].bytes) {
        if (i && !(known.magic == MAGIC && known.features >> parts[i].feature & 1))
            continue;
        memcpy(frame + parts[i].at, from, parts[i].bytes);
        if (known.magic == MAGIC)
            *present(frame) |= i ? 1u << parts[i].feature : 3;
    }
    memcpy(context->uc_mcontext.gregs, state->general, sizeof state->general);
    context->uc_mcontext.gregs[REG_EFL] = (greg_t)(state->flags | TRAP_FLAG | 0x202);
    context->uc_mcontext.gregs[REG_RIP] = (greg_t)run.ip;
}

/* Parts that the processor left out are zero, as they are when it puts them in. */
static void store(const ucontext_t *context, struct machine_state *state)
{
    uint8_t *frame = (uint8_t *)context->uc_mcontext.fpregs, *to = state->vectors;
    struct features known;
    memcpy(&known, frame + FRAME_FEATURES, sizeof known);
    uint64_t there = known.magic == MAGIC ? *present(frame) & known.features : 3;
    memset(to, 0, sizeof state->vectors);
    for (unsigned i = 0; i < PARTS; to += parts[i++].bytes)
        if (!i || there >> parts[i].feature & 1)
            memcpy(to, frame + parts[i].at, parts[i].bytes);
    if (!(there & 2))
        memset(state->vectors + XMM_AT, 0, 256);
    if (!(there & 1)) {
        memset(state->vectors, 0, MXCSR_AT);
        memset(state->vectors + MXCSR_AT + 8, 0, XMM_AT - MXCSR_AT - 8);
        state->vectors[0] = 0x7f, state->vectors[1] = 3;
    }
    memset(state->vectors + INSTRUCTION_POINTER_AT, 0, 8); /* of the last x87 instruction: the copy's is the copy's */
    memcpy(state->general, context->uc_mcontext.gregs, sizeof state->general);
    state->flags = (uint64_t)context->uc_mcontext.gregs[REG_EFL] & MACHINE_FLAGS;
}

static void begin(ucontext_t *context)
{
    struct features known;
    memcpy(&known, (uint8_t *)context->uc_mcontext.fpregs + FRAME_FEATURES, sizeof known);
    run.frame_bytes = known.magic == MAGIC ? known.bytes : XSAVE_HEADER;
    if (run.frame_bytes > MOST_FRAME)
        die(SIGTRAP, context);
    memcpy(run.saved, context->uc_mcontext.gregs, sizeof run.saved);
    memcpy(run.saved_frame, context->uc_mcontext.fpregs, run.frame_bytes);
    run.phase = 2;
    run.from = run.ip;
    load(run.state, context);
    set_fs(run.fs);
}

static void end(ucontext_t *context, enum machine_end why)
{
    struct machine_result *result = run.result;
    result->end = why;
    result->at = (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
    result->from = run.from;
    store(context, &result->state);
    sandbox_take(&result->memory);
    memcpy(context->uc_mcontext.fpregs, run.saved_frame, run.frame_bytes);
    memcpy(context->uc_mcontext.gregs, run.saved, sizeof run.saved);
    run.phase = 0;
    set_fs(run.own_fs);
}

static void on_step(ucontext_t *context)
{
    uintptr_t ip = (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
    run.result->steps++;
    if (!run.inside(run.context, ip, run.from, run.result->steps))
        end(context, MACHINE_ARRIVED);
    else if (run.result->steps >= run.most_steps)
        end(context, MACHINE_ENDLESS);
    run.from = ip;
}

static void on_fault(int signal, const siginfo_t *info, ucontext_t *context)
{
    greg_t error = context->uc_mcontext.gregs[REG_ERR], trap = context->uc_mcontext.gregs[REG_TRAPNO];
    uintptr_t address = (uintptr_t)info->si_addr;
    if (signal == SIGSEGV && trap == PAGE_FAULT) {
        if (error & FAULT_FETCH) { /* an unmapped target */
            end(context, MACHINE_ARRIVED);
            return;
        }
        if (sandbox_fault(address, (error & FAULT_PRESENT) != 0, (error & FAULT_WRITE) != 0))
            return;
    }
    run.result->signal = signal;
    run.result->trap = (int)trap;
    run.result->fault_address = signal == SIGSEGV ? address : 0; /* else that of the instruction */
    end(context, MACHINE_FAULTED);
}

static void on_signal(int signal, siginfo_t *info, void *context)
{
    if (run.phase == 1 && signal == SIGTRAP)
        begin(context);
    else if (run.phase == 2 && signal == SIGTRAP && info->si_code == TRAP_TRACE)
        on_step(context);
    else if (run.phase == 2)
        on_fault(signal, info, context);
    else
        die(signal, context);
}

static void find_parts(void)
{
    unsigned bytes, at, ecx, edx;
    for (unsigned i = 1; i < PARTS; i++)
        if (__get_cpuid_count(0xd, parts[i].feature, &bytes, &at, &ecx, &edx))
            parts[i].at = at;
}

void machine_start(void)
{
    static const int signals[] = {SIGTRAP, SIGSEGV, SIGBUS, SIGILL, SIGFPE};
    stack_t stack = {.ss_size = 1 << 18, .ss_sp = malloc(1 << 18)};
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigfillset(&action.sa_mask);
    find_parts();
    sigaltstack(&stack, NULL);
    for (unsigned i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaction(signals[i], &action, NULL);
    wtm_syscall3(SYS_arch_prctl, ARCH_GET_FS, (long)&run.own_fs, 0);
    run.fs = SANDBOX_BASE + SANDBOX_BYTES / 2;
    wtm_syscall3(SYS_arch_prctl, ARCH_SET_GS, (long)(SANDBOX_BASE + SANDBOX_BYTES / 4), 0);
}

void machine_run(const struct machine_state *state, uintptr_t ip, unsigned most_steps, machine_inside *inside,
                 const void *context, struct machine_result *result)
{
    result->steps = 0;
    result->signal = result->trap = 0;
    result->fault_address = 0;
    run.state = state;
    run.ip = ip;
    run.most_steps = most_steps;
    run.inside = inside;
    run.context = context;
    run.result = result;
    run.phase = 1;
    __asm__ volatile("int3" ::: "memory");
}

void machine_vectors(uint64_t number, struct machine_state *state)
{
    for (unsigned i = 0; i < MACHINE_VECTOR_BYTES; i += 8) {
        uint64_t value = sandbox_mix(number * MACHINE_VECTOR_BYTES + i);
        memcpy(state->vectors + i, &value, sizeof value);
    }
    memset(state->vectors, 0, XMM_AT);
    state->vectors[0] = 0x7f, state->vectors[1] = 3;                        /* x87 control word */
    state->vectors[MXCSR_AT] = 0x80, state->vectors[MXCSR_AT + 1] = 0x1f;
    state->vectors[MXCSR_AT + 4] = state->vectors[MXCSR_AT + 5] = 0xff;     /* its mask */
}

unsigned machine_compare(const struct machine_state *left, const struct machine_state *right, FILE *out)
{
    unsigned differing = 0;
    for (unsigned i = 0; i < MACHINE_GENERAL; i++)
        if (left->general[i] != right->general[i] && ++differing && out)
            fprintf(out, "    %s: %#lx, %#lx\n", machine_register_names[i], left->general[i], right->general[i]);
    if (left->flags != right->flags && ++differing && out)
        fprintf(out, "    flags: %#lx, %#lx\n", left->flags, right->flags);
    for (unsigned i = 0; i < MACHINE_VECTOR_BYTES; i++)
        if (left->vectors[i] != right->vectors[i] && ++differing && out && differing < 40)
            fprintf(out, "    vector state, byte %u: %02x, %02x\n", i, left->vectors[i], right->vectors[i]);
    return differing;
}
