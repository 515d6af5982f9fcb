// SPDX-License-Identifier: MIT
// 30: makecontext/swapcontext coroutines whose timed frames interleave
// time: gen,step
// build: $CC -O2 -fno-optimize-sibling-calls -o $OUT $SRC
// run: $OUT
// expect: exit 0, prints "ok"; calls gen=8 abnormal 1 and step=750 abnormal 1 (seven coroutines end, the eighth is abandoned inside its 50th step); frames end in another order than they began and every return goes to its own caller; "recursive" does not mix up coroutines, or its rule is documented
#include "case.h"
#include <ucontext.h>
enum { N = 8 };
static ucontext_t sched, co[N]; static int cur, done[N]; static long out[N];
KEEP long step(int id, int i) { swapcontext(&co[id], &sched); HERE; return id * 1000 + i; }
KEEP long gen(int id)
{
    long s = 0;
    for (int i = 0; i < 100; i++) s += step(id, i);
    HERE;
    return s;
}
static void entry(int id) { out[id] = gen(id); done[id] = 1; swapcontext(&co[id], &sched); }
int main(void)
{
    for (int i = 0; i < N; i++) {
        getcontext(&co[i]);
        co[i].uc_stack.ss_sp = malloc(65536); co[i].uc_stack.ss_size = 65536; co[i].uc_link = NULL;
        makecontext(&co[i], (void (*)(void))entry, 1, i);
    }
    unsigned seed = 1; int live = N - 1, last = 0;
    while (live) {                                  // a different order every round
        seed = seed * 1103515245 + 12345; cur = (seed >> 16) % N;
        if (cur == N - 1 ? last >= 50 : done[cur]) continue;
        swapcontext(&sched, &co[cur]);
        if (cur == N - 1) last++; else if (done[cur]) live--;
    }
    while (last++ < 50) swapcontext(&sched, &co[N - 1]);
    for (int i = 0; i < N - 1; i++) CHECK(out[i] == 100000L * i + 4950);
    CHECK(!done[N - 1]);
    return case_ok();
}
