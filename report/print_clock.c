/* SPDX-License-Identifier: MIT
 * `wtm clock` in words. What was measured and what others say stand apart. */
#include "report/print_clock.h"
#include <string.h>

static void label(struct wtm_text *text, const char *name)
{
    size_t length = strlen(name);
    wtm_text_string(text, "  ");
    wtm_text_string(text, name);
    wtm_text_char(text, ' ', length < 14 ? (unsigned)(15 - length) : 1);
}

/* A number of ticks, signed and grouped, with its time where the rate is known. */
static void put_ticks(struct wtm_text *text, int64_t ticks)
{
    if (ticks < 0)
        wtm_text_char(text, '-', 1);
    wtm_text_grouped(text, ticks < 0 ? -(uint64_t)ticks : (uint64_t)ticks);
}

static void put_time(struct wtm_text *text, const struct wtm_clock_report *report, double ticks)
{
    if (!report->has_rate)
        return;
    wtm_text_string(text, " (");
    wtm_text_duration(text, ticks * report->rate.ns_per_tick, 0);
    wtm_text_char(text, ')', 1);
}

static void put_verdict(struct wtm_text *text, const struct wtm_clock_report *report)
{
    static const char *const words[] = {"can be trusted here", "is not to be trusted here: ", "is doubtful here: ",
                                        "was not seen well enough to judge: "};
    wtm_text_string(text, "wtm clock: the time-stamp counter ");
    wtm_text_string(text, words[report->verdict]);
    wtm_text_string(text, report->verdict == WTM_CLOCK_TRUSTED ? "" : report->reason);
    wtm_text_char(text, '\n', 1);
    if (report->simulated) {
        label(text, "simulated");
        wtm_text_string(text, "on the last CPU: ");
        wtm_text_name(text, *report->simulated ? report->simulated : "no fault");
        wtm_text_char(text, '\n', 1);
    }
}

static void put_rate(struct wtm_text *text, const struct wtm_clock_report *report)
{
    static const char *const by[] = {"", "CPUID states ", "the hypervisor states ", "the kernel states "};
    label(text, "rate");
    if (report->has_rate) {
        wtm_text_decimal(text, 1 / report->rate.ns_per_tick, report->rate.interval_ppb < 10 ? 9 : 7);
        wtm_text_string(text, " GHz +-");
        wtm_text_decimal(text, report->rate.interval_ppb, report->rate.interval_ppb < 10 ? 1 : 0);
        wtm_text_string(text, " ppb against the kernel's raw clock, ");
        wtm_text_unsigned(text, report->rate.used);
        wtm_text_string(text, " pairs in ");
        wtm_text_duration(text, report->rate.span_ns, 0);
    } else {
        wtm_text_string(text, "not known");
    }
    wtm_text_string(text, "; ");
    if (report->facts.stated_hz && report->facts.stated_by < 4) {
        wtm_text_string(text, by[report->facts.stated_by]);
        wtm_text_decimal(text, (double)report->facts.stated_hz / 1e9, 6);
    } else {
        wtm_text_string(text, "nobody states it");
    }
    wtm_text_char(text, '\n', 1);
    label(text, "granularity");
    if (report->step_256) {
        wtm_text_decimal(text, report->step_256 / 256.0, report->step_256 % 256 ? 2 : 0);
        wtm_text_string(text, report->step_256 == 256 ? " tick" : " ticks");
        put_time(text, report, report->step_256 / 256.0);
    } else {
        wtm_text_string(text, "not known");
    }
    wtm_text_char(text, '\n', 1);
}

static void put_shift(struct wtm_text *text, const struct wtm_clock_report *report, const struct wtm_clock_method *method)
{
    const struct wtm_shift *shift = &method->shift;
    if (report->cpus.count < 2) {
        wtm_text_string(text, "no other CPU to compare with");
    } else if (shift->low == INT64_MIN || shift->high == INT64_MAX) {
        wtm_text_string(text, "two CPUs were never seen in turn: their shift is not known");
    } else if (shift->low > shift->high) {
        wtm_text_string(text, "stamps contradict any constant shift, by ");
        put_ticks(text, shift->low - shift->high);
        wtm_text_string(text, " ticks");
        put_time(text, report, (double)(shift->low - shift->high));
    } else {
        wtm_text_string(text, shift->is_fault ? "CPUs are apart by " : "shift between CPUs within ");
        put_ticks(text, shift->low);
        wtm_text_string(text, " .. ");
        put_ticks(text, shift->high);
        wtm_text_string(text, " ticks, ");
        put_ticks(text, shift->high - shift->low);
        wtm_text_string(text, " wide");
        put_time(text, report, (double)(shift->high - shift->low));
    }
}

