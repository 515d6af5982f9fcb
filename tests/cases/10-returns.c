// SPDX-License-Identifier: MIT
// 10: every kind of return register: rax:rdx, xmm0:xmm1, mixed, sret, x87 st0 and st1, __int128
// time: ret_ii,ret_dd,ret_id,ret_big,ret_ld,ret_cld,ret_i128,ret_f,ret_cd
// build: $CC -O2 -o $OUT $SRC
// run: $OUT
// expect: exit 0, prints "ok"; each named function calls=1000, recursive 0
#include "case.h"
#include <complex.h>
typedef struct { long a, b; } ii; typedef struct { double a, b; } dd;
typedef struct { long a; double b; } id; typedef struct { long v[9]; } big;
KEEP ii ret_ii(long x) { HERE; return (ii){x, ~x}; }
KEEP dd ret_dd(double x) { HERE; return (dd){x, -x}; }
KEEP id ret_id(long x) { HERE; return (id){x, x + 0.25}; }
KEEP big ret_big(long x) { big b; HERE; for (int i = 0; i < 9; i++) b.v[i] = x + i; return b; }
KEEP long double ret_ld(long x) { HERE; return x + 0x1p-40L; }
KEEP long double complex ret_cld(long x) { HERE; return (x + 0.5L) + (x - 0.5L) * (long double complex)I; }
KEEP __int128 ret_i128(long x) { HERE; return ((__int128)x << 64) | 0xabcdef; }
KEEP float ret_f(float x) { HERE; return x * 2; }
KEEP double complex ret_cd(double x) { HERE; return x + 1 + (x + 2) * (double complex)I; }
int main(void)
{
    for (long i = 0; i < 1000; i++) {
        ii a = ret_ii(i); CHECK(a.a == i && a.b == ~i);
        dd b = ret_dd(i); CHECK(b.a == i && b.b == -i);
        id c = ret_id(i); CHECK(c.a == i && c.b == i + 0.25);
        big d = ret_big(i); CHECK(d.v[0] == i && d.v[8] == i + 8);
        CHECK(ret_ld(i) == i + 0x1p-40L);
        long double complex e = ret_cld(i); CHECK(creall(e) == i + 0.5L && cimagl(e) == i - 0.5L);
        CHECK(ret_i128(i) == (((__int128)i << 64) | 0xabcdef));
        CHECK(ret_f(i) == 2.0f * i);
        double complex f = ret_cd(i); CHECK(creal(f) == i + 1 && cimag(f) == i + 2);
    }
    return case_ok();
}
