/* SPDX-License-Identifier: MIT
 * Shared by the test programs. */
#ifndef WTM_TESTS_TARGET_H
#define WTM_TESTS_TARGET_H

#define REAL __attribute__((noinline, used)) /* one out-of-line copy, called for real */
#if !defined(__clang__)
#undef REAL
#define REAL __attribute__((noipa, used))
#endif
#define IMPURE __asm__ volatile("" ::: "memory") /* no call of it is folded away */

#endif
