/* SPDX-License-Identifier: MIT
 * The list of timed functions. Probes are made in blocks and never freed: stubs point to them. */
#include "preload/probes.h"
#include "common/arena.h"
#include "preload/profile.h"
#include "preload/special.h"
#include "preload/thread.h"
#include <string.h>

enum wtm_probe_state { PROBE_FREE = 0, PROBE_NEW = 1, PROBE_READY = 2, PROBE_UNLOADED = 3, PROBE_LOOKS = 4 };

struct entry {
    struct wtm_probe probe; /* first: the stub's context */
    struct wtm_patch patch;
    struct wtm_function_chunk *chunk;
    uintptr_t bias;
    enum wtm_probe_state state;
    int off; /* untimed by the program itself */
    enum wtm_refusal looks;
    struct entry *next, *same_bucket;
};

/* Patterns that found nothing so far. Text is the parsed pattern's, which lives as long as the process. */
struct missing {
    const char *pattern;
    struct wtm_not_found_chunk *chunk;
    struct missing *next;
};
static struct missing *missing_patterns;

static struct wtm_arena arena; /* for the life of the process */
static struct entry *entries;
static struct entry *buckets[4096]; /* by address */
static struct entry *unloaded[1024]; /* whose library is gone, by offset in its file */
static uint32_t index_count;

static struct entry **bucket_of(uintptr_t address)
{
    return &buckets[(address >> 4 ^ address >> 16) & 4095];
}

static struct entry **unloaded_of(uint64_t offset)
{
    return &unloaded[(offset >> 4 ^ offset >> 14) & 1023];
}

struct wtm_probe *wtm_probes_new(void)
{
    struct entry *e = wtm_arena_alloc(&arena, sizeof *e);
    if (!e)
        return NULL;
    e->probe.patch = &e->patch;
    e->state = PROBE_NEW;
    return &e->probe;
}

static uint32_t add_string(struct wtm_function_chunk *chunk, size_t *at, const char *text)
{
    if (!text)
        return 0;
    size_t n = strlen(text) + 1;
    memcpy((char *)chunk + *at, text, n);
    *at += n;
    return (uint32_t)(*at - n);
}

static size_t length(const char *text)
{
    return text ? strlen(text) + 1 : 0;
}

/* The same function of the same file, unloaded earlier: it goes on in its old row. Taken out of the list of these. */
static struct entry *take_unloaded(const struct wtm_target *target)
{
    for (struct entry **at = unloaded_of(target->offset); *at; at = &(*at)->same_bucket) {
        struct entry *e = *at;
        if (!e->chunk || e->chunk->offset != target->offset)
            continue;
        const char *base = (const char *)e->chunk;
        if (!strcmp(base + e->chunk->module, target->object->path) && !strcmp(base + e->chunk->name, target->name)) {
            *at = e->same_bucket;
            return e;
        }
    }
    return NULL;
}

static uint32_t kind_of(const struct wtm_probe *probe)
{
    return (probe->special & WTM_SPECIAL_SUBTRACT ? (uint32_t)WTM_FUNCTION_SUBTRACT : 0) |
           (probe->special & WTM_SPECIAL_HANDLER ? (uint32_t)WTM_FUNCTION_HANDLER : 0);
}

void wtm_probes_describe(struct wtm_probe *probe, const struct wtm_target *target)
{
    struct entry *e = (struct entry *)probe;
    e->bias = target->object->bias;
    struct entry *old = take_unloaded(target);
    if (old) {
        e->chunk = old->chunk;
        probe->index = old->probe.index;
        old->chunk = NULL;
        old->state = PROBE_FREE;
        e->chunk->address = target->address;
        e->chunk->flags = kind_of(probe);
    } else {
        size_t bytes = sizeof *e->chunk + length(target->name) + length(target->mangled) + length(target->object->path) + length(target->aliases);
        struct wtm_function_chunk *chunk = wtm_profile_chunk(bytes);
        probe->index = ++index_count;
        if (chunk) {
            size_t at = sizeof *chunk;
            chunk->index = probe->index;
            chunk->address = target->address;
            chunk->offset = target->offset;
            chunk->size = target->size;
            chunk->flags = kind_of(probe);
            chunk->name = add_string(chunk, &at, target->name);
            chunk->mangled = add_string(chunk, &at, target->mangled);
            chunk->module = add_string(chunk, &at, target->object->path);
            chunk->aliases = add_string(chunk, &at, target->aliases);
            wtm_profile_publish(chunk, WTM_CHUNK_FUNCTION);
            wtm_profile_header()->function_count = index_count;
        }
        e->chunk = chunk;
    }
    probe->body = e->patch.body;
    probe->local_offset = probe->index * (uint32_t)sizeof(struct wtm_local);
    wtm_thread_expect(index_count);
}

static void publish(struct entry *e, enum wtm_probe_state state)
{
    struct entry **bucket = bucket_of(e->patch.entry);
    e->state = state;
    e->next = entries;
    e->same_bucket = *bucket;
    *bucket = e;
    __atomic_store_n(&entries, e, __ATOMIC_RELEASE);
}

void wtm_probes_ready(struct wtm_probe *probe)
{
    struct entry *e = (struct entry *)probe;
    publish(e, e->looks ? PROBE_LOOKS : PROBE_READY);
}

void wtm_probes_looks(struct wtm_probe *probe, const struct wtm_target *target, enum wtm_refusal reason)
{
    struct entry *e = (struct entry *)probe;
    e->bias = target->object->bias;
    e->looks = reason;
    probe->body = e->patch.body;
    probe->flags = WTM_PROBE_LOOKS;
}

