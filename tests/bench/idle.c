/* SPDX-License-Identifier: MIT
 * Ends at once; has ten functions to name. */
#define REAL __attribute__((noinline, used))
#define ONE(n) REAL int idle_##n(int x); REAL int idle_##n(int x) { __asm__ volatile("" ::: "memory"); return x + n; }
ONE(0) ONE(1) ONE(2) ONE(3) ONE(4) ONE(5) ONE(6) ONE(7) ONE(8) ONE(9)
int main(void) { return 0; }
