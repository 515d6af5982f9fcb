/* SPDX-License-Identifier: MIT
 * Blocks of threads. Runs in the target at a thread's first event and after changes of wtm_generation. General registers
 * only; memory comes from mmap; nothing here can fail in a way that the program notices. */
#include "preload/thread.h"
#include "common/sys.h"
#include "preload/cells.h"
#include "preload/cputime.h"
#include "preload/profile.h"
#include "preload/records.h"
#include "preload/reuse.h"
#include "preload/ways.h"
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

/* A block is one mapping: this struct's page, the edge table, the records, the locals. Only touched pages cost memory;
 * the records' room bounds what is open at once (coroutines; withdrawn recursion needs one record a function). */
enum {
    PAGE = 4096,
    EDGE_TABLE_LOG2 = 9,
    EDGE_TABLE_BYTES = (1 << EDGE_TABLE_LOG2) * 8,
    RECORD_COUNT = 8192,
    RECORD_COUNT_SMALL = 256, /* where address space is limited */
    SMALLEST_LOCALS = 128,
};

static uint32_t expected_count;

void wtm_thread_expect(uint32_t count)
{
    if (count > expected_count)
        expected_count = count;
}

void wtm_generation_advance(void)
{
    wtm_process.generation = __atomic_add_fetch(&wtm_generation.value, 2, __ATOMIC_SEQ_CST);
}

static uint64_t thread_pointer(void)
{
    uint64_t pointer;
    __asm__("mov %%fs:0, %0" : "=r"(pointer));
    return pointer;
}

static uint32_t capacity_for(uint32_t count)
{
    uint32_t capacity = SMALLEST_LOCALS;
    while (capacity < count + count / 2)
        capacity *= 2;
    return capacity;
}

static void *map(size_t bytes)
{
    if (wtm_process.sandboxed)
        return NULL;
    long at = wtm_sys_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return wtm_sys_failed(at) ? NULL : (void *)at;
}

/* The bounds of a thread's stack stand in glibc's descriptor of the thread, as two neighbouring words: where the block
 * with the stack begins, and its size. Their place differs between versions, so it is found by what must hold: the
 * block is in pages or at least contains both the stack pointer and the descriptor itself. Nothing else in it looks so. */
static void find_stack(struct wtm_thread *thread)
{
    enum { DESCRIPTOR_WORDS = 288 }; /* sizeof(struct pthread) is 2304 on x86-64 since 2.4 */
    const uint64_t *word = (const uint64_t *)thread->fs_base;
    uint64_t here = (uintptr_t)__builtin_frame_address(0);
    thread->stack_low = thread->stack_high = 0;
    if (here >= thread->fs_base || thread->fs_base - here > (uint64_t)1 << 36)
        return;
    for (unsigned i = 2; i + 1 < DESCRIPTOR_WORDS; i++) {
        uint64_t low = word[i], bytes = word[i + 1];
        if (low && low <= here && bytes >= PAGE && bytes < (uint64_t)1 << 40 && low + bytes > thread->fs_base &&
            low + bytes <= thread->fs_base + 8 * PAGE) {
            thread->stack_low = low;
            thread->stack_high = thread->fs_base;
            return;
        }
    }
}

/* 0 where it may not be asked for. */
static uint32_t own_tid(void)
{
    return wtm_process.sandboxed ? 0 : (uint32_t)wtm_syscall3(SYS_gettid, 0, 0, 0);
}

/* Known of the calling thread before it has a block. */
static __thread struct {
    uint64_t low, high;
} alternate __attribute__((tls_model("initial-exec")));

void wtm_thread_alternate(uint64_t low, uint64_t high)
{
    struct wtm_thread *thread = wtm_thread;
    alternate.low = low;
    alternate.high = high;
    if (thread == &wtm_no_thread || thread == &wtm_muted_thread)
        return;
    thread->alt_high = 0; /* never a range of two halves, should a signal come */
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    thread->alt_low = low;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    thread->alt_high = high;
}

int wtm_thread_is_alternate(uint64_t sp)
{
    return sp > alternate.low && sp <= alternate.high;
}

static void set_owner(struct wtm_thread *thread)
{
    __atomic_store_n(&thread->fs_base, thread_pointer(), __ATOMIC_RELAXED); /* others compare theirs with it */
    thread->tid = own_tid();
    if (thread->tid == wtm_process.pid) {
        thread->stack_low = wtm_process.stack_low;
        thread->stack_high = wtm_process.stack_high;
    } else {
        find_stack(thread);
    }
    thread->has_guests = 0;
    thread->alt_low = alternate.low;
    thread->alt_high = alternate.high;
    thread->ended = 0;
    wtm_cpu_attach(thread);
}

