// SPDX-License-Identifier: MIT
// 36: one name, five bodies: a global in the program, one in each of two local libraries, two file-local ones
// time: twin
// build: $CC -O2 -fPIC -shared -DLIB=1 -o $OUT.a.so $SRC && $CC -O2 -fPIC -shared -DLIB=2 -o $OUT.b.so $SRC && $CC -O2 -DUNIT -c -o $OUT.o $SRC && $CC -O2 -o $OUT $SRC $OUT.o
// run: $OUT $OUT.a.so $OUT.b.so
// expect: exit 0, prints "ok"; the program's two local twins run 10 and 20 times, the libraries' 30 and 40 times: five bodies, hence either one row each or one row of 100 (or, if the tool times only some, it names the others as not timed); never 10 in the place of 100 without a word
#include "case.h"
#include <dlfcn.h>
#if LIB
KEEP int twin(int n) { HERE; return n + 10 * LIB; }
#elif defined(UNIT)
KEEP static int twin(int n) { HERE; return n + 3; }
int use_second(int n) { return twin(n); }
#else
int use_second(int n);
KEEP static int twin(int n) { HERE; return n + 2; }
int main(int c, char **v)
{
    int (*f[2])(int);
    CHECK(c == 3);
    for (int i = 0; i < 2; i++) {
        void *h = dlopen(v[1 + i], RTLD_NOW | RTLD_LOCAL); CHECK(h);
        f[i] = (int (*)(int))dlsym(h, "twin"); CHECK(f[i]);
    }
    for (int i = 0; i < 10; i++) CHECK(twin(i) == i + 2);
    for (int i = 0; i < 20; i++) CHECK(use_second(i) == i + 3);
    for (int i = 0; i < 30; i++) CHECK(f[0](i) == i + 10);
    for (int i = 0; i < 40; i++) CHECK(f[1](i) == i + 20);
    return case_ok();
}
#endif
