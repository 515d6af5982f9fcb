/* SPDX-License-Identifier: MIT
 * Before a seccomp filter comes into force. Ordinary code: runs in the hook of prctl and syscall, which keeps all state. */
#include "preload/sandbox.h"
#include "common/sys.h"
#include "preload/clock.h"
#include "preload/exit_table.h"
#include "preload/install.h"
#include "preload/log.h"
#include "preload/profile.h"
#include "preload/thread.h"
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

/* FD stands for a descriptor of ours; AN_ADDRESS is never mapped. */
enum { SPARE_THREADS = 8, AN_ADDRESS = 0x10000, FD = 500 };

#define CALL(name, ...) {#name, {.nr = SYS_##name, .args = {__VA_ARGS__}}}

/* Every system call that is made after start-up, with arguments like ours: filters may look at them. `write` is apart. A
 * probing child makes them in earnest (try_in_child), where none of them may do anything. */
static const struct need {
    const char *name;
    struct seccomp_data data;
} used[] = {
    /* at a thread's first event, at switches, for room */
    CALL(gettid, 0),
    CALL(clock_gettime, CLOCK_THREAD_CPUTIME_ID, AN_ADDRESS),
    CALL(mmap, 0, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1u, 0),
    CALL(mmap, 0, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, FD, 1 << 20),
    CALL(madvise, AN_ADDRESS, 1 << 20, MADV_DONTDUMP),
    CALL(fstat, FD, AN_ADDRESS),
    CALL(prlimit64, 0, RLIMIT_FSIZE, 0, AN_ADDRESS),
    CALL(ftruncate, FD, 1 << 20),
    CALL(fallocate, FD, 0, 1 << 20, 1 << 20),
    CALL(sched_yield, 0),
    /* for the table */
    CALL(clock_gettime, CLOCK_MONOTONIC_RAW, AN_ADDRESS),
    CALL(clock_gettime, CLOCK_MONOTONIC, AN_ADDRESS),
    CALL(tgkill, 1000, 1001, 0),
    CALL(mmap, 0, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1u, 0),
    CALL(mremap, AN_ADDRESS, 0, 1 << 20, MREMAP_MAYMOVE | MREMAP_FIXED, AN_ADDRESS),
    CALL(munmap, AN_ADDRESS, 1 << 20),
    CALL(ioctl, FD, TIOCGWINSZ, AN_ADDRESS),
    CALL(openat, -100u, AN_ADDRESS, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600),
    CALL(close, FD),
    CALL(rt_sigprocmask, 0, AN_ADDRESS, AN_ADDRESS, 8),
    CALL(rt_sigtimedwait, AN_ADDRESS, 0, AN_ADDRESS, 8),
    CALL(poll, AN_ADDRESS, 1, 200),
    CALL(rt_sigpending, AN_ADDRESS, 8),
    /* in a child of fork */
    CALL(getpid, 0),
    CALL(memfd_create, AN_ADDRESS, 1),
    CALL(fcntl, FD, F_DUPFD_CLOEXEC, 500),
    CALL(lstat, AN_ADDRESS, AN_ADDRESS),
    CALL(unlink, AN_ADDRESS),
    /* when a library is loaded */
    CALL(mprotect, AN_ADDRESS, 4096, PROT_READ | PROT_WRITE),
    CALL(read, FD, AN_ADDRESS, 4096),
    /* at start-up alone */
    CALL(readlink, AN_ADDRESS, AN_ADDRESS, 4095),
    CALL(getppid, 0),
    CALL(nanosleep, AN_ADDRESS, 0),
    CALL(prctl, PR_GET_TSC, AN_ADDRESS, 0),
    CALL(prctl, PR_GET_NAME, AN_ADDRESS, 0),
    CALL(write, FD, AN_ADDRESS, 0),
    /* which we can do without */
    CALL(getrusage, 1, AN_ADDRESS),
    CALL(perf_event_open, AN_ADDRESS, 0, -1ul, -1ul, 8),
};
enum { USED = sizeof used / sizeof *used, NEEDED = USED - 2, USAGE = NEEDED, PERF = NEEDED + 1 };

static int allows(const struct sock_filter *filter, unsigned count, const struct seccomp_data *call)
{
    struct seccomp_data data = *call;
    data.arch = AUDIT_ARCH_X86_64;
    data.instruction_pointer = (uintptr_t)allows;
    uint32_t action = wtm_filter_run(filter, count, &data) & SECCOMP_RET_ACTION_FULL;
    return action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_LOG;
}

/* The program's memory at an address that may be wrong: as the kernel would see it. 0 or negative errno. */
static int copy_from(uintptr_t from, void *to, size_t bytes)
{
    struct iovec local = {to, bytes}, remote = {(void *)from, bytes};
    long got = wtm_syscall6(SYS_process_vm_readv, wtm_syscall3(SYS_getpid, 0, 0, 0), (long)&local, 1, (long)&remote, 1, 0);
    return wtm_sys_failed(got) ? (int)got : (size_t)got == bytes ? 0 : -14;
}

struct judgement {
    int installs, all, write, usage, perf, name; /* will be installed; all that we need is allowed; write is; and so on */
};

/* One can do without names. */
static int is_for_name(const struct seccomp_data *call)
{
    return call->nr == SYS_prctl && call->args[0] == PR_GET_NAME;
}

