// SPDX-License-Identifier: MIT
// 17: sibling calls between timed functions, and a state machine that never returns to its first caller
// time: first,second,third,even,odd
// build: $CC -O2 -foptimize-sibling-calls -o $OUT $SRC
// run: $OUT
// expect: exit 0, prints "ok"; calls first=1000 second=1000 third=1000 recursive 0; even=2000001 odd=2000000 in one chain of jumps on one stack slot (recursive even=2000000 odd=1999999 if a tail call keeps its caller active, 0 if it ends it; either, but documented); memory stays bounded (growth < 64 MB); every exit of a chain returns to the true caller
#include "case.h"
KEEP int third(int x) { HERE; return x + 3; }
KEEP int second(int x) { HERE; return third(x * 2); }
KEEP int first(int x) { HERE; return second(x + 1); }
static char *lo = (char *)-1L, *hi;
KEEP int odd(unsigned n);
static inline void mark(void) { char *p = __builtin_frame_address(0); if (p < lo) lo = p; if (p > hi) hi = p; }
KEEP int even(unsigned n) { HERE; if (!(n & 0xffff)) mark(); if (!n) return 1; return odd(n - 1); }
KEEP int odd(unsigned n) { HERE; if (!n) return 0; return even(n - 1); }
int main(void)
{
    for (int i = 0; i < 1000; i++) CHECK(first(i) == 2 * (i + 1) + 3);
    long r0 = case_rss_kb();
    CHECK(even(4000000) == 1);
    CHECK(hi - lo < 4096);              // the compiler did make jumps of the calls
    CHECK(case_rss_kb() - r0 < 65536);
    return case_ok();
}
