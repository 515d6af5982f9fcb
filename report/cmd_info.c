/* SPDX-License-Identifier: MIT
 * wtm info FILE|PID: how a profile came about and what is in it, but for the numbers of its functions. */
#include "report/commands.h"
#include "report/live.h"
#include "report/load.h"
#include "report/output.h"
#include "common/profile_check.h"
#include "common/status.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct values {
    int verbose;
};

static const struct wtm_option options[] = {
    {'v', "verbose", WTM_OPTION_FLAG, offsetof(struct values, verbose), NULL, "all threads and modules, not the first ten only"},
};

static int run(int argc, char **argv);
const struct wtm_command wtm_command_info = {
    .name = "info",
    .summary = "how a profile came about: clock, cost, settings, threads",
    .operands = "FILE|PID",
    .description = "Tells of one profile, of a file or of a running process: who, when, by which clock\n"
                   "and source of CPU time, what measuring costs, settings and signals in effect,\n"
                   "threads, modules, refusals by reason, and whether anything is missing.",
    .examples = "  wtm info wtm.4242.prof\n"
                "  wtm info $(pidof app)",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .run = run,
};

enum { LABEL = 12, FEW = 10 };

static void label(struct wtm_text *text, const char *word)
{
    wtm_text_string(text, word);
    wtm_text_char(text, ' ', strlen(word) < LABEL ? LABEL - (unsigned)strlen(word) : 1);
}

/* 3 threads, 1 thread */
static void count(struct wtm_text *text, uint64_t number, const char *what)
{
    wtm_text_grouped(text, number);
    wtm_text_char(text, ' ', 1);
    wtm_text_string(text, what);
    wtm_text_string(text, number == 1 ? "" : "s");
}

static void put_date(struct wtm_text *text, uint64_t realtime_ns)
{
    char date[64];
    time_t seconds = (time_t)(realtime_ns / 1000000000);
    struct tm parts;
    if (gmtime_r(&seconds, &parts) && strftime(date, sizeof date, "%Y-%m-%d %H:%M:%S UTC", &parts))
        wtm_text_string(text, date);
}

static void put_process(struct wtm_text *text, const struct wtm_summary *summary)
{
    const struct wtm_profile_header *header = summary->header;
    const struct wtm_process_row *process = &summary->processes[0];
    label(text, "process");
    wtm_text_name(text, header->program);
    wtm_text_string(text, ", pid ");
    wtm_text_unsigned(text, header->pid);
    wtm_text_string(text, header->forked ? ", forked by " : ", child of ");
    wtm_text_unsigned(text, header->parent_pid);
    if (*header->host) {
        wtm_text_string(text, ", on ");
        wtm_text_name(text, header->host);
    }
    wtm_text_char(text, '\n', 1);
    label(text, "time");
    wtm_text_string(text, "began ");
    put_date(text, header->start_realtime_ns);
    wtm_text_string(text, process->running ? ", has run " : process->cut ? ", ran at least " : ", ran ");
    wtm_text_duration(text, process->wall_ns, 0);
    wtm_text_string(text, process->cut ? " (no word of its end: killed, _exit or exec)" : "");
    wtm_text_char(text, '\n', 1);
    label(text, "state");
    wtm_text_string(text, header->armed ? "armed" : "disarmed");
    wtm_text_string(text, ", ");
    count(text, header->epoch ? header->epoch - 1 : 0, "reset"); /* it begins with 1 */
    wtm_text_string(text, ", ");
    count(text, header->tables, "table");
    wtm_text_string(text, " printed\n");
}

static void put_note(struct wtm_text *text, const char *note)
{
    if (*note) {
        wtm_text_string(text, ": ");
        wtm_text_name(text, note);
    }
    wtm_text_char(text, '\n', 1);
}

