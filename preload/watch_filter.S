/* SPDX-License-Identifier: MIT
 * Hooks of prctl and syscall, and of functions that look at their return address. Some programs call these often, so what does not
 * concern us goes on after a few instructions; the rest goes to wtm_watch_entry, which keeps all state. As at any hook: r11 = probe, its value at -16(%rsp), all other
 * registers and flags are the program's. */
#define PROBE_BODY 8
#define PR_SET_SECCOMP 22
#define PR_SET_TSC 26
#define SYS_PRCTL 157
#define SYS_SECCOMP 317

	.hidden	wtm_watch_entry, wtm_timed_entry, wtm_watch_bypass, wtm_watch_filtered, wtm_watch_timed
	.hidden	wtm_watch_looking, wtm_return_point, wtm_return_clocked
	.globl	wtm_watch_filtered, wtm_watch_timed, wtm_watch_looking

	/* Numbers of both: which of the functions it is does the handler know. */
	.macro	concerns_us, yes
	mov	%rax, -24(%rsp)
	lahf
	seto	%al
	mov	%eax, -32(%rsp)
	cmp	$SYS_PRCTL, %edi
	je	\yes
	cmp	$SYS_SECCOMP, %edi
	je	\yes
	cmp	$PR_SET_SECCOMP, %edi
	je	\yes
	cmp	$PR_SET_TSC, %edi
	je	\yes
	.endm
	.macro	flags_back
	mov	-32(%rsp), %eax
	add	$0x7f, %al			/* OF back */
	sahf
	mov	-24(%rsp), %rax
	.endm

	.text
	.type	wtm_watch_filtered, @function
	.p2align 4
wtm_watch_filtered:
	.cfi_startproc
	concerns_us 1f
.Lbody:
	mov	PROBE_BODY(%r11), %rax
	mov	%rax, -128(%rsp)
	flags_back
	mov	-16(%rsp), %r11
	jmp	*-128(%rsp)
1:	flags_back
	jmp	wtm_watch_entry
	.cfi_endproc
	.size	wtm_watch_filtered, .-wtm_watch_filtered

	.type	wtm_watch_looking, @function
	.p2align 4
wtm_watch_looking:
	.cfi_startproc
	mov	%rax, -24(%rsp)
	lahf
	seto	%al
	mov	%eax, -32(%rsp)
	lea	wtm_return_point(%rip), %rax
	cmp	%rax, (%rsp)
	je	1b
	lea	wtm_return_clocked(%rip), %rax
	cmp	%rax, (%rsp)
	je	1b
	jmp	.Lbody
	.cfi_endproc
	.size	wtm_watch_looking, .-wtm_watch_looking

	.type	wtm_watch_timed, @function
	.p2align 4
wtm_watch_timed:
	.cfi_startproc
	concerns_us 1b
	cmpl	$0, wtm_watch_bypass(%rip)
	jne	.Lbody
	mov	wtm_timed_entry(%rip), %rax
	mov	%rax, -128(%rsp)
	flags_back
	jmp	*-128(%rsp)
	.cfi_endproc
	.size	wtm_watch_timed, .-wtm_watch_timed

	.section .note.GNU-stack, "", @progbits
