// SPDX-License-Identifier: MIT
// 52: a non-PIE program at 0x400000 with a gigabyte of bss behind it: trampolines must be found near, not in the heap
// time: work,jumpy
// build: $CC -O2 -fno-pie -no-pie -o $OUT $SRC
// run: $OUT
// expect: exit 0, prints "ok"; calls work=1000 jumpy=1000; sbrk still grows in place by 256 MB (no trampoline put right behind the heap)
#define _DEFAULT_SOURCE
#include "case.h"
static char room[1u << 30];
static int tab[4] = {1, 2, 3, 4};
KEEP int work(int i) { HERE; return tab[i & 3]; }             // absolute 32-bit addressing
KEEP int jumpy(int i) { HERE; switch (i & 7) { case 0: return 5; case 1: return tab[1]; case 2: return 9; case 3: return tab[0]; case 4: return i; case 5: return -i; default: return 0; } }
int main(void)
{
    CHECK((unsigned long)work < 0x80000000ul);
    room[12345] = 1; room[sizeof room - 1] = 2;
    for (int i = 0; i < 1000; i++) { CHECK(work(i) == 1 + (i & 3)); CHECK(jumpy(8 * i + 2) == 9); }
    char *a = sbrk(0), *b = sbrk(256 << 20);
    CHECK(b != (void *)-1 && b == a);
    a[1000] = 1; a[(256 << 20) - 1] = 1;
    CHECK(!brk(a));
    return case_ok();
}
