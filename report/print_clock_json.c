/* SPDX-License-Identifier: MIT
 * `wtm clock --json`: schema wtm-clock/1. What is not known is null. */
#include "report/json_writer.h"
#include "report/print_clock.h"
#include <string.h>

static void put_signed(struct wtm_json *json, const char *name, int64_t value)
{
    if (value == INT64_MIN || value == INT64_MAX)
        wtm_json_null(json, name);
    else
        wtm_json_decimal(json, name, (double)value);
}

static void put_known(struct wtm_json *json, const char *name, double value, int known)
{
    if (known)
        wtm_json_decimal(json, name, value);
    else
        wtm_json_null(json, name);
}

static void put_method(struct wtm_json *json, const char *name, const struct wtm_clock_report *report,
                       const struct wtm_clock_method *method)
{
    const struct wtm_clock_judge *judge = &method->judge;
    int pair = report->cpus.count > 1;
    if (!method->was_run) {
        wtm_json_null(json, name);
        return;
    }
    wtm_json_object(json, name);
    wtm_json_unsigned(json, "stamps", judge->stamps);
    wtm_json_unsigned(json, "changes", judge->changes);
    wtm_json_decimal(json, "mixed", judge->stamps ? (double)judge->changes / (double)judge->stamps : 0);
    put_signed(json, "shift_low_ticks", pair ? method->shift.low : INT64_MIN);
    put_signed(json, "shift_high_ticks", pair ? method->shift.high : INT64_MAX);
    put_signed(json, "bound_ticks", pair ? method->shift.most : INT64_MAX);
    wtm_json_boolean(json, "shifted", method->shift.is_fault);
    wtm_json_boolean(json, "monotonic", !judge->falls);
    wtm_json_unsigned(json, "falls", judge->falls);
    wtm_json_unsigned(json, "deepest_fall_ticks", judge->deepest_fall);
    wtm_json_boolean(json, "stands_still", method->stands);
    put_known(json, "drift_low_ppb", method->drift.low_ppb, method->drift.is_known);
    put_known(json, "drift_high_ppb", method->drift.high_ppb, method->drift.is_known);
    wtm_json_boolean(json, "drifts", method->drift.is_fault);
    put_known(json, "step_back_found_ticks", (double)wtm_clock_judge_distance(judge), wtm_clock_judge_distance(judge) != 0);
    wtm_json_object_end(json);
}

static void put_opinions(struct wtm_json *json, const struct wtm_clock_report *report)
{
    static const char *const by[] = {NULL, "cpuid", "hypervisor", "kernel", NULL, NULL};
    const struct wtm_clock_facts *facts = &report->facts;
    wtm_json_object(json, "said");
    wtm_json_boolean(json, "invariant", facts->invariant);
    wtm_json_string(json, "hypervisor", facts->hypervisor ? facts->maker : NULL);
    wtm_json_string(json, "clocksource", *facts->current ? facts->current : NULL);
    wtm_json_string(json, "available", *facts->available ? facts->available : NULL);
    wtm_json_string(json, "flags", report->flags);
    put_known(json, "stated_hz", (double)facts->stated_hz, facts->stated_hz != 0);
    wtm_json_string(json, "stated_by", by[facts->stated_by]);
    wtm_json_string(json, "against", report->against);
    wtm_json_object_end(json);
}

static void put_check(struct wtm_json *json, const struct wtm_clock_report *report)
{
    const struct wtm_rate_check *check = &report->check;
    if (!report->has_check)
        return;
    wtm_json_object(json, "rate_check");
    wtm_json_decimal(json, "seconds", check->seconds);
    for (int c = 0; c < WTM_RATE_CLOCKS; c++) {
        wtm_json_object(json, wtm_rate_clock_names[c]);
        put_known(json, "hz", check->known[c] ? 1e9 / check->fit[c].ns_per_tick : 0, check->known[c]);
        put_known(json, "interval_ppb", check->fit[c].interval_ppb, check->known[c]);
        put_known(json, "residual_ns", check->fit[c].residual_ns, check->known[c]);
        wtm_json_unsigned(json, "pairs", check->fit[c].used);
        wtm_json_object_end(json);
    }
    wtm_json_boolean(json, "synchronized", check->is_steered);
    wtm_json_decimal(json, "steering_ppb", check->steering_ppb);
    wtm_json_object_end(json);
}

void wtm_print_clock_json(struct wtm_text *text, const struct wtm_clock_report *report)
{
    static const char *const verdicts[] = {"trusted", "faulty", "doubtful", "undecided"};
    struct wtm_json json;
    wtm_json_begin(&json, text);
    wtm_json_object(&json, NULL);
    wtm_json_string(&json, "schema", "wtm-clock/1");
    wtm_json_string(&json, "verdict", verdicts[report->verdict]);
    wtm_json_boolean(&json, "trusted", report->verdict == WTM_CLOCK_TRUSTED);
    wtm_json_string(&json, "reason", *report->reason ? report->reason : NULL);
    wtm_json_string(&json, "simulated", report->simulated);
    put_known(&json, "hz", report->has_rate ? 1e9 / report->rate.ns_per_tick : 0, report->has_rate);
    put_known(&json, "interval_ppb", report->rate.interval_ppb, report->has_rate);
    put_known(&json, "granularity_ticks", report->step_256 / 256.0, report->step_256 != 0);
    wtm_json_unsigned(&json, "cpus", report->cpus.count);
    wtm_json_unsigned(&json, "cpus_online", report->cpus_online);
    put_method(&json, "hopping", report, &report->hop);
    put_method(&json, "ordered", report, &report->race);
    put_opinions(&json, report);
    put_check(&json, report);
    wtm_json_object_end(&json);
}
