// SPDX-License-Identifier: MIT
// 06: endbr64 at every entry, reached through pointers
// time: eb_add,eb_mul,eb_bare
// build: $CC -O2 -fcf-protection=full -o $OUT $SRC
// run: $OUT
// expect: exit 0, prints "ok"; calls eb_add=1000 eb_mul=1000; eb_bare=1000 or refused; recursive 0
#include "case.h"
KEEP int eb_add(int a, int b) { HERE; return a + b; }
KEEP int eb_mul(int a, int b) { HERE; return a * b; }
__asm__(".text\n.p2align 4\n"
FN(eb_bare) "endbr64\nret\n" END(eb_bare)
FN(eb_next) "endbr64\nmov $3,%eax\nret\n" END(eb_next) ".p2align 4\n");
void eb_bare(void); int eb_next(void);
int (*volatile op[2])(int, int) = {eb_add, eb_mul};
void (*volatile bare)(void) = eb_bare;
int main(void)
{
    long s = 0;
    for (int i = 0; i < 2000; i++) s += op[i & 1](i, 2);
    for (int i = 0; i < 1000; i++) { bare(); CHECK(eb_next() == 3); }
    CHECK(s == 999000L + 2000 + 2 * 1000000L);
    return case_ok();
}
