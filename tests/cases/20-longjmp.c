// SPDX-License-Identifier: MIT
// 20: longjmp out of timed frames a million times: no leak, no stale frame
// time: thrower,middle,keeper
// build: $CC -O2 -fno-optimize-sibling-calls -o $OUT $SRC
// run: $OUT
// expect: exit 0, prints "ok"; calls thrower=1000000 middle=1000000 all abnormal; keeper=1000 abnormal 0 (a setjmp inside it is returned to); recursive 0 everywhere (a jumped-over activation is no longer active); memory growth < 16 MB
#include "case.h"
#include <setjmp.h>
static jmp_buf top;
KEEP void thrower(int n) { HERE; longjmp(top, n + 1); }
KEEP int middle(int n) { thrower(n); HERE; return n; }
KEEP int keeper(int n)
{
    jmp_buf save; volatile int hit = 0;
    __builtin_memcpy(save, top, sizeof save);
    for (int i = 0; i < 3; i++) if (setjmp(top) == 0) hit += i; else hit += 100;
    __builtin_memcpy(top, save, sizeof save);
    HERE;
    return n + hit;
}
int main(void)
{
    volatile long i, sum = 0, r0 = 0;
    for (i = 0; i < 1000000; i++) {
        int r = setjmp(top);
        if (r == 0) middle((int)(i % 1000));
        else sum += r;
        if (i == 1000) r0 = case_rss_kb();
    }
    CHECK(sum == 500500L * 1000);
    CHECK(case_rss_kb() - r0 < 16384);
    for (i = 0; i < 1000; i++) CHECK(keeper((int)i) == i + 3);
    return case_ok();
}
