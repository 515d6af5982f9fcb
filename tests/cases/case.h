// SPDX-License-Identifier: MIT
// Shared by the cases. KEEP: one out-of-line copy, called for real every time.
#ifndef CASE_H
#define CASE_H
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#if defined(__clang__)
#define KEEP __attribute__((noinline, used))
#else
#define KEEP __attribute__((noipa, used))
#endif
#define HERE __asm__ volatile("" ::: "memory")   // makes a body impure: no call is folded away
#define CHECK(c) do { if (!(c)) { \
    fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #c); _Exit(1); } } while (0)
static inline long case_rss_kb(void)
{
    long a = 0, b = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f) { if (fscanf(f, "%ld %ld", &a, &b) != 2) b = 0; fclose(f); }
    return b * (sysconf(_SC_PAGESIZE) / 1024);
}
static inline int case_ok(void) { puts("ok"); fflush(stdout); return 0; }
// FN(name): opens a global function in a top-level asm block; END(name) closes it.
#define FN(n) ".globl " #n "\n.type " #n ",@function\n" #n ":\n"
#define END(n) ".size " #n ",.-" #n "\n"
#endif
