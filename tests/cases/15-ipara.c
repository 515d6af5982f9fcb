// SPDX-License-Identifier: MIT
// 15: -fipa-ra: the caller keeps values in caller-saved registers the callee never writes
// time: dot3,bump
// build: $CC -O2 -fno-inline -o $OUT $SRC
// run: $OUT
// expect: exit 0, prints "ok"; calls dot3=100000 bump=100000; tool code writes none of rdi rsi rdx rcx r8-r11 xmm as the caller sees them, though the C ABI would allow it
#include "case.h"
// no noipa here: it would switch the optimisation off
#ifdef __clang__
#define PLAIN __attribute__((noinline))
#else
#define PLAIN __attribute__((noinline, noclone))
#endif
static PLAIN long dot3(const int *p, const int *q)
{
    __asm__ volatile("");
    return p[0] * q[0] + p[1] * q[1] + p[2] * q[2];
}
PLAIN long bump(long k) { __asm__ volatile(""); return k + 3; }
static PLAIN long drive(const int *p, const int *q, int n, double w)
{
    long s = 0;
    for (int i = 0; i < n; i++) { s += dot3(p, q); s += bump(s & 7); s -= (long)(w * 2); }
    return s + p[0] + q[2] + n + (long)w;
}
int main(void)
{
    volatile int z = 1;
    int p[3] = {z, 2, 3}, q[3] = {4, 5, z * 6};
    long want = 0;
    for (int i = 0; i < 100000; i++) { want += 32; want += (want & 7) + 3; want -= 5; }
    want += 1 + 6 + 100000 + 2;
    CHECK(drive(p, q, 100000, 2.5) == want);
    return case_ok();
}
