/* SPDX-License-Identifier: MIT
 * The profile: one file (or memfd) that the timed process maps shared and writes, and that anyone can read at any time.
 * docs/profile-format.md tells it in prose. Both sides include this header; nobody else defines the layout.
 *
 * A header page, then chunks. Every chunk begins at a multiple of 64 bytes with struct wtm_chunk and is never moved.
 * Chunks are handed out by an atomic bump of `header.used_bytes`; the writer fills one and stores `magic` last (release).
 * A reader that finds no magic where a chunk should start goes on in steps of 64 bytes: a process killed between the
 * bump and the last store leaves such a hole.
 *
 * One writer per chunk: the thread that owns it. Counters are plain 8-byte aligned words, read with one load each; a
 * reader may see a call counted in one word and not yet in the next, never half a word. All numbers are little-endian.
 * Offsets are from the start of the file; 0 means none. Times are TSC ticks (of `header.clock`) unless named `_ns`. */
#ifndef WTM_COMMON_PROFILE_FORMAT_H
#define WTM_COMMON_PROFILE_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#define WTM_PROFILE_MAGIC   "WTMPROF" /* 8 bytes with the NUL */
#define WTM_PROFILE_VERSION 1         /* of the layout; a reader refuses a larger `oldest_reader` */
#define WTM_PROFILE_HEADER_BYTES 4096
#define WTM_CHUNK_ALIGN     64
#define WTM_CHUNK_MAGIC     0x434d5457u /* "WTMC" */

/* Histogram: log-linear over ticks. Values below 32 have a bucket each (and all below 0 fall in bucket 0); then 32
 * buckets an octave, so a bucket is at most 1/32 of its lower bound wide and its middle is within 1.6 % of any value in
 * it. The last bucket takes everything from 2^44 ticks (hours) up. */
#define WTM_HIST_SUB_BITS 5
#define WTM_HIST_MAX_BITS 44
#define WTM_HIST_BUCKETS  ((WTM_HIST_MAX_BITS - WTM_HIST_SUB_BITS + 1) << WTM_HIST_SUB_BITS) /* 1280 */

enum wtm_clock_source { WTM_CLOCK_TSC = 1, WTM_CLOCK_MONOTONIC = 2 };
enum wtm_cpu_source { WTM_CPU_OFF = 0, WTM_CPU_RSEQ = 1, WTM_CPU_PERF = 2, WTM_CPU_GETTIME = 3 };
enum wtm_recursion_mode { WTM_RECURSION_WITHDRAW = 0, WTM_RECURSION_NEST = 1 };

/* Where `tick_hz_hint` comes from: measured over the start (coarse), or stated in so many words. PAIRS and CLOCK are a
 * reader's: from the clock pairs; nothing to convert. */
enum wtm_rate_source {
    WTM_RATE_MEASURED = 0,
    WTM_RATE_CPUID = 1,      /* leaf 15h, with the crystal's rate */
    WTM_RATE_HYPERVISOR = 2, /* leaf 40000010h */
    WTM_RATE_KERNEL = 3,     /* tsc_freq_khz in /sys */
    WTM_RATE_PAIRS = 4,
    WTM_RATE_CLOCK = 5
};
enum { WTM_CLOCK_PAIRS = 64 };

struct wtm_clock_pair { /* the same moment by both clocks */
    uint64_t ticks;
    uint64_t monotonic_raw_ns;
    uint64_t error_ticks; /* the reading of the pair took this long */
};

/* The cost of measuring, in 1/256 ticks. `spread` is half the distance between the quartiles of the batches. */
struct wtm_cost {
    int32_t inside;    /* lies inside the measured interval of each timed call: subtracted from that call */
    int32_t outside;   /* lies outside it: `inside + outside` is subtracted from every open caller, per call */
    int32_t recursive; /* of a withdrawn (recursive) call, subtracted from every open caller */
    int32_t spread_inside, spread_outside, spread_recursive;
    uint32_t batches, calls_per_batch;
};

/* What the readings of the TSC wait for: WTM_ORDER in libwtmtime(7). */
enum wtm_order { WTM_ORDER_LOOSE = 0, WTM_ORDER_EXIT = 1, WTM_ORDER_STRICT = 2 };

enum wtm_profile_state { WTM_PROFILE_RUNNING = 1, WTM_PROFILE_ENDED = 2 };

