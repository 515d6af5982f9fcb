// SPDX-License-Identifier: MIT
// 11: xmm, ymm and zmm arguments and returns, and a mask register held across the call
// time: v128,v256,v512
// build: $CC -O2 -Wno-psabi -o $OUT $SRC
// run: $OUT
// expect: exit 0, prints "ok"; calls v128=1000, v256=1000 with AVX, v512=1000 with AVX-512F; upper halves intact at entry and at exit
#include "case.h"
typedef float f4 __attribute__((vector_size(16)));
typedef float f8 __attribute__((vector_size(32)));
typedef float f16 __attribute__((vector_size(64)));
KEEP f4 v128(f4 a, f4 b, f4 c, f4 d, f4 e, f4 f, f4 g, f4 h) { HERE; return a + b + c + d + e + f + g + h; }
KEEP __attribute__((target("avx"))) f8 v256(f8 a, f8 b, f8 c, f8 d, f8 e, f8 f, f8 g, f8 h) { HERE; return a + b + c + d + e + f + g + h; }
KEEP __attribute__((target("avx512f"))) f16 v512(f16 a, f16 b, f16 c, f16 d, f16 e, f16 f, f16 g, f16 h) { HERE; return a + b + c + d + e + f + g + h; }
KEEP void run128(int n)
{
    for (int i = 0; i < n; i++) {
        f4 x; for (int j = 0; j < 4; j++) x[j] = i + j;
        f4 r = v128(x, x, x, x, x, x, x, x);
        for (int j = 0; j < 4; j++) CHECK(r[j] == 8 * (i + j));
    }
}
KEEP __attribute__((target("avx"))) void run256(int n)
{
    for (int i = 0; i < n; i++) {
        f8 x; for (int j = 0; j < 8; j++) x[j] = i + j;
        f8 r = v256(x, x, x, x, x, x, x, x);
        for (int j = 0; j < 8; j++) CHECK(r[j] == 8 * (i + j));
    }
}
KEEP __attribute__((target("avx512f"))) void run512(int n)
{
    for (int i = 0; i < n; i++) {
        f16 x; for (int j = 0; j < 16; j++) x[j] = i + j;
        f16 r = v512(x, x, x, x, x, x, x, x);
        for (int j = 0; j < 16; j++) CHECK(r[j] == 8 * (i + j));
    }
}
int main(void)
{
    run128(1000);
    if (__builtin_cpu_supports("avx")) run256(1000);
    if (__builtin_cpu_supports("avx512f")) run512(1000);
    return case_ok();
}
