/* SPDX-License-Identifier: MIT
 * The profile's name in the file system. Start-up, or the first event of a child. General registers only. */
#ifndef WTM_PRELOAD_PROFILE_FILE_H
#define WTM_PRELOAD_PROFILE_FILE_H

#include <stddef.h>
#include "preload/hot.h"

/* A new file, 0600, in the place of an old profile or an empty file. A descriptor, or a negative errno: -EEXIST where something
 * else has the name. Links are not followed. */
int wtm_profile_open_new(const char *path) WTM_HIDDEN;
/* Changes `path`, which has room for `bytes`, where it names what this very process wrote before it executed this program. */
void wtm_profile_step_aside(char *path, size_t bytes) WTM_HIDDEN;

#endif
