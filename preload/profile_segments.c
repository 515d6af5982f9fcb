/* SPDX-License-Identifier: MIT
 * The profile's space: segments of a file or memfd, and room in them. Runs inside timed calls: general registers only, no
 * libc. */
#include "preload/profile_space.h"
#include "common/sys.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

struct wtm_space wtm_space = {.fd = -1};

int wtm_space_is_ours(void)
{
    struct stat st;
    if (wtm_space.fd < 0 || wtm_sys_failed(wtm_syscall3(SYS_fstat, wtm_space.fd, (long)&st, 0)))
        return 0;
    return st.st_dev == wtm_space.device && st.st_ino == wtm_space.inode;
}

void wtm_space_borrow(void)
{
    if (wtm_space.fd < 0 && wtm_space.path[0])
        wtm_space.fd = (int)wtm_sys_open(wtm_space.path, O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0);
}

void wtm_space_give_back(void)
{
    if (!wtm_space.path[0] || wtm_space.fd < 0)
        return;
    wtm_sys_close(wtm_space.fd);
    wtm_space.fd = -1;
}

/* Would growing the file to `bytes` raise SIGXFSZ? */
static int beyond_limit(uint64_t bytes)
{
    struct rlimit limit;
    if (wtm_sys_failed(wtm_syscall6(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, (long)&limit, 0, 0)))
        return 0;
    return limit.rlim_cur != RLIM_INFINITY && bytes > limit.rlim_cur;
}

int wtm_space_grow_file(uint64_t from, uint64_t bytes)
{
    if (!wtm_space_is_ours() || beyond_limit(from + bytes))
        return -1;
    if (wtm_space.is_memfd)
        return wtm_sys_failed(wtm_syscall3(SYS_ftruncate, wtm_space.fd, (long)(from + bytes), 0)) ? -1 : 0;
    long result = wtm_syscall6(SYS_fallocate, wtm_space.fd, 0, (long)from, (long)bytes, 0, 0);
    if (result == -95 /* EOPNOTSUPP */)
        result = wtm_syscall3(SYS_ftruncate, wtm_space.fd, (long)(from + bytes), 0);
    return wtm_sys_failed(result) ? -1 : 0;
}

int wtm_space_add(uint64_t offset, uint64_t bytes)
{
    uint32_t n = wtm_space.segment_count;
    if (n == WTM_MAX_SEGMENTS)
        return -12;
    long base = -1;
    if (!wtm_space.detached)
        wtm_space_borrow();
    int in_file = !wtm_space.detached && wtm_space.fd >= 0 && wtm_space_grow_file(offset, bytes) == 0;
    if (in_file)
        base = wtm_sys_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, wtm_space.fd, (long)offset);
    wtm_space_give_back();
    if (wtm_sys_failed(base)) {
        wtm_space.detached = 1;
        if (wtm_space.warning)
            wtm_space.warning->type = WTM_CHUNK_NOTE;
        base = wtm_sys_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    }
    if (wtm_sys_failed(base))
        return -12;
    wtm_sys_madvise((void *)base, bytes, MADV_DONTDUMP);
    wtm_space.segments[n] = (struct wtm_segment){(char *)base, offset, bytes};
    __atomic_store_n(&wtm_space.segment_count, n + 1, __ATOMIC_RELEASE);
    return 0;
}

/* All but those that an instruction causes: the kernel would end the thread for these. */
static long block_signals(uint64_t *before)
{
    uint64_t most = ~(1ULL << (SIGSEGV - 1) | 1ULL << (SIGBUS - 1) | 1ULL << (SIGFPE - 1) | 1ULL << (SIGILL - 1) |
                      1ULL << (SIGTRAP - 1) | 1ULL << (SIGSYS - 1));
    return wtm_syscall6(SYS_rt_sigprocmask, SIG_BLOCK, (long)&most, (long)before, sizeof most, 0, 0);
}

