/* SPDX-License-Identifier: MIT
 * Requests from outside, through the profile: see struct wtm_mailbox. */
#ifndef WTM_PRELOAD_MAILBOX_H
#define WTM_PRELOAD_MAILBOX_H

#include "preload/hot.h"

/* In the handler of a control signal, with the context that it interrupted: does what is asked, if something is. */
void wtm_mailbox_work(void *context) WTM_HIDDEN;

#endif
