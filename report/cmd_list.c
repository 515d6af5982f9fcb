/* SPDX-License-Identifier: MIT
 * wtm list PROGRAM [PATTERN]...
 *
 * Asks the library itself: PROGRAM is started under it, disarmed, up to its entry point. So the answer is the
 * one that timing would meet, with the libraries that the loader chose and the bodies that IFUNC resolvers
 * picked. A look at the files alone was discarded: it knows neither. */
#include "report/commands.h"
#include "report/load.h"
#include "report/output.h"
#include "report/preload.h"
#include "report/printers.h"
#include "report/rows.h"
#include "report/to_entry.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct values {
    int json;
    size_t top, width;
};

#define FIELD(name) offsetof(struct values, name)
static const struct wtm_option options[] = {
    {0, "json", WTM_OPTION_FLAG, FIELD(json), NULL, "as JSON (schema wtm-list/1)"},
    {'n', "top", WTM_OPTION_NUMBER, FIELD(top), "N", "the first N functions only"},
};

static int run(int argc, char **argv);
const struct wtm_command wtm_command_list = {
    .name = "list",
    .summary = "what can be timed in a program, what not and why",
    .operands = "PROGRAM [PATTERN]...",
    .description = "Lists the functions that PATTERNs find (default: main:*, all of the program itself)\n"
                   "in PROGRAM and the libraries that it is linked with, and those that cannot be\n"
                   "timed, with the reason. PROGRAM is started, and killed before its main begins;\n"
                   "constructors of its libraries do run. Exit status 1: nothing can be timed.",
    .examples = "  wtm list ./app\n"
                "  wtm list ./app 'parse*' 'libz.so:*'\n"
                "  wtm list --json /usr/bin/sqlite3 'sqlite3_*'",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .run = run,
};

/* Patterns as one setting. */
static char *join(char **patterns)
{
    size_t bytes = 1;
    for (size_t i = 0; patterns[i]; i++)
        bytes += strlen(patterns[i]) + 1;
    char *joined = calloc(1, bytes);
    for (size_t i = 0; joined && patterns[i]; i++) {
        strcat(joined, i ? "," : "");
        strcat(joined, patterns[i]);
    }
    return joined;
}

static int set_settings(const char *patterns, const char *profile)
{
    static const char *const unwanted[] = {"WTM_SIGNALS", "WTM_RECURSION", "WTM_CLOCK",
                                           "WTM_ORDER",   "WTM_CPU",       "WTM_VERBOSE",
                                           "WTM_SUBTRACT", "WTM_SAMPLES",  "WTM_NOISE"};
    for (size_t i = 0; i < sizeof unwanted / sizeof *unwanted; i++)
        unsetenv(unwanted[i]);
    return setenv("WTM_TIME", patterns, 1) || setenv("WTM_OUT", profile, 1) ||
           setenv("WTM_TABLE", "none", 1) || setenv("WTM_START", "disarmed", 1);
}

/* By name, then by place: the profile has them in the order in which they were found. */
static int print(const struct wtm_target_check *check, char *directory, char *profile,
                 const struct values *values)
{
    struct wtm_loaded loaded;
    struct wtm_text text;
    struct wtm_table_options table = {
        .width = wtm_output_width(), .top = values->top, .program = check->path};
    int result = wtm_load(&loaded, &profile, 1, 0);
    unlink(profile); /* now: a reader that goes away (`| head`) ends this process while it prints */
    rmdir(directory);
    if (!result) {
        wtm_rows_sort(&loaded.summary, "name");
        wtm_output_begin(&text);
        (values->json ? wtm_print_list_json : wtm_print_list)(&text, &loaded.summary, &table);
        result = wtm_output_end(&text);
        if (!result && !loaded.summary.row_count)
            result = WTM_EXIT_FINDING;
    }
    wtm_unload(&loaded);
    return result;
}

static int list(const struct wtm_target_check *check, const char *patterns, const struct values *values)
{
    char directory[] = "/tmp/wtm-list-XXXXXX", profile[64], reason[128];
    char *argv[] = {(char *)check->subject, NULL};
    if (!mkdtemp(directory))
        return wtm_preload_error("list", WTM_EXIT_INPUT, "/tmp", "no directory can be made there");
    snprintf(profile, sizeof profile, "%s/profile", directory);
    int result;
    if (set_settings(patterns, profile))
        result = wtm_preload_error("list", WTM_EXIT_CANNOT, check->path, "no memory");
    else if (wtm_run_to_entry(check->subject, argv, reason, sizeof reason))
        result = wtm_preload_error("list", WTM_EXIT_CANNOT, check->subject, reason);
    else if (access(profile, R_OK))
        result = wtm_preload_error("list", WTM_EXIT_CANNOT, check->subject,
                                   "the loader did not preload the library into it");
    else
        result = print(check, directory, profile, values);
    unlink(profile);
    rmdir(directory);
    return result;
}

static int run(int argc, char **argv)
{
    static char all[] = "main:*", *default_patterns[] = {all, NULL};
    struct values values = {0};
    struct wtm_target_check check;
    int words = wtm_options_parse(&wtm_command_list, argc, argv, &values);
    if (words < 0)
        return wtm_options_exit(words);
    if (!words)
        return wtm_usage_error(&wtm_command_list, "name a program");
    char *patterns = join(words > 1 ? argv + 2 : default_patterns);
    int result = patterns ? wtm_preload(&check, "list", argv[1]) : WTM_EXIT_CANNOT;
    if (!result)
        result = list(&check, patterns, &values);
    free(patterns);
    return result;
}
