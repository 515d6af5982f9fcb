/* SPDX-License-Identifier: MIT
 * Start-up on demand. */
#ifndef WTM_PRELOAD_START_H
#define WTM_PRELOAD_START_H

#include "preload/hot.h"

/* In a process that was started without WTM_TIME: makes all ready for functions to be timed, if it was not done. With the
 * lock of install.h held. 0, or -ENODEV. */
int wtm_start_late(void) WTM_HIDDEN;

#endif
