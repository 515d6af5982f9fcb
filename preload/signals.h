/* SPDX-License-Identifier: MIT
 * Control of the running process by signals: which ones (WTM_SIGNALS), and their handler. A signal that is not at its default
 * disposition belongs to the program and is left alone, and a handler that the program sets later stays. */
#ifndef WTM_PRELOAD_SIGNALS_H
#define WTM_PRELOAD_SIGNALS_H

#include "preload/hot.h"

enum wtm_control { WTM_CONTROL_ARM = 0, WTM_CONTROL_RESET = 1, WTM_CONTROL_DISARM = 2, WTM_CONTROL_DUMP = 3, WTM_CONTROLS = 4 };

#define WTM_SIGNALS_DEFAULT {44, 45, 46, 47} /* SIGRTMIN (34, as glibc has it) + 10 .. 13 */

/* WTM_SIGNALS: "none", or "arm=SIGNAL,dump=SIGNAL"; what is not named keeps what `numbers` holds, unless its signal is taken
 * by one that is named. 0, or -EINVAL with `numbers` as they were. */
int wtm_signals_parse(const char *text, int numbers[WTM_CONTROLS]) WTM_HIDDEN;
/* Takes the signals that are free, tells of the others, and puts those in effect into the profile's header. Start-up. */
void wtm_signals_install(void) WTM_HIDDEN;

#endif
