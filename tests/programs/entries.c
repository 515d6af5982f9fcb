/* SPDX-License-Identifier: MIT
 * Functions as no compiler makes them all: odd first instructions, bodies that run into each other, several ways in, data between
 * code, sizes that are wrong. Each is called ROUNDS times with results that a moved instruction gone wrong would change. */
#include <cpuid.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "promise.h"

enum { ROUNDS = 500 };

#define ENTRY(name, body) ".p2align 4\n.globl " #name "\n.type " #name ",@function\n" #name ":\n" body "\n.size " #name ",.-" #name "\n"

__asm__(".text\n"
    /* first instructions with a stack frame, flags, strings, locks, prefixes, segments */
    ENTRY(by_enter, "enter $32, $0\n\tlea 1(%rdi), %rax\n\tleave\n\tret")
    ENTRY(by_flags, "pushfq\n\tpop %rax\n\tpush %rax\n\tpopfq\n\tsetc %al\n\tlea 1(%rdi), %rax\n\tret")
    ENTRY(by_string, "rep stosb\n\tmov %rdi, %rax\n\tret") /* rcx 0: nothing */
    ENTRY(by_lock, "lock xadd %rax, 1f(%rip)\n\tlea 1(%rdi), %rax\n\tret\n\t.pushsection .data\n1:\t.quad 7\n\t.popsection")
    ENTRY(by_segment, "mov %fs:0, %rax\n\tsub %fs:0, %rax\n\tlea 1(%rdi,%rax), %rax\n\tret")
    ENTRY(by_prefixes, ".byte 0x2e, 0x3e, 0x36, 0x66, 0x90\n\t.byte 0x48, 0x48, 0x8d, 0x47, 0x01\n\tret") /* void prefixes, REX twice */
    ENTRY(by_immediate, "movabs $0x1122334455667788, %rax\n\tmovabs $-0x1122334455667787, %rdx\n\tadd %rdx, %rax\n\tadd %rdi, %rax\n\tret")
    ENTRY(by_loop, "mov $3, %ecx\n1:\tdec %rdi\n\tloop 1b\n\tlea 4(%rdi), %rax\n\tret")
    ENTRY(by_loop_back, "1:\tinc %rdi\n\tnop\n\tloop 1b\n\tmov %rdi, %rax\n\tret") /* rcx 1: once */
    ENTRY(by_zero, "jrcxz 1f\n\tud2\n1:\tlea 1(%rdi), %rax\n\tret")
    ENTRY(by_thunk, "call 1f\n1:\tpop %rax\n\tlea 1b(%rip), %rdx\n\tsub %rdx, %rax\n\tlea 1(%rdi,%rax), %rax\n\tret")
    ENTRY(by_own_stack, "push %rsp\n\tpop %rax\n\tsub %rsp, %rax\n\tlea 1(%rdi,%rax), %rax\n\tret")
    ENTRY(by_exchange, "cmpxchg16b 1f(%rip)\n\tlea 1(%rdi), %rax\n\tret\n\t.pushsection .data\n\t.p2align 4\n1:\t.quad 7, 7\n\t.popsection")
    ENTRY(by_time, "rdtsc\n\tcpuid\n\tlea 1(%rdi), %rax\n\tret")
    ENTRY(by_call, "call *2f(%rip)\n\tret\n1:\tlea 1(%rdi), %rax\n\tret\n\t.pushsection .data\n2:\t.quad 1b\n\t.popsection")
    ENTRY(by_vector, "pxor %xmm0, %xmm0\n\tmovdqa 1f(%rip), %xmm1\n\tpshufb %xmm1, %xmm0\n\tmovq %xmm0, %rax\n\tlea 1(%rdi,%rax), %rax\n\tret\n"
                     "\t.pushsection .rodata\n\t.p2align 4\n1:\t.fill 16, 1, 1\n\t.popsection")
    ENTRY(by_avx, "vpxor %xmm0, %xmm0, %xmm0\n\tvmovdqu 1f(%rip), %ymm1\n\tvmovq %xmm0, %rax\n\tvzeroupper\n\tlea 1(%rdi,%rax), %rax\n\tret\n"
                  "\t.pushsection .rodata\n1:\t.fill 32, 1, 1\n\t.popsection")
    ENTRY(by_avx512, "vmovdqu64 1f(%rip), %zmm17\n\tvpcmpeqb 1f(%rip), %zmm17, %k1\n\tkmovq %k1, %rax\n\tvzeroupper\n\tlea 2(%rdi,%rax), %rax\n\tret\n"
                     "\t.pushsection .rodata\n1:\t.fill 64, 1, 1\n\t.popsection")
    /* an abort of the transaction, or none: falls through or goes to the same place */
    ENTRY(by_transaction, "xor %edx, %edx\n\tnop\n\tnop\n\ttest %edx, %edx\n\tjz 2f\n\txbegin 2f\n\txend\n2:\tlea 1(%rdi), %rax\n\tret")
    /* runs into the next one */
    ENTRY(runs_on, "inc %rdi\n\tnopl 0(%rax)")
    ENTRY(run_into, "lea 1(%rdi), %rax\n\tnop\n\tret")
    /* one body, three ways in */
    ".p2align 4\n.globl way_one\n.type way_one,@function\nway_one:\n\tnopl 0(%rax)\n\tlea 1(%rdi), %rdi\n\tjmp 3f\n"
    ".globl way_two\n.type way_two,@function\nway_two:\n\tlea 2(%rdi), %rdi\n\tnop\n"
    "3:\n.globl way_three\n.type way_three,@function\nway_three:\n\tlea (%rdi), %rax\n\tnopl 0(%rax)\n\tret\n"
    ".size way_three,.-way_three\n.size way_two,.-way_two\n.size way_one,.-way_one\n"
    /* its size is told too large: the next one belongs to itself */
    ".p2align 4\n.globl too_large\n.type too_large,@function\ntoo_large:\n\tlea 1(%rdi), %rax\n\tret\n"
    ".globl next_one\n.type next_one,@function\nnext_one:\n\tnopl 0(%rax)\n\tlea 1(%rdi), %rax\n\tret\n"
    ".size next_one,.-next_one\n.size too_large,.-too_large\n"
    /* a table of ways and other data between functions */
    ENTRY(by_table, "lea 1f(%rip), %rdx\n\tmov %rdi, %rax\n\tand $3, %eax\n\tmovslq (%rdx,%rax,4), %rax\n\tadd %rdx, %rax\n\tjmp *%rax\n"
                    "\t.p2align 2\n1:\t.long 2f-1b, 3f-1b, 2f-1b, 3f-1b\n2:\tlea 1(%rdi), %rax\n\tret\n3:\tlea 1(%rdi), %rax\n\tret")
    "\t.quad 0xe8e9e8e97475e3e2, 0x0f840f850f8f0f80\n"
    ENTRY(behind_data, "lea 1(%rdi), %rax\n\tnop\n\tret")
    "\t.ascii \"text in text\"\n"
    /* no size, no padding behind a call that does not return */
    ".globl sizeless\n.type sizeless,@function\nsizeless:\n\ttest %rdi, %rdi\n\tjs 1f\n\tlea 1(%rdi), %rax\n\tret\n1:\tcall abort\n"
    ENTRY(behind_call, "lea 1(%rdi), %rax\n\tnop\n\tret")
    ".section .text.elsewhere,\"ax\",@progbits\n"
    ENTRY(in_section, "lea 1(%rdi), %rax\n\tnop\n\tret")
    ".text\n");

