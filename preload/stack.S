/* SPDX-License-Identifier: MIT
 * Two things about stacks that C cannot say. */
	.hidden	wtm_signal_return, wtm_on_stack
	.globl	wtm_signal_return, wtm_on_stack

/* Where our signal handler returns to (SA_RESTORER). The instructions are those of libc's own, by which unwinders and
 * debuggers know such a frame; the description is for those that do not look at bytes. rsp points at the kernel's
 * ucontext: registers are at fixed places in it (asm/sigcontext.h). The description begins a byte early, since unwinders
 * look up a return address less one. */
	.macro	WTM_SAVED register, at	/* DW_CFA_expression: DW_OP_breg7 at */
	.cfi_escape 0x10, \register, 3, 0x77, (\at & 0x7f) | 0x80, \at >> 7
	.endm

	.section .text.wtm_signal_return, "ax", @progbits
	.p2align 4
	.cfi_startproc
	.cfi_signal_frame
	.cfi_escape 0x0f, 4, 0x77, 0xa0, 0x01, 0x06	/* DW_CFA_def_cfa_expression: the saved rsp, *(rsp + 160) */
	WTM_SAVED 8, 40
	WTM_SAVED 9, 48
	WTM_SAVED 10, 56
	WTM_SAVED 11, 64
	WTM_SAVED 12, 72
	WTM_SAVED 13, 80
	WTM_SAVED 14, 88
	WTM_SAVED 15, 96
	WTM_SAVED 5, 104	/* rdi */
	WTM_SAVED 4, 112	/* rsi */
	WTM_SAVED 6, 120	/* rbp */
	WTM_SAVED 3, 128	/* rbx */
	WTM_SAVED 1, 136	/* rdx */
	WTM_SAVED 0, 144	/* rax */
	WTM_SAVED 2, 152	/* rcx */
	WTM_SAVED 7, 160	/* rsp */
	WTM_SAVED 16, 168	/* rip */
	nop
	.type	wtm_signal_return, @function
wtm_signal_return:
	mov	$15, %rax		/* rt_sigreturn */
	syscall
	.cfi_endproc
	.size	wtm_signal_return, .-wtm_signal_return

/* int wtm_on_stack(int (*function)(int), int argument, void *stack_top) */
	.section .text.wtm_on_stack, "ax", @progbits
	.p2align 4
	.type	wtm_on_stack, @function
wtm_on_stack:
	.cfi_startproc
	push	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset rbp, -16
	mov	%rsp, %rbp
	.cfi_def_cfa_register rbp
	mov	%rdx, %rsp
	mov	%rdi, %rax
	mov	%esi, %edi
	call	*%rax
	mov	%rbp, %rsp
	pop	%rbp
	.cfi_def_cfa rsp, 8
	ret
	.cfi_endproc
	.size	wtm_on_stack, .-wtm_on_stack

	.section .note.GNU-stack, "", @progbits
