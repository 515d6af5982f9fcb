/* SPDX-License-Identifier: MIT
 * What is written into the profile, and the view that the table is made from. Also inside timed calls: general registers only,
 * no libc. */
#include "preload/profile.h"
#include "common/sys.h"
#include "preload/clock.h"
#include "preload/profile_space.h"
#include <sys/mman.h>
#include <sys/stat.h>
#include <string.h>

struct wtm_process wtm_process;

struct wtm_profile_header *wtm_profile_header(void)
{
    return wtm_space.header;
}

int wtm_profile_is_file(void)
{
    return wtm_space.header && wtm_space.path[0] && !wtm_space.detached;
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
    wtm_space_borrow();
    struct stat st;
    if (wtm_space_is_ours() && !wtm_sys_failed(wtm_syscall3(SYS_lstat, (long)wtm_space.path, (long)&st, 0)) &&
        st.st_ino == wtm_space.inode && st.st_dev == wtm_space.device)
        wtm_syscall3(SYS_unlink, (long)wtm_space.path, 0, 0);
    wtm_space_give_back();
    wtm_space.detached = 1; /* what grows from now on grows in memory */
}

int wtm_profile_thread(struct wtm_thread *thread)
{
    struct wtm_thread_chunk *chunk = wtm_profile_chunk(sizeof *chunk);
    if (!chunk)
        return -12;
    chunk->index = __atomic_add_fetch(&wtm_space.thread_count, 1, __ATOMIC_RELAXED);
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
    uint64_t *count = wtm_space.header ? &wtm_space.header->lost_calls : &wtm_space.lost_early;
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
    uint64_t a_thread = wtm_space.header->function_count * (sizeof(struct wtm_cell) + sizeof(struct wtm_switched));
    uint64_t bytes = a_thread * 4;
    return bytes < LEAST ? LEAST : bytes < MOST ? bytes : a_thread > MOST ? a_thread : MOST;
}

int wtm_profile_seal(void)
{
    uint32_t count = wtm_space.segment_count;
    const struct wtm_segment *last = &wtm_space.segments[count - 1];
    uint64_t wanted = likely_bytes();
    if (wanted > WTM_LARGEST_SEGMENT_BYTES)
        wanted = WTM_LARGEST_SEGMENT_BYTES;
    if (last->offset + last->bytes - wtm_space.header->used_bytes < wanted)
        wtm_space_grow(count, wanted); /* without it, some calls may be lost, and are told as such */
    return wtm_profile_view(&wtm_space.sealed);
}

void wtm_profile_none(void)
{
    wtm_space.header = NULL;
    wtm_space.segment_count = 0;
    wtm_space.sealed = (struct wtm_profile){0};
}

/* The same shared pages once more. Where that cannot be (valgrind does not know an old size of 0), a copy as of now. */
static long second_mapping(const struct wtm_segment *segment, long at)
{
    long bytes = (long)segment->bytes;
    long result = wtm_syscall6(SYS_mremap, (long)segment->base, 0, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, at, 0);
    if (!wtm_sys_failed(result))
        return 0;
    result = wtm_sys_mmap((void *)at, segment->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (wtm_sys_failed(result))
        return result;
    memcpy((void *)at, segment->base, segment->bytes);
    return 0;
}

int wtm_profile_view(struct wtm_profile *view)
{
    uint32_t count = wtm_space.segment_count;
    if (!wtm_space.header)
        return -2;
    if (wtm_space.sealed.base) {
        *view = wtm_space.sealed;
        return 0;
    }
    if (wtm_process.sandboxed)
        return -12;
    uint64_t total = wtm_space.segments[count - 1].offset + wtm_space.segments[count - 1].bytes;
    long base = wtm_sys_mmap(NULL, total, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (wtm_sys_failed(base))
        return (int)base;
    for (uint32_t i = 0; i < count; i++) {
        const struct wtm_segment *s = &wtm_space.segments[i];
        long failed = second_mapping(s, base + (long)s->offset);
        if (failed) {
            wtm_sys_munmap((void *)base, total);
            return (int)failed;
        }
    }
    view->base = (const unsigned char *)base;
    view->bytes = total;
    view->path = NULL;
    return 0;
}

void wtm_profile_unview(struct wtm_profile *view)
{
    if (view->base && view->base != wtm_space.sealed.base)
        wtm_sys_munmap((void *)(uintptr_t)view->base, view->bytes);
    view->base = NULL;
}
