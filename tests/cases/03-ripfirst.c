// SPDX-License-Identifier: MIT
// 03: the displaced instructions address memory through RIP
// time: r_mov,r_lea,r_cmp,r_tst,r_sd,r_jmp,r_call,r_inc,r_avx
// build: $CC -O2 -o $OUT $SRC
// run: $OUT
// expect: exit 0, prints "ok"; calls r_mov=r_lea=r_cmp=r_tst=r_sd=r_jmp=r_call=r_inc=1000 (r_avx 1000 with AVX); recursive 0
#include "case.h"
long v_long = 0x1122334455667788;
int v_int = 42, v_cnt;
double v_dbl = 2.5;
float v_vec[4] __attribute__((aligned(16))) = {1, 2, 3, 4};
KEEP int r_target(void) { HERE; return 77; }
int (*v_fp)(void) = r_target;
__asm__(".text\n.p2align 4\n"
FN(r_mov) "mov v_long(%rip),%rax\nret\n" END(r_mov)
FN(r_lea) "lea v_long(%rip),%rax\nret\n" END(r_lea)
// an immediate follows the displacement: the end of the instruction is not the end of the field
FN(r_cmp) "cmpl $42,v_int(%rip)\nsete %al\nmovzbl %al,%eax\nret\n" END(r_cmp)
FN(r_tst) "testl $0x20000008,v_int(%rip)\nsetne %al\nmovzbl %al,%eax\nret\n" END(r_tst)
FN(r_sd) "movsd v_dbl(%rip),%xmm0\nret\n" END(r_sd)
FN(r_jmp) "jmp *v_fp(%rip)\n" END(r_jmp)
FN(r_call) "sub $8,%rsp\ncall *v_fp(%rip)\nadd $8,%rsp\ninc %eax\nret\n" END(r_call)
FN(r_inc) "lock incl v_cnt(%rip)\nmov v_cnt(%rip),%eax\nret\n" END(r_inc)
FN(r_avx) "vaddps v_vec(%rip),%xmm0,%xmm0\nret\n" END(r_avx)
".p2align 4\n");
long r_mov(void); void *r_lea(void); int r_cmp(void), r_tst(void), r_jmp(void), r_call(void), r_inc(void);
double r_sd(void); float r_avx(float);
int main(void)
{
    for (int i = 0; i < 1000; i++) {
        CHECK(r_mov() == v_long && r_lea() == (void *)&v_long);
        CHECK(r_cmp() == 1 && r_tst() == 1 && r_sd() == 2.5);
        CHECK(r_jmp() == 77 && r_call() == 78 && r_inc() == i + 1);
        if (__builtin_cpu_supports("avx")) CHECK(r_avx(10) == 11);
    }
    return case_ok();
}
