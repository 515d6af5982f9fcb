// SPDX-License-Identifier: MIT
// 27: _exit, quick_exit and abort inside timed functions of child processes
// time: by_exit,by_quick,by_abort,by_kill
// build: $CC -O2 -o $OUT $SRC
// run: $OUT
// expect: exit 0, prints "ok": each child ends with exactly its own status or signal; the parent reports calls 0 for all four (or none); a child's report, where one is printed, shows calls=1 not returned
#include "case.h"
#include <signal.h>
#include <sys/wait.h>
KEEP void by_exit(void) { HERE; _exit(41); }
static void q(void) { _exit(42); }
KEEP void by_quick(void) { HERE; at_quick_exit(q); quick_exit(1); }
KEEP void by_abort(void) { HERE; abort(); }
KEEP void by_kill(void) { HERE; kill(getpid(), SIGKILL); for (;;) pause(); }
static int run(void (*f)(void))
{
    int st; pid_t p = fork();
    if (p == 0) { f(); _exit(9); }
    CHECK(p > 0 && waitpid(p, &st, 0) == p);
    return st;
}
int main(void)
{
    int s = run(by_exit); CHECK(WIFEXITED(s) && WEXITSTATUS(s) == 41);
    s = run(by_quick); CHECK(WIFEXITED(s) && WEXITSTATUS(s) == 42);
    s = run(by_abort); CHECK(WIFSIGNALED(s) && WTERMSIG(s) == SIGABRT);
    s = run(by_kill); CHECK(WIFSIGNALED(s) && WTERMSIG(s) == SIGKILL);
    return case_ok();
}
