/* SPDX-License-Identifier: MIT
 * The profile's space. Runs in the target, also inside timed calls: general registers only, no libc. */
#include "preload/profile.h"
#include "common/profile_check.h"
#include "common/sys.h"
#include "preload/clock.h"
#include "preload/descriptor.h"
#include "preload/profile_file.h"
#include <fcntl.h>
#include <linux/memfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <string.h>

enum {
    PAGE = 4096,
    MAX_SEGMENTS = 64,
    FIRST_SEGMENT_BYTES = 1 << 20,
    FIRST_SEGMENT_BYTES_OF_MANY = 64 << 10, /* a build has thousands of processes, most of which time little */
    LARGEST_SEGMENT_BYTES = 64 << 20,
};

struct segment {
    char *base;
    uint64_t offset, bytes;
};

static struct {
    struct wtm_profile_header *header;
    struct segment segments[MAX_SEGMENTS];
    uint32_t segment_count;
    uint32_t growing;       /* tid of the thread that adds a segment */
    int fd;                 /* -1: none; of a file only while it is grown */
    char path[4096];        /* absolute, of a file; empty for a memfd */
    int is_memfd;
    int passing;            /* descriptors are few: fd is given back once the first segment is mapped */
    uint64_t device, inode; /* of fd when it was opened */
    uint32_t detached;      /* 1: some segments are not in the file */
    uint64_t lost_early;    /* lost calls before there was a header */
    uint32_t thread_count;
    struct wtm_chunk *warning; /* a note that is shown once `detached` is set */
    struct wtm_profile sealed; /* view made in advance */
} profile = {.fd = -1};

struct wtm_process wtm_process;

struct wtm_profile_header *wtm_profile_header(void)
{
    return profile.header;
}

static int is_ours(void)
{
    struct stat st;
    if (profile.fd < 0 || wtm_sys_failed(wtm_syscall3(SYS_fstat, profile.fd, (long)&st, 0)))
        return 0;
    return st.st_dev == profile.device && st.st_ino == profile.inode;
}

/* A program may look at its own descriptors, so a file's is not kept: it is opened again to grow. */
static void borrow(void)
{
    if (profile.fd < 0 && profile.path[0])
        profile.fd = (int)wtm_sys_open(profile.path, O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0);
}

static void give_back(void)
{
    if (!profile.path[0] || profile.fd < 0)
        return;
    wtm_sys_close(profile.fd);
    profile.fd = -1;
}

/* Would growing the file to `bytes` raise SIGXFSZ? */
static int beyond_limit(uint64_t bytes)
{
    struct rlimit limit;
    if (wtm_sys_failed(wtm_syscall6(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, (long)&limit, 0, 0)))
        return 0;
    return limit.rlim_cur != RLIM_INFINITY && bytes > limit.rlim_cur;
}

/* Grows the file with its blocks allocated, so that touching the mapping cannot fail for a full disk. */
static int grow_file(uint64_t from, uint64_t bytes)
{
    if (!is_ours() || beyond_limit(from + bytes))
        return -1;
    if (profile.is_memfd)
        return wtm_sys_failed(wtm_syscall3(SYS_ftruncate, profile.fd, (long)(from + bytes), 0)) ? -1 : 0;
    long result = wtm_syscall6(SYS_fallocate, profile.fd, 0, (long)from, (long)bytes, 0, 0);
    if (result == -95 /* EOPNOTSUPP */)
        result = wtm_syscall3(SYS_ftruncate, profile.fd, (long)(from + bytes), 0);
    return wtm_sys_failed(result) ? -1 : 0;
}

