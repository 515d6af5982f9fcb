/* SPDX-License-Identifier: MIT
 * Start and end: the only place that knows the order of everything. */
#include "common/sys.h"
#include "preload/clock.h"
#include "preload/config.h"
#include "preload/cost.h"
#include "preload/cputime.h"
#include "preload/exit_table.h"
#include "preload/install.h"
#include "preload/log.h"
#include "preload/modules.h"
#include "preload/order.h"
#include "preload/probes.h"
#include "preload/process.h"
#include "preload/profile.h"
#include "preload/sandbox.h"
#include "preload/signals.h"
#include "preload/start.h"
#include "preload/thread.h"
#include <cpuid.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

/* Read by wtm_watch_entry. Components x87, SSE, AVX, AVX-512 (bits 0-2, 5-7): what code of ours can touch. */
extern uint32_t wtm_xsave_mask WTM_HIDDEN;
extern uint64_t wtm_xsave_bytes WTM_HIDDEN;
uint32_t wtm_xsave_mask;
uint64_t wtm_xsave_bytes;

static void find_xsave(void)
{
    uint32_t a, b, c, d, low, high;
    wtm_xsave_bytes = 576;
    __cpuid(1, a, b, c, d);
    if (!(c >> 27 & 1)) /* OSXSAVE */
        return;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    __cpuid_count(0xd, 0, a, b, c, d);
    wtm_xsave_mask = low & 0xe7;
    wtm_xsave_bytes = b; /* for all components that are on */
}

static void know_process(void)
{
    wtm_process.pid = (uint32_t)wtm_syscall3(SYS_getpid, 0, 0, 0);
    wtm_process.parent = (uint32_t)wtm_syscall3(SYS_getppid, 0, 0, 0);
    const char *name = (const char *)getauxval(AT_EXECFN);
    const char *top = name ? name : (const char *)__builtin_frame_address(0);
    /* The kernel puts the program's name at the very top of the stack (fs/exec.c). */
    wtm_process.stack_high = ((uintptr_t)top + strlen(name ? name : "") + 4096) & ~(uint64_t)4095;
    struct rlimit limit = {0, 0};
    wtm_syscall6(SYS_prlimit64, 0, RLIMIT_STACK, 0, (long)&limit, 0, 0);
    uint64_t bytes = limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur > (uint64_t)1 << 36 ? (uint64_t)1 << 36 : limit.rlim_cur;
    wtm_process.stack_low = wtm_process.stack_high - (bytes < 1 << 20 ? 1 << 20 : bytes);
    char path[4096];
    long n = wtm_syscall3(SYS_readlink, (long)"/proc/self/exe", (long)path, sizeof path - 1);
    path[n > 0 ? n : 0] = 0;
    const char *program = n > 0 ? path : name ? name : "?";
    const char *slash = strrchr(program, '/');
    program = slash ? slash + 1 : program;
    size_t length = strnlen(program, sizeof wtm_process.program - 1);
    memcpy(wtm_process.program, program, length);
    wtm_process.program[length] = 0;
    struct utsname host;
    if (!wtm_sys_failed(wtm_syscall3(SYS_uname, (long)&host, 0, 0)))
        memcpy(wtm_process.host, host.nodename, strnlen(host.nodename, sizeof wtm_process.host - 1));
}

static void open_profile(void)
{
    char path[WTM_PATH_BYTES];
    const char *out = wtm_settings.out;
    int child = wtm_process.run && wtm_process.run_root != wtm_process.pid;
    if (out && wtm_config_path(path, sizeof path, out, child)) {
        wtm_log("WTM_OUT: the name is too long; the profile is kept in memory");
        out = NULL;
    }
    int problem = wtm_profile_create(out ? path : NULL);
    if (!wtm_profile_header())
        return;
    if (problem)
        wtm_log("WTM_OUT=", path, ": cannot be created (",
                problem == -17 ? "something that is no profile has that name; remove it, or name another" :
                problem == -2 ? "no such directory" :
                problem == -28 ? "no room, or a limit on file sizes" :
                problem == -13 ? "permission denied" : "the system refused", "); the profile is kept in memory");
    struct wtm_profile_header *header = wtm_profile_header();
    memcpy(header->program, wtm_process.program, sizeof header->program);
    wtm_clock_describe(header);
    header->epoch = wtm_hot.epoch;
    header->recursion_mode = wtm_settings.nest ? WTM_RECURSION_NEST : WTM_RECURSION_WITHDRAW;
    wtm_profile_begin(header);
}