struct wtm_thread *wtm_thread_make(void)
{
    uint32_t capacity = capacity_for(expected_count);
    size_t locals_bytes = ((size_t)capacity * sizeof(struct wtm_local) + PAGE - 1) & ~(size_t)(PAGE - 1);
    size_t record_count = RECORD_COUNT;
    size_t fixed = PAGE + EDGE_TABLE_BYTES + wtm_ways_bytes();
    char *block = map(fixed + record_count * sizeof(struct wtm_record) + locals_bytes);
    if (!block) {
        record_count = RECORD_COUNT_SMALL;
        block = map(fixed + record_count * sizeof(struct wtm_record) + locals_bytes);
        if (!block)
            return NULL;
    }
    struct wtm_thread *thread = (struct wtm_thread *)block;
    thread->edges = (struct wtm_edge **)(block + PAGE);
    thread->edge_shift = 64 - EDGE_TABLE_LOG2;
    wtm_ways_init(thread, block + PAGE + EDGE_TABLE_BYTES);
    thread->base = thread->top = (struct wtm_record *)(block + fixed);
    thread->limit = thread->base + record_count;
    thread->locals = (struct wtm_local *)(block + fixed + record_count * sizeof(struct wtm_record));
    thread->local_capacity = capacity;
    thread->base->sp = WTM_SP_BASE;
    thread->epoch = wtm_hot.epoch;
    return thread;
}

void wtm_thread_publish(struct wtm_thread *thread)
{
    struct wtm_thread *head = __atomic_load_n(&wtm_threads, __ATOMIC_ACQUIRE);
    do
        thread->next = head;
    while (!__atomic_compare_exchange_n(&wtm_threads, &head, thread, 0, __ATOMIC_RELEASE, __ATOMIC_ACQUIRE));
}

/* Room for functions that were added since the block was made. The old array stays mapped: nothing points to it any
 * more once the records do not, but a walker may still read a record's word. */
static int grow_locals(struct wtm_thread *thread)
{
    uint32_t capacity = capacity_for(expected_count);
    struct wtm_local *grown = map((size_t)capacity * sizeof *grown);
    if (!grown)
        return 0;
    for (uint32_t i = 0; i < thread->local_capacity; i++)
        grown[i] = thread->locals[i];
    for (struct wtm_record *r = thread->base; r <= thread->top; r++)
        if (r->local >= thread->locals && r->local < thread->locals + thread->local_capacity)
            r->local = grown + (r->local - thread->locals);
    thread->locals = grown;
    thread->local_capacity = capacity;
    return 1;
}

/* After a fork this is the only thread. Its open calls go on here; the cells they would be counted in are the parent's,
 * so all begin anew in a profile of our own. */
static void start_anew(struct wtm_thread *thread)
{
    for (struct wtm_thread *t = wtm_threads; t; t = t->next) {
        t->mover = 0;
        wtm_cpu_forked(t);
    }
    for (struct wtm_thread *t = wtm_threads; t; t = t->next)
        if (t != thread) {
            t->fs_base = 0;
            t->ended = 1;
            t->tid = t->guest = 0;
            t->shared = NULL;
        }
    thread->has_guests = 0;
    for (uint32_t i = 0; i < thread->local_capacity; i++)
        thread->locals[i].cell = thread->locals[i].idle = NULL;
    for (uint64_t i = 0; i < (uint64_t)1 << (64 - thread->edge_shift); i++)
        thread->edges[i] = NULL;
    thread->edge_count = 0;
    thread->edge_chunk = NULL;
    thread->shared = NULL;
    thread->tid = own_tid();
    wtm_reuse_own(thread, thread->tid);
    thread->owners = 1;
    wtm_cpu_attach(thread);
}

/* Calls that were open at the fork return in the child as well, but they are the parent's: here they are counted in a
 * cell that nobody reads. */
static struct wtm_cell nobodys_cell;
static struct wtm_thread_chunk nobodys_chunk;
static struct wtm_local nobodys = {.cell = &nobodys_cell};

static void disown_open_calls(struct wtm_thread *thread)
{
    for (struct wtm_record *r = thread->base + 1; r <= thread->top; r++) {
        if (r->local) {
            r->local->open = NULL;
            r->local = &nobodys;
            r->outer = NULL;
        }
    }
}

static struct wtm_thread *spare; /* blocks made in advance, by `next` */

