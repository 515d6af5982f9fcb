/* SPDX-License-Identifier: MIT */
#ifndef WTM_PATCHER_RETURN_SLOT_H
#define WTM_PATCHER_RETURN_SLOT_H

#include "patcher/decode.h"

/* A full memory barrier on the stack, which leaves the return address as it is. */
int wtm_return_is_fence(const struct wtm_insn *insn);

#endif
