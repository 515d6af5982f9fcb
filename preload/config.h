/* SPDX-License-Identifier: MIT
 * All settings: WTM_* in the environment, read once at start. Nothing else in the library reads the environment. */
#ifndef WTM_PRELOAD_CONFIG_H
#define WTM_PRELOAD_CONFIG_H

#include <stddef.h>
#include <stdint.h>
#include "preload/hot.h"
#include "preload/signals.h"

enum { WTM_PATH_BYTES = 4096 };

enum wtm_table_place { WTM_TABLE_STDERR = 0, WTM_TABLE_NONE = 1, WTM_TABLE_FILE = 2 };

struct wtm_settings {
    const char *time;        /* WTM_TIME or NULL */
    const char *out;         /* WTM_OUT or NULL; % fields not yet expanded */
    enum wtm_table_place table;
    const char *table_path;  /* of WTM_TABLE_FILE */
    int disarmed;            /* WTM_START */
    int nest;                /* WTM_RECURSION */
    int clock;               /* WTM_CLOCK: 0 auto, else enum wtm_clock_source */
    int order;               /* WTM_ORDER: enum wtm_order */
    int cpu;                 /* WTM_CPU: -1 auto, else enum wtm_cpu_source */
    int signals[WTM_CONTROLS]; /* WTM_SIGNALS: by enum wtm_control; 0 none */
    int signals_given;       /* 1: by the user */
    char *subtract;          /* WTM_SUBTRACT or NULL */
    uint32_t samples;        /* WTM_SAMPLES */
    int noise;               /* WTM_NOISE */
    int verbose;
};
extern struct wtm_settings wtm_settings WTM_HIDDEN;

/* Reads `environment` (NULL: the C library's); complains of bad values and unknown WTM_* names through log.h and uses the defaults for them.
 * Strings are kept by reference: programs may overwrite their environment, so they are copied first. */
void wtm_config_read(char *const *environment) WTM_HIDDEN;

/* Expands %p (pid), %e (program), %h (host), %% in `pattern`. `child`: a forked child must not take its parent's file, so
 * without %p in the pattern ".PID" is appended. 0, or -ENAMETOOLONG. No libc; any context. */
int wtm_config_path(char *to, size_t bytes, const char *pattern, int child) WTM_HIDDEN;

#endif
