/* SPDX-License-Identifier: MIT
 * wtm time, wtm untime PID PATTERN... */
#include "common/text.h"
#include "report/commands.h"
#include "report/preload.h"
#include "report/request.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

static int time_functions(int argc, char **argv);
static int untime_functions(int argc, char **argv);

#define EXITS                                                                                               \
    "\nThe process must carry the library, with a profile (WTM_TIME set; '!*' times nothing yet) and a\n"    \
    "control signal in effect (WTM_SIGNALS). Exit status: 0 done; 1 no such function, or none that\n"        \
    "can be timed; 3 no such process, or no permission; 126 nothing was asked."

const struct wtm_command wtm_command_time = {
    .name = "time", .summary = "times more functions of a running process", .operands = "PID PATTERN...",
    .description = "Times functions of a process that runs under the library, from now on. Patterns are those of\n"
                   "WTM_TIME (libwtmtime(7)); they look at what is loaded now. Threads go on meanwhile; one of them\n"
                   "does the work, which takes some milliseconds for each library concerned." EXITS,
    .examples = "  wtm time 4242 'sqlite3_*'; sleep 10; wtm report 4242", .run = time_functions};
const struct wtm_command wtm_command_untime = {
    .name = "untime", .summary = "times them no longer", .operands = "PID PATTERN...",
    .description = "Calls of these functions that begin from now on are not timed; their counts stay in the report.\n"
                   "By names as the report has them, or by patterns as in WTM_TIME. What stays in the code is a\n"
                   "jump to and fro (about a nanosecond a call)." EXITS,
    .examples = "  wtm untime 4242 malloc free", .run = untime_functions};

/* Any that works: what the signal asks for is in the mailbox. */
static int working_signal(const struct wtm_process_view *view, const struct wtm_profile_header *header)
{
    struct wtm_process_state state;
    wtm_process_state(view, &state);
    for (int i = 0; i < 4; i++) {
        uint32_t number = header->control_signals[i];
        if (number && number <= 64 && state.caught >> (number - 1) & 1)
            return (int)number;
    }
    return 0;
}

static const char *obstacle(const struct wtm_process_view *view, struct wtm_profile_header *header, int *signal)
{
    if (!view->carries)
        return "does not carry libwtmtime.so; nothing was sent";
    if (wtm_process_header(view, header))
        return "carries the library and times nothing (no WTM_TIME), or its profile cannot be read; nothing was sent";
    if (!view->own)
        return "came from a fork and has called nothing timed since; nothing was sent";
    if (header->state == WTM_PROFILE_ENDED)
        return "it has ended, or is about to; nothing was sent";
    *signal = working_signal(view, header);
    return *signal ? NULL : "none of the control signals is in effect (WTM_SIGNALS, or the program uses them itself); nothing was sent";
}

static const char *words_of(int result)
{
    switch (-result) {
    case ENOENT: return "no function of that name is loaded, or timed";
    case EINVAL: return "this is no pattern; see libwtmtime(7)";
    case EPERM: return "the program has forbidden the system calls that this needs";
    case EOPNOTSUPP: return "the library itself must hear of its calls, or cannot hear of libraries that are loaded";
    default: return "there was no memory for it, or the process cannot be changed now";
    }
}

/* What the process says may hold anything. */
static int say(const struct wtm_command *command, const struct wtm_process_view *view, const char *pattern,
               const struct wtm_answer *answer)
{
    char why[4 * WTM_ANSWER_TEXT_BYTES], subject[64];
    struct wtm_text text;
    int done = answer->result > 0, one = answer->result == 1;
    wtm_text_init(&text, why, sizeof why - 1, NULL, NULL);
    wtm_text_name(&text, *answer->text || done ? answer->text : words_of(answer->result));
    why[text.used] = 0;
    snprintf(subject, sizeof subject, "%d (%s)", (int)view->pid, view->name);
    if (done)
        printf("%s: %d function%s of %s %s timed %s\n", subject, answer->result, one ? "" : "s", pattern, one ? "is" : "are",
               command == &wtm_command_time ? "now" : "no longer");
    fflush(stdout);
    if (*why)
        fprintf(stderr, "wtm %s: %s: %s%s: %s\n", command->name, subject, pattern, done ? ": not all" : "", why);
    return done ? WTM_EXIT_OK : WTM_EXIT_FINDING;
}

static int change(const struct wtm_command *command, enum wtm_request request, int argc, char **argv)
{
    struct wtm_process_view view;
    struct wtm_profile_header header;
    struct wtm_answer answer;
    int values = 0, signal = 0, result = WTM_EXIT_OK;
    int count = wtm_options_parse(command, argc, argv, &values);
    if (count < 0)
        return wtm_options_exit(count);
    pid_t pid = count > 1 ? wtm_process_number(argv[1]) : 0;
    if (!pid)
        return wtm_usage_error(command, count < 2 ? "name a process and the functions" : "'%s' is no process id", argv[1]);
    for (int i = 2; i <= count; i++)
        if (strlen(argv[i]) >= WTM_REQUEST_TEXT_BYTES)
            return wtm_usage_error(command, "a pattern of more than %d characters", WTM_REQUEST_TEXT_BYTES - 1);
    result = wtm_process_open(&view, pid, command->name);
    if (result)
        return result;
    char subject[64];
    snprintf(subject, sizeof subject, "%d (%s)", (int)pid, view.name);
    const char *why = obstacle(&view, &header, &signal);
    for (int i = 2; i <= count && !why; i++) {
        why = wtm_request(&view, signal, request, argv[i], &answer);
        int one = why ? 0 : say(command, &view, argv[i], &answer);
        result = result ? result : one;
    }
    wtm_process_close(&view);
    return why ? wtm_preload_error(command->name, WTM_EXIT_CANNOT, subject, why) : result;
}

static int time_functions(int argc, char **argv)
{
    return change(&wtm_command_time, WTM_REQUEST_TIME, argc, argv);
}
static int untime_functions(int argc, char **argv)
{
    return change(&wtm_command_untime, WTM_REQUEST_UNTIME, argc, argv);
}
