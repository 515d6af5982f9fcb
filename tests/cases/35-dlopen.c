// SPDX-License-Identifier: MIT
// 35: a timed function in a library that is loaded, dropped, loaded again, with another library put in its place between
// time: plug,host
// build: $CC -O2 -fPIC -shared -DLIB=1 -o $OUT.a.so $SRC && $CC -O2 -fPIC -shared -DLIB=2 -o $OUT.b.so $SRC && $CC -O2 -o $OUT $SRC
// run: $OUT $OUT.a.so $OUT.b.so
// expect: exit 0, prints "ok"; calls host=50; plug=50*10 over all loadings of the first library (pad, the second library's function at the same place, is not named and must not be counted or crashed by a stale patch); if the tool does not follow dlopen it must say plug was not found and count none
#include "case.h"
#include <dlfcn.h>
#if LIB == 1
KEEP int plug(int n) { HERE; return n * 3; }
#elif LIB == 2
KEEP int pad(int n) { HERE; return n * 5; }
#else
KEEP int host(int n) { HERE; return n; }
int main(int c, char **v)
{
    CHECK(c == 3);
    for (int i = 0; i < 50; i++) {
        void *h = dlopen(v[1], RTLD_NOW); CHECK(h);
        int (*f)(int) = (int (*)(int))dlsym(h, "plug"); CHECK(f);
        for (int k = 0; k < 10; k++) CHECK(f(k) == 3 * k);
        CHECK(!dlclose(h));
        void *g = dlopen(v[2], RTLD_LAZY); CHECK(g);
        f = (int (*)(int))dlsym(g, "pad"); CHECK(f);
        for (int k = 0; k < 10; k++) CHECK(f(k) == 5 * k);
        CHECK(!dlclose(g) && host(i) == i);
    }
    return case_ok();
}
#endif
