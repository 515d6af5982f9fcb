// SPDX-License-Identifier: MIT
// 29: signal handlers call the timed function that is being timed, on the same stack and on sigaltstack, from a fast timer
// time: work,tick
// build: $CC -O2 -o $OUT $SRC
// run: $OUT
// expect: exit 0, prints "ok"; calls tick=N and work=2000000+2000+N where N is printed as "ticks N"; work recursive = at most N+2000 (a handler that interrupts a running work is a recursion), no count lost to a signal that lands inside tool code
#include "case.h"
#include <signal.h>
#include <sys/time.h>
static volatile long ticks, raised; static volatile int sink;
KEEP int work(int n) { for (int i = 0; i < 3; i++) sink += n; HERE; return n + 1; }
KEEP void tick(int s) { HERE; if (work(s) != s + 1) _exit(5); ticks++; }
static void on_usr(int s) { if (work(s) == s + 1) raised++; }
KEEP static int raiser(int n) { raise(SIGUSR1); HERE; return n; }
int main(void)
{
    static char alt[65536];
    stack_t ss = {.ss_sp = alt, .ss_size = sizeof alt};
    struct sigaction a = {.sa_handler = tick, .sa_flags = SA_RESTART}, b = {.sa_handler = on_usr, .sa_flags = SA_ONSTACK | SA_RESTART};
    CHECK(!sigaltstack(&ss, NULL) && !sigaction(SIGALRM, &a, NULL) && !sigaction(SIGUSR1, &b, NULL));
    struct itimerval it = {{0, 200}, {0, 200}}, off = {{0, 0}, {0, 0}};
    CHECK(!setitimer(ITIMER_REAL, &it, NULL));
    long s = 0;
    for (int i = 0; i < 2000000; i++) s += work(i & 7);
    for (int i = 0; i < 2000; i++) CHECK(raiser(i) == i);
    CHECK(!setitimer(ITIMER_REAL, &off, NULL));
    CHECK(s == 2000000L / 8 * 36 && raised == 2000);
    printf("ticks %ld\n", ticks);
    return case_ok();
}
