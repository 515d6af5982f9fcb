// SPDX-License-Identifier: MIT
// 14: a callee with its own convention: r11 and CF in, r11 and CF out, every other register kept
// time: keepall
// build: $CC -o $OUT $SRC
// run: $OUT
// expect: exit 0, prints "ok"; calls keepall=1000; the caller's rax rcx rdx rsi rdi r8-r10, xmm0-15, st0, mxcsr, CF and DF are unchanged by tool code both at entry and at exit
        .text
        .globl keepall
        .type keepall,@function
        .p2align 4
keepall: adc $5,%r11                    // r11 += 5 + CF
        bt $0,%r11                      // CF out = bit 0
        ret
        .size keepall,.-keepall
        .globl main
        .type main,@function
main:   push %rbx
        push %rbp
        push %r12
        push %r13
        push %r14
        sub $16,%rsp
        mov $1000,%r12d
again:  movl $0x7f80,(%rsp)             // round toward zero
        ldmxcsr (%rsp)
        .irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
        mov $(0x5a00+\n),%eax
        movd %eax,%xmm\n
        .endr
        fldpi
        mov $0x101,%eax
        mov $0x102,%ecx
        mov $0x103,%edx
        mov $0x104,%esi
        mov $0x105,%edi
        mov $0x106,%r8d
        mov $0x107,%r9d
        mov $0x108,%r10d
        mov $101,%r11d
        std
        stc
        call keepall
        setc %bl
        pushfq
        pop %r13
        cld
        cmp $107,%r11
        jne bad
        cmp $1,%bl
        jne bad
        test $0x400,%r13d               // DF still set
        jz bad
        cmp $0x101,%rax
        jne bad
        cmp $0x102,%rcx
        jne bad
        cmp $0x103,%rdx
        jne bad
        cmp $0x104,%rsi
        jne bad
        cmp $0x105,%rdi
        jne bad
        cmp $0x106,%r8
        jne bad
        cmp $0x107,%r9
        jne bad
        cmp $0x108,%r10
        jne bad
        .irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
        movd %xmm\n,%eax
        cmp $(0x5a00+\n),%eax
        jne bad
        .endr
        stmxcsr (%rsp)
        cmpl $0x7f80,(%rsp)
        jne bad
        fldpi
        fcomip %st(1),%st
        jne bad
        fstp %st(0)
        dec %r12d
        jnz again
        movl $0x1f80,(%rsp)
        ldmxcsr (%rsp)
        lea msg(%rip),%rdi
        call puts@PLT
        xor %eax,%eax
        jmp out
bad:    cld
        mov $1,%eax
out:    add $16,%rsp
        pop %r14
        pop %r13
        pop %r12
        pop %rbp
        pop %rbx
        ret
        .size main,.-main
        .section .rodata
msg:    .asciz "ok"
        .section .note.GNU-stack,"",@progbits
