// SPDX-License-Identifier: MIT
// 59: noreturn functions: one leaves by longjmp, one by pthread_exit, one by exit; the code after the call is another function
// time: bail,quit_thread,die
// build: $CC -O2 -o $OUT $SRC -pthread
// run: $OUT
// expect: exit 0, prints "ok"; calls bail=1000 abnormal 1000, quit_thread=10 abnormal 10, die=1 still running at exit; no return address that lies behind the caller's end is mistaken for another function
#include "case.h"
#include <pthread.h>
#include <setjmp.h>
static jmp_buf jb;
KEEP _Noreturn void bail(int n) { HERE; longjmp(jb, n + 1); }
KEEP _Noreturn void quit_thread(void *v) { HERE; pthread_exit(v); }
KEEP _Noreturn void die(int c) { HERE; case_ok(); exit(c); }
KEEP _Noreturn void last_call_is_bail(int n) { bail(n); }        // the call is this function's last instruction
static void *body(void *a) { quit_thread(a); }
int main(void)
{
    volatile long s = 0;
    for (volatile int i = 0; i < 1000; i++) { int r = setjmp(jb); if (r == 0) last_call_is_bail(i); s += r; }
    CHECK(s == 500500);
    for (long i = 0; i < 10; i++) { pthread_t t; void *r; CHECK(!pthread_create(&t, NULL, body, (void *)i) && !pthread_join(t, &r) && (long)r == i); }
    die(0);
}