static void put_sources(struct wtm_text *text, const struct wtm_summary *summary)
{
    static const char *const cpu_names[] = {"off", "rseq", "perf", "clock_gettime"};
    const struct wtm_profile_header *header = summary->header;
    label(text, "clock");
    wtm_text_string(text, header->clock == WTM_CLOCK_TSC ? "tsc " : "monotonic ");
    wtm_text_decimal(text, 1 / summary->ns_per_tick, 6);
    wtm_text_string(text, header->clock_trusted ? " GHz, trusted" : " GHz, not trusted");
    put_note(text, header->clock_note);
    label(text, "cpu time");
    wtm_text_string(text, header->cpu_source < 4 ? cpu_names[header->cpu_source] : "a source unknown here");
    put_note(text, header->cpu_note);
    label(text, "cost");
    wtm_text_decimal(text, summary->inside_ns, 1);
    wtm_text_string(text, " ns inside and ");
    wtm_text_decimal(text, summary->outside_ns, 1);
    wtm_text_string(text, " ns outside each call (+-");
    wtm_text_decimal(text, summary->spread_ns, 2);
    wtm_text_string(text, "), ");
    wtm_text_decimal(text, summary->recursive_ns, 1);
    wtm_text_string(text, " ns a recursive one; by ");
    wtm_text_grouped(text, header->cost.batches);
    wtm_text_string(text, " x ");
    count(text, header->cost.calls_per_batch, "call");
    wtm_text_string(text, "; ");
    wtm_text_duration(text, summary->cost_ns, 0);
    wtm_text_string(text, " so far\n");
}

static void put_signal(struct wtm_text *text, uint32_t number)
{
    if ((int)number >= SIGRTMIN && (int)number <= SIGRTMAX) {
        wtm_text_string(text, "RTMIN+");
        wtm_text_unsigned(text, number - (uint32_t)SIGRTMIN);
    } else if (number < 65 && sigabbrev_np((int)number)) {
        wtm_text_string(text, sigabbrev_np((int)number));
    } else {
        wtm_text_unsigned(text, number);
    }
}

static void put_settings(struct wtm_text *text, const struct wtm_profile_header *header)
{
    static const char *const controls[] = {"arm=", "reset=", "disarm=", "dump="};
    label(text, "recursion");
    wtm_text_string(text, header->recursion_mode == WTM_RECURSION_NEST ? "nest: each level is timed\n"
                                                                       : "withdraw: inner calls are counted, not timed\n");
    label(text, "signals");
    unsigned put = 0;
    for (unsigned i = 0; i < 4; i++) {
        if (!header->control_signals[i])
            continue;
        wtm_text_string(text, put++ ? "," : "");
        wtm_text_string(text, controls[i]);
        put_signal(text, header->control_signals[i]);
    }
    wtm_text_string(text, put ? "\n" : "none\n");
}

/* Names and how often, each once, in the order of their coming. */
struct tally {
    const char **names;
    uint64_t *counts, *others;
    size_t used, room;
};

static int tally_add(struct tally *tally, const char *name, uint64_t other)
{
    for (size_t i = 0; i < tally->used; i++)
        if (!strcmp(tally->names[i], name)) {
            tally->counts[i]++;
            tally->others[i] += other;
            return 0;
        }
    if (tally->used == tally->room) {
        size_t room = tally->room * 2 + 16;
        const char **names = realloc(tally->names, room * sizeof *names);
        tally->names = names ? names : tally->names;
        uint64_t *counts = realloc(tally->counts, room * sizeof *counts), *others = realloc(tally->others, room * sizeof *others);
        tally->counts = counts ? counts : tally->counts;
        tally->others = others ? others : tally->others;
        if (!names || !counts || !others)
            return -1;
        tally->room = room;
    }
    tally->names[tally->used] = name;
    tally->counts[tally->used] = 1;
    tally->others[tally->used++] = other;
    return 0;
}

static void tally_free(struct tally *tally)
{
    free(tally->names);
    free(tally->counts);
    free(tally->others);
}

static void put_more(struct wtm_text *text, const struct tally *tally, size_t shown)
{
    if (tally->used > shown) {
        label(text, "");
        wtm_text_string(text, "and ");
        wtm_text_grouped(text, tally->used - shown);
        wtm_text_string(text, " more\n");
    }
}

static void put_modules(struct wtm_text *text, const struct wtm_summary *summary, size_t most)
{
    struct tally tally = {0};
    for (size_t i = 0; i < summary->row_count; i++)
        if (tally_add(&tally, summary->rows[i].module, summary->rows[i].calls != 0))
            break;
    for (size_t i = 0; i < tally.used && i < most; i++) {
        label(text, i ? "" : "modules");
        wtm_text_name(text, tally.names[i]);
        wtm_text_string(text, ": ");
        count(text, tally.counts[i], "function");
        wtm_text_string(text, ", ");
        wtm_text_grouped(text, tally.others[i]);
        wtm_text_string(text, " called\n");
    }
    put_more(text, &tally, most);
    tally_free(&tally);
}

