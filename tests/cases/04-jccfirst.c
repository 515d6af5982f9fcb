// SPDX-License-Identifier: MIT
// 04: short conditional and loop-count jumps among the displaced bytes
// time: j_fwd,j_in,j_rcx,j_ecx,j_loop,j_short,j_long,j_jcc32
// build: $CC -O2 -o $OUT $SRC
// run: $OUT
// expect: exit 0, prints "ok"; calls of every j_* = 200 (j_in, whose target lies inside the first five bytes, may be refused by name); recursive 0
#include "case.h"
__asm__(".text\n.p2align 4\n"
FN(j_fwd) "test %edi,%edi\njs 1f\nmov %edi,%eax\nret\n1: mov $-1,%eax\nret\n" END(j_fwd)
FN(j_in) "jrcxz 1f\nnop\n1: lea 1(%rdi),%eax\nret\n.skip 4,0xcc\n" END(j_in)
FN(j_rcx) "jrcxz 1f\nmov $1,%eax\nret\n1: xor %eax,%eax\nret\n" END(j_rcx)
FN(j_ecx) "jecxz 1f\nmov $1,%eax\nret\n1: xor %eax,%eax\nret\n" END(j_ecx)
FN(j_loop) "loop 1f\nmov $-5,%eax\nret\n1: mov %ecx,%eax\nret\n" END(j_loop)
FN(j_short) "jmp 1f\n.skip 60,0xcc\n1: lea 2(%rdi),%eax\nret\n" END(j_short)
FN(j_long) "jmp j_body\n" END(j_long)
FN(j_jcc32) "test %edi,%edi\njs j_neg\nmov %edi,%eax\nret\n.skip 200,0xcc\nj_neg: mov $-9,%eax\nret\n" END(j_jcc32)
".p2align 4\nj_body: lea 3(%rdi),%eax\nret\n.p2align 4\n");
int j_fwd(int), j_in(int, int, int, long), j_rcx(int, int, int, long), j_ecx(int, int, int, long);
int j_loop(int, int, int, long), j_short(int), j_long(int), j_jcc32(int);
int main(void)
{
    for (int i = 0; i < 100; i++) {
        CHECK(j_fwd(i) == i && j_fwd(-1 - i) == -1);
        CHECK(j_in(i, 0, 0, 0) == i + 1 && j_in(i, 0, 0, 9) == i + 1);
        CHECK(j_rcx(0, 0, 0, 0) == 0 && j_rcx(0, 0, 0, i + 1L) == 1);
        CHECK(j_ecx(0, 0, 0, 1L << 40) == 0 && j_ecx(0, 0, 0, i + 1L) == 1);
        CHECK(j_loop(0, 0, 0, 1) == -5 && j_loop(0, 0, 0, i + 2L) == i + 1);
        CHECK(j_short(i) == i + 2 && j_short(-i) == 2 - i);
        CHECK(j_long(i) == i + 3 && j_long(-i) == 3 - i);
        CHECK(j_jcc32(i) == i && j_jcc32(-1 - i) == -9);
    }
    return case_ok();
}
