/* SPDX-License-Identifier: MIT
 * wtm run [OPTIONS] -- PROGRAM...
 *
 * Sets the environment, runs the program as a child (supervise.h), prints one table for it and all processes that it
 * started, and ends as the program ended. With --exec the program takes the place of this process instead. */
#include "report/collect.h"
#include "report/commands.h"
#include "report/load.h"
#include "report/output.h"
#include "report/preload.h"
#include "report/supervise.h"
#include "report/target_check.h"
#include "common/table.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct values {
    const char *time, *out, *table, *start, *signals, *recursion, *clock, *order, *cpu, *subtract, *samples;
    int verbose, exec, noise;
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
    {0, "order", WTM_OPTION_TEXT, FIELD(order), "HOW",
     "exit (default), strict or loose: how far clock\nreadings and calls wait for each other"},
    {0, "cpu", WTM_OPTION_TEXT, FIELD(cpu), "SOURCE",
     "source of CPU time: auto (default), rseq, perf,\nclock_gettime or off"},
    {0, "subtract", WTM_OPTION_LIST, FIELD(subtract), "PATTERNS",
     "take the time in these functions out of the functions\naround them: a collector, an allocator, a logger"},
    {0, "samples", WTM_OPTION_TEXT, FIELD(samples), "N", "keep the first N observations of each function"},
    {0, "noise", WTM_OPTION_FLAG, FIELD(noise), NULL,
     "count page faults, waits, preemptions and signal\nhandlers call by call"},
    {'v', "verbose", WTM_OPTION_FLAG, FIELD(verbose), NULL,
     "tell at start what was found, patched and refused"},
    {0, "exec", WTM_OPTION_FLAG, FIELD(exec), NULL,
     "the program takes the place of wtm: its process id\nis that of the command; each process prints a table\nof its own"},
};

static int run(int argc, char **argv);
const struct wtm_command wtm_command_run = {
    .name = "run",
    .summary = "runs a program and times functions in it",
    .operands = "[--] PROGRAM [ARGUMENTS]",
    .description = "Runs PROGRAM with the library preloaded, waits for its end, and prints one table\n"
                   "for it and all processes that it started. Each that called a timed function\n"
                   "leaves a profile, for wtm report. The exit status, or the signal, is the\n"
                   "program's; 126 when it cannot be run or timed, 127 when there is none. Signals\n"
                   "sent to wtm reach the program. Settings without an option here are taken from\n"
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
        {"WTM_SUBTRACT", values->subtract}, {"WTM_SAMPLES", values->samples},
        {"WTM_NOISE", values->noise ? "1" : NULL},
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

static int not_executed(const char *path, int error)
{
    return wtm_preload_error("run", error == ENOENT ? WTM_EXIT_NO_PROGRAM : WTM_EXIT_CANNOT, path, strerror(error));
}

/* In the child: its own number makes it the root of the run. */
static int mark_run(void *context)
{
    const struct wtm_run_place *place = context;
    char mark[64];
    snprintf(mark, sizeof mark, "%llu:%d", (unsigned long long)place->number, (int)getpid());
    return setenv("WTM_RUN", mark, 1) || setenv("WTM_OUT", place->pattern, 1) ? ENOMEM : 0;
}

/* Where WTM_TABLE says. */
static int write_table(const struct wtm_summary *summary, pid_t root)
{
    const char *where = getenv("WTM_TABLE");
    if (where && !strcmp(where, "none"))
        return 0;
    if (!where || !*where || !strcmp(where, "stderr"))
        return wtm_output_table(summary, STDERR_FILENO, getenv("WTM_VERBOSE"));
    char *path = wtm_run_expand(where, root, summary->header->program);
    int fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600) : -1, error = errno;
    free(path);
    if (fd < 0) {
        wtm_preload_error("run", 0, where, strerror(error));
        return wtm_output_table(summary, STDERR_FILENO, getenv("WTM_VERBOSE"));
    }
    int result = wtm_output_table(summary, fd, getenv("WTM_VERBOSE"));
    close(fd);
    return result;
}

/* Of those that called something, and the program itself. */
static size_t leave_out_silent(struct wtm_run_files *files, const struct wtm_loaded *loaded, pid_t root)
{
    size_t kept = 0;
    for (size_t i = 0; i < loaded->summary.profiles; i++) {
        const struct wtm_process_row *process = &loaded->summary.processes[i];
        for (size_t j = kept; j < files->count && (process->calls || process->pid == (uint32_t)root); j++)
            if (files->paths[j] == process->path) {
                files->paths[j] = files->paths[kept];
                files->paths[kept++] = (char *)process->path;
                break;
            }
    }
    return kept;
}

static void print_one_table(struct wtm_run_files *files, const struct wtm_run_place *place, pid_t root)
{
    struct wtm_loaded all, telling = {0};
    wtm_load(&all, files->paths, files->count, 0);
    if (all.count) {
        size_t kept = leave_out_silent(files, &all, root), running = 0;
        int fewer = kept && kept < all.count;
        if (fewer)
            wtm_load(&telling, files->paths, kept, 0);
        write_table(fewer && telling.count ? &telling.summary : &all.summary, root);
        for (size_t i = 0; i < all.summary.profiles; i++)
            running += all.summary.processes[i].running;
        if (running)
            fprintf(stderr, "wtm run: %zu %s started by the program still run%s; the calls so far are in the table\n", running,
                    running == 1 ? "process" : "processes", running == 1 ? "s" : "");
        wtm_run_tidy(&all.summary, place, root);
        wtm_unload(&telling);
    }
    wtm_unload(&all);
}

static int run_and_report(const char *path, char **argv)
{
    struct wtm_run_place place;
    struct wtm_run_files files;
    struct wtm_supervised child;
    int result = wtm_run_place_make(&place, getenv("WTM_OUT"));
    if (!result) {
        wtm_supervise(&child, path, argv, mark_run, &place);
        if (child.error)
            result = not_executed(path, child.error);
    }
    if (!result) {
        int error = wtm_run_collect(&files, &place, child.pid);
        if (error)
            wtm_preload_error("run", 0, place.pattern, strerror(-error));
        else if (files.count)
            print_one_table(&files, &place, child.pid);
        wtm_run_files_free(&files);
    }
    wtm_run_place_free(&place);
    return result ? result : wtm_end_as(&child);
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
    if (!values.exec)
        return run_and_report(check.path, argv + 1);
    unsetenv("WTM_RUN");
    execvp(check.path, argv + 1);
    return not_executed(check.path, errno);
}
