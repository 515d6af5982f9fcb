// SPDX-License-Identifier: MIT
// 60: functions that return twice are named by the user: setjmp, sigsetjmp, vfork, getcontext, fork
// time: _setjmp,__sigsetjmp,setjmp,vfork,getcontext,setcontext,fork
// build: $CC -O2 -Wno-deprecated-declarations -o $OUT $SRC
// run: $OUT
// expect: exit 0, prints "ok"; each is refused by name, or counted _setjmp=200 __sigsetjmp=200 getcontext=200 setcontext=400 fork=20 vfork=20, and the second return goes to the saved place: a return slot taken by the tool must not be saved into a jmp_buf or ucontext
#define _GNU_SOURCE
#include "case.h"
#include <setjmp.h>
#include <sys/wait.h>
#include <ucontext.h>
int main(void)
{
    static jmp_buf a; static sigjmp_buf b; static ucontext_t u;
    for (volatile int i = 0; i < 200; i++) {
        volatile int n = 0; int st; pid_t p;
        int r = _setjmp(a); n++;
        if (r == 0) _longjmp(a, 3);
        CHECK(r == 3 && n == 2);
        r = sigsetjmp(b, 1); n++;
        if (r == 0) siglongjmp(b, 4);
        CHECK(r == 4 && n == 4);
        CHECK(!getcontext(&u)); n++;
        if (n < 7) setcontext(&u);
        CHECK(n == 7);
        if (i % 10) continue;
        p = vfork(); if (p == 0) _exit(3);
        CHECK(p > 0 && waitpid(p, &st, 0) == p && WEXITSTATUS(st) == 3);
        p = fork(); if (p == 0) _exit(4);
        CHECK(p > 0 && waitpid(p, &st, 0) == p && WEXITSTATUS(st) == 4);
    }
    return case_ok();
}