struct wtm_profile_header {
    char magic[8];
    uint32_t version, oldest_reader;
    uint32_t header_bytes;    /* WTM_PROFILE_HEADER_BYTES */
    uint32_t hist_buckets;    /* WTM_HIST_BUCKETS: a reader refuses another number */
    uint64_t features;        /* bits a reader must know; none yet */
    uint64_t used_bytes;      /* end of the last chunk handed out; may exceed the file's size when the disk was full */
    uint32_t state;           /* enum wtm_profile_state */
    uint32_t pid;
    uint32_t parent_pid;
    uint32_t forked;          /* 1: this process came from a fork of a timed one, without exec */
    uint64_t start_realtime_ns;  /* CLOCK_REALTIME at start */
    uint64_t start_monotonic_ns; /* CLOCK_MONOTONIC at start */
    uint64_t end_monotonic_ns;   /* 0 while running; updated at each table */
    uint32_t clock;           /* enum wtm_clock_source */
    uint32_t clock_trusted;   /* 1: no reason for doubt was found */
    uint64_t tick_hz_hint;    /* stated or coarse rate, see rate_source; better: a line through all pairs */
    struct wtm_clock_pair first, last;
    uint32_t cpu_source;      /* enum wtm_cpu_source */
    uint32_t recursion_mode;  /* enum wtm_recursion_mode */
    struct wtm_cost cost;     /* at start */
    uint64_t epoch;           /* counts resets; a thread whose epoch is older has counted nothing since */
    uint64_t generation;      /* changes when chunks of functions were added */
    uint64_t function_count;  /* functions announced so far: indices 1 .. function_count */
    uint64_t lost_calls;      /* calls that ran untimed and uncounted for want of memory */
    uint64_t armed;           /* 1: armed now */
    char program[256];        /* file name of the program, without its directory, cut if need be */
    char clock_note[128];     /* why the clock is not trusted, or empty */
    char cpu_note[128];       /* how the source of runtime was chosen */
    uint32_t control_signals[4]; /* that arm, reset, disarm, dump this process; 0: none */
    uint64_t tables;          /* printed so far, on demand and at the end */
    uint32_t rate_source;     /* enum wtm_rate_source: of tick_hz_hint */
    uint32_t clock_step;      /* granularity of the counter in 1/256 ticks; 0: not known */
    uint32_t pair_count;      /* of `pairs`; one that is read while it is written lies off the line and is left out */
    uint32_t pair_distance;   /* doublings of the distance between them so far */
    struct wtm_clock_pair pairs[WTM_CLOCK_PAIRS]; /* taken on the way, spread over the run */
    uint32_t order;           /* enum wtm_order */
    uint32_t reserved;
    struct wtm_cost cost_end; /* measured again at the end; batches 0: not */
    uint64_t run;             /* what `wtm run` gave all processes that it started, by way of the environment; 0: none */
    char host[64];            /* name of the machine, cut if need be */
};
_Static_assert(sizeof(struct wtm_profile_header) <= WTM_PROFILE_HEADER_BYTES, "the header is one page");

/* Requests from outside, in the header's page. One client at a time: it takes `state` from IDLE to TAKEN and writes `client`, the
 * request, and ASKED; then it sends one of the control signals, queued, with WTM_REQUEST_SIGNAL as its value. The process goes to
 * WORKING, writes the answer, and ANSWERED; the client reads it, and IDLE. A client that is gone may be taken over from, unless
 * the process is WORKING. Both sides treat the texts as hostile: the last byte counts as 0. */
enum { WTM_MAILBOX_AT = 2560, WTM_REQUEST_TEXT_BYTES = 1024, WTM_ANSWER_TEXT_BYTES = 480, WTM_REQUEST_SIGNAL = 0x77746d31 };
enum wtm_mailbox_state { WTM_MAILBOX_IDLE = 0, WTM_MAILBOX_TAKEN, WTM_MAILBOX_ASKED, WTM_MAILBOX_WORKING, WTM_MAILBOX_ANSWERED };
enum wtm_request { WTM_REQUEST_TIME = 1, WTM_REQUEST_UNTIME = 2 };
struct wtm_mailbox {
    uint32_t state;
    uint32_t client;  /* process id, as the client sees itself */
    uint32_t request; /* enum wtm_request */
    int32_t result;   /* functions that were changed; -EAGAIN: not now, ask again; else as in wtmtime.h */
    char text[WTM_REQUEST_TEXT_BYTES];  /* patterns as in WTM_TIME; of functions to untime also names as in the report */
    char answer[WTM_ANSWER_TEXT_BYTES]; /* why, in words, when the result is negative or something was refused; or empty */
};
_Static_assert(sizeof(struct wtm_profile_header) <= WTM_MAILBOX_AT, "the mailbox lies behind the header");
_Static_assert(WTM_MAILBOX_AT + sizeof(struct wtm_mailbox) <= WTM_PROFILE_HEADER_BYTES, "the header is one page");

