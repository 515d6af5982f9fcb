/* SPDX-License-Identifier: MIT
 * Making the profile: at start-up, and again in a child. */
#include "common/sys.h"
#include "preload/descriptor.h"
#include "preload/profile_file.h"
#include "preload/profile_space.h"
#include <linux/memfd.h>
#include <sys/stat.h>
#include <string.h>

static void take_descriptor(int fd, int is_memfd)
{
    int high = wtm_descriptor_high(fd);
    if (high >= 0) {
        wtm_sys_close(fd);
        fd = high;
    }
    wtm_space.passing = high < 0;
    struct stat st;
    if (wtm_sys_failed(wtm_syscall3(SYS_fstat, fd, (long)&st, 0)))
        return;
    wtm_space.fd = fd;
    wtm_space.is_memfd = is_memfd;
    wtm_space.device = st.st_dev;
    wtm_space.inode = st.st_ino;
}

/* The program may change its directory before the file has to grow. */
static void remember_path(const char *path)
{
    size_t used = 0, length = strlen(path);
    if (path[0] != '/') {
        long got = wtm_syscall3(SYS_getcwd, (long)wtm_space.path, sizeof wtm_space.path, 0);
        if (wtm_sys_failed(got) || got < 2)
            return;
        used = (size_t)got; /* with its NUL, which becomes the slash */
        wtm_space.path[used - 1] = '/';
    }
    if (used + length >= sizeof wtm_space.path)
        wtm_space.path[0] = 0; /* keep the descriptor then */
    else
        memcpy(wtm_space.path + used, path, length + 1);
}

static uint64_t first_bytes(void)
{
    return wtm_process.run ? WTM_FIRST_SEGMENT_BYTES_OF_MANY : WTM_FIRST_SEGMENT_BYTES;
}

/* 0, or why the file cannot hold even the first segment: then there is none, an empty one would only puzzle. */
static int begin_file(const char *given)
{
    remember_path(given);
    wtm_profile_step_aside(wtm_space.path, sizeof wtm_space.path);
    const char *path = wtm_space.path[0] ? wtm_space.path : given; /* too long: the descriptor is kept then */
    int fd = wtm_profile_open_new(path);
    if (fd < 0)
        return fd;
    take_descriptor(fd, 0);
    if (wtm_space.fd >= 0 && wtm_space_grow_file(0, first_bytes()) == 0)
        return 0;
    wtm_sys_close(wtm_space.fd < 0 ? fd : wtm_space.fd);
    wtm_space.fd = -1;
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
    wtm_profile_publish(chunk, wtm_space.detached ? WTM_CHUNK_NOTE : WTM_CHUNK_UNUSED);
    wtm_space.warning = &chunk->chunk;
}

/* No memory, though the file could be made: an empty one would only puzzle. */
static void give_up(void)
{
    if (wtm_space.path[0])
        wtm_syscall3(SYS_unlink, (long)wtm_space.path, 0, 0);
    if (wtm_space.fd >= 0)
        wtm_sys_close(wtm_space.fd);
    wtm_space.fd = -1;
    wtm_profile_none();
}

int wtm_profile_create(const char *path)
{
    int problem = 0;
    wtm_space.fd = -1;
    wtm_space.path[0] = 0;
    wtm_space.segment_count = 0;
    wtm_space.detached = 0;
    wtm_space.thread_count = 0;
    wtm_space.growing = 0;
    wtm_space.sealed = (struct wtm_profile){0};
    wtm_space.warning = NULL;
    wtm_space.passing = 0;
    if (path)
        problem = begin_file(path);
    if (problem)
        wtm_space.path[0] = 0;
    if (wtm_space.fd < 0) {
        long fd = wtm_syscall3(SYS_memfd_create, (long)"wtm-profile", MFD_CLOEXEC, 0);
        if (!wtm_sys_failed(fd))
            take_descriptor((int)fd, 1);
    }
    if (wtm_space_add(0, first_bytes())) {
        give_up();
        return -12;
    }
    if (wtm_space.passing && wtm_space.fd >= 0) {
        wtm_sys_close(wtm_space.fd);
        wtm_space.fd = -1;
    }
    struct wtm_profile_header *header = (struct wtm_profile_header *)wtm_space.segments[0].base;
    header->version = WTM_PROFILE_VERSION;
    header->oldest_reader = WTM_PROFILE_VERSION;
    header->header_bytes = WTM_PROFILE_HEADER_BYTES;
    header->hist_buckets = WTM_HIST_BUCKETS;
    header->used_bytes = WTM_PROFILE_HEADER_BYTES;
    header->state = WTM_PROFILE_RUNNING;
    header->lost_calls = wtm_space.lost_early;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    memcpy(header->magic, WTM_PROFILE_MAGIC, sizeof header->magic);
    wtm_space.header = header;
    if (path && !problem)
        prepare_warning();
    return problem;
}

/* What a child keeps of its parent's profile: what there is to time, not what was counted. */
static void copy_descriptions(const struct wtm_segment *old, uint32_t count, uint64_t used)
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
    static struct wtm_segment old[WTM_MAX_SEGMENTS]; /* not on the program's stack; a child begins with one thread */
    uint32_t count = wtm_space.segment_count;
    const struct wtm_profile_header *before = wtm_space.header;
    memcpy(old, wtm_space.segments, sizeof old);
    int result = wtm_profile_create(path);
    if (result == -12)
        return result;
    struct wtm_profile_header *header = wtm_space.header;
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