static void put_method(struct wtm_text *text, const struct wtm_clock_report *report, const char *name,
                       const struct wtm_clock_method *method)
{
    const struct wtm_clock_judge *judge = &method->judge;
    label(text, name);
    if (!method->was_run) {
        wtm_text_string(text, "could not be run here\n");
        return;
    }
    wtm_text_grouped(text, judge->stamps);
    wtm_text_string(text, " stamps on ");
    wtm_text_unsigned(text, report->cpus.count);
    wtm_text_string(text, report->cpus.count == 1 ? " CPU, " : " CPUs, ");
    wtm_text_decimal(text, judge->stamps ? 100.0 * (double)judge->changes / (double)judge->stamps : 0, 1);
    wtm_text_string(text, " % change of CPU\n");
    label(text, "");
    put_shift(text, report, method);
    wtm_text_char(text, '\n', 1);
    label(text, "");
    if (judge->falls) {
        wtm_text_grouped(text, judge->falls);
        wtm_text_string(text, " stamps lower than the one before, by up to ");
        wtm_text_grouped(text, judge->deepest_fall);
        wtm_text_string(text, " ticks");
    } else {
        wtm_text_string(text, "never backwards");
    }
    wtm_text_string(text, method->stands ? "; STANDS STILL at times" : "; never still");
    double most = method->drift.high_ppb > -method->drift.low_ppb ? method->drift.high_ppb : -method->drift.low_ppb;
    if (method->drift.is_known && (method->drift.is_fault || most < 1e7)) { /* one per cent says nothing of a clock */
        wtm_text_string(text, method->drift.is_fault ? "; rates of CPUs DIFFER, by up to " : "; rates of CPUs equal within ");
        wtm_text_decimal(text, most / (most < 10000 ? 1 : 1000), 0);
        wtm_text_string(text, most < 10000 ? " ppb" : " ppm");
    }
    wtm_text_char(text, '\n', 1);
}

/* What the better method would have found. */
static void put_power(struct wtm_text *text, const struct wtm_clock_report *report)
{
    const struct wtm_clock_method *method = &report->race;
    if (!method->was_run || report->cpus.count < 2 || method->shift.most == INT64_MAX || report->verdict == WTM_CLOCK_FAULTY)
        return;
    label(text, "found would be");
    wtm_text_string(text, "a shift above ");
    put_ticks(text, method->shift.most);
    wtm_text_string(text, " ticks, a step back above some ");
    wtm_text_grouped(text, wtm_clock_judge_distance(&method->judge));
    if (method->drift.is_known) {
        wtm_text_string(text, ", a drift above ");
        wtm_text_decimal(text, method->drift.high_ppb - method->drift.low_ppb, 0);
        wtm_text_string(text, " ppb");
    }
    wtm_text_char(text, '\n', 1);
}

static void put_opinions(struct wtm_text *text, const struct wtm_clock_report *report)
{
    const struct wtm_clock_facts *facts = &report->facts;
    label(text, "processor");
    wtm_text_string(text, facts->invariant ? "promises one rate in all states (invariant TSC)"
                                           : "does not promise one rate in all states (no invariant TSC)");
    if (facts->hypervisor) {
        wtm_text_string(text, "; under a hypervisor");
        wtm_text_string(text, *facts->maker ? ", " : "");
        wtm_text_name(text, facts->maker);
    }
    wtm_text_char(text, '\n', 1);
    label(text, "kernel");
    if (*facts->current) {
        wtm_text_string(text, "uses ");
        wtm_text_name(text, facts->current);
        if (*facts->available) {
            wtm_text_string(text, ", would take: ");
            wtm_text_name(text, facts->available);
        }
    } else {
        wtm_text_string(text, "does not tell its clocksource");
    }
    wtm_text_string(text, *report->flags ? "; flags: " : "");
    wtm_text_name(text, report->flags);
    wtm_text_char(text, '\n', 1);
    if (report->against && report->verdict != WTM_CLOCK_DOUBTFUL) {
        label(text, "");
        wtm_text_string(text, "against it, though not measured: ");
        wtm_text_string(text, report->against);
        wtm_text_char(text, '\n', 1);
    }
    if (report->cpus.count < report->cpus_online) {
        label(text, "CPUs");
        wtm_text_unsigned(text, report->cpus.count);
        wtm_text_string(text, " of ");
        wtm_text_unsigned(text, report->cpus_online);
        wtm_text_string(text, " (affinity); of the others nothing is known\n");
    }
}

static void put_check(struct wtm_text *text, const struct wtm_clock_report *report)
{
    const struct wtm_rate_check *check = &report->check;
    if (!report->has_check)
        return;
    for (int c = 0; c < WTM_RATE_CLOCKS; c++) {
        label(text, wtm_rate_clock_names[c]);
        if (!check->known[c]) {
            wtm_text_string(text, "gives no rate\n");
            continue;
        }
        wtm_text_decimal(text, 1 / check->fit[c].ns_per_tick, 9);
        wtm_text_string(text, " GHz +-");
        wtm_text_decimal(text, check->fit[c].interval_ppb, 2);
        wtm_text_string(text, " ppb, pairs off by ");
        wtm_text_decimal(text, check->fit[c].residual_ns, 1);
        wtm_text_string(text, " ns");
        if (c) {
            wtm_text_string(text, "; ");
            wtm_text_decimal(text, (check->fit[0].ns_per_tick / check->fit[c].ns_per_tick - 1) * 1e9, 2);
            wtm_text_string(text, " ppb from the raw clock's");
        }
        wtm_text_char(text, '\n', 1);
    }
    label(text, "");
    wtm_text_string(text, "the raw clock is the counter times the kernel's factor; the others are that, ");
    wtm_text_string(text, check->is_steered ? "steered by NTP:\n" : "steered by nobody (not synchronized):\n");
    label(text, "");
    wtm_text_string(text, check->is_steered ? "a second opinion. The kernel says that it corrects by "
                                            : "no second opinion. The kernel says that it corrects by ");
    wtm_text_decimal(text, check->steering_ppb, 1);
    wtm_text_string(text, " ppb\n");
}

void wtm_print_clock(struct wtm_text *text, const struct wtm_clock_report *report)
{
    put_verdict(text, report);
    put_rate(text, report);
    put_method(text, report, "by hopping", &report->hop);
    put_method(text, report, "by order", &report->race);
    put_power(text, report);
    put_opinions(text, report);
    put_check(text, report);
}
