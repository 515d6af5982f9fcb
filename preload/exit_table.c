/* SPDX-License-Identifier: MIT
 * The table at exit. Ordinary code (floating point, common/summary and common/table), but neither libc's stdio nor its
 * allocator: this runs in destructors of programs that may be in any state. */
#include "preload/exit_table.h"
#include "common/summary.h"
#include "common/sys.h"
#include "common/table.h"
#include "preload/clock.h"
#include "preload/config.h"
#include "preload/descriptor.h"
#include "preload/log.h"
#include "preload/probes.h"
#include "preload/profile.h"
#include "preload/thread.h"
#include "preload/tsc.h"
#include <fcntl.h>
#include <time.h>

/* What a table needs once no system call can be made; see wtm_exit_table_prepare(). */
static struct {
    struct wtm_arena arena;
    uint64_t monotonic_ns; /* at header->last */
    int file;              /* 0: not opened */
} ready;

static int to_stderr(void *context, const char *text, size_t bytes)
{
    return wtm_log_write(text, bytes);
}

static int to_file(void *context, const char *text, size_t bytes)
{
    return wtm_log_write_to(*(int *)context, text, bytes);
}

/* A child that called nothing says nothing: most children are about to exec. */
static int is_silent(const struct wtm_summary *summary)
{
    return wtm_process.forked && !wtm_settings.verbose && !summary->called;
}

static int open_file(void)
{
    char path[WTM_PATH_BYTES];
    if (ready.file)
        return ready.file;
    if (wtm_process.sandboxed || wtm_config_path(path, sizeof path, wtm_settings.table_path, 0))
        return -1;
    return (int)wtm_sys_open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
}

static void print(const struct wtm_summary *summary)
{
    char buffer[4096];
    struct wtm_text text;
    struct wtm_table_options options = {.width = wtm_log_width(), .verbose = wtm_settings.verbose};
    int fd = -1;
    if (wtm_settings.table == WTM_TABLE_FILE) {
        options.width = 0;
        fd = open_file();
        if (fd < 0) {
            wtm_log("WTM_TABLE=", wtm_settings.table_path, ": cannot be written: is the directory there, and is it yours? The table comes here");
            wtm_settings.table = WTM_TABLE_STDERR;
        }
    }
    if (fd >= 0)
        wtm_text_init(&text, buffer, sizeof buffer, to_file, &fd);
    else
        wtm_text_init(&text, buffer, sizeof buffer, to_stderr, NULL);
    wtm_table_print(&text, summary, &options);
    wtm_text_flush(&text);
    if (fd >= 0 && !wtm_process.sandboxed)
        wtm_sys_close(fd);
}

void wtm_exit_table_prepare(void)
{
    struct wtm_profile view = {0};
    struct wtm_summary summary;
    struct wtm_arena arena = {0};
    ready.monotonic_ns = wtm_clock_ns(CLOCK_MONOTONIC);
    if (wtm_settings.table == WTM_TABLE_NONE || wtm_profile_view(&view))
        return;
    /* The same again, with what may still come: cells, callers, and a second table on demand. */
    wtm_summary_build(&summary, &view, 1, ready.monotonic_ns, &arena);
    wtm_arena_reserve(&ready.arena, arena.taken_bytes * 4 + (1 << 20));
    ready.arena.limit_bytes = 1;
    wtm_arena_free(&arena);
    wtm_profile_unview(&view);
    if (wtm_settings.table != WTM_TABLE_FILE)
        return;
    int fd = open_file();
    int high = fd < 0 ? -1 : wtm_descriptor_high(fd);
    if (fd >= 0)
        wtm_sys_close(fd);
    if (high > 0)
        ready.file = high;
}

static void tell_time(struct wtm_profile_header *header)
{
    if (!wtm_process.sandboxed) {
        header->last = wtm_clock_pair();
        header->end_monotonic_ns = wtm_clock_ns(CLOCK_MONOTONIC);
        return;
    }
    uint64_t ticks = wtm_clock_ticks(), ns = wtm_convert(wtm_clock.to_ns, ticks - header->last.ticks);
    header->last.ticks = ticks;
    header->last.monotonic_raw_ns += ns;
    ready.monotonic_ns += ns;
    header->end_monotonic_ns = ready.monotonic_ns;
}

static void make_table(int last)
{
    struct wtm_profile_header *header = wtm_profile_header();
    struct wtm_thread *before = wtm_mute();
    struct wtm_profile view = {0};
    struct wtm_summary summary;
    struct wtm_arena arena = {0}, *memory = wtm_process.sandboxed ? &ready.arena : &arena;
    wtm_threads_bury(before);
    wtm_threads_name();
    tell_time(header);
    if (last)
        header->state = WTM_PROFILE_ENDED;
    if (last && wtm_process.run && wtm_profile_is_file()) {
        /* `wtm run` prints one table for all; of processes that called nothing it need not even hear */
        if (wtm_process.pid != wtm_process.run_root && !wtm_profile_counted())
            wtm_profile_remove();
    } else if (wtm_settings.table == WTM_TABLE_NONE) {
        /* the profile is all that is wanted */
    } else if (wtm_profile_view(&view)) {
        wtm_log("no memory for the table");
    } else if (wtm_summary_build(&summary, &view, 1, header->end_monotonic_ns, memory)) {
        wtm_log("the profile cannot be summed up: no memory");
    } else if (!is_silent(&summary)) {
        print(&summary);
    }
    wtm_arena_free(&arena);
    wtm_profile_unview(&view);
    wtm_unmute(before);
    __atomic_add_fetch(&header->tables, 1, __ATOMIC_RELEASE);
}

static void print_now(int last)
{
    if (!wtm_profile_header() || (wtm_process.tsc_off && wtm_process.sandboxed))
        return;
    int forbidden = wtm_tsc_allow();
    make_table(last);
    wtm_tsc_forbid_again(forbidden);
}

static int begin(uint32_t me, int last)
{
    enum { TRIES = 2000 };
    const struct timespec pause = {0, 1000000};
    uint32_t nobody = 0;
    if (wtm_process.sandboxed) /* no system call to wait with; the program ends */
        return 1;
    for (int i = 0; !__atomic_compare_exchange_n(&wtm_process.table_owner, &nobody, me, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); i++) {
        if (!last)
            return 0;
        if (nobody == me || i == TRIES)
            return 1; /* it cannot go on any more, or will not */
        nobody = 0;
        wtm_syscall3(SYS_nanosleep, (long)&pause, 0, 0);
    }
    return 1;
}

int wtm_exit_table(int last)
{
    static uint32_t wanted;
    uint32_t me = wtm_process.sandboxed ? wtm_process.pid : (uint32_t)wtm_syscall3(SYS_gettid, 0, 0, 0);
    __atomic_store_n(&wanted, 1, __ATOMIC_SEQ_CST);
    do {
        if (!begin(me, last))
            return -16; /* EBUSY */
        while (__atomic_exchange_n(&wanted, 0, __ATOMIC_SEQ_CST))
            print_now(last);
        __atomic_store_n(&wtm_process.table_owner, 0, __ATOMIC_SEQ_CST);
    } while (__atomic_load_n(&wanted, __ATOMIC_SEQ_CST)); /* asked for between the last look and the store */
    return 0;
}