static int is_asked_for(char *const *environment)
{
    for (; environment && *environment; environment++)
        if (!strncmp(*environment, "WTM_TIME=", 9))
            return (*environment)[9] != 0;
    return 0;
}

/* Not through log.h, which asks the kernel what standard error is. */
static void tell_confined(const char *missing)
{
    static const char before[] = "wtm: the system call filter that this process was started with may not allow ",
                      after[] = ": nothing is timed\n";
    wtm_sys_write(2, before, sizeof before - 1);
    wtm_sys_write(2, missing, strlen(missing));
    wtm_sys_write(2, after, sizeof after - 1);
}

static void begin_timing(void)
{
    wtm_clock_choose(wtm_settings.clock);
    if (wtm_clock.monotonic && (wtm_settings.samples || wtm_settings.noise || wtm_settings.subtract))
        wtm_log("WTM_SAMPLES, WTM_NOISE and WTM_SUBTRACT go by the TSC only; they are left out with the kernel's clock (WTM_CLOCK)");
    know_process();
    find_xsave();
    open_profile();
    struct wtm_profile_header *header = wtm_profile_header();
    if (!header) {
        wtm_log("no memory for the profile: nothing is timed");
        return;
    }
    if (wtm_sys_failed(wtm_sys_madvise(&wtm_generation, sizeof wtm_generation, MADV_WIPEONFORK))) {
        wtm_profile_note("this kernel cannot tell a process that it was forked: children count into their parent's profile");
        wtm_process.no_perf = 1;
    }
    wtm_hot.nest = (uint32_t)wtm_settings.nest;
    int patched = wtm_install_begin(wtm_settings.time);
    if (patched < 0) {
        wtm_log("no memory to look functions up: nothing is timed");
        return;
    }
    wtm_clock_find_rate(header);
    header->cpu_source = wtm_cpu_choose(wtm_settings.cpu, header->cpu_note, sizeof header->cpu_note);
    wtm_generation_advance();
    wtm_process.ready = 1;
    header->order = (uint32_t)wtm_settings.order;
    if (!wtm_clock.monotonic && wtm_order_set(header->order)) {
        header->order = WTM_ORDER_EXIT;
        wtm_profile_note("WTM_ORDER: the library's code cannot be changed here; readings are ordered as by default (exit)");
    }
    if (wtm_thread_sync()) {
        header->cost = wtm_cost_measure();
        wtm_cpu_renew(wtm_thread);
    }
    /* A daemon that closes its standard error must not be waited for because of a copy of ours: `wtm run` prints the table. */
    if (wtm_settings.table != WTM_TABLE_STDERR || wtm_process.run)
        wtm_log_release();
    wtm_install_arm(!wtm_settings.disarmed);
    wtm_signals_install();
}

static void start(char **environment)
{
    const char *missing = is_asked_for(environment) ? wtm_sandbox_inherited() : NULL;
    if (missing) {
        if (strcmp(missing, "write"))
            tell_confined(missing);
        return;
    }
    wtm_log_open();
    const char *other = is_asked_for(environment) ? wtm_modules_other() : NULL;
    if (other) {
        wtm_log("this copy of libwtmtime.so times nothing, there is another one: ", other);
        wtm_log_release();
        return;
    }
    wtm_config_read(environment);
    if (wtm_settings.time)
        begin_timing();
    else
        wtm_log_release();
}

int wtm_start_late(void)
{
    if (!wtm_process.ready && !wtm_settings.time) {
        wtm_settings.time = "";
        begin_timing();
    }
    return wtm_process.ready ? 0 : -19; /* ENODEV */
}

/* The third argument is the environment: glibc gives constructors what main gets. */
__attribute__((constructor)) static void begin(int argc, char **argv, char **environment)
{
    start(environment);
}

__attribute__((destructor)) static void end(void)
{
    if (!wtm_process.ready)
        return;
    if (!__atomic_load_n(&wtm_generation.value, __ATOMIC_ACQUIRE)) { /* a child that called nothing: the profile is its parent's */
        if (!wtm_settings.verbose || !wtm_thread_sync())
            return;
    }
    struct wtm_cost again;
    if (!wtm_profile_header()) /* a child that had no memory for one */
        return;
    if (!wtm_process.sandboxed && !wtm_process.tsc_off && !wtm_cost_again(&again))
        wtm_profile_header()->cost_end = again;
    wtm_exit_table(1);
}
