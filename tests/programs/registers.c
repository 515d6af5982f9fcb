/* SPDX-License-Identifier: MIT
 * All of the processor's state over calls of timed functions, on each way through entry and exit: every general register and
 * flag (direction and alignment check too), x87 registers all in use, control words, vector and mask registers. `registers` runs all
 * ways. The functions touch nothing but what is said; what differs is told, and the status is 1. */
#define _GNU_SOURCE
#include <asm/prctl.h>
#include <cpuid.h>
#include <immintrin.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#include "promise.h"

#define ASM_FUNCTION(name, body)                                                                                       \
    __asm__(".text\n.p2align 4\n.globl " #name "\n.type " #name ",@function\n" #name ":\n.cfi_startproc\n" body          \
            "\n.cfi_endproc\n.size " #name ",.-" #name "\n")

void plain_leaf(void), by_tail(void), descends(void), long_leaf(void), pops_args(void);
ASM_FUNCTION(plain_leaf, "nopl 0(%rax,%rax,1)\n\tret");
ASM_FUNCTION(by_tail, "nopl 0(%rax)\n\tjmp plain_leaf");
ASM_FUNCTION(descends, "jrcxz 1f\n\tlea -1(%rcx), %rcx\n\tcall descends\n1:\tret"); /* leaves rcx 0, and no flag changed */
ASM_FUNCTION(long_leaf, "nopl 0(%rax,%rax,1)\n\tpause\n\tpause\n\tpause\n\tpause\n\tret");
ASM_FUNCTION(pops_args, "nopl 0(%rax,%rax,1)\n\tret $64");

enum { REGISTERS = 16, FLAGS = 15, AREA = 4096 }; /* rax rcx rdx rbx rbp rsi rdi r8-r15, flags */
uint64_t in_registers[REGISTERS], out_registers[REGISTERS];
uint64_t state_mask, state_what, state_popped;
unsigned char in_state[AREA] __attribute__((aligned(64))), out_state[AREA] __attribute__((aligned(64)));

/* Sets all state, calls state_what, and stores all state. */
void call_with_state(void);
ASM_FUNCTION(call_with_state,
    "push %rbx\n\tpush %rbp\n\tpush %r12\n\tpush %r13\n\tpush %r14\n\tpush %r15\n\tsub $136, %rsp\n\t"
    "mov state_mask(%rip), %eax\n\txor %edx, %edx\n\txrstor64 in_state(%rip)\n\t"
    "pushq in_registers+120(%rip)\n\t"
    "mov in_registers(%rip), %rax\n\tmov in_registers+8(%rip), %rcx\n\tmov in_registers+16(%rip), %rdx\n\t"
    "mov in_registers+24(%rip), %rbx\n\tmov in_registers+32(%rip), %rbp\n\tmov in_registers+40(%rip), %rsi\n\t"
    "mov in_registers+48(%rip), %rdi\n\tmov in_registers+56(%rip), %r8\n\tmov in_registers+64(%rip), %r9\n\t"
    "mov in_registers+72(%rip), %r10\n\tmov in_registers+80(%rip), %r11\n\tmov in_registers+88(%rip), %r12\n\t"
    "mov in_registers+96(%rip), %r13\n\tmov in_registers+104(%rip), %r14\n\tmov in_registers+112(%rip), %r15\n\t"
    "popfq\n\tcall *state_what(%rip)\n\tpushfq\n\tpopq out_registers+120(%rip)\n\t"
    "mov %rax, out_registers(%rip)\n\tmov %rcx, out_registers+8(%rip)\n\tmov %rdx, out_registers+16(%rip)\n\t"
    "mov %rbx, out_registers+24(%rip)\n\tmov %rbp, out_registers+32(%rip)\n\tmov %rsi, out_registers+40(%rip)\n\t"
    "mov %rdi, out_registers+48(%rip)\n\tmov %r8, out_registers+56(%rip)\n\tmov %r9, out_registers+64(%rip)\n\t"
    "mov %r10, out_registers+72(%rip)\n\tmov %r11, out_registers+80(%rip)\n\tmov %r12, out_registers+88(%rip)\n\t"
    "mov %r13, out_registers+96(%rip)\n\tmov %r14, out_registers+104(%rip)\n\tmov %r15, out_registers+112(%rip)\n\t"
    "pushq $2\n\tpopfq\n\tmov state_mask(%rip), %eax\n\txor %edx, %edx\n\txsave64 out_state(%rip)\n\t"
    "fninit\n\tpushq $0x1f80\n\tldmxcsr (%rsp)\n\tadd $8, %rsp\n\t"
    "sub state_popped(%rip), %rsp\n\tadd $136, %rsp\n\tpop %r15\n\tpop %r14\n\tpop %r13\n\tpop %r12\n\tpop %rbp\n\tpop %rbx\n\tret");

static uint64_t seed = 88172645463325252;
static uint64_t random64(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    return seed ^= seed << 17;
}

/* Legal random state: what processors would refuse (reserved bits, exceptions that are not masked) is left out. */
static void make_state(void)
{
    enum { SSE_CONTROL = 24, X87 = 32, XMM = 160, HEADER = 512, EXTENDED = 576 };
    for (unsigned i = 0; i < AREA; i += 8)
        memcpy(in_state + i, &(uint64_t){random64()}, 8);
    memset(in_state, 0, X87);
    memset(in_state + XMM + 256, 0, HEADER - XMM - 256);
    uint16_t control = (uint16_t)(0x037f | (random64() & 0xc00)); /* rounding by chance, double or extended precision */
    uint32_t sse = 0x1f80 | (uint32_t)(random64() & 0xe000) | (uint32_t)(random64() & 0x3f);
    memcpy(in_state, &control, 2);
    in_state[2] = (unsigned char)(random64() & 0x3f);      /* exceptions that were seen */
    in_state[3] = (unsigned char)(random64() & 7) << 3;    /* top of the stack */
    in_state[4] = 0xff;                                     /* all eight registers are in use */
    memcpy(in_state + SSE_CONTROL, &sse, 4);
    for (unsigned i = 0; i < 8; i++)
        memset(in_state + X87 + 16 * i + 10, 0, 6);
    memset(in_state + HEADER, 0, EXTENDED - HEADER);
    memcpy(in_state + HEADER, &state_mask, 8);
}

static int differs(const char *way)
{
    int bad = 0;
    for (unsigned i = 0; i < FLAGS; i++)
        if (in_registers[i] != out_registers[i])
            bad |= printf("%s: register %u was %lx, is %lx\n", way, i, in_registers[i], out_registers[i]);
    if ((in_registers[FLAGS] ^ out_registers[FLAGS]) & 0x44cd5) /* CF PF AF ZF SF DF OF AC */
        bad |= printf("%s: flags were %lx, are %lx\n", way, in_registers[FLAGS], out_registers[FLAGS]);
    for (unsigned i = 0; i < AREA; i++) {
        if (in_state[i] != out_state[i] && !(i >= 8 && i < 24) && !(i >= 28 && i < 32) && !(i >= 416 && i < 576) && i < 2752) {
            bad |= printf("%s: byte %u of the state was %x, is %x\n", way, i, in_state[i], out_state[i]);
            break;
        }
    }
    return bad;
}

static long called, bad;
static void once(const char *way, void (*what)(void), uint64_t rcx, uint64_t popped)
{
    for (unsigned i = 0; i < FLAGS; i++)
        in_registers[i] = random64();
    in_registers[1] = rcx;
    in_registers[FLAGS] = 0x202 | (random64() & 0x40cd5); /* DF and AC as well */
    state_what = (uintptr_t)what;
    state_popped = popped;
    make_state();
    memcpy(out_state, in_state, AREA);
    call_with_state();
    if (rcx < 100)
        in_registers[1] = 0;
    bad += differs(way) != 0;
    called++;
}

static long plains, tails, descents, descents_inner, longs, pops;
static void all(const char *where, int rounds)
{
    for (int i = 0; i < rounds; i++) {
        once(where, plain_leaf, 1000, 0), plains++;
        once(where, by_tail, 1000, 0), plains++, tails++;
        once(where, descends, (uint64_t)i % 6, 0), descents++, descents_inner += i % 6;
        once(where, long_leaf, 1000, 0), longs++;
        once(where, pops_args, 1000, 64), pops++;
    }
}

static void *thread(void *unused) { all("in a thread", 60); return unused; }
static ucontext_t outside, inside;
static void coroutine(void) { all("in a coroutine", 60); }
static void handler(int number) { (void)number; all("in a handler", 60); }

static uint64_t kept_state(void)
{
    unsigned a, b, c, d;
    if (!__get_cpuid_count(1, 0, &a, &b, &c, &d) || !(c & 1u << 27))
        return 0;
    __asm__("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
    return a & 0xe7; /* x87, SSE, AVX, masks, both halves of the wide registers */
}

static void *gs_words[4] = {gs_words, (void *)77};
REAL long by_gs(void) { long value; __asm__ volatile("mov %%gs:8, %0" : "=r"(value)); return value; }

int main(void)
{
    static char stack[1 << 17];
    pthread_t id;
    state_mask = kept_state();
    if (!state_mask)
        return 77;
    all("at first", 60);
    if (pthread_create(&id, NULL, thread, NULL) || pthread_join(id, NULL))
        return 2;
    getcontext(&inside);
    inside.uc_stack.ss_sp = stack;
    inside.uc_stack.ss_size = sizeof stack;
    inside.uc_link = &outside;
    makecontext(&inside, coroutine, 0);
    swapcontext(&outside, &inside);
    signal(SIGUSR1, handler);
    raise(SIGUSR1);
    syscall(SYS_arch_prctl, ARCH_SET_GS, gs_words);
    for (int i = 0; i < 100; i++)
        bad += by_gs() != 77;
    printf("bad %ld of %ld\n", bad, called);
    promise("plain_leaf", plains, 0, 0, 0);
    promise("by_tail", tails, 0, 0, 0);
    promise("descends", descents + descents_inner, descents_inner, 0, 0);
    promise("long_leaf", longs, 0, 0, 0);
    promise("pops_args", pops, 0, 0, 0);
    promise("by_gs", 100, 0, 0, 0);
    return bad != 0;
}
