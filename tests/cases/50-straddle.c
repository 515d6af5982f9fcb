// SPDX-License-Identifier: MIT
// 50: the five bytes straddle a cache line, and a page, while other threads already run the functions
// time: line_fn,page_fn
// build: $CC -O2 -o $OUT $SRC -pthread
// run: $OUT
// expect: exit 0, prints "ok"; calls line_fn=400000 page_fn=400000 (threads begin in a constructor, so patching at start-up must come earlier or be safe against them); both pages keep r-x
#include "case.h"
#include <pthread.h>
__asm__(".text\n.p2align 12\n.skip 61,0xcc\n"
FN(line_fn) "lea 1(%rdi),%eax\nnop\nnop\nret\n.skip 3,0xcc\n" END(line_fn)
".p2align 12\n.skip 4093,0xcc\n"
FN(page_fn) "lea 2(%rdi),%eax\nnop\nnop\nret\n" END(page_fn)
".p2align 4\n");
int line_fn(int), page_fn(int);
static pthread_t t[4]; static volatile int bad;
static void *body(void *a) { for (int i = 0; i < 100000; i++) if (line_fn(i) != i + 1 || page_fn(i) != i + 2) bad = 1; return a; }
__attribute__((constructor)) static void early(void) { for (int i = 0; i < 4; i++) if (pthread_create(&t[i], NULL, body, NULL)) bad = 2; }
int main(void)
{
    int (*volatile a)(int) = line_fn, (*volatile b)(int) = page_fn;      // volatile: compilers assume aligned functions
    CHECK(((unsigned long)a & 63) == 61 && ((unsigned long)b & 4095) == 4093);
    for (int i = 0; i < 4; i++) CHECK(!pthread_join(t[i], NULL));
    CHECK(!bad);
    return case_ok();
}
