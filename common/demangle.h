/* SPDX-License-Identifier: MIT
 * Demangling many names: one stack and one buffer for all of them. wtm_demangle() in resolve.h is the same
 * for one.
 *
 * libiberty's callback demanglers need no malloc, but up to a megabyte or more of stack for hostile names
 * and, for a few, time without end. So they run on a stack of their own, with a guard page, and are left in
 * the midst of their output when it grows beyond all reason. One thread at a time for one demangler. */
#ifndef WTM_COMMON_DEMANGLE_H
#define WTM_COMMON_DEMANGLE_H

#include "common/arena.h"

struct wtm_demangler {
    unsigned char *stack; /* NULL: not there yet, or no memory */
    char *text;           /* of the last name, NUL behind */
    size_t length;
    struct wtm_arena arena;
};

/* A zeroed demangler is ready. Gives the text, valid until the next call, or NULL when the name is neither
 * C++ nor Rust. `parameters`: with the parameter list. Return types are left out, and std::string is written
 * as people write it. */
const char *wtm_demangler_run(struct wtm_demangler *demangler, const char *mangled, int parameters);
void wtm_demangler_end(struct wtm_demangler *demangler);
/* 1: worth trying. */
int wtm_is_mangled(const char *name);

#endif
