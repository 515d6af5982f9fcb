/* SPDX-License-Identifier: MIT
 * Why a function is not timed. One list for all parts: a refusal that the patcher finds reaches the user unchanged.
 *
 * The rule for errors everywhere else: a function returns 0 (or a count) on success and a negative errno on failure;
 * messages are made only at the edge (preload/log.c, report/). Nothing here exits, allocates or prints. */
#ifndef WTM_COMMON_STATUS_H
#define WTM_COMMON_STATUS_H

/* Values are stored in profile files: never renumber, add at the end only. */
#define WTM_REFUSALS(X)                                                                                                \
    X(NONE, 0, "timed")                                                                                                \
    X(TOO_SHORT, 1, "too short: fewer than five bytes, and none free beside it")                                       \
    X(BRANCH_INSIDE, 2, "a branch from elsewhere lands inside the bytes that a jump would replace")                    \
    X(UNDECODABLE, 3, "its first instructions are unknown to the decoder")                                             \
    X(PREFIXED_BRANCH, 4, "begins with a branch whose size prefix processors read differently")                        \
    X(SHORT_LOOP, 5, "loops to its first byte by a branch that cannot be re-aimed")                                    \
    X(READS_RETURN, 6, "reads its own return address")                                                                 \
    X(POPS_RETURN, 7, "pops its own return address")                                                                   \
    X(NO_NEAR_MEMORY, 8, "no free memory within 2 GiB of it")                                                          \
    X(OUT_OF_REACH, 9, "addresses data that its moved instructions could not reach")                                   \
    X(NOT_CODE, 10, "not in an executable segment of a loaded object")                                                 \
    X(NOT_A_START, 11, "not the start of an instruction")                                                              \
    X(RETURNS_TWICE, 12, "returns twice")                                                                              \
    X(USES_CALLER, 13, "the C library finds its caller by the return address")                                         \
    X(SWITCHES_STACK, 14, "saves or switches the stack together with its return address")                             \
    X(NEW_STACK, 15, "returns on another stack")                                                                       \
    X(UNWINDER, 16, "part of the unwinder, which reads its own frame")                                                 \
    X(VDSO, 17, "its body is in the kernel's vdso, which cannot be changed")                                           \
    X(RESOLVER, 18, "an IFUNC resolver; time the chosen body instead")                                                 \
    X(OWN_CONVENTION, 19, "called by the loader with a convention of its own")                                         \
    X(OWN_LIBRARY, 20, "part of libwtmtime itself")                                                                    \
    X(LOADER, 21, "part of the dynamic loader; name it as ld-linux-x86-64.so.2:NAME")                                  \
    X(PROTECTED, 22, "its page cannot be made writable")                                                               \
    X(FOREIGN_HOOK, 23, "its entry is patched already, by this library for its own ends or by something else")           \
    X(GO, 24, "a Go function: its runtime moves stacks and checks return addresses")                                   \
    X(RESTART_POINT, 25, "a restartable sequence jumps back into its first bytes")                                     \
    X(NO_MEMORY, 26, "no memory for its stub")                                                                         \
    X(BUSY, 27, "a thread stands in its first bytes")                                                                  \
    X(COLD_PART, 28, "a cold part of a function, never an entry")                                                      \
    X(TOO_MANY, 29, "more functions than one process can time")                                                       \
    X(STACK_WALKER, 30, "called by generated code, whose runtime finds its way by return addresses on the stack (V8, HotSpot)") \
    X(TRAP_BLOCKED, 31, "it runs, and a thread blocks SIGTRAP or cannot be asked: try again, or name it in WTM_TIME")         \
    X(UNBOUND, 32, "an IFUNC of a library loaded later whose initializer cannot be watched: load the library at start (LD_PRELOAD)")

enum wtm_refusal {
#define X(name, number, text) WTM_REFUSED_##name = number,
    WTM_REFUSALS(X)
#undef X
    WTM_REFUSAL_COUNT
};

/* Stable short name ("BRANCH_INSIDE") and the sentence for the user. Any value is allowed; unknown ones give
 * "unknown". Any thread, signal-safe. */
const char *wtm_refusal_name(unsigned refusal);
const char *wtm_refusal_text(unsigned refusal);

#endif
