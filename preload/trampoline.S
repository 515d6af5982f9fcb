/* SPDX-License-Identifier: MIT
 * The entry and exit code that all timed functions share.
 *
 *   caller --call--> function: jmp stub --> stub: save r11, r11 = probe --> wtm_entry
 *                                                                             |  fill a record, read the TSC,
 *                                                                             |  rsp += 8 (the return address is in
 *                                                                             v  the record), call the body
 *   caller <--ret-- wtm_return_point <--------------ret-------------- body (relocated first instructions, function)
 *                   read the TSC, close the record, put the return address back, ret
 *
 * "Pop, then call": the body's ret pairs with the call here and the ret here with the caller's call, so the processor's
 * return predictor and a shadow stack stay right, and the body's stack arguments stand where they stood.
 *
 * Contract of both: every general register, every flag and all vector, x87 and mxcsr state are as before. Callers may rely
 * on registers that their callee does not touch (gcc's -fipa-ra), so nothing is free but the 128 bytes below rsp: at a
 * function's entry and at its return nothing lives there, and signal handlers spare them.
 *
 * Alignment: none is needed. The C that is called here uses general registers only, and rsp is never assumed to be
 * anything.
 *
 * Scratch at entry: trampoline_parts.inc. At exit, from the incoming rsp (the caller's after the return; the slot is at -8):
 *   -16 rax  -24 rdx  -32 rcx  -40 rdi  -48 rsi  -56 r8  -64 r9  -72 r10  -80 r11  -88 flags
 *
 * Unwinding. Three frame descriptions, cut at byte granularity:
 *   1. wtm_entry up to the last byte of its call: an ordinary frame whose return address is in its slot.
 *   2. from that last byte (an unwinder looks up the return point less one) until the return address stands in its slot
 *      again: a frame of size zero, CFA = rsp, marked as a signal frame, without a personality; the return address is
 *      found by walking the open-call records for the one whose sp is the CFA (unwind_rule.py).
 *   3. from there to the ret: an ordinary frame again.
 * Offsets are those asserted in hot.h.
 *
 * Order: a plain rdtsc waits for nothing, and nothing waits for it. Three places of three bytes around the readings hold an
 * lfence or a nop (as built: WTM_ORDER=exit); order.c changes them before anything is timed. */
#include "preload/trampoline_parts.inc"
#include "preload/unwind_rule.h"

#define NOP .byte 0x0f, 0x1f, 0x00

#define ENTRY_BYTES 207 /* of wtm_entry up to .Lgo */

#define LOCAL_IDLE 0
#define LOCAL_OPEN 8
#define LOCAL_CELL 16
#define REC_SP 8
#define REC_LOCAL 16
#define REC_START 24
#define REC_CHILD 32
#define REC_SPENT 40
#define REC_CPU 48
#define REC_OUTER 56
#define REC_BYTES 64
#define THR_TOP 0
#define THR_LOCALS 24
#define THR_GENERATION 32
#define THR_SPENT 40
#define THR_CPU 48
#define THR_SWITCH_WORD 56
#define THR_SWITCH_EXPECTED 64
#define THR_LIMIT 72
#define THR_STACK_LOW 80
#define THR_STACK_HIGH 88
#define PROBE_LOCAL 0
#define PROBE_SPECIAL 32
#define HOT_RECURSIVE 16
#define HOT_NEST 32
#define CELL_ENTERED 24
#define CELL_RECURSIVE 32

	.hidden	wtm_thread, wtm_generation, wtm_hot, wtm_threads, wtm_entry_slow, wtm_close, wtm_watch
	.hidden	wtm_fence_before_entry, wtm_fence_after_entry, wtm_fence_before_exit
	.globl	wtm_fence_before_entry, wtm_fence_after_entry, wtm_fence_before_exit
	.hidden	wtm_entry, wtm_return_point, wtm_watch_entry, wtm_exit_tail, wtm_timed_entry
	.globl	wtm_entry, wtm_return_point, wtm_watch_entry, wtm_exit_tail

	.text
	.type	wtm_entry, @function
	.balign	WTM_RULE_BLOCK
.Lblock:
	.skip	WTM_RULE_BLOCK - ENTRY_BYTES
