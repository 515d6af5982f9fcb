/* SPDX-License-Identifier: MIT
 * A loaded object in the patcher's words. */
#ifndef WTM_PRELOAD_DESCRIBE_H
#define WTM_PRELOAD_DESCRIBE_H

#include "common/elf_object.h"
#include "patcher/patcher.h"
#include "preload/hot.h"

/* Fills `module`; lists that it points to are from the arena. */
void wtm_describe_module(const struct wtm_object *object, struct wtm_code_module *module, struct wtm_arena *arena) WTM_HIDDEN;

#endif