enum wtm_chunk_type {
    WTM_CHUNK_UNUSED = 0, /* a chunk that may become one later */
    WTM_CHUNK_FUNCTION = 1,
    WTM_CHUNK_REFUSED = 2,
    WTM_CHUNK_NOT_FOUND = 3,
    WTM_CHUNK_THREAD = 4,
    WTM_CHUNK_CELL = 5,
    WTM_CHUNK_SWITCHED = 6,
    WTM_CHUNK_EDGES = 7,
    WTM_CHUNK_NOTE = 8, /* a warning for the report's reader: struct wtm_text_chunk */
    WTM_CHUNK_SAMPLES = 9,
    WTM_CHUNK_NOISE = 10,
};

struct wtm_chunk {
    uint32_t magic; /* WTM_CHUNK_MAGIC, stored last */
    uint32_t type;
    uint64_t bytes; /* whole chunk, a multiple of WTM_CHUNK_ALIGN */
};

enum wtm_function_flags {
    WTM_FUNCTION_UNLOADED = 1,
    WTM_FUNCTION_REFUSED = 2,
    WTM_FUNCTION_SUBTRACT = 4, /* its time was taken out of the functions around it (WTM_SUBTRACT) */
    WTM_FUNCTION_HANDLER = 8,  /* a signal handler that was found by itself */
};

/* Strings of a chunk follow its struct, NUL-terminated, and are named by offset from the chunk's start; 0: none. */
struct wtm_function_chunk {
    struct wtm_chunk chunk;
    uint32_t index;     /* 1 .. ; the same index in cells and edges */
    uint32_t flags;     /* bit 0: its module was unloaded again; bit 1: refused after all, no function */
    uint64_t address;   /* in the process, while loaded */
    uint64_t offset;    /* address less the module's load bias */
    uint64_t size;      /* 0: unknown */
    uint32_t name;      /* what to show: demangled, or the user's handle */
    uint32_t mangled;   /* as in the symbol table; 0 for a bare address */
    uint32_t module;    /* path of the object, as the loader tells it; the program's for the main program */
    uint32_t aliases;   /* other names of this body, comma-separated, or 0 */
};

struct wtm_refused_chunk {
    struct wtm_chunk chunk;
    uint32_t reason; /* enum wtm_refusal */
    uint32_t reserved;
    uint64_t address;
    uint32_t name, mangled, module;
    uint32_t reserved2;
};

struct wtm_not_found_chunk {
    struct wtm_chunk chunk;
    uint32_t pattern; /* as the user wrote it */
    uint32_t near;    /* up to a few nearest names, newline-separated, or 0 */
    uint32_t found;   /* set to 1 when a library loaded later brought it */
    uint32_t reserved;
};

struct wtm_text_chunk {
    struct wtm_chunk chunk;
    uint32_t text;
    uint32_t reserved;
};

struct wtm_thread_chunk {
    struct wtm_chunk chunk;
    uint32_t index; /* 1 .. */
    uint32_t tid;
    uint64_t epoch; /* header.epoch as of this thread's last call; its cells count only when equal */
    uint32_t ended; /* 1: the thread is known to have ended */
    uint32_t reserved;
    uint64_t switches;   /* times that its CPU-time pair was renewed */
    uint64_t cost_ticks; /* spent on measuring in this thread, by the measured costs */
    char name[16];
    uint64_t seen_ticks; /* when it last renewed its CPU-time pair: a process that was killed ran at least until then */
};

/* Count, sum and distribution of one set of calls. All values are corrected ticks: the measured interval less the
 * inside cost less what nested timed calls cost. They are signed: a call can come out below zero by noise. */
struct wtm_stats {
    uint64_t calls;
    int64_t sum;
    uint64_t squares_low, squares_high; /* 128-bit sum of squares */
    int64_t min, max;                   /* meaningless while calls is 0 */
    struct wtm_wrap {                   /* buckets whose 32-bit counter wrapped, and how often */
        uint16_t bucket, times;
    } wraps[16];
    uint32_t hist[WTM_HIST_BUCKETS];
};

