/* SPDX-License-Identifier: MIT
 * The library and LD_PRELOAD. */
#include "report/preload.h"
#include "report/options.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int wtm_preload_error(const char *command, int exit_code, const char *subject, const char *words)
{
    fprintf(stderr, "wtm %s: %s: %s\n", command, subject, words);
    return exit_code;
}

/* In a build tree the library stands beside the command; else where it was installed, found from the
 * command's own place so that the whole may be moved. */
static int find_library(const char *command, char path[PATH_MAX])
{
    static const char *const beside[] = {"../preload/libwtmtime.so", WTM_LIBRARY_FROM_BIN};
    const char *given = getenv("WTM_LIB");
    if (given && *given) {
        if (!realpath(given, path))
            return wtm_preload_error(command, WTM_EXIT_CANNOT, given, "WTM_LIB names no library");
        return 0;
    }
    char self[PATH_MAX], at[2 * PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    self[length > 0 ? length : 0] = 0;
    char *slash = strrchr(self, '/');
    if (slash)
        slash[1] = 0;
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++) {
        snprintf(at, sizeof at, "%s%s", beside[i][0] == '/' ? "" : self, beside[i]);
        if (realpath(at, path))
            return 0;
    }
    if (realpath(WTM_LIBRARY, path))
        return 0;
    return wtm_preload_error(command, WTM_EXIT_CANNOT, WTM_LIBRARY,
                             "the library is not here; WTM_LIB can name another place");
}

/* A sanitizer's runtime insists on being first; then ours; then what was there. */
static int set_preload(const char *command, const char *library, const struct wtm_target_check *check)
{
    const char *before = getenv("LD_PRELOAD");
    if (strpbrk(library, " :"))
        return wtm_preload_error(
            command, WTM_EXIT_CANNOT, library,
            "LD_PRELOAD cannot hold a path with blanks or colons; WTM_LIB can name another place");
    size_t bytes = strlen(library) + strlen(check->runtime) + (before ? strlen(before) : 0) + 3;
    char *value = malloc(bytes);
    if (!value)
        return wtm_preload_error(command, WTM_EXIT_CANNOT, check->path, "no memory");
    snprintf(value, bytes, "%s%s%s%s%s", check->runtime, *check->runtime ? ":" : "", library,
             before && *before ? ":" : "", before ? before : "");
    int failed = setenv("LD_PRELOAD", value, 1);
    free(value);
    return failed ? wtm_preload_error(command, WTM_EXIT_CANNOT, check->path, "no memory") : 0;
}

int wtm_preload(struct wtm_target_check *check, const char *command, const char *program)
{
    char library[PATH_MAX];
    int result = wtm_target_check(check, program);
    if (result)
        return wtm_preload_error(command, result, check->subject, check->problem);
    if (*check->warning)
        wtm_preload_error(command, 0, check->subject, check->warning);
    result = find_library(command, library);
    return result ? result : set_preload(command, library, check);
}
