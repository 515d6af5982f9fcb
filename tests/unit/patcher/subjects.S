/* SPDX-License-Identifier: MIT
 * Functions whose first instructions are hard to move. Each is listed in wtm_test_subjects with its size, its name, and
 * the way in which it must be patched (enum wtm_patch_method). They use a private convention: any register may be
 * changed, since the test compares the whole machine's state before and after patching. Helpers are not patched. */
        .data
        .align 8
cell:   .quad   0x1122334455667788
target: .quad   helper_add
        .balign 64
floats: .long   0x3f800000, 0x40000000, 0x40400000, 0x40800000, 0x40a00000, 0x40c00000, 0x40e00000, 0x41000000
        .long   0x41100000, 0x41200000, 0x41300000, 0x41400000, 0x41500000, 0x41600000, 0x41700000, 0x41800000

        .text
        .p2align 4
helper_add:
        lea     1(%rax), %rax
        ret
helper_caller:                          /* who called me? */
        mov     (%rsp), %rdx
        ret
helper_stack:                           /* the caller's stack argument, seen from a jump through it */
        mov     16(%rsp), %rcx
        ret

        .macro  subject name, method
        .section .rodata.names, "aMS", @progbits, 1
name_\name: .asciz "\name"
        .section .data.subjects, "aw"
        .quad   \name, end_\name - \name, name_\name, \method
        .text
        .p2align 4, 0xcc
        .type   \name, @function
\name:
        .endm
        .macro  done name
end_\name:
        .size   \name, . - \name
        .endm

        .section .data.subjects, "aw"
        .globl  wtm_test_subjects
wtm_test_subjects:

/* conditional branches first, all sixteen, both lengths, forwards and backwards, taken and not by the flags given */
        .irp    cc, o, no, b, ae, e, ne, be, a, s, ns, p, np, l, ge, le, g
        .text
        .p2align 4, 0xcc
back_\cc:
        mov     $3, %eax
        ret
        subject short_\cc, 1
        j\cc    1f
        mov     $1, %eax
        ret
1:      mov     $2, %eax
        ret
        done    short_\cc
        subject shortback_\cc, 1
        j\cc    back_\cc
        mov     $1, %eax
        ret
        done    shortback_\cc
        subject long_\cc, 1
        .byte   0x0f                    /* rel32 although rel8 would do */
        .byte   0x80 + jcc_\cc
        .long   1f - (. + 4)
        mov     $1, %eax
        ret
1:      mov     $2, %eax
        ret
        done    long_\cc
        .endr
        .set jcc_o, 0
        .set jcc_no, 1
        .set jcc_b, 2
        .set jcc_ae, 3
        .set jcc_e, 4
        .set jcc_ne, 5
        .set jcc_be, 6
        .set jcc_a, 7
        .set jcc_s, 8
        .set jcc_ns, 9
        .set jcc_p, 10
        .set jcc_np, 11
        .set jcc_l, 12
        .set jcc_ge, 13
        .set jcc_le, 14
        .set jcc_g, 15

        .irp    op, jrcxz, jecxz, loop, loope, loopne
        subject first_\op, 1
        \op     1f
        mov     $1, %eax
        ret
1:      mov     $2, %eax
        ret
        done    first_\op
        .endr

        subject jump_short, 1
        mov     %edi, %eax
        nop
        jmp     1f
        ud2
1:      inc     %eax
        ret
        done    jump_short
        subject jump_long, 1
        .byte   0xe9
        .long   helper_add - (. + 4)
        done    jump_long
        subject jump_memory, 1
        jmp     *target(%rip)
        done    jump_memory

        subject call_direct, 1
        call    helper_caller
        ret
        done    call_direct
        subject call_late, 1
        push    %rbx
        mov     %edi, %ebx
        call    helper_caller
        mov     %ebx, %eax
        pop     %rbx
        ret
        done    call_late
        subject call_memory, 1
        call    *target(%rip)
        ret
        done    call_memory
        subject call_register, 1
        lea     helper_caller(%rip), %r10
        call    *%r10
        ret
        done    call_register
        subject call_stack, 1           /* the first five bytes hold a call through rsp */
        push    %rdi
        push    %r12
        call    *8(%rsp)                /* rdi holds helper_stack in this test */
        pop     %r12
        pop     %rdi
        ret
        done    call_stack
        subject call_next, 1
        call    1f
