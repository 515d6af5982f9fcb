// SPDX-License-Identifier: MIT
// 66: glibc's mempcpy jumps to memcpy+3: patching memcpy's first five bytes breaks a function nobody named
// time: memcpy,memmove
// build: $CC -O2 -fno-builtin -o $OUT $SRC
// run: $OUT
// expect: exit 0, prints "ok"; mempcpy, memcpy and memmove results are right for every size; memcpy and memmove share one body here: refused by name because of the foreign branch into its bytes 1..4 (seen only by scanning all of libc's text), or calls>=2000 by a way that keeps that branch working
#define _GNU_SOURCE
#include "case.h"
#include <string.h>
static unsigned char a[9000], b[9000];
int main(void)
{
    void *(*volatile mp)(void *, const void *, size_t) = mempcpy, *(*volatile mc)(void *, const void *, size_t) = memcpy, *(*volatile mm)(void *, const void *, size_t) = memmove;
    for (int i = 0; i < 9000; i++) a[i] = (unsigned char)(i * 37 + 11);
    for (size_t n = 0; n < 1000; n++) {
        size_t len = n < 600 ? n : n * 8;
        memset(b, 0, sizeof b);
        CHECK(mp(b, a, len) == b + len && !memcmp(a, b, len) && b[len] == 0);
        memset(b, 0, sizeof b);
        CHECK(mc(b, a, len) == b && !memcmp(a, b, len) && b[len] == 0);
        CHECK(mm(b + 1, b, len) == b + 1 && !memcmp(a, b + 1, len));
    }
    return case_ok();
}