static struct judgement judge_filter(uintptr_t program)
{
    struct judgement worst = {1, 0, 1, 0, 0, 0}, none = {0, 1, 1, 1, 1, 1};
    struct sock_fprog head;
    int problem = copy_from(program, &head, sizeof head);
    if (problem == -14) /* EFAULT: the kernel will say the same; so programs ask whether it knows filters */
        return none;
    if (problem)
        return worst;
    if (!head.len || head.len > BPF_MAXINSNS)
        return none;
    size_t bytes = head.len * sizeof(struct sock_filter);
    long at = wtm_sys_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (wtm_sys_failed(at))
        return worst;
    struct sock_filter *filter = (struct sock_filter *)at;
    struct judgement result = {1, 1, 1, 1, 1, 1};
    problem = copy_from((uintptr_t)head.filter, filter, bytes);
    if (problem) {
        result = problem == -14 ? none : worst;
    } else {
        const struct seccomp_data writing = {.nr = SYS_write, .args = {(uint64_t)wtm_log_descriptor(), AN_ADDRESS, 1000}};
        for (size_t i = 0; i < NEEDED; i++)
            if (is_for_name(&used[i].data))
                result.name = allows(filter, head.len, &used[i].data);
            else
                result.all &= allows(filter, head.len, &used[i].data);
        result.usage = allows(filter, head.len, &used[USAGE].data);
        result.perf = allows(filter, head.len, &used[PERF].data);
        result.write = allows(filter, head.len, &writing);
        result.all &= result.write;
    }
    wtm_sys_munmap(filter, bytes);
    return result;
}

static void prepare(int may_write)
{
    wtm_profile_note("the program gave up system calls (seccomp): from then on the runtime of calls during which the "
                     "thread was switched out is not known, and threads and functions may have gone uncounted");
    wtm_clock_hold();
    if (wtm_clock_needs_calls())
        wtm_profile_note("the clock that this process is timed with (WTM_CLOCK) needs system calls: nothing was timed after that, "
                         "and calls that were open then ended there");
    wtm_log_seal(may_write);
    wtm_threads_stock(SPARE_THREADS);
    wtm_profile_header()->last = wtm_clock_pair();
    if (!wtm_profile_seal())
        wtm_exit_table_prepare();
    __atomic_store_n(&wtm_process.sandboxed, 1, __ATOMIC_SEQ_CST);
    if (wtm_clock_is_barred())
        wtm_install_gates();
}

void wtm_sandbox_enter(uint64_t mode, uintptr_t program)
{
    static uint32_t entering;
    if (!wtm_process.ready || wtm_process.sandboxed || __atomic_exchange_n(&entering, 1, __ATOMIC_ACQUIRE))
        return;
    struct judgement judged = {1, 0, 1, 0, 0, 0};
    if (mode == SECCOMP_MODE_FILTER)
        judged = judge_filter(program);
    if (judged.installs && !judged.perf) /* threads that begin from now on read the clock */
        wtm_process.no_perf = 1;
    if (judged.installs && !judged.usage)
        wtm_process.no_usage = 1;
    if (judged.installs && !judged.name)
        wtm_process.nameless = 1;
    if (judged.installs && !judged.all) {
        wtm_thread_sync(); /* its block, and in a child of fork its profile */
        if (wtm_profile_header()) {
            struct wtm_thread *before = wtm_mute();
            prepare(judged.write);
            wtm_unmute(before);
        }
        wtm_process.sandboxed = 1;
    }
    __atomic_store_n(&entering, 0, __ATOMIC_RELEASE);
}

/* The kernel's word for it; reading a file is what the loader has just done. */
static int is_filtered(void)
{
    static char text[4096];
    long fd = wtm_sys_open("/proc/self/status", O_RDONLY | O_CLOEXEC, 0);
    if (wtm_sys_failed(fd))
        return 0;
    long got = wtm_sys_read((int)fd, text, sizeof text - 1);
    wtm_sys_close((int)fd);
    text[got > 0 ? got : 0] = 0;
    const char *line = strstr(text, "\nSeccomp:\t");
    return line && line[10] != '0';
}

/* In the child: each call from `*at` on, such that it fails or does nothing. Ends by exit, or by the filter. */
static void try_in_child(volatile uint32_t *at)
{
    struct rlimit none = {0, 0};
    wtm_syscall6(SYS_prlimit64, 0, RLIMIT_CORE, (long)&none, 0, 0, 0);
    for (; *at < USED; ++*at) {
        uint64_t args[6];
        for (int i = 0; i < 6; i++)
            args[i] = used[*at].data.args[i] == FD && (i == 0 || i == 4) ? (uint64_t)-1 : used[*at].data.args[i];
        wtm_syscall6(used[*at].data.nr, (long)args[0], (long)args[1], (long)args[2], (long)args[3], (long)args[4],
                     (long)args[5]); /* an error is no harm, to us neither */
    }
    for (;;)
        wtm_syscall3(SYS_exit_group, 0, 0, 0);
}

const char *wtm_sandbox_inherited(void)
{
    if (!is_filtered())
        return NULL;
    long page = wtm_sys_mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (wtm_sys_failed(page))
        return "mmap";
    volatile uint32_t *at = (volatile uint32_t *)page;
    const char *missing = NULL;
    /* A copy without a signal at its end: the program must not hear of it. */
    long child = wtm_syscall6(SYS_clone, 0, 0, 0, 0, 0, 0);
    if (child == 0)
        try_in_child(at);
    if (!wtm_sys_failed(child)) {
        int status = 0;
        while (wtm_syscall6(SYS_wait4, child, (long)&status, __WALL, 0, 0, 0) == -4)
            ;
        if (*at < NEEDED)
            missing = used[*at].name;
        wtm_process.no_usage = *at <= USAGE;
        wtm_process.no_perf = *at < USED;
    }
    wtm_sys_munmap((void *)page, 4096);
    return missing;
}
