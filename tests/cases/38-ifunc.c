// SPDX-License-Identifier: MIT
// 38: IFUNC symbols: the program's own, and libc's memcpy and strlen
// time: pick,memcpy,strlen
// build: $CC -O2 -fno-builtin -o $OUT $SRC
// run: $OUT
// expect: exit 0, prints "ok"; calls pick=1000 is the chosen body, not the resolver (which ran once, before any timing); memcpy>=1000 and strlen>=1000 likewise; timing memcpy must not recurse through the tool's own copies
#include "case.h"
#include <string.h>
static int resolved;
KEEP static int pick_plain(int n) { HERE; return n + 1; }
KEEP static int pick_other(int n) { HERE; return n + 2; }
static int (*choose(void))(int) { resolved++; return __builtin_cpu_init(), __builtin_cpu_supports("sse2") ? pick_other : pick_plain; }
int pick(int n) __attribute__((ifunc("choose")));
static char src[4096], dst[4096];
int main(void)
{
    void *(*volatile cp)(void *, const void *, size_t) = memcpy;
    size_t (*volatile len)(const char *) = strlen;
    for (int i = 0; i < 1000; i++) {
        CHECK(pick(i) == i + 2);
        memset(src, 'a' + i % 26, sizeof src - 1);
        CHECK(cp(dst, src, (size_t)i * 4 + 8) == dst && dst[i * 4 + 7] == src[0]);
        src[i] = 0;
        CHECK(len(src) == (size_t)i);
    }
    CHECK(resolved >= 1);
    return case_ok();
}
