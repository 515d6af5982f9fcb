// SPDX-License-Identifier: MIT
// 33: vfork and exec, posix_spawn, system and popen inside timed functions
// time: by_vfork,child_side,by_spawn,by_system,by_popen
// build: $CC -O2 -fno-optimize-sibling-calls -Wno-deprecated-declarations -o $OUT $SRC
// run: $OUT
// expect: exit 0, prints "ok"; calls by_vfork=30 by_spawn=10 by_system=3 by_popen=3 abnormal 0; child_side=30 (it runs in the vfork child on the parent's stack and memory, never returns): abnormal 30 or refused by name; the parent's frames survive the child; the tool runs harmlessly in the exec'd programs or not at all, their output unchanged
#define _GNU_SOURCE
#include "case.h"
#include <errno.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
extern char **environ;
KEEP void child_side(int good) { HERE; if (good) execl("/bin/true", "true", NULL); _exit(good ? 8 : 33); }
KEEP int by_vfork(int good)
{
    int st; pid_t p = vfork();
    if (p == 0) child_side(good);
    if (p < 0 || waitpid(p, &st, 0) != p) return -1;
    HERE;
    return st;
}
KEEP int by_spawn(void) { char *av[] = {"sh", "-c", "exit 5", NULL}; pid_t p; int st = -1; if (posix_spawn(&p, "/bin/sh", NULL, NULL, av, environ)) return -1; waitpid(p, &st, 0); HERE; return st; }
KEEP int by_system(void) { int r = system("exit 6"); HERE; return r; }
KEEP int by_popen(char *b, int n) { FILE *f = popen("echo hi", "r"); if (!f) return -1; char *r = fgets(b, n, f); HERE; return r ? pclose(f) : -1; }
int main(void)
{
    for (int i = 0; i < 30; i++) { int st = by_vfork(i & 1); CHECK(WIFEXITED(st) && WEXITSTATUS(st) == (i & 1 ? 0 : 33)); }
    for (int i = 0; i < 10; i++) { int st = by_spawn(); CHECK(WIFEXITED(st) && WEXITSTATUS(st) == 5); }
    for (int i = 0; i < 3; i++) { char b[8]; CHECK(WEXITSTATUS(by_system()) == 6); CHECK(by_popen(b, 8) == 0 && !strcmp(b, "hi\n")); }
    return case_ok();
}
