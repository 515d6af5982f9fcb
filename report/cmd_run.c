/* SPDX-License-Identifier: MIT
 * wtm run [OPTIONS] -- PROGRAM...
 *
 * Sets the environment and executes the program in this process: its exit status, its signals, its terminal
 * and its pid are its own. */
#include "report/commands.h"
#include "report/preload.h"
#include "report/target_check.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct values {
    const char *time, *out, *table, *start, *signals, *recursion, *clock, *order, *cpu;
    int verbose;
};

#define FIELD(name) offsetof(struct values, name)
static const struct wtm_option options[] = {
    {'t', "time", WTM_OPTION_LIST, FIELD(time), "PATTERNS",
     "functions to time, comma-separated: name, glob*,\n/regex/, lib.so:name, main:name, ns::Class::method,\n"
     "0x401234=handle, !taken_out, @FILE. May be repeated"},
    {'o', "out", WTM_OPTION_TEXT, FIELD(out), "FILE",
     "where the profile goes (default wtm.%p.prof); %p is\nthe pid, %e the program, %h the host; 'none': "
     "nowhere"},
    {0, "table", WTM_OPTION_TEXT, FIELD(table), "WHERE",
     "where the table goes: stderr (default), none, or a file"},
    {0, "start", WTM_OPTION_TEXT, FIELD(start), "STATE", "armed (default) or disarmed"},
    {0, "signals", WTM_OPTION_TEXT, FIELD(signals), "LIST",
     "what signals do, like arm=USR1,dump=RTMIN+13; or none"},
    {0, "recursion", WTM_OPTION_TEXT, FIELD(recursion), "HOW",
     "withdraw (default: inner calls are counted only) or\nnest (each level is timed)"},
    {0, "clock", WTM_OPTION_TEXT, FIELD(clock), "SOURCE", "auto (default), tsc or monotonic"},
    {0, "order", WTM_OPTION_TEXT, FIELD(order), "HOW", "loose, exit or strict: how clock reads are fenced"},
    {0, "cpu", WTM_OPTION_TEXT, FIELD(cpu), "SOURCE",
     "source of CPU time: auto (default), rseq, perf,\nclock_gettime or off"},
    {'v', "verbose", WTM_OPTION_FLAG, FIELD(verbose), NULL,
     "tell at start what was found, patched and refused"},
};

static int run(int argc, char **argv);
const struct wtm_command wtm_command_run = {
    .name = "run",
    .summary = "runs a program and times functions in it",
    .operands = "[--] PROGRAM [ARGUMENTS]",
    .description = "Runs PROGRAM with the library preloaded, saves a profile, and prints the table\n"
                   "when it ends. The exit status is the program's; 126 when it cannot be run or\n"
                   "timed, 127 when there is none. Settings without an option here are taken from\n"
                   "the environment (WTM_*, see libwtmtime(7)).",
    .examples = "  wtm run -t 'parse*,eval' -- ./app --fast input\n"
                "  wtm run -t 'libz.so:*' -o '/tmp/%e.%p.prof' -- make -j4\n"
                "  wtm run -t 'ns::Box::get' --table none -- ./app && wtm report wtm.*.prof",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .stops = 1,
    .run = run,
};

static int set_settings(const struct values *values)
{
    const struct {
        const char *name, *value;
    } settings[] = {
        {"WTM_TIME", values->time},       {"WTM_OUT", values->out},
        {"WTM_TABLE", values->table},     {"WTM_START", values->start},
        {"WTM_SIGNALS", values->signals}, {"WTM_RECURSION", values->recursion},
        {"WTM_CLOCK", values->clock},     {"WTM_ORDER", values->order},
        {"WTM_CPU", values->cpu},         {"WTM_VERBOSE", values->verbose ? "1" : NULL},
    };
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        if (settings[i].value && setenv(settings[i].name, settings[i].value, 1))
            return wtm_preload_error("run", WTM_EXIT_CANNOT, settings[i].name, "no memory");
    if (values->out && !strcmp(values->out, "none"))
        unsetenv("WTM_OUT");
    return values->out || !setenv("WTM_OUT", "wtm.%p.prof", 0)
               ? 0
               : wtm_preload_error("run", WTM_EXIT_CANNOT, "WTM_OUT", "no memory");
}

static int run(int argc, char **argv)
{
    struct values values = {0};
    struct wtm_target_check check;
    int words = wtm_options_parse(&wtm_command_run, argc, argv, &values);
    if (words < 0)
        return wtm_options_exit(words);
    if (!words)
        return wtm_usage_error(&wtm_command_run, "name a program");
    const char *time = values.time ? values.time : getenv("WTM_TIME");
    if (!time || !*time)
        return wtm_usage_error(&wtm_command_run, "name functions with -t, like -t 'foo,bar*'");
    int result = wtm_preload(&check, "run", argv[1]);
    if (!result)
        result = set_settings(&values);
    if (result)
        return result;
    execvp(check.path, argv + 1);
    return wtm_preload_error("run", errno == ENOENT ? WTM_EXIT_NO_PROGRAM : WTM_EXIT_CANNOT, check.path,
                             strerror(errno));
}
