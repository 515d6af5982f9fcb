// SPDX-License-Identifier: MIT
// 54: children under tight limits: address space, descriptors, file size, stack, locked memory, processor time
// time: work
// build: $CC -O2 -o $OUT $SRC -pthread
// run: $OUT
// expect: exit 0, prints "ok"; parent calls work=0; in each child work=20000 (with a thread under RLIMIT_AS): a limit may cost the tool its report or its detail, never the program its run, its exit status 0, or a SIGXFSZ
#include "case.h"
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
KEEP int work(int n) { HERE; return n + 1; }
static void *body(void *a) { for (int i = 0; i < 10000; i++) if (work(i) != i + 1) return NULL; return a; }
static void limit(int what, rlim_t v) { struct rlimit r = {v, v}; if (setrlimit(what, &r)) _exit(20); }
static int run(int what, rlim_t v)
{
    int st; pid_t p = fork();
    if (p == 0) {
        limit(what, v);
        if (!body(&st)) exit(21);
        if (what != RLIMIT_NPROC) {
            pthread_attr_t at; pthread_t t; void *r;
            pthread_attr_init(&at); pthread_attr_setstacksize(&at, 131072);
            if (pthread_create(&t, &at, body, &at) || pthread_join(t, &r) || r != &at) exit(22);
        } else body(&st);
        exit(0);
    }
    CHECK(p > 0 && waitpid(p, &st, 0) == p);
    return WIFEXITED(st) ? WEXITSTATUS(st) : 1000 + WTERMSIG(st);
}
int main(void)
{
    long pages = 0; FILE *f = fopen("/proc/self/statm", "r");
    CHECK(f && fscanf(f, "%ld", &pages) == 1); fclose(f);
    CHECK(run(RLIMIT_AS, (rlim_t)pages * 4096 + (8 << 20)) == 0);
    CHECK(run(RLIMIT_NOFILE, 3) == 0);
    CHECK(run(RLIMIT_FSIZE, 0) == 0);
    CHECK(run(RLIMIT_STACK, 256 << 10) == 0);
    CHECK(run(RLIMIT_MEMLOCK, 0) == 0);
    CHECK(run(RLIMIT_DATA, 64 << 20) == 0);
    CHECK(run(RLIMIT_CPU, 10) == 0);
    return case_ok();
}
