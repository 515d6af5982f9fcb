// SPDX-License-Identifier: MIT
// 18: mutual and direct recursion, exact recursive counts
// time: ping,pong,fib,fact
// build: $CC -O2 -fno-optimize-sibling-calls -o $OUT $SRC
// run: $OUT
// expect: exit 0, prints "ok"; calls ping=5010 recursive 5000, pong=5000 recursive 4990, fib=21891 recursive 21890, fact=13 recursive 12; inclusive time of a recursive function is counted once, for its outermost activation
#include "case.h"
KEEP int pong(int n);
KEEP int ping(int n) { int r = n ? pong(n - 1) : 0; HERE; return r + 1; }
KEEP int pong(int n) { int r = n ? ping(n - 1) : 0; HERE; return r + 1; }
KEEP long fib(int n) { long r = n < 2 ? n : fib(n - 1) + fib(n - 2); HERE; return r; }
KEEP long fact(long n) { long r = n ? n * fact(n - 1) : 1; HERE; return r; }
int main(void)
{
    for (int i = 0; i < 10; i++) CHECK(ping(1000) == 1001);
    CHECK(fib(20) == 6765);
    CHECK(fact(12) == 479001600);
    return case_ok();
}
