/* SPDX-License-Identifier: MIT
 * wtm clock: measures the time-stamp counter, asks what others say of it, and judges. */
#include "common/clock_step.h"
#include "report/commands.h"
#include "report/output.h"
#include "report/print_clock.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_UNDECIDED = 4 };

struct values {
    int json, quick;
    size_t weight, tolerate;
    const char *rate, *simulate;
};

#define FIELD(name) offsetof(struct values, name)
static const struct wtm_option options[] = {
    {'q', "quick", WTM_OPTION_FLAG, FIELD(quick), NULL, "in 0.2 s instead of 2; bounds are somewhat wider"},
    {0, "json", WTM_OPTION_FLAG, FIELD(json), NULL, "as JSON (schema wtm-clock/1)"},
    {0, "rate", WTM_OPTION_TEXT, FIELD(rate), "SECONDS",
     "also the rate by each of the kernel's clocks\nover so long (0.1 to 86400)"},
    {0, "tolerate", WTM_OPTION_NUMBER, FIELD(tolerate), "TICKS", "a shift between CPUs up to this is no fault (default 0)"},
    {0, "weight", WTM_OPTION_NUMBER, FIELD(weight), "N",
     "changes between two CPUs that must have been seen before\nthey are called sound (default 100; a fault needs one)"},
    {0, "simulate", WTM_OPTION_TEXT, FIELD(simulate), "FAULT",
     "judge a counter with a known fault instead, on the last CPU:\n"
     "shift=TICKS,drift=PPB,back=TICKS,stall=TICKS, or '' for none"},
};

static int run(int argc, char **argv);
const struct wtm_command wtm_command_clock = {
    .name = "clock",
    .summary = "whether the processor's counter is a trustworthy clock here",
    .operands = "",
    .description = "Measures the time-stamp counter by which calls are timed: the shift between the\n"
                   "counters of different CPUs, with bounds, whether it ever goes backwards or stands\n"
                   "still, whether it runs equally fast on all CPUs, its rate and granularity. Once with\n"
                   "one thread that hops from CPU to CPU, once with a thread on each CPU whose stamps\n"
                   "are ordered by compare-and-swap. What processor and kernel say stands beside it.\n"
                   "Only CPUs that the affinity allows are judged.\n"
                   "Exit status: 0 trusted; 1 not: a fault was measured, or processor or kernel speak\n"
                   "against it; 4 too little was seen to judge.",
    .examples = "  wtm clock\n"
                "  wtm clock --quick --json\n"
                "  wtm clock --rate 60           the rate against the kernel's clocks for a minute\n"
                "  wtm clock --simulate shift=500  a counter that must be found out",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .run = run,
};

/* Words of the flags line of the first processor that speak of the counter. */
static void read_flags(char *to, size_t bytes)
{
    static const char *const words[] = {"constant_tsc", "nonstop_tsc", "tsc_reliable", "tsc_known_freq", "rdtscp", "tsc_adjust"};
    char *line = NULL;
    size_t room = 0, used = 0;
    FILE *file = fopen("/proc/cpuinfo", "re");
    *to = 0;
    while (file && getline(&line, &room, file) > 0) {
        if (strncmp(line, "flags", 5))
            continue;
        for (char *word = strtok(line + 5, " \t:\n"); word; word = strtok(NULL, " \t\n"))
            for (size_t i = 0; i < sizeof words / sizeof *words; i++)
                if (!strcmp(word, words[i]) && used + strlen(word) + 2 < bytes)
                    used += (size_t)sprintf(to + used, "%s%s", used ? " " : "", word);
        break;
    }
    free(line);
    if (file)
        fclose(file);
}

static const struct wtm_counter *stepping;
static uint64_t read_first_cpu(void)
{
    return stepping->read(stepping, 0);
}

static void find_step(struct wtm_clock_report *report, const struct wtm_counter *counter)
{
    uint64_t readings[WTM_STEP_READINGS];
    stepping = counter;
    for (int i = 0; i < 3 && !report->step_256; i++) /* a move to another CPU in between can spoil one */
        if (!wtm_clock_step_read(read_first_cpu, readings, WTM_STEP_READINGS))
            report->step_256 = wtm_clock_step(readings, WTM_STEP_READINGS);
}

typedef int way(struct wtm_clock_judge *judge, const struct wtm_counter *counter, const struct wtm_cpus *cpus,
                   uint64_t time_ns);

static int apply(struct wtm_clock_report *report, struct wtm_clock_method *to, way *take,
                 const struct wtm_counter *counter, uint64_t time_ns, int64_t tolerated)
{
    if (wtm_clock_judge_begin(&to->judge, report->cpus.count))
        return -1;
    to->was_run = !take(&to->judge, counter, &report->cpus, time_ns);
    to->shift = wtm_clock_judge_shift(&to->judge, tolerated);
    to->drift = wtm_clock_judge_drift(&to->judge);
    to->stands = wtm_clock_judge_stands(&to->judge, report->step_256);
    return to->was_run ? 0 : -1;
}

