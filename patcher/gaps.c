/* SPDX-License-Identifier: MIT
 * Where to put code near a module without standing in anybody's way.
 *
 * Two things grow without asking: the heap behind brk, which glibc extends in place and which takes a slow path or fails
 * once something is behind it, and the first thread's stack, which dies when it meets a mapping. Both get room to grow;
 * less of it when the address space near the module is short. */
#include "patcher/gaps.h"
#include "patcher/maps.h"
#include "common/sys.h"
#include <errno.h>
#include <sys/mman.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

#define MIB ((uintptr_t)1 << 20)
static const uintptr_t lowest = MIB, highest = (uintptr_t)0x7ffffffff000;
static const uintptr_t heap_room[2] = {1024 * MIB, 128 * MIB};
static const uintptr_t stack_room[2] = {1024 * MIB, 128 * MIB};
static const uintptr_t probe_step = 2 * MIB;
enum { PROBES = 1024 };

static struct wtm_kept kept_ranges(const struct wtm_vector *mappings, unsigned tightness)
{
    struct wtm_kept kept = {{0, 0}, {0, 0}};
    long brk = wtm_syscall3(SYS_brk, 0, 0, 0);
    if (!wtm_sys_failed(brk) && brk) {
        kept.heap.start = wtm_page_down((uintptr_t)brk);
        kept.heap.end = kept.heap.start + heap_room[tightness];
    }
    const struct wtm_mapping *mapping = mappings->items;
    for (size_t i = 0; i < mappings->count; i++) {
        if (!mapping[i].is_stack)
            continue;
        kept.stack.end = mapping[i].start;
        kept.stack.start = mapping[i].start > stack_room[tightness] ? mapping[i].start - stack_room[tightness] : 0;
    }
    return kept;
}

long wtm_gap_map_at(uintptr_t at, size_t bytes)
{
    long got = wtm_sys_mmap((void *)at, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (wtm_sys_failed(got) || (uintptr_t)got == at)
        return got;
    wtm_sys_munmap((void *)got, bytes); /* before Linux 4.17 the flag is unknown and the address a mere hint */
    return -EEXIST;
}

static int overlaps(struct wtm_code_range range, uintptr_t start, uintptr_t end)
{
    return start < range.end && range.start < end;
}

/* The place of `bytes` in the free [start, end) nearest to `home`, 0 when it does not fit. */
static uintptr_t place_in(uintptr_t start, uintptr_t end, const struct wtm_code_range *home, size_t bytes)
{
    start = wtm_page_up(start);
    end = wtm_page_down(end);
    if (start >= end || end - start < bytes)
        return 0;
    return end <= home->start ? end - bytes : start;
}

static uintptr_t distance(uintptr_t at, size_t bytes, const struct wtm_code_range *home)
{
    return at >= home->end ? at - home->end : home->start > at + bytes ? home->start - at - bytes : 0;
}

struct search {
    uintptr_t low, high, best;
    size_t bytes;
    const struct wtm_code_range *home;
    struct wtm_kept kept;
};

/* Takes what is kept out of a gap, and keeps the best place in what is left. */
static void try_gap(struct search *search, uintptr_t start, uintptr_t end)
{
    const struct wtm_code_range *kept[2] = {&search->kept.heap, &search->kept.stack};
    if (start < search->low)
        start = search->low;
    if (end > search->high)
        end = search->high;
    for (unsigned i = 0; i < 2 && start < end; i++) {
        if (!overlaps(*kept[i], start, end))
            continue;
        if (kept[i]->start > start && kept[i]->end < end)
            try_gap(search, kept[i]->end, end);
        if (kept[i]->start > start)
            end = kept[i]->start;
        else
            start = kept[i]->end;
    }
    if (start >= end)
        return;
    uintptr_t place = place_in(start, end, search->home, search->bytes);
    if (place && (!search->best || distance(place, search->bytes, search->home) <
                                       distance(search->best, search->bytes, search->home)))
        search->best = place;
}

static long probe(const struct search *search)
{
    for (unsigned i = 1; i <= PROBES; i++) {
        uintptr_t below = wtm_page_down(search->home->start) - i * probe_step;
        uintptr_t above = wtm_page_up(search->home->end) + i * probe_step;
        if (below >= search->low && below < search->home->start) {
            long got = wtm_gap_map_at(below, search->bytes);
            if (!wtm_sys_failed(got))
                return got;
        }
        if (above + search->bytes <= search->high && above > search->home->end &&
            !overlaps(search->kept.heap, above, above + search->bytes)) {
            long got = wtm_gap_map_at(above, search->bytes);
            if (!wtm_sys_failed(got))
                return got;
        }
    }
    return -ENOMEM;
}

static void search_gaps(struct search *search, const struct wtm_vector *mappings)
{
    const struct wtm_mapping *mapping = mappings->items;
    uintptr_t free_from = 0;
    for (size_t i = 0; i < mappings->count; i++) {
        if (mapping[i].start > free_from)
            try_gap(search, free_from, mapping[i].start);
        if (mapping[i].end > free_from)
            free_from = mapping[i].end;
    }
    if (free_from < search->high)
        try_gap(search, free_from, search->high);
}

long wtm_gap_map(uintptr_t low, uintptr_t high, const struct wtm_code_range *home, size_t bytes)
{
    struct wtm_vector mappings = {.item_bytes = sizeof(struct wtm_mapping)};
    int readable = wtm_maps_read(&mappings) == 0 && mappings.count;
    long got = -ENOMEM;
    for (unsigned tightness = 0; tightness < 2 && wtm_sys_failed(got); tightness++) {
        struct search search = {.low = low < lowest ? lowest : low,
                                .high = high > highest ? highest : high,
                                .bytes = wtm_page_up(bytes),
                                .home = home,
                                .kept = kept_ranges(&mappings, tightness)};
        if (!readable) {
            got = probe(&search);
            continue;
        }
        search_gaps(&search, &mappings);
        if (search.best)
            got = wtm_gap_map_at(search.best, search.bytes);
        if (search.best && wtm_sys_failed(got)) /* another thread was quicker, or the list is not the whole truth */
            got = probe(&search);
    }
    wtm_vector_give(&mappings);
    return got;
}

void wtm_gap_read_kept(struct wtm_kept *kept)
{
    struct wtm_vector mappings = {.item_bytes = sizeof(struct wtm_mapping)};
    wtm_maps_read(&mappings);
    *kept = kept_ranges(&mappings, 0);
    wtm_vector_give(&mappings);
}

int wtm_gap_is_kept(const struct wtm_kept *kept, uintptr_t start, uintptr_t end)
{
    return start < lowest || end > highest || start >= end || overlaps(kept->heap, start, end) ||
           overlaps(kept->stack, start, end);
}
