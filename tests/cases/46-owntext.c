// SPDX-License-Identifier: MIT
// 46: a program that checks its own code: the text stays as it was at main, its pages stay r-x, and it may patch itself
// time: work
// build: $CC -O2 -Wl,-z,separate-code -o $OUT $SRC
// run: $OUT
// expect: exit 0, prints "ok"; calls work=2000; between main and exit the text bytes do not change (arming by signal not used), no text page is left writable, and the program's own change of a byte in the page of a timed function survives
#define _GNU_SOURCE
#include "case.h"
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
extern char etext;
int main(void);
KEEP int work(int n) { HERE; return n + 1; }
KEEP int patched(void) { HERE; return 0x11223344; }
static uint64_t sum(void)
{
    uint64_t h = 1469598103934665603u;
    const volatile char *p = (char *)((uintptr_t)main & ~4095ul);
    for (; p < &etext; p++) h = (h ^ (unsigned char)*p) * 1099511628211u;
    return h;
}
static int perms(const char *want)
{
    char line[512], pr[8]; unsigned long a, b; int ok = 0;
    FILE *f = fopen("/proc/self/maps", "r");
    while (f && fgets(line, sizeof line, f)) if (sscanf(line, "%lx-%lx %4s", &a, &b, pr) == 3 && (uintptr_t)work >= a && (uintptr_t)work < b) ok = !strcmp(pr, want);
    if (f) fclose(f);
    return ok;
}
int main(void)
{
    CHECK(perms("r-xp"));
    uint64_t h = sum();
    for (int i = 0; i < 1000; i++) CHECK(work(i) == i + 1);
    CHECK(sum() == h);
    int (*volatile again)(void) = patched;                  // volatile: the compiler knows the old constant
    char *p = (char *)patched; int v = 0x11223344, i;
    for (i = 0; i < 16 && memcmp(p + i, &v, 4); i++) ;
    CHECK(i < 16);
    char *pg = (char *)((uintptr_t)p & ~4095ul);
    CHECK(!mprotect(pg, 8192, PROT_READ | PROT_WRITE | PROT_EXEC) || !mprotect(pg, 4096, PROT_READ | PROT_WRITE | PROT_EXEC));
    p[i] = 0x55;
    if (mprotect(pg, 8192, PROT_READ | PROT_EXEC)) CHECK(!mprotect(pg, 4096, PROT_READ | PROT_EXEC));
    for (i = 0; i < 1000; i++) CHECK(work(i) == i + 1 && again() == 0x11223355);
    CHECK(perms("r-xp") && sum() != h);
    return case_ok();
}
