// SPDX-License-Identifier: MIT
// 39: libc's own entry points: read, write, malloc, free, qsort with a timed comparator, getpid, time
// time: read,write,malloc,free,cmp,getpid,time,labs
// build: $CC -O2 -fno-builtin -o $OUT $SRC
// run: $OUT
// expect: exit 0, prints "ok"; calls read>=1000 write>=1000 malloc>=1000 free>=1000 getpid>=1000 labs=1000 (time>=1000, or refused where libc's time is an IFUNC into the vdso); cmp equals the number printed as "cmp N"; the tool's own reads, writes and mallocs are not counted
#include "case.h"
#include <time.h>
static long ncmp; static int arr[1000];
KEEP int cmp(const void *a, const void *b) { ncmp++; HERE; return *(const int *)a - *(const int *)b; }
int main(void)
{
    int p[2]; long sum = 0;
    CHECK(!pipe(p));
    for (int i = 0; i < 1000; i++) {
        char b[8]; int n = snprintf(b, sizeof b, "%d", i);
        CHECK(write(p[1], b, (size_t)n + 1) == n + 1 && read(p[0], b, sizeof b) == n + 1);
        void *m = malloc((size_t)i + 1); CHECK(m); *(char *)m = b[0]; free(m);
        sum += labs(-(long)atoi(b));
        CHECK(getpid() > 0 && time(NULL) > 0);
        arr[i] = (i * 7919) % 1000;
    }
    CHECK(sum == 499500);
    qsort(arr, 1000, sizeof *arr, cmp);
    for (int i = 0; i < 1000; i++) CHECK(arr[i] == i);
    printf("cmp %ld\n", ncmp);
    return case_ok();
}
