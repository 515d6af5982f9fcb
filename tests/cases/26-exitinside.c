// SPDX-License-Identifier: MIT
// 26: exit() two levels inside timed functions, with atexit handlers that call timed functions
// time: level1,level2,late
// build: $CC -O2 -fno-optimize-sibling-calls -o $OUT $SRC
// run: $OUT
// expect: exit 0, prints "ok"; calls level1=1 level2=1 still running at exit; late=6 (three in atexit handlers, two in a destructor, one before); the report is printed once, after the handlers, and with whole lines
#include "case.h"
static int n;
KEEP int late(int x) { HERE; n++; return x; }
static void h1(void) { late(1); late(2); }
static void h2(void) { late(3); }
__attribute__((destructor)) static void fini(void) { late(4); late(5); CHECK(n == 6); case_ok(); }
KEEP void level2(int c) { HERE; exit(c); }
KEEP void level1(int c) { level2(c); HERE; }
int main(void) { atexit(h1); atexit(h2); late(0); level1(0); return 3; }
