/* SPDX-License-Identifier: MIT
 * wtm arm, reset, disarm, dump PID...
 *
 * A signal that nobody handles ends a process; so one is sent only to a process that carries the library, whose profile
 * names that signal, and in which it is caught. */
#include "report/commands.h"
#include "report/preload.h"
#include "report/process.h"
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { ARM, RESET, DISARM, DUMP }; /* as in control_signals */
enum { WAIT_MS = 2000, STEP_MS = 5 };

static const char *const commands[] = {"arm", "reset", "disarm", "dump"};
static const char *const done[] = {"is armed", "counts from zero now, and is armed", "is disarmed", "has printed its table"};

static int arm(int argc, char **argv);
static int reset(int argc, char **argv);
static int disarm(int argc, char **argv);
static int dump(int argc, char **argv);

#define DESCRIPTION(does)                                                                                    \
    does "\nNothing is sent to a process that does not carry the library, or in which the\n"                  \
         "signal (WTM_SIGNALS) is not in effect. Waits up to 2 s for the effect. Exit status:\n"               \
         "0 done; 1 sent, and no effect seen; 3 no such process, or no permission;\n"                          \
         "126 nothing was sent."

const struct wtm_command wtm_command_arm = {
    .name = "arm", .summary = "lets a running process count, from where it stood", .operands = "PID...",
    .description = DESCRIPTION("Arms processes under the library: calls are timed from now on, counts are kept."),
    .examples = "  wtm arm 4242", .run = arm};
const struct wtm_command wtm_command_reset = {
    .name = "reset", .summary = "lets a running process count from zero", .operands = "PID...",
    .description = DESCRIPTION("Zeroes all counts of processes under the library, and arms them. Calls that are\n"
                               "in progress count, once, when they end."),
    .examples = "  wtm reset 4242; sleep 10; wtm report 4242", .run = reset};
const struct wtm_command wtm_command_disarm = {
    .name = "disarm", .summary = "stops counting in a running process", .operands = "PID...",
    .description = DESCRIPTION("Disarms processes under the library: calls that begin now are not timed; counts are\nkept."),
    .examples = "  wtm disarm 4242", .run = disarm};
const struct wtm_command wtm_command_dump = {
    .name = "dump", .summary = "has a running process print its table", .operands = "PID...",
    .description = DESCRIPTION("Has processes under the library print the table so far, where WTM_TABLE says."),
    .examples = "  wtm dump $(pidof app)", .run = dump};

static int say(const struct wtm_process_view *view, int what, int result, const char *words)
{
    char subject[64];
    snprintf(subject, sizeof subject, "%d (%s)", (int)view->pid, view->name);
    if (result)
        return wtm_preload_error(commands[what], result, subject, words);
    printf("%s %s\n", subject, words);
    return WTM_EXIT_OK;
}

/* NULL when the signal may be sent. */
static const char *obstacle(const struct wtm_process_view *view, int what, const struct wtm_profile_header *header)
{
    struct wtm_process_state state;
    uint32_t number = header->control_signals[what];
    if (!number || number > 64)
        return "no signal of this process does that (WTM_SIGNALS, or the program uses the signal itself); nothing was sent";
    wtm_process_state(view, &state);
    if (!state.state || state.state == 'Z' || header->state == WTM_PROFILE_ENDED)
        return "it has ended, or is about to; nothing was sent";
    if (!(state.caught >> (number - 1) & 1))
        return "the program does not catch the signal any more; nothing was sent";
    return NULL;
}

static int has_effect(const struct wtm_process_view *view, int what, const struct wtm_profile_header *before)
{
    struct wtm_profile_header now;
    if (!view->own || wtm_process_header(view, &now))
        return 0;
    switch (what) {
    case ARM: return now.armed == 1;
    case DISARM: return now.armed == 0;
    case RESET: return now.epoch != before->epoch && now.armed == 1;
    default: return now.pid != before->pid || now.tables != before->tables;
    }
}

static int wait_for(struct wtm_process_view *view, int what, const struct wtm_profile_header *before)
{
    const struct timespec step = {0, STEP_MS * 1000000};
    struct wtm_process_state state;
    for (int waited = 0; waited < WAIT_MS; waited += STEP_MS) {
        if (has_effect(view, what, before))
            return say(view, what, WTM_EXIT_OK, done[what]);
        nanosleep(&step, NULL);
        wtm_process_look_again(view);
    }
    wtm_process_state(view, &state);
    return say(view, what, WTM_EXIT_FINDING,
               !state.state || state.state == 'Z'      ? "it has ended meanwhile"
               : state.state == 'T' || state.state == 't' ? "it is stopped; the signal takes effect when it goes on"
               : state.blocked >> (before->control_signals[what] - 1) & 1
                   ? "its main thread blocks the signal; it takes effect when that ends"
                   : "the signal was sent and had no effect within 2 s: the program may handle it itself");
}

static int control_one(const char *text, int what)
{
    struct wtm_process_view view;
    struct wtm_profile_header header;
    pid_t pid = wtm_process_number(text);
    if (!pid)
        return wtm_preload_error(commands[what], WTM_EXIT_USAGE, text, "is no process id");
    int result = wtm_process_open(&view, pid, commands[what]);
    if (result)
        return result;
    const char *why = !view.carries                        ? "does not carry libwtmtime.so; nothing was sent"
                      : wtm_process_header(&view, &header) ? "carries the library and times nothing (no WTM_TIME), or its "
                                                             "profile cannot be read; nothing was sent"
                                                           : obstacle(&view, what, &header);
    if (why) {
        result = say(&view, what, WTM_EXIT_CANNOT, why);
    } else if (view.own && (what == ARM || what == DISARM) && has_effect(&view, what, &header)) {
        result = say(&view, what, WTM_EXIT_OK, what == ARM ? "was armed already" : "was disarmed already");
    } else {
        int error = wtm_process_signal(&view, (int)header.control_signals[what]);
        result = error ? say(&view, what, WTM_EXIT_INPUT, strerror(-error)) : wait_for(&view, what, &header);
    }
    wtm_process_close(&view);
    return result;
}

/* The first that went wrong gives the exit status. */
static int control(const struct wtm_command *command, int what, int argc, char **argv)
{
    int values = 0, result = 0;
    int count = wtm_options_parse(command, argc, argv, &values);
    if (count < 0)
        return wtm_options_exit(count);
    if (!count)
        return wtm_usage_error(command, "name one or more processes");
    for (int i = 1; i <= count; i++) {
        int one = control_one(argv[i], what);
        result = result ? result : one;
    }
    return result;
}

static int arm(int argc, char **argv)
{
    return control(&wtm_command_arm, ARM, argc, argv);
}
static int reset(int argc, char **argv)
{
    return control(&wtm_command_reset, RESET, argc, argv);
}
static int disarm(int argc, char **argv)
{
    return control(&wtm_command_disarm, DISARM, argc, argv);
}
static int dump(int argc, char **argv)
{
    return control(&wtm_command_dump, DUMP, argc, argv);
}