/* What a method found wrong, or NULL. */
static const char *fault_of(const struct wtm_clock_method *method)
{
    if (!method->was_run)
        return NULL;
    if (method->shift.is_fault && method->shift.low <= method->shift.high)
        return "the counters of different CPUs are apart";
    if (method->drift.is_fault)
        return "the counters of different CPUs run at different rates, or jump";
    if (method->judge.falls || method->shift.is_fault)
        return "it went backwards, or jumped";
    return method->stands ? "it stands still at times" : NULL;
}

static void judge(struct wtm_clock_report *report)
{
    const char *fault = fault_of(&report->race), *other = fault_of(&report->hop);
    uint64_t seen = report->race.was_run ? report->race.shift.fewest_changes : 0;
    fault = fault ? fault : other;
    report->against = wtm_clock_facts_against(&report->facts);
    if (fault) {
        report->verdict = WTM_CLOCK_FAULTY;
        snprintf(report->reason, sizeof report->reason, "%s", fault);
    } else if (!report->simulated && report->against) {
        report->verdict = WTM_CLOCK_DOUBTFUL;
        snprintf(report->reason, sizeof report->reason, "nothing wrong was measured, but %s", report->against);
    } else if (!report->race.was_run || !report->hop.was_run) {
        report->verdict = WTM_CLOCK_UNDECIDED;
        snprintf(report->reason, sizeof report->reason, "threads could not be started or placed on CPUs");
    } else if (report->cpus.count > 1 && seen < report->weight) {
        report->verdict = WTM_CLOCK_UNDECIDED;
        snprintf(report->reason, sizeof report->reason,
                 "only %llu changes between two CPUs were seen, %zu are asked for (--weight); is the machine very busy?",
                 (unsigned long long)seen, report->weight);
    }
}

/* Pairs before, between and after the methods: no time is spent for the rate alone. */
static int measure(struct wtm_clock_report *report, const struct wtm_counter *counter, const struct values *values)
{
    struct wtm_rate_pairs pairs = {.count = 0};
    uint64_t hop_ns = values->quick ? 30000000 : 400000000, race_ns = values->quick ? 60000000 : 1000000000;
    int failed = 0;
    find_step(report, counter);
    for (int i = 0; i < 3; i++)
        wtm_rate_pairs_take(&pairs);
    failed |= apply(report, &report->hop, wtm_clock_hop, counter, hop_ns, (int64_t)values->tolerate);
    for (int i = 0; i < 3; i++)
        wtm_rate_pairs_take(&pairs);
    failed |= apply(report, &report->race, wtm_clock_race, counter, race_ns, (int64_t)values->tolerate);
    for (int i = 0; i < 3; i++)
        wtm_rate_pairs_take(&pairs);
    report->has_rate = !wtm_clock_fit(&report->rate, pairs.pairs[0], pairs.count);
    return failed;
}

static int print(const struct wtm_clock_report *report, const struct values *values)
{
    struct wtm_text text;
    wtm_output_begin(&text);
    (values->json ? wtm_print_clock_json : wtm_print_clock)(&text, report);
    int result = wtm_output_end(&text);
    if (result)
        return result;
    return report->verdict == WTM_CLOCK_TRUSTED ? WTM_EXIT_OK
           : report->verdict == WTM_CLOCK_UNDECIDED ? EXIT_UNDECIDED
                                                    : WTM_EXIT_FINDING;
}

static int seconds_of(const char *text, double *seconds)
{
    char *end;
    errno = 0;
    *seconds = strtod(text, &end);
    return errno || end == text || *end || !(*seconds >= 0.1 && *seconds <= 86400);
}

static int run(int argc, char **argv)
{
    static struct wtm_clock_report report;
    struct wtm_counter counter;
    struct values values = {.weight = 100};
    double seconds = 0;
    int words = wtm_options_parse(&wtm_command_clock, argc, argv, &values);
    if (words < 0)
        return wtm_options_exit(words);
    if (words)
        return wtm_usage_error(&wtm_command_clock, "'%s' is not expected", argv[1]);
    if (values.rate && seconds_of(values.rate, &seconds))
        return wtm_usage_error(&wtm_command_clock, "--rate: expected 0.1 to 86400 seconds, not '%s'", values.rate);
    wtm_clock_facts_read(&report.facts);
    if (wtm_cpus_allowed(&report.cpus))
        return wtm_usage_error(&wtm_command_clock, "the system does not tell which CPUs may be used");
    if (!values.simulate)
        wtm_counter_real(&counter);
    else if (wtm_counter_simulated(&counter, values.simulate, report.cpus.count))
        return wtm_usage_error(&wtm_command_clock, "--simulate: expected shift=N,drift=N,back=N,stall=N, not '%s'",
                               values.simulate);
    report.cpus_online = (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
    report.simulated = values.simulate;
    report.weight = values.weight;
    read_flags(report.flags, sizeof report.flags);
    if (report.facts.unreadable) {
        report.against = wtm_clock_facts_against(&report.facts);
        report.verdict = WTM_CLOCK_DOUBTFUL;
        snprintf(report.reason, sizeof report.reason, "%s", report.against);
        return print(&report, &values);
    }
    measure(&report, &counter, &values);
    judge(&report);
    if (values.rate) {
        wtm_rate_check(&report.check, seconds);
        report.has_check = 1;
    }
    return print(&report, &values);
}
