// SPDX-License-Identifier: MIT
// 16: the first displaced instructions store below rsp; the way back must not push there
// time: rz5,rz_leaf,rz_flags
// build: $CC -O2 -o $OUT $SRC
// run: $OUT
// expect: exit 0, prints "ok"; calls rz5=1000 rz_leaf=1000 rz_flags=1000: nothing below rsp and no flag changes between the displaced code and the rest
#include "case.h"
__asm__(".text\n.p2align 4\n"
// a five byte store to the red zone, then the reload after the patch
FN(rz5) "mov %rdi,-8(%rsp)\nmov %rsi,-16(%rsp)\nmov -8(%rsp),%rax\nadd -16(%rsp),%rax\nret\n" END(rz5)
// the flags computed in the displaced bytes are used after them
FN(rz_flags) "cmp %rsi,%rdi\nmov %edx,%eax\ncmovb %ecx,%eax\nret\n" END(rz_flags)
".p2align 4\n");
long rz5(long, long); int rz_flags(long, long, int, int);
KEEP int rz_leaf(int a, int b)
{
    volatile int t[16];
    for (int i = 0; i < 16; i++) t[i] = a * i + b;
    return t[3] + t[15];
}
int main(void)
{
    for (int i = 0; i < 1000; i++) {
        CHECK(rz5(i, 2L * i) == 3L * i);
        CHECK(rz_leaf(i, 5) == 18 * i + 10);
        CHECK(rz_flags(i, 500, 7, 8) == (i < 500 ? 8 : 7));
    }
    return case_ok();
}
