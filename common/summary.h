/* SPDX-License-Identifier: MIT
 * From profiles to rows: reads one or many mapped profiles (running or ended), checks every bound, adds up threads, and
 * gives one row per function. Used by the table at exit inside the target (so: no malloc, no stdio, arena only) and by
 * every subcommand of `wtm`. One thread at a time. 0 or negative errno. */
#ifndef WTM_COMMON_SUMMARY_H
#define WTM_COMMON_SUMMARY_H

#include "common/arena.h"
#include "common/clock_fit.h"
#include "common/profile_format.h"

/* A profile in memory. `bytes` is what may be touched. -EINVAL with a reason in words when it is no profile that this
 * version can read. Hostile contents give an error or fewer rows, never a wild access. */
struct wtm_profile {
    const unsigned char *base;
    size_t bytes;
    const char *path; /* for messages; may be NULL */
    unsigned gone;    /* 1: its process is known not to run any more, whatever the header says (killed, or it executed another program) */
};
int wtm_profile_check(const struct wtm_profile *profile, const char **reason);

/* Times in ns, as double (exact to 2^53 ns, 104 days). Negative values are real: below the noise. */
struct wtm_times {
    uint64_t calls; /* that these statistics are of */
    double total_ns, mean_ns, min_ns, max_ns, stddev_ns;
    double p50_ns, p90_ns, p99_ns, p999_ns;
};

/* What rows are split by, beside the function (bits). */
enum wtm_by {
    WTM_BY_MODULE = 1,  /* rows are by module anyway: the label tells it */
    WTM_BY_THREAD = 2,  /* threads of one name are one */
    WTM_BY_PROCESS = 4, /* program, pid, host */
    WTM_BY_PROGRAM = 8, /* processes of one program are one */
    WTM_BY_HOST = 16,
};
struct wtm_group {
    const char *label;   /* "make 4242, worker" */
    const char *program; /* NULL: not split by it; so all */
    const char *host, *thread;
    uint32_t pid; /* 0: not split by it */
};

struct wtm_process_row {
    const char *program, *host, *path; /* path: as in struct wtm_profile */
    uint32_t pid, parent;
    uint64_t calls, threads;
    double wall_ns;
    uint64_t started_ns; /* since 1970 */
    unsigned running;    /* 1: it had not ended */
    unsigned cut;        /* 1: no word of its end (killed, _exit, exec): wall_ns is the least it can be */
};

struct wtm_caller {
    const char *name, *label; /* as in its row */
    uint64_t calls;
    double realtime_ns;
};

/* What disturbed a function's calls. Of `counted` calls only (WTM_NOISE): faults, waits, preemptions, migrated. */
struct wtm_row_noise {
    uint64_t counted, minor_faults, major_faults, waits, preemptions, migrated;
    uint64_t taken_out, handlers;     /* calls inside, of what WTM_SUBTRACT names; of signal handlers */
    double taken_out_ns, handlers_ns; /* the first are in no other number of the row */
    uint64_t switched;                /* calls during which the thread was switched out; 0 where that is not known apart */
};

/* One observation. */
struct wtm_observation {
    double real_ns, run_ns; /* run NaN: not known */
};

struct wtm_row {
    const char *name, *mangled, *module, *aliases; /* into the profile or the arena; never NULL but mangled, aliases */
    const char *label; /* the name, with its module where another row has the same name: tells rows apart */
    uint64_t address;  /* in the first process that had it */
    uint64_t offset;   /* from its module's load bias */
    uint64_t size;     /* in bytes; 0: unknown */
    uint64_t calls, recursive, abnormal, open, late;
    struct wtm_times realtime, runtime; /* runtime.calls 0 when there is no source of runtime */
    double self_ns;
    double subtracted_ns;       /* all that was taken off the measured intervals */
    struct wtm_caller *callers; /* timed functions from which it was called, sorted by realtime */
    size_t caller_count;
    struct wtm_row_noise noise;
    struct wtm_sample_ref *samples, *last_samples; /* for wtm_row_samples(); NULL: none */
    unsigned subtract, handler;     /* 1: WTM_SUBTRACT names it; a signal handler that was found by itself */
    unsigned ambiguous; /* 1: another row has the same name: show the module */
    const struct wtm_group *group; /* NULL: of all */
    uint32_t base;                 /* while building: the row of this function for all groups */
    uint32_t split;                /* while building: 1: it has rows of groups */
};

struct wtm_refused_row {
    const char *name, *module;
    const char *label; /* the name, with its module where another function has the same name */
    uint64_t address;
    unsigned reason;
};
struct wtm_missing_row {
    const char *pattern, *near;
};

struct wtm_summary {
    const struct wtm_profile_header *header; /* of the first profile: a copy, its strings terminated */
    double ns_per_tick;
    struct wtm_clock_rate clock; /* of the first profile: rate, its source and its interval */
    double granularity_ns;  /* step of the counter, the coarsest of the profiles; 0 while unknown */
    double wall_ns;         /* start to end or now, longest of the profiles */
    double wall_sum_ns;     /* of all profiles together */
    unsigned running;       /* 1: one of the processes had not ended */
    double inside_end_ns, outside_end_ns; /* measured again at the end; NaN: not */
    double cost_ns;         /* what timing took altogether, by the measured costs */
    double inside_ns, outside_ns, recursive_ns, spread_ns; /* per call */
    struct wtm_row *rows;   /* sorted by total realtime, largest first; functions never called included */
    size_t row_count;
    size_t called;          /* rows with calls */
    size_t functions;       /* in all rows: a function can have several, by groups */
    struct wtm_refused_row *refused;
    size_t refused_count;
    struct wtm_missing_row *missing;
    size_t missing_count;
    const char **notes;
    size_t note_count;
    uint64_t lost_calls;
    size_t threads, profiles;
    unsigned by; /* enum wtm_by */
    struct wtm_process_row *processes; /* as many as profiles, in their order */
};

/* `now_ns`: CLOCK_MONOTONIC for a process that still runs (used where the header has no end). */
int wtm_summary_build(struct wtm_summary *summary, const struct wtm_profile *profiles, size_t count, uint64_t now_ns,
                      struct wtm_arena *arena);
/* The same, a row for each function and each group of threads and processes by `by` (enum wtm_by) that called it. */
int wtm_summary_build_by(struct wtm_summary *summary, const struct wtm_profile *profiles, size_t count, uint64_t now_ns,
                         unsigned by, struct wtm_arena *arena);

/* The observations of a row's calls that were kept (WTM_SAMPLES), in the order in which the calls ended, process after
 * process. `*of` is in the arena. 0 or -ENOMEM. */
int wtm_row_samples(const struct wtm_row *row, struct wtm_observation **of, size_t *count, struct wtm_arena *arena);

/* Functions of several profiles are one row when module, name and offset in the module are equal. Profiles whose clock
 * rates differ by more than 0.1 % (several hosts) are merged through finer buckets; percentiles keep their 3 %. */

#endif
