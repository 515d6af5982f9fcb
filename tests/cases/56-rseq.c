// SPDX-License-Identifier: MIT
// 56: a program with its own restartable sequence, inside a timed function that starts with it
// time: percpu_add,start_cs
// build: $CC -O2 -o $OUT $SRC -pthread
// run: $OUT
// expect: exit 0, prints "ok"; calls percpu_add=800000; start_cs=1000 (0 where rseq is not registered) or refused by name: its abort path jumps back to byte 3, inside the patch; the sum of the per-CPU counters is exact: no tool code runs inside the critical range and the registration is left alone
#define _GNU_SOURCE
#include "case.h"
#include <pthread.h>
#include <stdint.h>
#if __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#else
extern const ptrdiff_t __rseq_offset; extern const unsigned __rseq_size;
#endif
struct cnt { long v; char pad[56]; } cpu[1024];
static int use;
// rdi: this thread's rseq area, rsi: cnt array. Adds one to the slot of the current CPU, restarts when preempted.
#define SEQ(n) "1: lea 9f(%rip),%rax\nmov %rax,8(%rdi)\n2: mov 4(%rdi),%eax\nmov %eax,%edx\nshl $6,%rdx\nincq (%rsi,%rdx)\n3: movq $0,8(%rdi)\nret\n" \
    ".long 0x53053053\n4: jmp 1b\n.pushsection .data.rel,\"aw\"\n.balign 32\n9: .long 0,0\n.quad 2b,3b-2b,4b\n.popsection\n"
__asm__(".text\n.p2align 4\n"
FN(rs_add) SEQ(a) END(rs_add)
FN(start_cs) ".byte 0x0f,0x1f,0x00\n" SEQ(b) END(start_cs) ".p2align 4\n");
void rs_add(void *, struct cnt *), start_cs(void *, struct cnt *);
static void *area(void) { return (char *)__builtin_thread_pointer() + __rseq_offset; }
KEEP void percpu_add(void) { HERE; if (use) rs_add(area(), cpu); else __atomic_add_fetch(&cpu[0].v, 1, __ATOMIC_RELAXED); }
static void *body(void *a) { for (int i = 0; i < 200000; i++) percpu_add(); return a; }
int main(void)
{
    pthread_t t[4]; long s = 0;
    use = __rseq_size != 0 && (int)((uint32_t *)area())[1] >= 0;
    for (int i = 0; i < 4; i++) CHECK(!pthread_create(&t[i], NULL, body, NULL));
    for (int i = 0; i < 4; i++) CHECK(!pthread_join(t[i], NULL));
    if (use) for (int i = 0; i < 1000; i++) start_cs(area(), cpu); else cpu[0].v += 1000;
    for (int i = 0; i < 1024; i++) s += cpu[i].v;
    CHECK(s == 801000);
    return case_ok();
}
