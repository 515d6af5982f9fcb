// SPDX-License-Identifier: MIT
// 48: several names of one body: strong, weak and folded aliases, two of them asked for
// time: real_fn,strong_alias,weak_alias
// build: $CC -O2 -o $OUT $SRC
// run: $OUT
// expect: exit 0, prints "ok"; the one body is patched once and entered 600 times: one row of 600 that lists its names, or the same 600 under each name, never 1800 in sum by nested trampolines; recursive 0
#include "case.h"
KEEP int real_fn(int n) { HERE; return n + 1; }
int strong_alias(int n) __attribute__((alias("real_fn")));
int weak_alias(int n) __attribute__((weak, alias("real_fn")));
int untold_alias(int n) __attribute__((alias("real_fn")));
int (*volatile f[4])(int) = {real_fn, strong_alias, weak_alias, untold_alias};
int main(void)
{
    CHECK(f[0] == f[1] && f[1] == f[2] && f[2] == f[3]);
    for (int i = 0; i < 600; i++) CHECK(f[i & 3](i) == i + 1);
    return case_ok();
}
