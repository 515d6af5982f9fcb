// SPDX-License-Identifier: MIT
// 45: stderr is closed, then points to a file, then stdout and stderr are swapped
// time: work
// build: $CC -O2 -o $OUT $SRC
// run: $OUT
// expect: exit 0, prints "ok" on the original stdout; calls work=300; the report follows the rule the tool states (the stderr of the start, or of the exit), once, and the file the program keeps as stderr holds its own 5 bytes when read back inside the run
#include "case.h"
#include <fcntl.h>
#include <string.h>
KEEP int work(int n) { HERE; return n + 1; }
int main(void)
{
    char tmp[] = "/tmp/wtmcaseXXXXXX", b[32] = {0};
    int save = dup(2), f = mkstemp(tmp);
    CHECK(save > 2 && f > 2);
    close(2);
    for (int i = 0; i < 100; i++) CHECK(work(i) == i + 1);
    CHECK(open(tmp, O_RDWR) == 2);
    CHECK(fprintf(stderr, "mine\n") == 5);
    for (int i = 0; i < 100; i++) CHECK(work(i) == i + 1);
    CHECK(pread(f, b, sizeof b, 0) == 5 && !strcmp(b, "mine\n"));
    int one = dup(1);
    CHECK(dup2(2, 1) == 1 && dup2(one, 2) == 2);
    for (int i = 0; i < 100; i++) CHECK(work(i) == i + 1);
    CHECK(dup2(one, 1) == 1 && dup2(save, 2) == 2);
    unlink(tmp);
    return case_ok();
}