/* One function in one thread. Calls during which the thread was never switched out have runtime == realtime: they are
 * in `steady`. The others (all, where the CPU clock is read by system call) are in the SWITCHED chunk twice: by realtime
 * and by runtime. So realtime = steady + switched.real, runtime = steady + switched.run.
 * With cpu_source OFF all calls are in `steady` and there is no runtime. */
struct wtm_cell {
    struct wtm_chunk chunk;
    uint32_t function, thread;
    uint64_t entered;       /* timed entries */
    uint64_t recursive;     /* entries while an earlier call was open on the same stack: counted, not timed */
    uint64_t abnormal;      /* timed entries left by longjmp, exception or thread end: in no statistics */
    int64_t self;           /* corrected ticks of closed calls less those of their timed children */
    int64_t subtracted;     /* all that was taken off the raw intervals of closed calls */
    uint64_t switched;      /* offset of this cell's SWITCHED chunk, or 0 */
    uint64_t late;          /* closed calls of which the interval could not be known (other thread's clock, foreign stack) */
    uint64_t nested;        /* of `entered`: timed while an earlier call was open on the same stack (WTM_RECURSION=nest) */
    uint64_t samples;       /* offset of its function's SAMPLES chunk, once one of its calls was to be kept; else 0 */
    uint64_t noise;         /* offset of this cell's NOISE chunk, or 0 */
    uint64_t reserved[3];
    struct wtm_stats steady;
};
/* calls = entered + recursive; open = entered - abnormal - steady.calls - switched.real.calls - late */

struct wtm_switched {
    struct wtm_chunk chunk;
    uint32_t function, thread;
    uint64_t reserved[5];
    struct wtm_stats real, run;
};

/* What disturbed the calls of one function in one thread. `counted` calls were looked at one by one (WTM_NOISE); the others'
 * faults and switches are not known. Ticks are corrected realtime of calls inside, of functions that were timed as well. */
struct wtm_noise {
    struct wtm_chunk chunk;
    uint32_t function, thread;
    uint64_t counted;
    uint64_t minor_faults, major_faults; /* page faults; major ones read from a disk */
    uint64_t waits, preemptions;         /* switches: the thread blocked; another one took the processor */
    uint64_t migrated;                   /* calls that ended on another processor than they began on */
    uint64_t taken_out;                  /* calls inside that WTM_SUBTRACT names, and their time, which is in no other number */
    int64_t taken_out_ticks;
    uint64_t handlers; /* signal handlers that ran inside, and their time, part of the call's unless it is taken out */
    int64_t handler_ticks;
    uint64_t reserved[3];
};

/* The first calls of one function to end, in all threads, in the order in which they ended. A place is taken by an atomic
 * addition to `taken`, which goes on beyond `capacity`; `thread` is stored last, and a sample without one, or of an older
 * epoch than the header's, is none. */
#define WTM_SAMPLE_NO_RUNTIME INT64_MIN
struct wtm_sample {
    int64_t real, run; /* corrected ticks; run WTM_SAMPLE_NO_RUNTIME: not known */
    uint32_t thread;
    uint32_t epoch; /* lower half of the thread's */
};
struct wtm_samples {
    struct wtm_chunk chunk;
    uint32_t function;
    uint32_t capacity;
    uint64_t taken;
    struct wtm_sample of[];
};

/* Who called whom: appended to, `count` stored last. An edge's key never changes. */
struct wtm_edge {
    uint32_t caller, callee; /* function indices */
    uint64_t calls;          /* closed calls of callee while caller was the innermost open timed call */
    int64_t ticks;           /* their corrected realtime */
};
struct wtm_edges_chunk {
    struct wtm_chunk chunk;
    uint32_t thread;
    uint32_t capacity;
    uint64_t count;
    struct wtm_edge edges[];
};

_Static_assert(offsetof(struct wtm_cell, steady) == 128, "statistics begin on a cache line of their own");
_Static_assert(offsetof(struct wtm_switched, real) % 64 == 0, "as above");

static inline unsigned wtm_hist_bucket(int64_t ticks)
{
    if (ticks < 1 << WTM_HIST_SUB_BITS)
        return ticks < 0 ? 0 : (unsigned)ticks;
    unsigned top = 63 - (unsigned)__builtin_clzll((unsigned long long)ticks);
    if (top >= WTM_HIST_MAX_BITS)
        return WTM_HIST_BUCKETS - 1;
    unsigned octave = top - WTM_HIST_SUB_BITS;
    return (octave << WTM_HIST_SUB_BITS) + (unsigned)(ticks >> octave);
}

#endif
