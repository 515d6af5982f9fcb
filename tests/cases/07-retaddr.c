// SPDX-License-Identifier: MIT
// 07: a timed function reads its own return address; an untimed callee reads its caller
// time: who_called,outer
// build: $CC -O2 -g -o $OUT $SRC
// run: $OUT
// expect: exit 0, prints "ok"; calls who_called=100 outer=100; known hard for a return-slot design: if who_called cannot see its true caller the tool must refuse it (or document it) and the case is then marked so, while outer must be right in any design
#include "case.h"
static void *seen;
KEEP void inner(void) { HERE; seen = __builtin_return_address(0); }
KEEP int outer(int n) { inner(); HERE; return n + 1; }
KEEP void *who_called(void) { HERE; return __builtin_return_address(0); }
KEEP void *site_a(void) { void *p = who_called(); HERE; return p; }
KEEP void *site_b(void) { void *p = who_called(); HERE; return p; }
static int near(void *p, void *f) { return (char *)p > (char *)f && (char *)p < (char *)f + 64; }
int main(void)
{
    for (int i = 0; i < 50; i++) {
        CHECK(outer(i) == i + 1 && near(seen, (void *)outer));
        CHECK(outer(i) == i + 1);
        CHECK(near(site_a(), (void *)site_a));
        CHECK(near(site_b(), (void *)site_b));
    }
    return case_ok();
}
