/* SPDX-License-Identifier: MIT
 * The one function of greenlet (below gevent and eventlet) that copies stacks away and back. */
#ifndef WTM_PRELOAD_STACK_SWITCH_H
#define WTM_PRELOAD_STACK_SWITCH_H

#include "common/elf_object.h"
#include "preload/hot.h"

/* Its address in this object and its size, or 0 when there is no such function in it. Start-up, or with the loader's lock held. */
uintptr_t wtm_stack_switch_find(const struct wtm_object *object, size_t *size) WTM_HIDDEN;

/* It is about to run: `sp` is its caller's stack pointer. Open calls of this stack return without us from now on. */
void wtm_stack_switch_enter(uint64_t sp) WTM_HIDDEN;

#endif
