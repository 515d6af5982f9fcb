// SPDX-License-Identifier: MIT
// 09: variadic calls: xmm arguments and the vector count in al
// time: sum_d,mixed,al_is
// build: $CC -O2 -o $OUT $SRC
// run: $OUT
// expect: exit 0, prints "ok"; calls sum_d=1000 mixed=1000 al_is=256
#include "case.h"
#include <stdarg.h>
KEEP double sum_d(int n, ...)
{
    va_list a; double s = 0;
    va_start(a, n);
    for (int i = 0; i < n; i++) s += va_arg(a, double);
    va_end(a);
    return s;
}
KEEP double mixed(const char *fmt, ...)
{
    va_list a; double s = 0;
    va_start(a, fmt);
    for (; *fmt; fmt++) s += *fmt == 'i' ? va_arg(a, int) : *fmt == 'L' ? (double)va_arg(a, long double) : va_arg(a, double);
    va_end(a);
    return s;
}
__asm__(".text\n.p2align 4\n"
FN(al_is) "movzbl %al,%eax\nret\n.skip 4,0xcc\n" END(al_is)
FN(al_set) "sub $8,%rsp\nmov %edi,%eax\ncall al_is\nadd $8,%rsp\nret\n" END(al_set) ".p2align 4\n");
int al_set(int);
int main(void)
{
    for (int i = 0; i < 1000; i++) {
        double d = i;
        CHECK(sum_d(11, d, 1., 2., 3., 4., 5., 6., 7., 8., 9., 10.) == d + 55);
        CHECK(mixed("idLidididididi", i, 0.5, 1.0L, 1, 2., 3, 4., 5, 6., 7, 8., 9, 10., 11) == i + 0.5 + 1 + 66);
    }
    for (int i = 0; i < 256; i++) CHECK(al_set(i) == i);
    return case_ok();
}