static int grow(uint32_t seen, uint64_t need);

int wtm_space_grow(uint32_t seen, uint64_t need)
{
    uint64_t before = 0;
    if (wtm_process.sandboxed)
        return -12;
    long blocked = block_signals(&before); /* a handler that jumps away would leave the others waiting for ever */
    int result = grow(seen, need);
    if (!wtm_sys_failed(blocked))
        wtm_syscall6(SYS_rt_sigprocmask, SIG_SETMASK, (long)&before, 0, sizeof before, 0, 0);
    return result;
}

static int grow(uint32_t seen, uint64_t need)
{
    uint32_t me = (uint32_t)wtm_syscall3(SYS_gettid, 0, 0, 0), nobody = 0;
    while (!__atomic_compare_exchange_n(&wtm_space.growing, &nobody, me, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
        if (nobody == me)
            return -16;
        nobody = 0;
        wtm_syscall3(SYS_sched_yield, 0, 0, 0);
    }
    int result = 0;
    if (wtm_space.segment_count == seen) {
        struct wtm_segment last = wtm_space.segments[seen - 1];
        uint64_t bytes = last.bytes * 2 < WTM_LARGEST_SEGMENT_BYTES ? last.bytes * 2 : WTM_LARGEST_SEGMENT_BYTES;
        while (bytes < need)
            bytes *= 2;
        /* What is left of the last segment stays a hole; readers step over it. */
        result = wtm_space_add(last.offset + last.bytes, bytes);
        if (!result)
            __atomic_store_n(&wtm_space.header->used_bytes, last.offset + last.bytes, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&wtm_space.growing, 0, __ATOMIC_RELEASE);
    return result;
}

void *wtm_profile_chunk(size_t bytes)
{
    struct wtm_profile_header *header = wtm_space.header;
    bytes = (bytes + WTM_CHUNK_ALIGN - 1) & ~(size_t)(WTM_CHUNK_ALIGN - 1);
    if (!header || bytes > WTM_LARGEST_SEGMENT_BYTES)
        return NULL;
    for (;;) {
        uint32_t count = __atomic_load_n(&wtm_space.segment_count, __ATOMIC_ACQUIRE);
        const struct wtm_segment *last = &wtm_space.segments[count - 1];
        uint64_t used = __atomic_load_n(&header->used_bytes, __ATOMIC_ACQUIRE);
        if (used < last->offset) /* the new segment is there, the position not yet moved into it */
            continue;
        if (used + bytes > last->offset + last->bytes) {
            if (wtm_space_grow(count, bytes))
                return NULL;
            continue;
        }
        if (__atomic_compare_exchange_n(&header->used_bytes, &used, used + bytes, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
            struct wtm_chunk *chunk = (struct wtm_chunk *)(last->base + (used - last->offset));
            chunk->bytes = bytes;
            return chunk;
        }
    }
}

void wtm_profile_publish(void *chunk, enum wtm_chunk_type type)
{
    struct wtm_chunk *c = chunk;
    c->type = type;
    __atomic_store_n(&c->magic, WTM_CHUNK_MAGIC, __ATOMIC_RELEASE);
}

uint64_t wtm_profile_offset(const void *chunk)
{
    uint32_t count = __atomic_load_n(&wtm_space.segment_count, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < count; i++) {
        const struct wtm_segment *s = &wtm_space.segments[i];
        if ((const char *)chunk >= s->base && (const char *)chunk < s->base + s->bytes)
            return s->offset + (uint64_t)((const char *)chunk - s->base);
    }
    return 0;
}

void *wtm_profile_at(uint64_t offset)
{
    uint32_t count = __atomic_load_n(&wtm_space.segment_count, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < count; i++) {
        const struct wtm_segment *s = &wtm_space.segments[i];
        if (offset >= s->offset && offset - s->offset < s->bytes)
            return s->base + (offset - s->offset);
    }
    return NULL;
}
