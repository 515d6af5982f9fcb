/* SPDX-License-Identifier: MIT
 * Put in front of the library's files: a block is taken from a thread that has ended, and the kernel orders the two. The
 * sanitizer cannot see that. */
#ifndef WTM_TESTS_THREADS_HANDOVER_H
#define WTM_TESTS_THREADS_HANDOVER_H

extern int wtm_handover;
void __tsan_acquire(void *address);
#define WTM_OWNER_ENDED() __tsan_acquire(&wtm_handover)

#endif
