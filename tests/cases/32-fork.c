// SPDX-License-Identifier: MIT
// 32: fork inside a timed function: parent and child both return through it, nested and with threads running
// time: forker,nest,spin
// build: $CC -O2 -fno-optimize-sibling-calls -o $OUT $SRC -pthread
// run: $OUT
// expect: exit 0, prints "ok"; parent: calls forker=20 nest=20 abnormal 0; each child's own report (if children report) shows forker=1+ returned and no time or count taken twice; no child deadlocks on a lock another thread held at the fork
#include "case.h"
#include <pthread.h>
#include <sys/wait.h>
static volatile int stop;
KEEP int spin(int n) { HERE; return n ^ 1; }
KEEP pid_t forker(void) { pid_t p = fork(); HERE; return p; }
KEEP pid_t nest(void) { pid_t p = forker(); HERE; return p; }
static void *noise(void *a) { int x = 0; while (!stop) x = spin(x); return a; }
int main(void)
{
    pthread_t t[2];
    for (int i = 0; i < 2; i++) CHECK(!pthread_create(&t[i], NULL, noise, NULL));
    for (int i = 0; i < 20; i++) {
        pid_t p = nest(); int st;
        CHECK(p >= 0);
        if (p == 0) { int x = 0; for (int k = 0; k < 1000; k++) x = spin(x); if (i & 1) _exit(x == 0 ? 50 : 51); return x == 0 ? 50 : 51; }
        CHECK(waitpid(p, &st, 0) == p && WIFEXITED(st) && WEXITSTATUS(st) == 50);
    }
    stop = 1;
    for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
    return case_ok();
}