wtm_entry:
	.cfi_startproc
	save_scratch
.Lretry:
	mov	wtm_thread@gottpoff(%rip), %rcx
	mov	%fs:(%rcx), %rcx
	mov	wtm_generation(%rip), %rax
	cmp	%rax, THR_GENERATION(%rcx)
	jne	.Lslow
	mov	PROBE_LOCAL(%r11), %eax
	add	THR_LOCALS(%rcx), %rax		/* rax = local */
	cmpq	$0, LOCAL_IDLE(%rax)
	je	.Lnot_idle
	mov	THR_SWITCH_WORD(%rcx), %rdx
	mov	(%rdx), %rdx
	cmp	THR_SWITCH_EXPECTED(%rcx), %rdx
	jne	.Lslow
	mov	THR_TOP(%rcx), %r10
	lea	8(%rsp), %rdx			/* rdx = sp of the new record */
	cmp	REC_SP(%r10), %rdx
	jae	.Lslow				/* stale top, another stack, or a tail call */
	add	$REC_BYTES, %r10		/* r10 = the new record */
	cmp	THR_LIMIT(%rcx), %r10
	jae	.Lslow
	mov	PROBE_BODY(%r11), %r11
	mov	%r11, -64(%rsp)
	mov	%rdx, REC_START(%r10)		/* where, until the time is stored: see abandoned.c */
	mov	%r10, THR_TOP(%rcx)		/* reserved; it looks never stale until sp is stored */
	movq	$0, LOCAL_IDLE(%rax)
	mov	%r10, LOCAL_OPEN(%rax)
	mov	THR_SPENT(%rcx), %r11
	mov	%r11, REC_SPENT(%r10)
	mov	THR_CPU(%rcx), %r11
	mov	%r11, REC_CPU(%r10)
	movq	$0, REC_CHILD(%r10)
	movq	$0, REC_OUTER(%r10)
	mov	(%rsp), %r11
	dec	%r11
	mov	%r11, REC_RETURN(%r10)
	mov	%rax, REC_LOCAL(%r10)
	mov	LOCAL_CELL(%rax), %rax
	incq	CELL_ENTERED(%rax)
	mov	%rdx, REC_SP(%r10)		/* complete */
	.org	.Lblock + WTM_RULE_BLOCK, 0x90	/* .Lgo begins a block, see the rule; an error if ENTRY_BYTES is too small */
.Lgo:						/* r10 = record, -64 = body */
	restore_flags
wtm_fence_before_entry:
	NOP
	rdtsc
wtm_fence_after_entry:
	lfence
	mov	%eax, REC_START(%r10)
	mov	%edx, REC_START+4(%r10)
	restore_scratch
	lea	8(%rsp), %rsp
	.cfi_def_cfa_offset 0			/* the slot, still at CFA - 8, still holds the return address */
	.byte	0xff, 0x54, 0x24		/* call *-72(%rsp), all but its last byte */
	.cfi_endproc
	.size	wtm_entry, .-wtm_entry

	.type	wtm_exit, @function
wtm_exit:
	.cfi_startproc
	.cfi_signal_frame
	.cfi_def_cfa rsp, 0
	WTM_RETURN_ADDRESS_RULE
	.byte	-72
wtm_return_point:
	mov	%rax, -16(%rsp)
	mov	%rdx, -24(%rsp)
wtm_fence_before_exit:
	lfence
	rdtsc
	mov	%rsi, -48(%rsp)
	mov	%eax, %esi
	lahf
	seto	%al
	mov	%eax, -88(%rsp)
	mov	%rcx, -32(%rsp)
	mov	%rdi, -40(%rsp)
	mov	%r8, -56(%rsp)
	mov	%r9, -64(%rsp)
	mov	%r10, -72(%rsp)
	mov	%r11, -80(%rsp)
	shl	$32, %rdx
	or	%rdx, %rsi			/* now */
	mov	%rsp, %rdi			/* sp */
	lea	-96(%rsp), %rsp
	.cfi_def_cfa_offset 96
	call	wtm_close			/* rax = record on top */
	mov	REC_RETURN(%rax), %rcx
	inc	%rcx
	mov	%rcx, 88(%rsp)			/* the slot is as the caller left it */
	.cfi_endproc
	.size	wtm_exit, .-wtm_exit

	.type	wtm_exit_tail, @function
