/* SPDX-License-Identifier: MIT
 * libFuzzer's entry point for the settings: the environment's WTM_ words as the library reads them at start, the paths with %
 * fields made from them, and the patterns out of WTM_TIME, files of patterns (`@FILE`) included. The input is an environment:
 * words end at a zero byte; what follows two zero bytes is the text of the file that stands in for every `@FILE`. */
#include "common/patterns.h"
#include "preload/config.h"
#include "preload/control.h"
#include "preload/mailbox.h"
#include "preload/log.h"
#include "preload/process.h"
#include "preload/profile.h"
#include "preload/signals.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MOST_WORDS = 32, MOST_PATH = 4096 };
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What config.c and signals.c need of the rest. */
struct wtm_process wtm_process = {.pid = 4294967295u, .program = "a/program"};
static unsigned lines;

void wtm_log_parts(const char *const *parts)
{
    size_t bytes = 0;
    for (; *parts; parts++)
        bytes += strlen(*parts);
    lines += bytes != 0;
}
int wtm_control(enum wtm_control what) { abort(); }
void wtm_mailbox_work(void *context) { abort(); }
struct wtm_profile_header *wtm_profile_header(void) { return NULL; }
void wtm_signal_return(void) WTM_HIDDEN;
void wtm_signal_return(void) { abort(); }

static void complain(void *context, const char *message)
{
    if (!strlen(message) || strlen(message) > 1024)
        abort();
}

/* Whatever a setting was, what stands there now is one of the values that the library knows. */
static void check_settings(void)
{
    const struct wtm_settings *s = &wtm_settings;
    if (s->disarmed < 0 || s->disarmed > 1 || s->nest < 0 || s->nest > 1 || s->verbose < 0 || s->verbose > 2)
        abort();
    for (int i = 0; i < WTM_CONTROLS; i++) {
        if (s->signals[i] < 0 || s->signals[i] > 64)
            abort();
        for (int j = 0; j < i; j++)
            if (s->signals[i] && s->signals[i] == s->signals[j])
                abort();
    }
}

static void check_path(const char *pattern)
{
    char path[MOST_PATH];
    for (int child = 0; pattern && child < 2; child++)
        for (size_t room = 1; room <= sizeof path; room *= 4) {
            memset(path, 'x', sizeof path);
            int result = wtm_config_path(path, room, pattern, child);
            if (result == 0 && strlen(path) >= room)
                abort();
            for (size_t i = room; i < sizeof path; i++)
                if (path[i] != 'x')
                    abort();
        }
}

/* One path for all `@FILE`: files of the machine are none of the input. */
static const char *write_file(const char *text, size_t bytes)
{
    static char path[32];
    static int fd = -1;
    if (fd < 0)
        fd = memfd_create("patterns", 0);
    if (fd < 0 || ftruncate(fd, 0) || pwrite(fd, text, bytes, 0) != (ssize_t)bytes)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return path;
}

/* Each `@` that begins a pattern, with its name, becomes the file at hand. */
static char *with_file(const char *text, const char *path)
{
    size_t room = strlen(text) * (strlen(path) + 2) + 1;
    char *to = malloc(room), *at = to;
    for (const char *p = text; *p;) {
        if (*p != '@') {
            *at++ = *p++;
            continue;
        }
        at += sprintf(at, "@%s", path);
        p += strcspn(p, ",");
    }
    *at = 0;
    return to;
}

static void check_patterns(const char *time, const char *file)
{
    struct wtm_arena arena = {.limit_bytes = 256 << 20};
    struct wtm_pattern_set set;
    char *text = with_file(time, file);
    if (!wtm_patterns_parse(&set, text, "WTM_TIME", &arena, complain, NULL))
        for (size_t i = 0; i < set.count; i++)
            if (!set.patterns[i].text || (set.patterns[i].kind == WTM_PATTERN_REGEX && !set.patterns[i].regex))
                abort();
    wtm_arena_free(&arena);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *words[MOST_WORDS + 1] = {NULL};
    char *text = malloc(size + 2);
    memcpy(text, data, size);
    text[size] = text[size + 1] = 0;
    size_t count = 0, at = 0;
    for (; at < size && text[at] && count < MOST_WORDS; at += strlen(text + at) + 1)
        words[count++] = text + at;
    const char *file = write_file(text + at, size > at ? size - at : 0);
    wtm_settings = (struct wtm_settings){.cpu = -1, .signals = WTM_SIGNALS_DEFAULT};
    wtm_config_read(words);
    check_settings();
    check_path(wtm_settings.out);
    check_path(wtm_settings.table == WTM_TABLE_FILE ? wtm_settings.table_path : NULL);
    if (wtm_settings.time)
        check_patterns(wtm_settings.time, file);
    free(text);
    return 0;
}
