// SPDX-License-Identifier: MIT
// 67: two files with the same functions at the same offsets, loaded and dropped in turns, at the same addresses as a rule
// time: plug,pin,host
// build: $CC -O2 -fPIC -shared -DLIB=1 -o $OUT.a.so $SRC && cp $OUT.a.so $OUT.b.so && $CC -O2 -o $OUT $SRC
// run: $OUT $OUT.a.so $OUT.b.so
// expect: exit 0, prints "ok"; calls host=40; plug and pin have one row for each of the two files, however often it came back: 40*10 and 40*1 calls in the first file, 40*3 and 40*2 in the second
#include "case.h"
#include <dlfcn.h>
#if LIB == 1
KEEP int plug(int n) { HERE; return n * 3; }
KEEP int pin(int n) { HERE; return n * 5; }
#else
KEEP int host(int n) { HERE; return n; }
static int turn(const char *path, int plugs, int pins)
{
    void *h = dlopen(path, RTLD_NOW); CHECK(h);
    int (*f)(int) = (int (*)(int))dlsym(h, "plug"), (*g)(int) = (int (*)(int))dlsym(h, "pin"); CHECK(f && g);
    for (int k = 0; k < plugs; k++) CHECK(f(k) == 3 * k);
    for (int k = 0; k < pins; k++) CHECK(g(k) == 5 * k);
    return dlclose(h);
}
int main(int c, char **v)
{
    CHECK(c == 3);
    for (int i = 0; i < 40; i++) {
        CHECK(!turn(v[1], 10, 1));
        CHECK(!turn(v[2], 3, 2) && host(i) == i);
    }
    return case_ok();
}
#endif