wtm_exit_tail:
	.cfi_startproc
	.cfi_def_cfa rsp, 96
	mov	wtm_thread@gottpoff(%rip), %rcx
	mov	%fs:(%rcx), %rcx
	movq	$0, REC_SP(%rax)
	sub	$REC_BYTES, %rax
	mov	%rax, THR_TOP(%rcx)
	mov	8(%rsp), %eax			/* -88 + 96 */
	add	$0x7f, %al
	sahf
	mov	16(%rsp), %r11
	mov	24(%rsp), %r10
	mov	32(%rsp), %r9
	mov	40(%rsp), %r8
	mov	48(%rsp), %rsi
	mov	56(%rsp), %rdi
	mov	64(%rsp), %rcx
	mov	72(%rsp), %rdx
	mov	80(%rsp), %rax
	lea	88(%rsp), %rsp
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size	wtm_exit_tail, .-wtm_exit_tail

	/* The unwinder's rule reads this: distance from here to the list of threads, in the block of the return point. */
	.org	.Lgo + WTM_HEAD_AT
	.long	wtm_threads - .

/* The function is open in this thread: a recursive call, unless it is open on another stack or was left. */
	.type	wtm_entry_rare, @function
	.p2align 5
wtm_entry_rare:
	.cfi_startproc
.Lnot_idle:
	mov	LOCAL_OPEN(%rax), %rdx
	test	%rdx, %rdx
	jz	.Lslow
	mov	REC_SP(%rdx), %rdx
	lea	8(%rsp), %r10
	cmp	%rdx, %r10
	jae	.Lslow
	cmp	THR_STACK_LOW(%rcx), %r10
	jb	.Lslow
	cmp	THR_STACK_HIGH(%rcx), %rdx
	ja	.Lslow
	lea	wtm_return_point(%rip), %r10
	cmp	%r10, -8(%rdx)			/* left by longjmp, its slot used again? */
	jne	.Lslow
	cmpl	$0, wtm_hot+HOT_NEST(%rip)
	jne	.Lslow
	mov	LOCAL_CELL(%rax), %rdx
	incq	CELL_RECURSIVE(%rdx)
	mov	wtm_hot+HOT_RECURSIVE(%rip), %rdx
	add	%rdx, THR_SPENT(%rcx)
.Lto_body:					/* r11 = probe */
	mov	PROBE_BODY(%r11), %rcx
	mov	%rcx, -64(%rsp)
	restore_flags
	restore_scratch
	jmp	*-64(%rsp)

.Lslow:						/* r11 = probe; rax, rcx, rdx, r10 and flags are saved */
	save_arguments
	mov	%r11, -104(%rsp)
	call_at_entry wtm_entry_slow
	restore_arguments
	mov	-104(%rsp), %r11
	cmp	$1, %eax
	jb	.Lto_body
	je	.Lretry
	mov	PROBE_BODY(%r11), %r10
	mov	%r10, -64(%rsp)
	mov	wtm_thread@gottpoff(%rip), %rcx
	mov	%fs:(%rcx), %rcx
	mov	THR_TOP(%rcx), %r10
	jmp	.Lgo
	.cfi_endproc
	.size	wtm_entry_rare, .-wtm_entry_rare

/* Entry of a function of whose calls more may be wanted (special.h): the slow path while it is, else as wtm_entry. */
	.type	wtm_entry_special, @function
	.globl	wtm_entry_special
	.hidden	wtm_entry_special
	.p2align 5
wtm_entry_special:
	.cfi_startproc
	save_scratch
	cmpl	$0, PROBE_SPECIAL(%r11)
	jne	.Lslow
	jmp	.Lretry
	.cfi_endproc
	.size	wtm_entry_special, .-wtm_entry_special

/* Entry of a function that a runtime's generated code may call (callers.h): such a call is only counted. */
	.type	wtm_entry_walked, @function
	.globl	wtm_entry_walked
	.hidden	wtm_entry_walked
	.p2align 5
