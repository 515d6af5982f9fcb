/* SPDX-License-Identifier: MIT
 * Is it a profile, and where are its chunks? Files may be of another version, torn, or made to harm. */
#include "common/profile_check.h"
#include <errno.h>
#include <string.h>

static int refuse(const char **reason, const char *words)
{
    if (reason)
        *reason = words;
    return -EINVAL;
}

int wtm_profile_check(const struct wtm_profile *profile, const char **reason)
{
    const struct wtm_profile_header *header = (const void *)profile->base;
    if (!profile->base || profile->bytes < sizeof header->magic)
        return refuse(reason, "too short to be a profile of wtm");
    if ((uintptr_t)profile->base % 8)
        return refuse(reason, "not aligned in memory");
    if (memcmp(header->magic, WTM_PROFILE_MAGIC, sizeof header->magic))
        return refuse(reason, "not a profile of wtm");
    if (profile->bytes < WTM_PROFILE_HEADER_BYTES)
        return refuse(reason, "a profile cut off inside its header");
    if (header->oldest_reader > WTM_PROFILE_VERSION)
        return refuse(reason, "written by a newer version, which this one cannot read");
    if (!header->version || header->header_bytes < WTM_PROFILE_HEADER_BYTES ||
        header->header_bytes % WTM_CHUNK_ALIGN || header->header_bytes > profile->bytes)
        return refuse(reason, "its header contradicts itself");
    if (header->features)
        return refuse(reason, "uses features that this version does not know");
    if (header->hist_buckets != WTM_HIST_BUCKETS)
        return refuse(reason, "its histograms have another shape");
    if (header->clock != WTM_CLOCK_TSC && header->clock != WTM_CLOCK_MONOTONIC)
        return refuse(reason, "its times are by a clock that this version does not know");
    return 0;
}

static uint64_t smallest_chunk(uint32_t type)
{
    switch (type) {
    case WTM_CHUNK_FUNCTION:
        return sizeof(struct wtm_function_chunk);
    case WTM_CHUNK_REFUSED:
        return sizeof(struct wtm_refused_chunk);
    case WTM_CHUNK_NOT_FOUND:
        return sizeof(struct wtm_not_found_chunk);
    case WTM_CHUNK_THREAD:
        return sizeof(struct wtm_thread_chunk);
    case WTM_CHUNK_CELL:
        return sizeof(struct wtm_cell);
    case WTM_CHUNK_SWITCHED:
        return sizeof(struct wtm_switched);
    case WTM_CHUNK_EDGES:
        return sizeof(struct wtm_edges_chunk);
    case WTM_CHUNK_SAMPLES:
        return sizeof(struct wtm_samples);
    case WTM_CHUNK_NOISE:
        return sizeof(struct wtm_noise);
    case WTM_CHUNK_NOTE:
        return sizeof(struct wtm_text_chunk);
    default:
        return UINT64_MAX;
    }
}

void wtm_walk_begin(struct wtm_walk *walk, const struct wtm_profile *profile)
{
    const struct wtm_profile_header *header = (const void *)profile->base;
    uint64_t used = __atomic_load_n(&header->used_bytes, __ATOMIC_ACQUIRE);
    walk->base = profile->base;
    walk->end = used < profile->bytes ? used : profile->bytes;
    walk->at = header->header_bytes;
    walk->type = 0;
    walk->bytes = 0;
}

/* Bytes of the complete chunk at `at`, or 0. */
static uint64_t chunk_at(const struct wtm_walk *walk, uint64_t at)
{
    if (at >= walk->end || walk->end - at < sizeof(struct wtm_chunk))
        return 0;
    const struct wtm_chunk *chunk = (const void *)(walk->base + at);
    if (__atomic_load_n(&chunk->magic, __ATOMIC_ACQUIRE) != WTM_CHUNK_MAGIC)
        return 0;
    uint64_t bytes = chunk->bytes;
    if (bytes < sizeof *chunk || bytes % WTM_CHUNK_ALIGN || bytes > walk->end - at)
        return 0;
    return bytes;
}

const struct wtm_chunk *wtm_walk_next(struct wtm_walk *walk)
{
    while (walk->at < walk->end) {
        uint64_t at = walk->at, bytes = chunk_at(walk, at);
        if (!bytes) {
            walk->at += WTM_CHUNK_ALIGN;
            continue;
        }
        walk->at += bytes;
        const struct wtm_chunk *chunk = (const void *)(walk->base + at);
        walk->type = chunk->type;
        walk->bytes = bytes;
        if (bytes >= smallest_chunk(walk->type))
            return chunk;
    }
    return NULL;
}

const char *wtm_walk_string(const struct wtm_walk *walk, const struct wtm_chunk *chunk, uint32_t offset)
{
    if (offset < sizeof *chunk || offset >= walk->bytes)
        return NULL;
    const char *string = (const char *)chunk + offset;
    return memchr(string, 0, walk->bytes - offset) ? string : NULL;
}

const void *wtm_walk_at(const struct wtm_walk *walk, uint64_t offset, uint32_t type, uint64_t smallest)
{
    const struct wtm_profile_header *header = (const void *)walk->base;
    if (offset < header->header_bytes || offset % WTM_CHUNK_ALIGN || chunk_at(walk, offset) < smallest)
        return NULL;
    const struct wtm_chunk *chunk = (const void *)(walk->base + offset);
    return chunk->type == type ? chunk : NULL;
}
