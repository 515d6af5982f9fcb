/* SPDX-License-Identifier: MIT
 * void wtm_test_call(uintptr_t function, const struct machine *in, struct machine *out): calls it with every register and
 * the arithmetic flags as told, one stack argument, and keeps what came back.
 * struct machine: rax rbx rcx rdx rsi rdi rbp r8..r15 flags stack_argument (17 words), then xmm0..xmm15.
 *
 * wtm_test_hook: what a hook may do at most: entered with `context` in r11, it counts, puts r11 back, and goes on to
 * the body. Nothing else of the machine's state changes, flags included. context: {count, body}. */
        .text
        .globl  wtm_test_call
        .type   wtm_test_call, @function
wtm_test_call:
        push    %rbx
        push    %rbp
        push    %r12
        push    %r13
        push    %r14
        push    %r15
        push    %rdx                    /* out */
        push    %rdi                    /* function */
        mov     %rsi, %rax
        push    16*8(%rax)              /* the stack argument; rsp is 16-aligned here */
        .irp    n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
        movdqu  17*8+16*\n(%rax), %xmm\n
        .endr
        mov     1*8(%rax), %rbx
        mov     2*8(%rax), %rcx
        mov     3*8(%rax), %rdx
        mov     4*8(%rax), %rsi
        mov     5*8(%rax), %rdi
        mov     6*8(%rax), %rbp
        mov     7*8(%rax), %r8
        mov     8*8(%rax), %r9
        mov     9*8(%rax), %r10
        mov     10*8(%rax), %r11
        mov     11*8(%rax), %r12
        mov     12*8(%rax), %r13
        mov     13*8(%rax), %r14
        mov     14*8(%rax), %r15
        push    15*8(%rax)
        mov     0*8(%rax), %rax
        popf
        call    *8(%rsp)
        .globl  wtm_test_return
wtm_test_return:
        pushf
        push    %rax
        mov     32(%rsp), %rax          /* out */
        pop     0*8(%rax)
        pop     15*8(%rax)
        mov     %rbx, 1*8(%rax)
        mov     %rcx, 2*8(%rax)
        mov     %rdx, 3*8(%rax)
        mov     %rsi, 4*8(%rax)
        mov     %rdi, 5*8(%rax)
        mov     %rbp, 6*8(%rax)
        mov     %r8, 7*8(%rax)
        mov     %r9, 8*8(%rax)
        mov     %r10, 9*8(%rax)
        mov     %r11, 10*8(%rax)
        mov     %r12, 11*8(%rax)
        mov     %r13, 12*8(%rax)
        mov     %r14, 13*8(%rax)
        mov     %r15, 14*8(%rax)
        pop     16*8(%rax)
        .irp    n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
        movdqu  %xmm\n, 17*8+16*\n(%rax)
        .endr
        cld
        add     $16, %rsp
        pop     %r15
        pop     %r14
        pop     %r13
        pop     %r12
        pop     %rbp
        pop     %rbx
        ret
        .size   wtm_test_call, . - wtm_test_call

        .globl  wtm_test_hook
        .type   wtm_test_hook, @function
wtm_test_hook:
        mov     %rax, -24(%rsp)
        mov     (%r11), %rax
        lea     1(%rax), %rax           /* counts without touching a flag */
        mov     %rax, (%r11)
        mov     8(%r11), %rax
        mov     %rax, -32(%rsp)
        mov     -24(%rsp), %rax
        mov     -16(%rsp), %r11
        jmp     *-32(%rsp)
        .size   wtm_test_hook, . - wtm_test_hook
        .section .note.GNU-stack, "", @progbits
