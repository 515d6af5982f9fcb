// SPDX-License-Identifier: MIT
// 12: many stack arguments, a struct by value, and a 16-byte aligned frame
// time: wide,byval,aligned
// build: $CC -O2 -o $OUT $SRC
// run: $OUT
// expect: exit 0, prints "ok"; calls wide=1000 byval=1000 aligned=1000: stack arguments keep their offset from the return address
#include "case.h"
#include <stdint.h>
struct blob { long v[6]; char tail[5]; };
KEEP long wide(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j, long k, long l, long m, long n,
               double p, double q, double r, double s, double t, double u, double v, double w, double x, double y)
{
    HERE;
    return a + 2*b + 3*c + 4*d + 5*e + 6*f + 7*g + 8*h + 9*i + 10*j + 11*k + 12*l + 13*m + 14*n + (long)(p + q + r + s + t + u + v + w + 3*x + 5*y);
}
KEEP long byval(struct blob b, int k, struct blob c) { HERE; return b.v[5] - c.v[0] + k + b.tail[4] + c.tail[0]; }
KEEP int aligned(int n) { int buf[8] __attribute__((aligned(16))); HERE; for (int i = 0; i < 8; i++) buf[i] = n; __asm__ volatile("movaps %0,%%xmm1" :: "m"(buf) : "xmm1"); return ((uintptr_t)buf & 15) == 0 && buf[3] == n; }
int main(void)
{
    struct blob b = {{1, 2, 3, 4, 5, 6}, "abcd"}, c = {{9, 8, 7, 6, 5, 4}, "wxyz"};
    for (long i = 0; i < 1000; i++) {
        CHECK(wide(i, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, i, 1, 1, 1, 1, 1, 1, 1, 1, 1, i) == 15 * i + 90 + 8 + 3 + 5 * i);
        b.v[5] = i;
        CHECK(byval(b, 3, c) == i - 9 + 3 + 0 + 'w');
        CHECK(aligned((int)i));
    }
    return case_ok();
}
