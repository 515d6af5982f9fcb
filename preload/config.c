/* SPDX-License-Identifier: MIT
 * The table of settings. */
#include "preload/config.h"
#include "common/arena.h"
#include "common/profile_format.h"
#include "preload/log.h"
#include "preload/process.h"
#include "preload/profile.h"
#include <string.h>
#include <unistd.h>

struct wtm_settings wtm_settings = {.cpu = -1, .order = WTM_ORDER_EXIT, .signals = WTM_SIGNALS_DEFAULT};

/* Settings live as long as the process; the environment itself may be overwritten (setproctitle does it). */
static struct wtm_arena kept;

static int set_text(const char **to, const char *value)
{
    *to = *value ? wtm_arena_string(&kept, value, strlen(value)) : NULL;
    return 0;
}

static int set_choice(int *to, const char *value, const char *const *names, const int *values)
{
    for (int i = 0; names[i]; i++) {
        if (!strcmp(value, names[i])) {
            *to = values[i];
            return 0;
        }
    }
    return -22;
}

static int read_time(const char *value)
{
    return set_text(&wtm_settings.time, value);
}

static int read_out(const char *value)
{
    return set_text(&wtm_settings.out, value);
}

static int read_table(const char *value)
{
    if (!*value || !strcmp(value, "stderr")) {
        wtm_settings.table = WTM_TABLE_STDERR;
    } else if (!strcmp(value, "none")) {
        wtm_settings.table = WTM_TABLE_NONE;
    } else {
        wtm_settings.table = WTM_TABLE_FILE;
        set_text(&wtm_settings.table_path, value);
    }
    return 0;
}

static int read_start(const char *value)
{
    static const char *const names[] = {"armed", "disarmed", NULL};
    static const int values[] = {0, 1};
    return set_choice(&wtm_settings.disarmed, value, names, values);
}

static int read_recursion(const char *value)
{
    static const char *const names[] = {"withdraw", "nest", NULL};
    static const int values[] = {0, 1};
    return set_choice(&wtm_settings.nest, value, names, values);
}

static int read_clock(const char *value)
{
    static const char *const names[] = {"auto", "tsc", "monotonic", NULL};
    static const int values[] = {0, WTM_CLOCK_TSC, WTM_CLOCK_MONOTONIC};
    return set_choice(&wtm_settings.clock, value, names, values);
}

static int read_order(const char *value)
{
    static const char *const names[] = {"loose", "exit", "strict", NULL};
    static const int values[] = {WTM_ORDER_LOOSE, WTM_ORDER_EXIT, WTM_ORDER_STRICT};
    return set_choice(&wtm_settings.order, value, names, values);
}

static int read_cpu(const char *value)
{
    static const char *const names[] = {"auto", "rseq", "perf", "clock_gettime", "off", NULL};
    static const int values[] = {-1, WTM_CPU_RSEQ, WTM_CPU_PERF, WTM_CPU_GETTIME, WTM_CPU_OFF};
    return set_choice(&wtm_settings.cpu, value, names, values);
}

static int read_signals(const char *value)
{
    wtm_settings.signals_given = 1;
    return wtm_signals_parse(value, wtm_settings.signals);
}

static int read_subtract(const char *value)
{
    wtm_settings.subtract = *value ? wtm_arena_string(&kept, value, strlen(value)) : NULL;
    return 0;
}

static int read_samples(const char *value)
{
    enum { MOST = 1000000 };
    uint32_t number = 0;
    const char *digit = value;
    for (; *digit >= '0' && *digit <= '9' && number <= MOST; digit++)
        number = number * 10 + (uint32_t)(*digit - '0');
    if (digit == value || *digit || number > MOST)
        return -22;
    wtm_settings.samples = number;
    return 0;
}

static int read_noise(const char *value)
{
    static const char *const names[] = {"0", "1", NULL};
    static const int values[] = {0, 1};
    return set_choice(&wtm_settings.noise, value, names, values);
}

static int read_verbose(const char *value)
{
    static const char *const names[] = {"0", "1", "2", NULL};
    static const int values[] = {0, 1, 2};
    return set_choice(&wtm_settings.verbose, value, names, values);
}

