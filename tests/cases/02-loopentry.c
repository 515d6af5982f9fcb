// SPDX-License-Identifier: MIT
// 02: a backward jump lands inside the first five bytes
// time: loop0,loop2,loop3
// build: $CC -O2 -o $OUT $SRC
// run: $OUT
// expect: exit 0, prints "ok"; each of loop0, loop2, loop3 is either refused by name or calls=100 (never 100 times the trip count), recursive=0
#include "case.h"
__asm__(".text\n.p2align 4\n"
// loops to its own first byte: the jump is not a new call
FN(loop0) "dec %rdi\njnz loop0\nmov %rsi,%rax\nret\n.skip 8,0xcc\n" END(loop0)
// target at offset 2
FN(loop2) "xor %eax,%eax\n1: inc %eax\ndec %edi\njnz 1b\nret\n.skip 8,0xcc\n" END(loop2)
// target at offset 3, jump from far behind
FN(loop3) "push %rbx\nxor %eax,%eax\n2: add $3,%eax\nmov %edi,%ebx\n.skip 40,0x90\ndec %edi\njnz 2b\npop %rbx\nret\n" END(loop3)
".p2align 4\n");
long loop0(long n, long r);
int loop2(int n), loop3(int n);
int main(void)
{
    for (int i = 1; i <= 100; i++) {
        CHECK(loop0(i, i * 7L) == i * 7L);
        CHECK(loop2(i) == i);
        CHECK(loop3(i) == 3 * i);
    }
    return case_ok();
}