typedef long function(long n, long two, long three, long zero);
#define ALL(X) X(by_enter) X(by_flags) X(by_string) X(by_lock) X(by_segment) X(by_prefixes) X(by_immediate) X(by_loop) X(by_loop_back) \
    X(by_zero) X(by_thunk) X(by_own_stack) X(by_exchange) X(by_time) X(by_call) X(by_vector) X(by_avx) X(by_avx512) X(by_transaction) \
    X(runs_on) X(run_into) X(way_one) X(way_two) X(way_three) X(too_large) X(next_one) X(by_table) X(behind_data) X(sizeless) \
    X(behind_call) X(in_section)
#define DECLARE(name) function name;
ALL(DECLARE)

long a_number = 7;
char a_text[64] = "data";

/* rbx belongs to the caller, and cpuid does not keep it; rcx is the fourth argument. */
static long call(function *what, long n, long rcx)
{
    long result;
    __asm__ volatile("sub $128, %%rsp\n\tpush %%rbx\n\tcall *%3\n\tpop %%rbx\n\tadd $128, %%rsp"
                     : "=a"(result), "+D"(n), "+c"(rcx) : "r"(what) : "rdx", "rsi", "r8", "r9", "r10", "r11", "cc", "memory");
    return result;
}

static int has(unsigned leaf, int is_ecx, unsigned bit)
{
    unsigned a, b, c, d;
    return __get_cpuid_count(leaf, 0, &a, &b, &c, &d) && (is_ecx ? c : b) >> bit & 1;
}

int main(void)
{
    static const struct {
        const char *name;
        function *what;
    } all[] = {
#define LIST(name) {#name, name},
        ALL(LIST)};
    int avx = has(1, 1, 28), avx512 = has(7, 0, 30);
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        const char *name = all[i].name;
        if ((!avx && !strcmp(name, "by_avx")) || (!avx512 && !strcmp(name, "by_avx512")))
            continue;
        int back = !strcmp(name, "by_loop_back");
        long wrong = 0, adds = !strcmp(name, "runs_on") || !strcmp(name, "way_two") ? 2 : !strcmp(name, "way_three") || !strcmp(name, "by_string") ? 0 : 1;
        for (long n = 0; n < ROUNDS; n++)
            wrong += call(all[i].what, n, back) != n + adds;
        printf("%s wrong %ld\n", name, wrong);
        long calls = !strcmp(name, "run_into") || !strcmp(name, "way_three") ? -1 : ROUNDS; /* others come by here */
        promise(name, calls, 0, 0, 0);
    }
    promise_missing("a_number");
    promise_missing("a_text");
    return 0;
}