enum wtm_refusal wtm_probes_looking_at(uintptr_t address)
{
    for (struct entry *e = *bucket_of(address); e; e = e->same_bucket)
        if (e->state == PROBE_LOOKS && e->patch.entry == address)
            return e->looks;
    return WTM_REFUSED_NONE;
}

void wtm_probes_drop(struct wtm_probe *probe)
{
    struct entry *e = (struct entry *)probe;
    if (e->chunk)
        e->chunk->flags |= WTM_FUNCTION_REFUSED; /* described, then refused after all */
    e->state = PROBE_FREE;
}

struct wtm_probe *wtm_probes_at(uintptr_t address)
{
    for (struct entry *e = *bucket_of(address); e; e = e->same_bucket)
        if (e->state == PROBE_READY && e->patch.entry == address)
            return &e->probe;
    return NULL;
}

/* A row whose description was lost (after a fork) cannot be continued. */
static void keep_unloaded(struct entry *e)
{
    if (!e->chunk)
        return;
    struct entry **bucket = unloaded_of(e->chunk->offset);
    e->same_bucket = *bucket;
    *bucket = e;
}

void wtm_probes_unloaded(uintptr_t bias)
{
    for (struct entry *e = entries; e; e = e->next) {
        if ((e->state != PROBE_READY && e->state != PROBE_LOOKS) || e->bias != bias)
            continue;
        struct wtm_patch *patch = &e->patch;
        wtm_patch_forget(&patch, 1);
        e->state = PROBE_UNLOADED;
        if (e->chunk)
            e->chunk->flags |= WTM_FUNCTION_UNLOADED;
        for (struct entry **at = bucket_of(patch->entry); *at; at = &(*at)->same_bucket) {
            if (*at == e) {
                *at = e->same_bucket;
                break;
            }
        }
        keep_unloaded(e);
    }
}

void wtm_probes_gates(int open)
{
    for (struct entry *e = __atomic_load_n(&entries, __ATOMIC_ACQUIRE); e; e = e->next) {
        if (e->state != PROBE_READY)
            continue;
        if ((open && !e->off) || e->probe.flags)
            wtm_patch_open(&e->patch);
        else
            wtm_patch_close(&e->patch);
    }
}

static int has_name(const struct entry *e, const char *name)
{
    const char *base = (const char *)e->chunk;
    if (!name || !base)
        return !name;
    return !strcmp(base + e->chunk->name, name) || (e->chunk->mangled && !strcmp(base + e->chunk->mangled, name));
}

struct wtm_probe *wtm_probes_named(const char *name, const struct wtm_probe *after)
{
    for (struct entry *e = after ? ((const struct entry *)after)->next : entries; e; e = e->next)
        if (e->state == PROBE_READY && !e->off && has_name(e, name))
            return &e->probe;
    return NULL;
}

int wtm_probes_is_on(const struct wtm_probe *probe)
{
    return !((const struct entry *)probe)->off;
}

int wtm_probes_turn(struct wtm_probe *probe, int off)
{
    struct entry *e = (struct entry *)probe;
    if (probe->flags)
        return off ? -95 : 0; /* EOPNOTSUPP */
    e->off = off;
    return 0;
}

void wtm_probes_forked(void)
{
    for (struct entry *e = entries; e; e = e->next) {
        e->chunk = NULL;
        e->probe.samples = NULL;
    }
    missing_patterns = NULL;
    wtm_probes_resample();
}

void wtm_probes_resample(void)
{
    for (struct entry *e = __atomic_load_n(&entries, __ATOMIC_ACQUIRE); e && wtm_special_samples; e = e->next) {
        struct wtm_samples *samples = __atomic_load_n(&e->probe.samples, __ATOMIC_ACQUIRE);
        if (samples)
            __atomic_store_n(&samples->taken, 0, __ATOMIC_RELAXED);
        if (!e->probe.flags)
            __atomic_fetch_or(&e->probe.special, WTM_SPECIAL_SAMPLED, __ATOMIC_RELAXED);
    }
}

void wtm_probes_refused(const char *name, const char *mangled, const char *module, uintptr_t address, enum wtm_refusal reason)
{
    struct wtm_refused_chunk *chunk = wtm_profile_chunk(sizeof *chunk + length(name) + length(mangled) + length(module));
    if (!chunk)
        return;
    char *at = (char *)(chunk + 1);
    chunk->reason = reason;
    chunk->address = address;
    const char *texts[] = {name, mangled, module};
    uint32_t *fields[] = {&chunk->name, &chunk->mangled, &chunk->module};
    for (int i = 0; i < 3; i++) {
        if (!texts[i])
            continue;
        *fields[i] = (uint32_t)(at - (char *)chunk);
        memcpy(at, texts[i], strlen(texts[i]) + 1);
        at += strlen(texts[i]) + 1;
    }
    wtm_profile_publish(chunk, WTM_CHUNK_REFUSED);
}

void wtm_probes_missing(const char *pattern, const char *near)
{
    struct wtm_not_found_chunk *chunk = wtm_profile_chunk(sizeof *chunk + length(pattern) + length(near));
    if (!chunk)
        return;
    chunk->pattern = sizeof *chunk;
    memcpy(chunk + 1, pattern, length(pattern));
    if (near) {
        chunk->near = (uint32_t)(sizeof *chunk + length(pattern));
        memcpy((char *)chunk + chunk->near, near, length(near));
    }
    wtm_profile_publish(chunk, WTM_CHUNK_NOT_FOUND);
    struct missing *missing = wtm_arena_alloc(&arena, sizeof *missing);
    if (missing) {
        *missing = (struct missing){pattern, chunk, missing_patterns};
        missing_patterns = missing;
    }
}

void wtm_probes_found(const char *pattern)
{
    for (struct missing *m = missing_patterns; m; m = m->next)
        if (!strcmp(m->pattern, pattern))
            m->chunk->found = 1;
}
