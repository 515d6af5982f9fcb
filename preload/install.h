/* SPDX-License-Identifier: MIT
 * From the user's patterns to patched functions: resolves, patches, and writes functions, refusals and names not found
 * into the profile. Start-up, or with the loader's lock held; one thread at a time. */
#ifndef WTM_PRELOAD_INSTALL_H
#define WTM_PRELOAD_INSTALL_H

#include "preload/hot.h"

/* Start-up: everything that `patterns` name in what is loaded. Gives the number of functions patched, or negative errno. */
int wtm_install_begin(const char *patterns) WTM_HIDDEN;
/* The loader has changed something: times what is new, forgets what is gone. */
void wtm_install_update(void) WTM_HIDDEN;
/* All gates: 1 timed, 0 straight to the bodies. Any thread, signal-safe: who comes while another is at it leaves the rest
 * to that one. */
void wtm_install_arm(int armed) WTM_HIDDEN;

#endif