/* Chunks of threads by name; strings are copied into the arena. */
static void put_threads(struct wtm_text *text, struct wtm_loaded *loaded, size_t most)
{
    struct tally tally = {0};
    struct wtm_walk walk;
    wtm_walk_begin(&walk, &loaded->profiles[0]);
    for (const struct wtm_chunk *chunk; (chunk = wtm_walk_next(&walk));) {
        const struct wtm_thread_chunk *thread = (const void *)chunk;
        if (walk.type != WTM_CHUNK_THREAD)
            continue;
        const char *name = wtm_arena_string(&loaded->arena, thread->name, strnlen(thread->name, sizeof thread->name));
        if (!name || tally_add(&tally, *name ? name : "?", thread->switches))
            break;
    }
    for (size_t i = 0; i < tally.used && i < most; i++) {
        label(text, i ? "" : "threads");
        wtm_text_name(text, tally.names[i]);
        wtm_text_string(text, ": ");
        wtm_text_grouped(text, tally.counts[i]);
        wtm_text_string(text, " at once, CPU clock read ");
        count(text, tally.others[i], "time");
        wtm_text_char(text, '\n', 1);
    }
    put_more(text, &tally, most);
    tally_free(&tally);
}

static void put_refused(struct wtm_text *text, const struct wtm_summary *summary)
{
    unsigned put = 0;
    for (unsigned reason = 0; reason <= WTM_REFUSAL_COUNT; reason++) {
        uint64_t number = 0;
        for (size_t i = 0; i < summary->refused_count; i++)
            number += summary->refused[i].reason == reason || (reason == WTM_REFUSAL_COUNT && summary->refused[i].reason > reason);
        if (!number)
            continue;
        label(text, put++ ? "" : "refused");
        wtm_text_grouped(text, number);
        wtm_text_string(text, ": ");
        wtm_text_string(text, wtm_refusal_text(reason));
        wtm_text_char(text, '\n', 1);
    }
}

static void put_contents(struct wtm_text *text, struct wtm_loaded *loaded, int verbose)
{
    const struct wtm_summary *summary = &loaded->summary;
    size_t most = verbose ? SIZE_MAX : FEW;
    label(text, "calls");
    wtm_text_grouped(text, summary->processes[0].calls);
    wtm_text_string(text, " of ");
    count(text, summary->called, "function");
    wtm_text_string(text, "; ");
    wtm_text_grouped(text, summary->row_count - summary->called);
    wtm_text_string(text, " timed and never called\n");
    put_modules(text, summary, most);
    put_threads(text, loaded, most);
    put_refused(text, summary);
    if (summary->missing_count) {
        label(text, "not found");
        count(text, summary->missing_count, "pattern");
        wtm_text_char(text, '\n', 1);
    }
    label(text, "missing");
    if (summary->lost_calls) {
        count(text, summary->lost_calls, "call");
        wtm_text_string(text, " for want of memory\n");
    } else {
        wtm_text_string(text, summary->note_count ? "see the notes\n" : "nothing\n");
    }
    for (size_t i = 0; i < summary->note_count; i++) {
        label(text, i ? "" : "notes");
        wtm_text_name(text, summary->notes[i]);
        wtm_text_char(text, '\n', 1);
    }
}

static int print(struct wtm_loaded *loaded, const char *operand, int verbose)
{
    const struct wtm_profile_header *header = loaded->summary.header;
    struct wtm_text text;
    wtm_output_begin(&text);
    label(&text, "profile");
    wtm_text_name(&text, operand);
    wtm_text_string(&text, ", ");
    count(&text, loaded->profiles[0].bytes, "byte");
    wtm_text_string(&text, ", layout ");
    wtm_text_unsigned(&text, header->version);
    if (header->used_bytes > loaded->profiles[0].bytes)
        wtm_text_string(&text, "; CUT OFF: its process had written more");
    wtm_text_char(&text, '\n', 1);
    put_process(&text, &loaded->summary);
    put_sources(&text, &loaded->summary);
    put_settings(&text, header);
    put_contents(&text, loaded, verbose);
    return wtm_output_end(&text);
}

static int run(int argc, char **argv)
{
    struct values values = {0};
    struct wtm_live live;
    struct wtm_loaded loaded = {0};
    int operands = wtm_options_parse(&wtm_command_info, argc, argv, &values);
    if (operands < 0)
        return wtm_options_exit(operands);
    if (operands != 1)
        return wtm_usage_error(&wtm_command_info, "name one profile or process");
    int result = wtm_live_open(&live, "info", argv + 1, 1, NULL);
    if (!result)
        result = wtm_load(&loaded, live.paths, live.count, 0);
    if (!result)
        result = print(&loaded, argv[1], values.verbose);
    wtm_unload(&loaded);
    wtm_live_close(&live);
    return result;
}