1:      pop     %rax
        ret
        done    call_next

        subject rip_load, 1
        mov     cell(%rip), %rax
        ret
        done    rip_load
        subject rip_lea, 1
        lea     cell(%rip), %rax
        ret
        done    rip_lea
        subject rip_cmpb, 1
        cmpb    $0x88, cell(%rip)
        sete    %al
        ret
        done    rip_cmpb
        subject rip_testl, 1
        testl   $0x80000000, cell(%rip)
        sete    %al
        ret
        done    rip_testl
        subject rip_addw, 1
        addw    $0, cell(%rip)
        ret
        done    rip_addw
        subject rip_imul, 1
        imul    $1000, cell(%rip), %eax
        ret
        done    rip_imul
        subject rip_lock, 1
        lock orl $0, cell(%rip)
        ret
        done    rip_lock
        subject rip_sse, 1
        movups  floats(%rip), %xmm15
        ret
        done    rip_sse
        subject rip_sse_imm, 1
        pshufd  $0x1b, floats(%rip), %xmm3
        ret
        done    rip_sse_imm
        subject rip_palignr, 1
        palignr $4, floats+16(%rip), %xmm12
        ret
        done    rip_palignr

        subject flags_kept, 1           /* carry comes in, goes out */
        mov     %edi, %eax
        adc     $0, %eax
        ret
        done    flags_kept
        subject red_zone, 1
        mov     %rdi, -8(%rsp)
        mov     -8(%rsp), %rax
        mov     %rax, -128(%rsp)
        mov     -128(%rsp), %rcx
        ret
        done    red_zone
        subject stack_argument, 1
        mov     8(%rsp), %rax
        ret
        done    stack_argument
        subject behind_endbr, 1
        endbr64
        mov     %edi, %eax
        add     $5, %eax
        ret
        done    behind_endbr
        subject string_move, 1
        cld
        mov     $0, %ecx
        rep movsb
        ret
        done    string_move

        subject loop_short, 1           /* ebx counts the turns; the entry must be counted once */
        mov     $7, %edx
        lea     1(%rax), %rax
        nop
        nop
        dec     %bl
        jnz     loop_short
        ret
        done    loop_short
        subject loop_long, 1
        mov     $7, %edx
        lea     1(%rax), %rax
        dec     %bl
        .byte   0x0f, 0x85
        .long   loop_long - (. + 4)
        ret
        done    loop_long
        subject loop_endbr, 1
        endbr64
        mov     $7, %edx
        lea     1(%rax), %rax
        dec     %bl
        .byte   0x0f, 0x85
        .long   loop_endbr - (. + 4)
        ret
        done    loop_endbr
        subject loop_window, 1          /* the branch itself is displaced */
        dec     %bl
        jnz     loop_window
        lea     1(%rax), %rax
        ret
        done    loop_window
        subject loop_inside, 1
        nop
        dec     %bl
        jnz     loop_inside+1
        ret
        done    loop_inside

        subject tiny, 2                 /* int3 behind it */
        ret
        done    tiny
        subject tiny_value, 2
        xor     %eax, %eax
        ret
        done    tiny_value
        subject copied, 3               /* as memcpy: somebody jumps behind the first instruction */
        mov     %rdi, %rax
        cmp     $32, %rdx
        jb      1f
        add     %rdx, %rax
1:      ret
        done    copied
        .p2align 4, 0xcc
        .globl  wtm_test_copied_plus
        .type   wtm_test_copied_plus, @function
wtm_test_copied_plus:
        lea     (%rdi,%rdx), %rax
        jmp     copied+3
        .size   wtm_test_copied_plus, . - wtm_test_copied_plus

        subject vex_add, 0x101          /* 0x100: needs AVX */
        vaddps  floats(%rip), %xmm1, %xmm9
        ret
        done    vex_add
        subject vex_imm, 0x101
        vpermilps $0x1b, floats(%rip), %xmm10
        ret
        done    vex_imm
        subject evex_load, 0x201        /* 0x200: needs AVX-512 */
        vmovdqu64 floats(%rip), %zmm5
        ret
        done    evex_load
        subject evex_imm, 0x201
        vpshufd $0x4e, floats(%rip), %zmm16
        vmovdqa64 %zmm16, %zmm6
        ret
        done    evex_imm

        .section .data.subjects, "aw"
        .quad   0, 0, 0, 0
        .globl  wtm_test_helper_stack
        .data
wtm_test_helper_stack: .quad helper_stack
        .section .note.GNU-stack, "", @progbits