/* A setting without a reader is known but not in this version: saying so beats silence. `wtm` uses WTM_LIB for itself. */
static const struct setting {
    const char *name, *expected;
    int (*read)(const char *value);
} settings[] = {
    {"WTM_TIME", "a comma-separated list of functions", read_time},
    {"WTM_OUT", "a file name", read_out},
    {"WTM_TABLE", "stderr, none or a file name", read_table},
    {"WTM_START", "armed or disarmed", read_start},
    {"WTM_RECURSION", "withdraw or nest", read_recursion},
    {"WTM_CPU", "auto, rseq, perf, clock_gettime or off", read_cpu},
    {"WTM_VERBOSE", "0 or 1", read_verbose},
    {"WTM_SIGNALS", "none, or a list like arm=RTMIN+10,reset=USR1,disarm=46,dump=none, each signal once", read_signals},
    {"WTM_CLOCK", "auto, tsc or monotonic", read_clock},
    {"WTM_ORDER", "loose, exit or strict", read_order},
    {"WTM_SUBTRACT", "a comma-separated list of functions", read_subtract},
    {"WTM_NOISE", "0 or 1", read_noise},
    {"WTM_SLOW", NULL, NULL},
    {"WTM_SAMPLES", "a number from 0 to 1000000", read_samples},
    {"WTM_FAKE", NULL, NULL},
    {"WTM_BUDGET", NULL, NULL},
};
enum { SETTING_COUNT = sizeof settings / sizeof *settings };

/* No setting: how `wtm run` tells its processes that they belong together. NUMBER:PID, both in decimal. */
static void read_run(const char *value)
{
    uint64_t numbers[2] = {0, 0};
    int which = 0;
    for (; *value; value++) {
        if (*value >= '0' && *value <= '9')
            numbers[which] = numbers[which] * 10 + (uint64_t)(*value - '0');
        else if (*value == ':' && !which)
            which = 1;
        else
            return;
    }
    wtm_process.run = which ? numbers[0] : 0;
    wtm_process.run_root = (uint32_t)numbers[1];
}

static void read_one(const char *name, size_t length, const char *value)
{
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        const struct setting *s = &settings[i];
        if (strlen(s->name) != length || memcmp(s->name, name, length))
            continue;
        if (!s->read)
            wtm_log(s->name, ": not in this version; ignored");
        else if (s->read(value))
            wtm_log(s->name, "=", value, ": expected ", s->expected, "; the default is used");
        return;
    }
    if (length == 7 && !memcmp(name, "WTM_LIB", 7))
        return;
    if (length == 7 && !memcmp(name, "WTM_RUN", 7)) {
        read_run(value);
        return;
    }
    char shown[64];
    size_t n = length < sizeof shown - 1 ? length : sizeof shown - 1;
    memcpy(shown, name, n);
    shown[n] = 0;
    wtm_log(shown, ": no such setting; ignored (known: WTM_TIME, WTM_OUT, WTM_TABLE, WTM_START, WTM_RECURSION, "
                   "WTM_CLOCK, WTM_ORDER, WTM_CPU, WTM_VERBOSE, WTM_SIGNALS, WTM_SUBTRACT, WTM_SAMPLES, WTM_NOISE)");
}

void wtm_config_read(char *const *environment)
{
    if (!environment)
        environment = environ;
    for (; environment && *environment; environment++) {
        const char *entry = *environment, *equals = strchr(entry, '=');
        if (equals && !strncmp(entry, "WTM_", 4))
            read_one(entry, (size_t)(equals - entry), equals + 1);
    }
}

struct path {
    char *to;
    size_t used, bytes;
};

static void add(struct path *path, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++, path->used++)
        if (path->used < path->bytes)
            path->to[path->used] = text[i];
}

static void add_number(struct path *path, uint64_t value)
{
    char digits[20];
    size_t n = sizeof digits;
    do
        digits[--n] = (char)('0' + value % 10);
    while (value /= 10);
    add(path, digits + n, sizeof digits - n);
}

/* One % field. A '/' in a name would lead elsewhere, so it becomes '_'. */
static void add_field(struct path *path, char field)
{
    const char *name = "";
    size_t from = path->used;
    if (field == 'p') {
        add_number(path, wtm_process.pid);
        return;
    } else if (field == 'e') {
        name = wtm_process.program;
    } else if (field == 'h') {
        name = wtm_process.host;
    } else if (field == '%') {
        name = "%";
    } else {
        add(path, "%", 1);
        add(path, &field, 1);
        return;
    }
    add(path, name, strlen(name));
    for (size_t i = from; i < path->used && i < path->bytes; i++)
        if (path->to[i] == '/')
            path->to[i] = '_';
}

int wtm_config_path(char *to, size_t bytes, const char *pattern, int child)
{
    struct path path = {to, 0, bytes};
    int has_pid = 0;
    for (const char *p = pattern; *p; p++) {
        if (*p == '%' && p[1]) {
            has_pid |= p[1] == 'p';
            add_field(&path, *++p);
        } else {
            add(&path, p, 1);
        }
    }
    if (child && !has_pid) {
        add(&path, ".", 1);
        add_number(&path, wtm_process.pid);
    }
    add(&path, "", 1);
    return path.used > bytes ? -36 : 0;
}
