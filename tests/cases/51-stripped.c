// SPDX-License-Identifier: MIT
// 51: a stripped, non-PIE program: functions given by address
// time: 0x10000000,0x10000040
// build: $CC -O2 -fno-pie -no-pie -s -o $OUT $SRC -Wl,--section-start=.wtmtext=0x10000000
// run: $OUT
// expect: exit 0, prints "ok"; calls 0x10000000=500 0x10000040=250 (a number is an absolute address here; the report names them by address); a name like "work" is reported as not found
#include "case.h"
__asm__(".section .wtmtext,\"ax\",@progbits\n.p2align 6\n"
"at0: push %rbx\nmov %edi,%ebx\nlea 1(%rbx),%eax\npop %rbx\nret\n.p2align 6\n"
"at40: mov tab(,%rdi,4),%eax\nret\n.p2align 6\n.previous\n"
".data\ntab: .long 3,5,7,9\n.text\n");
int main(void)
{
    int (*volatile a)(int) = (int (*)(int))0x10000000, (*volatile b)(long) = (int (*)(long))0x10000040;
    for (int i = 0; i < 500; i++) { CHECK(a(i) == i + 1); if (i & 1) CHECK(b(i & 3) == 3 + 2 * (i & 3)); }
    return case_ok();
}
