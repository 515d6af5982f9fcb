/* SPDX-License-Identifier: MIT
 * What functions do with the place of their return address: `slots KIND`. Prints what it saw, and what the report must say. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "promise.h"

enum { ROUNDS = 1000 };

#define ASM_FUNCTION(name, body)                                                                                       \
    __asm__(".text\n.p2align 4\n.globl " #name "\n.type " #name ",@function\n" #name ":\n.cfi_startproc\n" body          \
            "\n.cfi_endproc\n.size " #name ",.-" #name "\n")

/* ---- ret N: the callee takes its arguments off the stack, as some languages' conventions have it ---- */
long pops_two(void);
ASM_FUNCTION(pops_two, "mov 8(%rsp), %rax\n\tadd 16(%rsp), %rax\n\tnop\n\tret $16\n");
long pops_many(void);
ASM_FUNCTION(pops_many, "mov 8(%rsp), %rax\n\tadd 1600(%rsp), %rax\n\tret $1600\n");
/* Its own `ret` is not there: it tail-calls what pops. */
long pops_by_tail(void);
ASM_FUNCTION(pops_by_tail, "incq 8(%rsp)\n\tnop\n\tjmp pops_two\n");
/* Calls others that pop, and is called again from below. */
REAL long call_popping(long (*what)(void), long left, long right)
{
    long result;
    __asm__ volatile("sub $128, %%rsp\n\tpush %2\n\tpush %1\n\tcall *%3\n\tadd $128, %%rsp"
                     : "=a"(result) : "r"(left), "r"(right), "r"(what) : "memory", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "cc");
    return result;
}
REAL long call_popping_many(long left, long right)
{
    long result;
    __asm__ volatile("sub $128, %%rsp\n\tpush %2\n\tsub $1584, %%rsp\n\tpush %1\n\tcall pops_many\n\tadd $128, %%rsp"
                     : "=a"(result) : "r"(left), "r"(right) : "memory", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "cc");
    return result;
}

static void ret_n(void)
{
    long sum = 0;
    for (long i = 0; i < ROUNDS; i++) {
        sum += call_popping(pops_two, i, 1);
        sum += call_popping(pops_by_tail, i, 2);
        sum += call_popping_many(i, 3);
    }
    printf("sum %ld\n", sum);
    promise("pops_two", 2 * ROUNDS, 0, 0, 0);
    promise("pops_by_tail", ROUNDS, 0, 0, 0);
    promise("pops_many", ROUNDS, 0, 0, 0);
    promise("call_popping", 2 * ROUNDS, 0, 0, 0);
    promise("call_popping_many", ROUNDS, 0, 0, 0);
}

/* ---- the return address, read late: behind branches, many instructions, calls ---- */
static volatile long sink;
static int is_main(void *address)
{
    Dl_info info;
    return dladdr(address, &info) && info.dli_fname && !strstr(info.dli_fname, ".so");
}

REAL void *late_by_branch(long n)
{
    if (n & 1) {
        sink += n;
        return NULL;
    }
    return __builtin_return_address(0);
}
REAL void *late_by_length(long n)
{
#define STEP(i) sink += n ^ (i);
#define STEPS(i) STEP(i) STEP(i + 1) STEP(i + 2) STEP(i + 3) STEP(i + 4) STEP(i + 5) STEP(i + 6) STEP(i + 7)
    STEPS(0) STEPS(8) STEPS(16) STEPS(24) STEPS(32) STEPS(40)
    return __builtin_return_address(0);
}
REAL void *late_by_loop(long n, void *(*other)(long))
{
    char space[200];
    for (long i = 0; i < n; i++) {
        memset(space, (int)i, sizeof space);
        __asm__ volatile("" : : "r"(space) : "memory");
        other(1);
    }
    return n > 1 ? __builtin_return_address(0) : NULL;
}
REAL void *late_by_frame(long n)
{
    void **frame = __builtin_frame_address(0);
    for (long i = 0; i < n; i++)
        sink += i;
    return n > 2 ? frame[1] : NULL;
}

static void late(void)
{
    long wrong = 0;
    for (long i = 0; i < ROUNDS; i++) {
        void *got = late_by_branch(i);
        wrong += i & 1 ? got != NULL : !is_main(got);
        wrong += !is_main(late_by_length(i));
        got = late_by_loop(2, late_by_branch);
        wrong += !is_main(got);
#ifdef __OPTIMIZE__ /* else the frame's address goes through memory, and nobody can know */
        wrong += !is_main(late_by_frame(5));
#endif
    }
    printf("wrong %ld\n", wrong);
    promise_refused("late_by_branch", "READS_RETURN");
    promise_refused("late_by_length", "READS_RETURN");
    promise_refused("late_by_loop", "READS_RETURN");
#ifdef __OPTIMIZE__
    promise_refused("late_by_frame", "READS_RETURN");
#endif
}

