// SPDX-License-Identifier: MIT
// 05: a call rel32 among the displaced bytes, whose return address is used as data
// time: c_plain,c_next,c_thunk,c_after
// build: $CC -O2 -o $OUT $SRC
// run: $OUT
// expect: exit 0, prints "ok"; calls c_plain=c_next=c_thunk=c_after=500, or refused by name; the address a displaced call pushes must be the one in the original code
#include "case.h"
int c_table[4] = {5, 6, 7, 8};
__asm__(".text\n.p2align 4\n"
"c_ten: mov $10,%eax\nret\n"
"c_getpc: mov (%rsp),%rax\nret\n"
FN(c_plain) "call c_ten\nadd %edi,%eax\nret\n" END(c_plain)
// call to the next instruction: pops its own code address
FN(c_next) "call 1f\n1: pop %rax\nsub $5,%rax\nret\n" END(c_next)
// PIC thunk: data found relative to the pushed address
FN(c_thunk) "call c_getpc\n2: lea c_table-2b(%rax),%rax\nmovslq %edi,%rdi\nmov (%rax,%rdi,4),%eax\nret\n" END(c_thunk)
// the call straddles the fifth byte
FN(c_after) "push %rbx\nmov %edi,%ebx\ncall c_ten\nadd %ebx,%eax\npop %rbx\nret\n" END(c_after)
".p2align 4\n");
int c_plain(int), c_thunk(int), c_after(int);
void *c_next(void);
int main(void)
{
    for (int i = 0; i < 500; i++) {
        CHECK(c_plain(i) == i + 10);
        CHECK(c_next() == (void *)c_next);
        CHECK(c_thunk(i & 3) == 5 + (i & 3));
        CHECK(c_after(i) == i + 10);
    }
    return case_ok();
}
