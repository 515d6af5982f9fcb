/* SPDX-License-Identifier: MIT
 * Before a seccomp filter comes into force. Ordinary code: runs in the hook of prctl and syscall, which keeps all state. */
#include "preload/sandbox.h"
#include "common/sys.h"
#include "preload/clock.h"
#include "preload/exit_table.h"
#include "preload/log.h"
#include "preload/profile.h"
#include "preload/thread.h"
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <time.h>

enum { SPARE_THREADS = 8, AN_ADDRESS = 0x10000 };

/* Every system call that is made after start-up, with arguments like ours: filters may look at them. `write` is apart. */
static const struct seccomp_data used[] = {
    /* at a thread's first event, at switches, for room */
    {.nr = SYS_gettid},
    {.nr = SYS_clock_gettime, .args = {CLOCK_THREAD_CPUTIME_ID, AN_ADDRESS}},
    {.nr = SYS_mmap, .args = {0, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1u, 0}},
    {.nr = SYS_mmap, .args = {0, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, 500, 1 << 20}},
    {.nr = SYS_madvise, .args = {AN_ADDRESS, 1 << 20, MADV_DONTDUMP}},
    {.nr = SYS_fstat, .args = {500, AN_ADDRESS}},
    {.nr = SYS_prlimit64, .args = {0, RLIMIT_FSIZE, 0, AN_ADDRESS}},
    {.nr = SYS_ftruncate, .args = {500, 1 << 20}},
    {.nr = SYS_fallocate, .args = {500, 0, 1 << 20, 1 << 20}},
    {.nr = SYS_sched_yield},
    /* for the table */
    {.nr = SYS_clock_gettime, .args = {CLOCK_MONOTONIC_RAW, AN_ADDRESS}},
    {.nr = SYS_tgkill, .args = {1000, 1001, 0}},
    {.nr = SYS_mmap, .args = {0, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1u, 0}},
    {.nr = SYS_mremap, .args = {AN_ADDRESS, 0, 1 << 20, MREMAP_MAYMOVE | MREMAP_FIXED, AN_ADDRESS}},
    {.nr = SYS_munmap, .args = {AN_ADDRESS, 1 << 20}},
    {.nr = SYS_ioctl, .args = {500, TIOCGWINSZ, AN_ADDRESS}},
    {.nr = SYS_openat, .args = {-100u, AN_ADDRESS, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600}},
    {.nr = SYS_close, .args = {500}},
    {.nr = SYS_rt_sigprocmask, .args = {0, AN_ADDRESS, AN_ADDRESS, 8}},
    {.nr = SYS_rt_sigtimedwait, .args = {AN_ADDRESS, 0, AN_ADDRESS, 8}},
    {.nr = SYS_poll, .args = {AN_ADDRESS, 1, 200}},
    {.nr = SYS_rt_sigpending, .args = {AN_ADDRESS, 8}},
    /* in a child of fork */
    {.nr = SYS_getpid},
    {.nr = SYS_memfd_create, .args = {AN_ADDRESS, 1}},
    {.nr = SYS_fcntl, .args = {3, F_DUPFD_CLOEXEC, 500}},
    {.nr = SYS_lstat, .args = {AN_ADDRESS, AN_ADDRESS}},
    {.nr = SYS_unlink, .args = {AN_ADDRESS}},
    /* when a library is loaded */
    {.nr = SYS_mprotect, .args = {AN_ADDRESS, 4096, PROT_READ | PROT_WRITE}},
    {.nr = SYS_read, .args = {500, AN_ADDRESS, 4096}},
};

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
    int installs, all, write; /* will be installed; all that we use is allowed; write is */
};

static struct judgement judge_filter(uintptr_t program)
{
    struct judgement worst = {1, 0, 1}, none = {0, 1, 1};
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
    struct judgement result = {1, 1, 1};
    problem = copy_from((uintptr_t)head.filter, filter, bytes);
    if (problem) {
        result = problem == -14 ? none : worst;
    } else {
        const struct seccomp_data writing = {.nr = SYS_write, .args = {(uint64_t)wtm_log_descriptor(), AN_ADDRESS, 1000}};
        for (size_t i = 0; i < sizeof used / sizeof *used; i++)
            result.all &= allows(filter, head.len, &used[i]);
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
    wtm_log_seal(may_write);
    wtm_threads_stock(SPARE_THREADS);
    wtm_profile_header()->last = wtm_clock_pair();
    if (!wtm_profile_seal())
        wtm_exit_table_prepare();
    __atomic_store_n(&wtm_process.sandboxed, 1, __ATOMIC_SEQ_CST);
}

void wtm_sandbox_enter(uint64_t mode, uintptr_t program)
{
    static uint32_t entering;
    if (!wtm_process.ready || wtm_process.sandboxed || __atomic_exchange_n(&entering, 1, __ATOMIC_ACQUIRE))
        return;
    struct judgement judged = {1, 0, 1};
    if (mode == SECCOMP_MODE_FILTER)
        judged = judge_filter(program);
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