static int add_segment(uint64_t offset, uint64_t bytes)
{
    uint32_t n = profile.segment_count;
    if (n == MAX_SEGMENTS)
        return -12;
    long base = -1;
    if (!profile.detached)
        borrow();
    int in_file = !profile.detached && profile.fd >= 0 && grow_file(offset, bytes) == 0;
    if (in_file)
        base = wtm_sys_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, profile.fd, (long)offset);
    give_back();
    if (wtm_sys_failed(base)) {
        profile.detached = 1;
        if (profile.warning)
            profile.warning->type = WTM_CHUNK_NOTE;
        base = wtm_sys_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    }
    if (wtm_sys_failed(base))
        return -12;
    wtm_sys_madvise((void *)base, bytes, MADV_DONTDUMP);
    profile.segments[n] = (struct segment){(char *)base, offset, bytes};
    __atomic_store_n(&profile.segment_count, n + 1, __ATOMIC_RELEASE);
    return 0;
}

/* One thread at a time; others wait for it. A signal handler that interrupted the one who grows must not wait: -EBUSY. */
static int grow(uint32_t seen, uint64_t need)
{
    if (wtm_process.sandboxed)
        return -12;
    uint32_t me = (uint32_t)wtm_syscall3(SYS_gettid, 0, 0, 0), nobody = 0;
    while (!__atomic_compare_exchange_n(&profile.growing, &nobody, me, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
        if (nobody == me)
            return -16;
        nobody = 0;
        wtm_syscall3(SYS_sched_yield, 0, 0, 0);
    }
    int result = 0;
    if (profile.segment_count == seen) {
        struct segment last = profile.segments[seen - 1];
        uint64_t bytes = last.bytes * 2 < LARGEST_SEGMENT_BYTES ? last.bytes * 2 : LARGEST_SEGMENT_BYTES;
        while (bytes < need)
            bytes *= 2;
        /* What is left of the last segment stays a hole; readers step over it. */
        result = add_segment(last.offset + last.bytes, bytes);
        if (!result)
            __atomic_store_n(&profile.header->used_bytes, last.offset + last.bytes, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&profile.growing, 0, __ATOMIC_RELEASE);
    return result;
}

void *wtm_profile_chunk(size_t bytes)
{
    struct wtm_profile_header *header = profile.header;
    bytes = (bytes + WTM_CHUNK_ALIGN - 1) & ~(size_t)(WTM_CHUNK_ALIGN - 1);
    if (!header || bytes > LARGEST_SEGMENT_BYTES)
        return NULL;
    for (;;) {
        uint32_t count = __atomic_load_n(&profile.segment_count, __ATOMIC_ACQUIRE);
        const struct segment *last = &profile.segments[count - 1];
        uint64_t used = __atomic_load_n(&header->used_bytes, __ATOMIC_ACQUIRE);
        if (used < last->offset) /* the new segment is there, the position not yet moved into it */
            continue;
        if (used + bytes > last->offset + last->bytes) {
            if (grow(count, bytes))
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
    uint32_t count = __atomic_load_n(&profile.segment_count, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < count; i++) {
        const struct segment *s = &profile.segments[i];
        if ((const char *)chunk >= s->base && (const char *)chunk < s->base + s->bytes)
            return s->offset + (uint64_t)((const char *)chunk - s->base);
    }
    return 0;
}

void *wtm_profile_at(uint64_t offset)
{
    uint32_t count = __atomic_load_n(&profile.segment_count, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < count; i++) {
        const struct segment *s = &profile.segments[i];
        if (offset >= s->offset && offset - s->offset < s->bytes)
            return s->base + (offset - s->offset);
    }
    return NULL;
}

static void take_descriptor(int fd, int is_memfd)
{
    int high = wtm_descriptor_high(fd);
    if (high >= 0) {
        wtm_sys_close(fd);
        fd = high;
    }
    profile.passing = high < 0;
    struct stat st;
    if (wtm_sys_failed(wtm_syscall3(SYS_fstat, fd, (long)&st, 0)))
        return;
    profile.fd = fd;
    profile.is_memfd = is_memfd;
    profile.device = st.st_dev;
    profile.inode = st.st_ino;
}

/* The program may change its directory before the file has to grow. */
static void remember_path(const char *path)
{
    size_t used = 0, length = strlen(path);
    if (path[0] != '/') {
        long got = wtm_syscall3(SYS_getcwd, (long)profile.path, sizeof profile.path, 0);
        if (wtm_sys_failed(got) || got < 2)
            return;
        used = (size_t)got; /* with its NUL, which becomes the slash */
        profile.path[used - 1] = '/';
    }
    if (used + length >= sizeof profile.path)
        profile.path[0] = 0; /* keep the descriptor then */
    else
        memcpy(profile.path + used, path, length + 1);
}

static uint64_t first_bytes(void)
{
    return wtm_process.run ? FIRST_SEGMENT_BYTES_OF_MANY : FIRST_SEGMENT_BYTES;
}

/* 0, or why the file cannot hold even the first segment: then there is none, an empty one would only puzzle. */
static int begin_file(const char *given)
{
    remember_path(given);
    wtm_profile_step_aside(profile.path, sizeof profile.path);
    const char *path = profile.path[0] ? profile.path : given; /* too long: the descriptor is kept then */
    int fd = wtm_profile_open_new(path);
    if (fd < 0)
        return fd;
    take_descriptor(fd, 0);
    if (profile.fd >= 0 && grow_file(0, first_bytes()) == 0)
        return 0;
    wtm_sys_close(profile.fd < 0 ? fd : profile.fd);
    profile.fd = -1;
    wtm_syscall3(SYS_unlink, (long)path, 0, 0);
    return -28; /* ENOSPC */
}

/* Other readers see only the file's part, so what they are to know must be in there before it is true. */
static void prepare_warning(void)
{
    static const char text[] = "the profile could not grow in its file (disk full, a limit, or its descriptor was closed): "
                               "calls are missing here; the table at the end of the program had them";
    struct wtm_text_chunk *chunk = wtm_profile_chunk(sizeof *chunk + sizeof text);
    if (!chunk)
        return;
    chunk->text = sizeof *chunk;
    memcpy(chunk + 1, text, sizeof text);
    wtm_profile_publish(chunk, profile.detached ? WTM_CHUNK_NOTE : WTM_CHUNK_UNUSED);
    profile.warning = &chunk->chunk;
}

int wtm_profile_create(const char *path)
{
    int problem = 0;
    profile.fd = -1;
    profile.path[0] = 0;
    profile.segment_count = 0;
    profile.detached = 0;
    profile.thread_count = 0;
    profile.growing = 0;
    profile.sealed = (struct wtm_profile){0};
    profile.warning = NULL;
    profile.passing = 0;
    if (path)
        problem = begin_file(path);
    if (problem)
        profile.path[0] = 0;
    if (profile.fd < 0) {
        long fd = wtm_syscall3(SYS_memfd_create, (long)"wtm-profile", MFD_CLOEXEC, 0);
        if (!wtm_sys_failed(fd))
            take_descriptor((int)fd, 1);
    }
    if (add_segment(0, first_bytes()))
        return -12;
    if (profile.passing && profile.fd >= 0) {
        wtm_sys_close(profile.fd);
        profile.fd = -1;
    }
    struct wtm_profile_header *header = (struct wtm_profile_header *)profile.segments[0].base;
    header->version = WTM_PROFILE_VERSION;
    header->oldest_reader = WTM_PROFILE_VERSION;
    header->header_bytes = WTM_PROFILE_HEADER_BYTES;
    header->hist_buckets = WTM_HIST_BUCKETS;
    header->used_bytes = WTM_PROFILE_HEADER_BYTES;
    header->state = WTM_PROFILE_RUNNING;
    header->lost_calls = profile.lost_early;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    memcpy(header->magic, WTM_PROFILE_MAGIC, sizeof header->magic);
    profile.header = header;
    if (path && !problem)
        prepare_warning();
    return problem;
}

/* What a child keeps of its parent's profile: what there is to time, not what was counted. */
static void copy_descriptions(const struct segment *old, uint32_t count, uint64_t used)
{
    for (uint32_t i = 0; i < count; i++) {
        uint64_t at = i ? 0 : WTM_PROFILE_HEADER_BYTES;
        while (at + sizeof(struct wtm_chunk) <= old[i].bytes && old[i].offset + at < used) {
            const struct wtm_chunk *chunk = (const struct wtm_chunk *)(old[i].base + at);
            if (chunk->magic != WTM_CHUNK_MAGIC || !chunk->bytes || chunk->bytes > old[i].bytes - at) {
                at += WTM_CHUNK_ALIGN;
                continue;
            }
            if (chunk->type == WTM_CHUNK_FUNCTION || chunk->type == WTM_CHUNK_REFUSED ||
                chunk->type == WTM_CHUNK_NOT_FOUND || chunk->type == WTM_CHUNK_NOTE) {
                char *copy = wtm_profile_chunk(chunk->bytes);
                if (copy) {
                    memcpy(copy + sizeof *chunk, chunk + 1, chunk->bytes - sizeof *chunk);
                    wtm_profile_publish(copy, chunk->type);
                }
            }
            at += chunk->bytes;
        }
    }
}

int wtm_profile_recreate(const char *path)
{
    static struct segment old[MAX_SEGMENTS]; /* not on the program's stack; a child begins with one thread */
    uint32_t count = profile.segment_count;
    const struct wtm_profile_header *before = profile.header;
    memcpy(old, profile.segments, sizeof old);
    int result = wtm_profile_create(path);
    if (result == -12)
        return result;
    struct wtm_profile_header *header = profile.header;
    header->clock = before->clock;
    header->clock_trusted = before->clock_trusted;
    header->tick_hz_hint = before->tick_hz_hint;
    header->rate_source = before->rate_source;
    header->clock_step = before->clock_step;
    header->cpu_source = before->cpu_source;
    header->recursion_mode = before->recursion_mode;
    header->cost = before->cost;
    header->order = before->order;
    header->epoch = wtm_hot.epoch;
    header->function_count = before->function_count;
    header->armed = wtm_process.armed;
    memcpy(header->control_signals, before->control_signals, sizeof header->control_signals);
    memcpy(header->program, before->program, sizeof header->program);
    memcpy(header->clock_note, before->clock_note, sizeof header->clock_note);
    memcpy(header->cpu_note, before->cpu_note, sizeof header->cpu_note);
    copy_descriptions(old, count, before->used_bytes);
    return result;
}

int wtm_profile_is_file(void)
{
    return profile.header && profile.path[0] && !profile.detached;
}

/* A cell is made at a function's first call. */
int wtm_profile_counted(void)
{
    struct wtm_profile view;
    struct wtm_walk walk;
    int counted = 0;
    if (wtm_profile_view(&view))
        return 1;
    wtm_walk_begin(&walk, &view);
    for (const struct wtm_chunk *chunk; !counted && (chunk = wtm_walk_next(&walk));)
        if (walk.type == WTM_CHUNK_CELL) {
            const struct wtm_cell *cell = (const struct wtm_cell *)chunk;
            counted = cell->entered || cell->recursive;
        }
    wtm_profile_unview(&view);
    return counted;
}

void wtm_profile_remove(void)
{
    if (!wtm_profile_is_file() || wtm_process.sandboxed)
        return;
    borrow();
    struct stat st;
    if (is_ours() && !wtm_sys_failed(wtm_syscall3(SYS_lstat, (long)profile.path, (long)&st, 0)) &&
        st.st_ino == profile.inode && st.st_dev == profile.device)
        wtm_syscall3(SYS_unlink, (long)profile.path, 0, 0);
    give_back();
    profile.detached = 1; /* what grows from now on grows in memory */
}

int wtm_profile_thread(struct wtm_thread *thread)
{
    struct wtm_thread_chunk *chunk = wtm_profile_chunk(sizeof *chunk);
    if (!chunk)
        return -12;
    chunk->index = __atomic_add_fetch(&profile.thread_count, 1, __ATOMIC_RELAXED);
    chunk->tid = thread->tid;
    chunk->epoch = thread->epoch;
    chunk->seen_ticks = wtm_clock_ticks();
    memcpy(chunk->name, thread->born, sizeof chunk->name);
    thread->index = chunk->index;
    wtm_profile_publish(chunk, WTM_CHUNK_THREAD);
    thread->shared = chunk;
    return 0;
}

void wtm_profile_note(const char *text)
{
    size_t length = strlen(text);
    struct wtm_text_chunk *chunk = wtm_profile_chunk(sizeof *chunk + length + 1);
    if (!chunk)
        return;
    chunk->text = sizeof *chunk;
    memcpy(chunk + 1, text, length + 1);
    wtm_profile_publish(chunk, WTM_CHUNK_NOTE);
}

void wtm_profile_lost_call(void)
{
    uint64_t *count = profile.header ? &profile.header->lost_calls : &profile.lost_early;
    __atomic_add_fetch(count, 1, __ATOMIC_RELAXED);
}

void wtm_profile_stranded(void)
{
    wtm_profile_note("a timed call returned and no record of it was found: please report this");
}

/* A cell and its second half for each function, for this thread and, as far as they fit, some more. */
static uint64_t likely_bytes(void)
{
    enum { MOST = 16 << 20, LEAST = 1 << 20 };
    uint64_t a_thread = profile.header->function_count * (sizeof(struct wtm_cell) + sizeof(struct wtm_switched));
    uint64_t bytes = a_thread * 4;
    return bytes < LEAST ? LEAST : bytes < MOST ? bytes : a_thread > MOST ? a_thread : MOST;
}

int wtm_profile_seal(void)
{
    uint32_t count = profile.segment_count;
    const struct segment *last = &profile.segments[count - 1];
    uint64_t wanted = likely_bytes();
    if (wanted > LARGEST_SEGMENT_BYTES)
        wanted = LARGEST_SEGMENT_BYTES;
    if (last->offset + last->bytes - profile.header->used_bytes < wanted)
        grow(count, wanted); /* without it, some calls may be lost, and are told as such */
    return wtm_profile_view(&profile.sealed);
}

void wtm_profile_none(void)
{
    profile.header = NULL;
    profile.segment_count = 0;
    profile.sealed = (struct wtm_profile){0};
}

int wtm_profile_view(struct wtm_profile *view)
{
    uint32_t count = profile.segment_count;
    if (!profile.header)
        return -2;
    if (profile.sealed.base) {
        *view = profile.sealed;
        return 0;
    }
    if (wtm_process.sandboxed)
        return -12;
    uint64_t total = profile.segments[count - 1].offset + profile.segments[count - 1].bytes;
    long base = wtm_sys_mmap(NULL, total, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (wtm_sys_failed(base))
        return (int)base;
    for (uint32_t i = 0; i < count; i++) { /* old size 0: a second mapping of the same shared pages */
        const struct segment *s = &profile.segments[i];
        long at = wtm_syscall6(SYS_mremap, (long)s->base, 0, (long)s->bytes, MREMAP_MAYMOVE | MREMAP_FIXED,
                               base + (long)s->offset, 0);
        if (wtm_sys_failed(at)) {
            wtm_sys_munmap((void *)base, total);
            return (int)at;
        }
    }
    view->base = (const unsigned char *)base;
    view->bytes = total;
    view->path = NULL;
    return 0;
}

void wtm_profile_unview(struct wtm_profile *view)
{
    if (view->base && view->base != profile.sealed.base)
        wtm_sys_munmap((void *)(uintptr_t)view->base, view->bytes);
    view->base = NULL;
}