void wtm_threads_stock(unsigned count)
{
    while (count--) {
        struct wtm_thread *thread = wtm_thread_make();
        if (!thread)
            return;
        thread->next = spare;
        spare = thread;
    }
}

/* They are only taken, never given back, so the head cannot come back to a value that it had. */
static struct wtm_thread *take_spare(void)
{
    struct wtm_thread *head = __atomic_load_n(&spare, __ATOMIC_ACQUIRE);
    while (head && !__atomic_compare_exchange_n(&spare, &head, head->next, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        ;
    return head;
}

static struct wtm_thread *adopt_block(void)
{
    char name[WTM_NAME_BYTES];
    wtm_name_own(name);
    struct wtm_thread *thread = wtm_reuse_block(thread_pointer(), name);
    int is_new = !thread;
    if (is_new) {
        thread = wtm_process.sandboxed ? take_spare() : wtm_thread_make();
        if (!thread)
            return NULL;
        memcpy(thread->born, name, sizeof name);
    }
    thread->owners++;
    set_owner(thread);
    if (thread->shared) {
        thread->shared->tid = thread->tid;
        thread->shared->ended = 0;
        wtm_name_set(thread, name);
    }
    wtm_reuse_own(thread, thread->tid);
    if (is_new)
        wtm_thread_publish(thread);
    return thread;
}

struct wtm_thread *wtm_thread_sync(void)
{
    struct wtm_thread *thread = wtm_thread;
    if (thread == &wtm_muted_thread || !wtm_process.ready)
        return NULL;
    uint64_t generation = __atomic_load_n(&wtm_generation.value, __ATOMIC_ACQUIRE);
    if (generation == 0) { /* wiped: this is a child */
        wtm_process_forked();
        if (thread != &wtm_no_thread) {
            disown_open_calls(thread);
            start_anew(thread);
        }
        generation = __atomic_load_n(&wtm_generation.value, __ATOMIC_ACQUIRE);
    }
    if (thread == &wtm_no_thread) {
        thread = adopt_block();
        if (!thread)
            return NULL;
    }
    if (!thread->shared && wtm_profile_thread(thread)) {
        if (!wtm_process.forked)
            return NULL;
        thread->shared = &nobodys_chunk; /* a child without a profile: calls open at the fork must return all the same */
    }
    if (thread->local_capacity <= expected_count && !grow_locals(thread))
        return NULL;
    wtm_thread = thread;
    if (thread->epoch != wtm_hot.epoch) {
        if (thread->closing || thread->busy)
            return thread; /* a signal came while a cell was being added to: the reset waits, and so does the generation */
        wtm_cells_reset(thread);
    }
    if (!thread->has_guests)
        thread->generation = generation;
    return thread;
}

void wtm_threads_bury(const struct wtm_thread *own)
{
    for (struct wtm_thread *t = wtm_threads; t && !wtm_process.sandboxed; t = t->next)
        if (t != own && !t->ended && wtm_records_open(t))
            wtm_reuse_bury(t);
}

/* "/proc/self/task/4242/comm" */
static int open_name(uint32_t tid)
{
    char path[48] = "/proc/self/task/", digits[12];
    size_t used = strlen(path), n = sizeof digits;
    do
        digits[--n] = (char)('0' + tid % 10);
    while (tid /= 10);
    memcpy(path + used, digits + n, sizeof digits - n);
    used += sizeof digits - n;
    memcpy(path + used, "/comm", sizeof "/comm");
    return (int)wtm_sys_open(path, O_RDONLY | O_CLOEXEC, 0);
}

void wtm_threads_name(void)
{
    enum { MOST = 4096 };
    unsigned count = 0;
    for (struct wtm_thread *t = wtm_threads; t && count < MOST && !wtm_process.sandboxed && !wtm_process.nameless; t = t->next) {
        char name[WTM_NAME_BYTES + 1] = {0};
        if (t->ended || !t->tid || !t->shared)
            continue;
        count++;
        int fd = open_name(t->tid);
        if (fd < 0)
            continue;
        long got = wtm_sys_read(fd, name, sizeof name - 1);
        wtm_sys_close(fd);
        if (got > 0 && name[got - 1] == '\n')
            name[got - 1] = 0;
        wtm_name_set(t, name);
    }
}

struct wtm_thread *wtm_mute(void)
{
    struct wtm_thread *before = wtm_thread;
    wtm_thread = &wtm_muted_thread;
    return before;
}

void wtm_unmute(struct wtm_thread *before)
{
    wtm_thread = before;
}
