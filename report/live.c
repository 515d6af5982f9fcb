/* SPDX-License-Identifier: MIT
 * Files and processes. */
#include "report/live.h"
#include "report/options.h"
#include "report/preload.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 48 };

static int open_process(struct wtm_live *live, size_t i, const char *command, pid_t pid)
{
    struct wtm_process_view *view = &live->views[i];
    char subject[64];
    int result = wtm_process_open(view, pid, command);
    if (result)
        return result;
    snprintf(subject, sizeof subject, "%d (%s)", (int)pid, view->name);
    if (!view->carries && view->profile < 0)
        return wtm_preload_error(command, WTM_EXIT_INPUT, subject, "does not carry libwtmtime.so: nothing is timed there");
    if (view->profile < 0)
        return wtm_preload_error(command, WTM_EXIT_INPUT, subject,
                                 "times nothing (no WTM_TIME), or its profile cannot be read");
    if (!view->own)
        return wtm_preload_error(command, WTM_EXIT_INPUT, subject,
                                 "came from a fork and has called nothing timed since");
    live->paths[i] = malloc(PATH_BYTES);
    if (!live->paths[i])
        return wtm_preload_error(command, WTM_EXIT_INPUT, subject, "no memory");
    snprintf(live->paths[i], PATH_BYTES, "/proc/self/fd/%d", view->profile);
    return 0;
}

int wtm_live_open(struct wtm_live *live, const char *command, char **operands, size_t count, const char *pid)
{
    int result = 0;
    size_t all = count + (pid != NULL);
    *live = (struct wtm_live){calloc(all, sizeof *live->paths), calloc(all, sizeof *live->views), all};
    if (!live->paths || !live->views)
        return wtm_preload_error(command, WTM_EXIT_INPUT, "profiles", "no memory");
    for (size_t i = 0; i < all; i++)
        live->views[i] = (struct wtm_process_view){.handle = -1, .profile = -1};
    for (size_t i = 0; i < all; i++) {
        const char *operand = i < count ? operands[i] : pid;
        pid_t number = wtm_process_number(operand);
        int one = 0;
        if (number && (i == count || access(operand, F_OK)))
            one = open_process(live, i, command, number);
        else if (!(live->paths[i] = strdup(operand)))
            one = wtm_preload_error(command, WTM_EXIT_INPUT, operand, "no memory");
        result = result ? result : one;
    }
    return result;
}

void wtm_live_close(struct wtm_live *live)
{
    for (size_t i = 0; i < live->count; i++) {
        if (live->views)
            wtm_process_close(&live->views[i]);
        if (live->paths)
            free(live->paths[i]);
    }
    free(live->paths);
    free(live->views);
}
