// SPDX-License-Identifier: MIT
// 01: functions of one to five bytes packed against their neighbours
// time: tiny1,tiny2,tiny3,tiny4,tiny5
// build: $CC -O2 -o $OUT $SRC
// run: $OUT
// expect: exit 0, prints "ok"; the neighbours after1..after5 keep their code; calls tiny5=1000 or refused; calls tiny1=tiny2=tiny3=tiny4=1000 only if the tool has a way other than five bytes, else each is named as refused (too short) and the rest still timed
#include "case.h"
__asm__(".text\n.p2align 4\n"
FN(tiny1) "ret\n" END(tiny1)
FN(after1) "mov $11,%eax\nret\n" END(after1)
FN(tiny2) ".byte 0xf3,0xc3\n" END(tiny2)
FN(after2) "mov $12,%eax\nret\n" END(after2)
FN(tiny3) "xor %eax,%eax\nret\n" END(tiny3)
FN(after3) "mov $13,%eax\nret\n" END(after3)
FN(tiny4) "lea 1(%rdi),%eax\nret\n" END(tiny4)
FN(after4) "mov $14,%eax\nret\n" END(after4)
FN(tiny5) ".byte 0xf3,0x0f,0x1e,0xfa\nret\n" END(tiny5)
FN(after5) "mov $15,%eax\nret\n" END(after5)
".p2align 4\n");
void tiny1(void), tiny2(void), tiny5(void);
int tiny3(void), tiny4(int), after1(void), after2(void), after3(void), after4(void), after5(void);
int main(void)
{
    for (int i = 0; i < 1000; i++) {
        tiny1(); tiny2(); tiny5();
        CHECK(tiny3() == 0);
        CHECK(tiny4(i) == i + 1);
        CHECK(after1() == 11 && after2() == 12 && after3() == 13 && after4() == 14 && after5() == 15);
    }
    return case_ok();
}
