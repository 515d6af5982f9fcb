// SPDX-License-Identifier: MIT
// 58: main itself, constructors, destructors, atexit handlers and a thread's start routine are timed
// time: main,ctor,dtor,at_exit,body
// build: $CC -O2 -o $OUT $SRC -pthread
// run: $OUT
// expect: exit 0, prints "ok" from the destructor; calls main=1 returned, ctor=1, at_exit=1, body=3, dtor=1 (or the tool says that what runs after its report is not seen); the arguments and environment reach main unchanged
#include "case.h"
#include <pthread.h>
#include <string.h>
static int step;
KEEP void at_exit(void) { HERE; CHECK(step == 2); step = 3; }
__attribute__((constructor)) KEEP void ctor(void) { HERE; CHECK(step == 0); step = 1; }
__attribute__((destructor)) KEEP void dtor(void) { HERE; CHECK(step == 3); case_ok(); }
KEEP void *body(void *a) { HERE; return (char *)a + 1; }
int main(int c, char **v, char **e)
{
    pthread_t t; void *r; extern char **environ;
    CHECK(step == 1 && c == 1 && v[0] && !v[1] && e == environ && strrchr(v[0], '/'));
    for (long i = 0; i < 3; i++) CHECK(!pthread_create(&t, NULL, body, (void *)i) && !pthread_join(t, &r) && (long)r == i + 1);
    step = 2;
    CHECK(!atexit(at_exit));
    return 0;
}