/* ---- data behind the call ---- */
long data_popped(void), data_read(void), data_late(void), data_skipped(void), data_by_register(void);
ASM_FUNCTION(data_popped, "pop %rdx\n\tmovslq (%rdx), %rax\n\tadd $4, %rdx\n\tpush %rdx\n\tret\n");
ASM_FUNCTION(data_read, "push %rbx\n\tmov 8(%rsp), %rbx\n\tmovslq (%rbx), %rax\n\tadd $4, %rbx\n\tmov %rbx, 8(%rsp)\n\tpop %rbx\n\tret\n");
ASM_FUNCTION(data_late, "test %edi, %edi\n\tjnz 1f\n\tmov $7, %eax\n\taddq $4, (%rsp)\n\tret\n1:\tpop %rdx\n\tmovslq (%rdx), %rax\n\tadd $4, %rdx\n\tjmp *%rdx\n");
ASM_FUNCTION(data_skipped, "xor %eax, %eax\n\tcmp $1, %edi\n\tje 2f\n\tjmp 1f\n2:\tnop\n1:\tinc %eax\n\taddq $4, (%rsp)\n\tret\n");
ASM_FUNCTION(data_by_register, "mov %rsp, %rcx\n\tnop\n\tmov (%rcx), %rdx\n\tmovslq (%rdx), %rax\n\taddq $4, (%rcx)\n\tret\n");
#define WITH_DATA(name, value)                                                                                         \
    REAL long with_##name(long n)                                                                                      \
    {                                                                                                                  \
        long result;                                                                                                   \
        __asm__ volatile("sub $128, %%rsp\n\tcall " #name "\n\t.long " #value "\n\tadd $128, %%rsp"                    \
                         : "=a"(result), "+D"(n) : : "memory", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "cc");   \
        return result;                                                                                                 \
    }
WITH_DATA(data_popped, 11)
WITH_DATA(data_read, 22)
WITH_DATA(data_late, 33)
WITH_DATA(data_skipped, 44)
WITH_DATA(data_by_register, 55)

static void inline_data(void)
{
    long sum = 0;
    for (long i = 0; i < ROUNDS; i++)
        sum += with_data_popped(i) + with_data_read(i) + with_data_late(i & 1) + with_data_skipped(i & 1) + with_data_by_register(i);
    printf("sum %ld\n", sum);
    promise_refused("data_popped", "POPS_RETURN");
    promise_refused("data_read", "READS_RETURN");
    promise_refused("data_late", "READS_RETURN");
    promise_refused("data_skipped", "READS_RETURN");
    promise_refused("data_by_register", "READS_RETURN");
    promise("with_data_popped", ROUNDS, 0, 0, 0);
    promise("with_data_late", ROUNDS, 0, 0, 0);
}

/* ---- returns to another place, or does not return by `ret` ---- */
long elsewhere(void), by_jump(void), thunk(long (*)(void)), thunk_target(void);
ASM_FUNCTION(elsewhere, "nopl 0(%rax)\n\tlea 1f(%rip), %rax\n\tmov %rax, (%rsp)\n\tret\n1:\tmov $5, %eax\n\tjmp *%rdi\n");
ASM_FUNCTION(by_jump, "mov $6, %eax\n\tnop\n\tpop %rdx\n\tjmp *%rdx\n");
/* a retpoline of the program's own */
ASM_FUNCTION(thunk, "call 1f\n2:\tpause\n\tlfence\n\tjmp 2b\n1:\tmov %rdi, (%rsp)\n\tret\n");
ASM_FUNCTION(thunk_target, "mov $9, %eax\n\tnop\n\tret\n");
REAL long call_elsewhere(void)
{
    long result, to;
    __asm__ volatile("sub $128, %%rsp\n\tlea 1f(%%rip), %%rdi\n\tcall elsewhere\n\tud2\n1:\tadd $128, %%rsp"
                     : "=a"(result), "=&D"(to) : : "memory", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "cc");
    return result;
}

static void other_place(void)
{
    long sum = 0;
    for (long i = 0; i < ROUNDS; i++)
        sum += call_elsewhere() + by_jump() + thunk(thunk_target);
    printf("sum %ld\n", sum);
    promise_refused("elsewhere", "READS_RETURN");
    promise_refused("by_jump", "POPS_RETURN");
    promise("thunk_target", ROUNDS, 0, 0, 0);
    promise("thunk", ROUNDS, 0, 0, 0);
    promise("call_elsewhere", ROUNDS, 0, 0, 0);
}

/* ---- who calls dlsym: a tail call makes it the caller's caller ---- */
REAL void *find_by_tail(void *where, const char *name) { return dlsym(where, name); }
REAL void *open_by_tail(const char *name, int how) { return dlopen(name, how); }
REAL void *find_by_call(void *where, const char *name)
{
    void *found = dlsym(where, name);
    IMPURE;
    return found;
}
REAL void *who(void) { return __builtin_return_address(0); }
REAL void *who_by_tail(long n)
{
    sink += n;
    return who();
}
/* Behind RTLD_NEXT and this program comes whatever is loaded next; behind any other object it would be something later. */
static void callers(void)
{
    long wrong = 0;
    for (long i = 0; i < ROUNDS; i++) {
        wrong += find_by_tail(RTLD_NEXT, "wtmtime_arm") != find_by_call(RTLD_NEXT, "wtmtime_arm");
        void *self = open_by_tail(NULL, RTLD_NOW);
        wrong += !self || dlclose(self);
        wrong += !is_main(who_by_tail(i));
    }
    printf("wrong %ld\n", wrong);
    promise("find_by_tail", ROUNDS, 0, 0, 0);
    promise("find_by_call", ROUNDS, 0, 0, 0);
    promise("open_by_tail", ROUNDS, 0, 0, 0);
    promise("who_by_tail", ROUNDS, 0, 0, 0);
    promise_refused("who", "READS_RETURN");
}

int main(int count, char **words)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } kinds[] = {{"ret_n", ret_n}, {"late", late}, {"data", inline_data}, {"place", other_place}, {"callers", callers}};
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (count > 1 && !strcmp(words[1], kinds[i].name)) {
            kinds[i].run();
            return 0;
        }
    return 2;
}
