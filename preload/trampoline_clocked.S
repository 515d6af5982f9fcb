/* SPDX-License-Identifier: MIT
 * Entry and exit of timed functions where the clock is the kernel's (WTM_CLOCK): as trampoline.S, which explains them, but
 * every entry takes the slow path and no instruction here reads the TSC, which may be forbidden. A second pair of entry and
 * exit, so that the first has no test for this.
 *
 * Scratch at entry: trampoline_parts.inc. At exit as in trampoline.S, whose wtm_exit_tail ends it. */
#include "preload/trampoline_parts.inc"
#include "preload/unwind_rule.h"

#define ENTRY_BYTES 128 /* of wtm_entry_clocked up to .Lgo */
#define PUSHED 2

	.hidden	wtm_threads, wtm_entry_by_clock, wtm_close_by_clock, wtm_exit_tail
	.hidden	wtm_entry_clocked, wtm_return_clocked
	.globl	wtm_entry_clocked, wtm_return_clocked

	.text
	.type	wtm_entry_clocked, @function
	.balign	WTM_RULE_BLOCK
.Lblock:
	.skip	WTM_RULE_BLOCK - ENTRY_BYTES
wtm_entry_clocked:
	.cfi_startproc
	save_scratch
.Lsaved:
	save_arguments
	mov	PROBE_BODY(%r11), %rax
	mov	%rax, -64(%rsp)
	call_at_entry wtm_entry_by_clock
	restore_arguments
	cmp	$PUSHED, %eax
	jne	.Luntimed
	.org	.Lblock + WTM_RULE_BLOCK, 0x90	/* .Lgo begins a block, see unwind_rule.py */
.Lgo:
	restore_flags
	restore_scratch
	lea	8(%rsp), %rsp
	.cfi_def_cfa_offset 0			/* the slot, still at CFA - 8, still holds the return address */
	.byte	0xff, 0x54, 0x24		/* call *-72(%rsp), all but its last byte */
	.cfi_endproc
	.size	wtm_entry_clocked, .-wtm_entry_clocked

	.type	wtm_exit_clocked, @function
wtm_exit_clocked:
	.cfi_startproc
	.cfi_signal_frame
	.cfi_def_cfa rsp, 0
	WTM_RETURN_ADDRESS_RULE
	.byte	-72
wtm_return_clocked:
	mov	%rax, -16(%rsp)
	mov	%rdx, -24(%rsp)
	mov	%rcx, -32(%rsp)
	mov	%rdi, -40(%rsp)
	mov	%rsi, -48(%rsp)
	lahf
	seto	%al
	mov	%eax, -88(%rsp)
	mov	%r8, -56(%rsp)
	mov	%r9, -64(%rsp)
	mov	%r10, -72(%rsp)
	mov	%r11, -80(%rsp)
	mov	%rsp, %rdi			/* sp */
	lea	-96(%rsp), %rsp
	.cfi_def_cfa_offset 96
	call	wtm_close_by_clock		/* rax = record on top */
	mov	REC_RETURN(%rax), %rcx
	inc	%rcx
	mov	%rcx, 88(%rsp)			/* the slot is as the caller left it */
	.cfi_endproc
	.size	wtm_exit_clocked, .-wtm_exit_clocked

	.type	wtm_exit_clocked_tail, @function
wtm_exit_clocked_tail:
	.cfi_startproc
	.cfi_def_cfa rsp, 96
	jmp	wtm_exit_tail
	.cfi_endproc
	.size	wtm_exit_clocked_tail, .-wtm_exit_clocked_tail

	.org	.Lgo + WTM_HEAD_AT		/* the unwinder's rule reads this */
	.long	wtm_threads - .

	.type	wtm_untimed_clocked, @function
wtm_untimed_clocked:
	.cfi_startproc
.Luntimed:
	restore_flags
	restore_scratch
	jmp	*-64(%rsp)
	.cfi_endproc
	.size	wtm_untimed_clocked, .-wtm_untimed_clocked

/* As wtm_entry_walked. */
	.type	wtm_entry_walked_clocked, @function
	.globl	wtm_entry_walked_clocked
	.hidden	wtm_entry_walked_clocked
wtm_entry_walked_clocked:
	.cfi_startproc
	save_scratch
	caller_is_compiled wtm_return_clocked, 2f
	jmp	.Lsaved
2:	count_from_outside .Lsaved
	mov	PROBE_BODY(%r11), %rcx
	mov	%rcx, -64(%rsp)
	jmp	.Luntimed
	.cfi_endproc
	.size	wtm_entry_walked_clocked, .-wtm_entry_walked_clocked

	.section .note.GNU-stack, "", @progbits
