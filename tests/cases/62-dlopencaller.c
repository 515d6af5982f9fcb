// SPDX-License-Identifier: MIT
// 62: dlopen looks at its caller: $ORIGIN and RUNPATH of the library that asks
// time: dlopen,dlsym,opener
// build: mkdir -p $OUT.d/sub && $CC -O2 -fPIC -shared -DLIB=2 -o $OUT.d/sub/libwtminner.so $SRC && $CC -O2 -fPIC -shared -DLIB=1 -o $OUT.d/libwtmouter.so $SRC -Wl,-rpath,'$ORIGIN/sub',--enable-new-dtags && $CC -O2 -o $OUT $SRC $OUT.d/libwtmouter.so -Wl,-rpath,$OUT.d
// run: $OUT
// expect: exit 0, prints "ok"; calls opener=20, dlopen>=20 and dlsym>=20 or both refused by name: with a return slot in anonymous memory glibc takes the main program for the caller and the inner library is not found
#define _GNU_SOURCE
#include "case.h"
#include <dlfcn.h>
#if LIB == 2
KEEP int inner(int n) { HERE; return n + 6; }
#elif LIB == 1
KEEP int opener(int n)
{
    void *h = dlopen("libwtminner.so", RTLD_NOW | RTLD_LOCAL);
    if (!h) { fprintf(stderr, "%s\n", dlerror()); return -1; }
    int (*f)(int) = (int (*)(int))dlsym(h, "inner");
    int r = f(n);
    dlclose(h);
    HERE;
    return r;
}
#else
int opener(int n);
int main(void)
{
    for (int i = 0; i < 20; i++) CHECK(opener(i) == i + 6);
    return case_ok();
}
#endif
