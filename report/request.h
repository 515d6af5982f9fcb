/* SPDX-License-Identifier: MIT
 * Asks a process that carries the library to change what it times, by the mailbox of its profile. */
#ifndef WTM_REPORT_REQUEST_H
#define WTM_REPORT_REQUEST_H

#include "common/profile_format.h"
#include "report/process.h"

struct wtm_answer {
    int result; /* functions changed; or negative, as in wtmtime.h */
    char text[WTM_ANSWER_TEXT_BYTES];
};

/* NULL when it was answered; else why it was not, and nothing was changed (or nobody knows). `signal`: one of the control
 * signals that are in effect. Takes up to 10 s: the program's threads may block signals, or the loader be at work. */
const char *wtm_request(const struct wtm_process_view *view, int signal, enum wtm_request request, const char *text,
                        struct wtm_answer *answer);

#endif