wtm_entry_walked:
	.cfi_startproc
	save_scratch
	caller_is_compiled wtm_return_point, 2f
1:	cmpl	$0, PROBE_SPECIAL(%r11)
	jne	.Lslow
	jmp	.Lretry
2:	count_from_outside 1b
	jmp	.Lto_body
	.cfi_endproc
	.size	wtm_entry_walked, .-wtm_entry_walked

/* Hook of a function whose calls we only want to hear of (the loader's notification): all of the processor's state is
 * kept, the handler is ordinary C. Not hot. r11 = probe, its value at -16(%rsp). */
	.type	wtm_watch_entry, @function
	.p2align 5
wtm_watch_entry:
	.cfi_startproc
	mov	%rax, -24(%rsp)
	lahf
	seto	%al
	mov	%eax, -32(%rsp)
	mov	PROBE_BODY(%r11), %rax
	mov	%rax, -128(%rsp)		/* where to go on, and r11 there */
	mov	-16(%rsp), %rax
	mov	%rax, -120(%rsp)
	mov	%r11, -112(%rsp)
	mov	%rcx, -40(%rsp)
	mov	%rdx, -48(%rsp)
	mov	%rsi, -56(%rsp)
	mov	%rdi, -64(%rsp)
	mov	%r8, -72(%rsp)
	mov	%r9, -80(%rsp)
	mov	%r10, -88(%rsp)
	mov	%rbp, -96(%rsp)
	mov	%rbx, -104(%rsp)
	mov	%rsp, %rbp
	.cfi_def_cfa_register rbp
	.cfi_offset rbp, -104
	.cfi_offset rbx, -112
	mov	%rsp, %rdi			/* slot */
	mov	%r11, %rsi			/* probe */
	lea	-88(%rbp), %rdx			/* registers: r10 r9 r8 rdi rsi rdx rcx flags rax r11 */
	lea	-128(%rsp), %rsp
	sub	wtm_xsave_bytes(%rip), %rsp
	and	$-64, %rsp
	mov	%rdx, %rbx
	/* the header of the xsave area must be zero */
	xor	%eax, %eax
	mov	%rax, 512(%rsp)
	mov	%rax, 520(%rsp)
	mov	%rax, 528(%rsp)
	mov	%rax, 536(%rsp)
	mov	%rax, 544(%rsp)
	mov	%rax, 552(%rsp)
	mov	%rax, 560(%rsp)
	mov	%rax, 568(%rsp)
	mov	wtm_xsave_mask(%rip), %eax
	test	%eax, %eax
	jz	1f
	xor	%edx, %edx
	xsave64	(%rsp)
	jmp	2f
1:	fxsave64 (%rsp)
2:	mov	%rbx, %rdx
	cld
	call	wtm_watch
	test	%eax, %eax
	jz	3f
	mov	-112(%rbp), %rax		/* timed as well: to the entry code, as from the stub */
	mov	%rax, -120(%rbp)
	mov	wtm_timed_entry(%rip), %rax
	mov	%rax, -128(%rbp)
3:	mov	wtm_xsave_mask(%rip), %eax
	test	%eax, %eax
	jz	1f
	xor	%edx, %edx
	xrstor64 (%rsp)
	jmp	2f
1:	fxrstor64 (%rsp)
2:	mov	%rbp, %rsp
	.cfi_def_cfa_register rsp
	mov	-104(%rsp), %rbx
	mov	-96(%rsp), %rbp
	.cfi_same_value rbx
	.cfi_same_value rbp
	mov	-88(%rsp), %r10
	mov	-80(%rsp), %r9
	mov	-72(%rsp), %r8
	mov	-64(%rsp), %rdi
	mov	-56(%rsp), %rsi
	mov	-48(%rsp), %rdx
	mov	-40(%rsp), %rcx
	mov	-32(%rsp), %eax
	add	$0x7f, %al
	sahf
	mov	-24(%rsp), %rax
	mov	-120(%rsp), %r11
	jmp	*-128(%rsp)
	.cfi_endproc
	.size	wtm_watch_entry, .-wtm_watch_entry
	.hidden	wtm_xsave_bytes, wtm_xsave_mask

	.section .note.GNU-stack, "", @progbits
