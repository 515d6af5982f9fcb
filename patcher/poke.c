/* SPDX-License-Identifier: MIT
 * Text is written through its own mapping: rwx for the moment (rw where the system forbids both and nobody runs there),
 * then exactly what it was. Mappings that are shared with their file are never opened: that would change the file. */
#include "patcher/poke.h"
#include "patcher/maps.h"
#include "common/sys.h"
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#if defined __has_include
#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#endif
#endif
#ifndef VALGRIND_DISCARD_TRANSLATIONS
#define VALGRIND_DISCARD_TRANSLATIONS(at, bytes) ((void)(at), (void)(bytes))
#endif

struct wtm_page_run {
    uintptr_t start, end;
    uint8_t protection, shared, open;
};

static int by_address(const void *left, const void *right)
{
    const struct wtm_span *l = left, *r = right;
    return l->at < r->at ? -1 : l->at > r->at;
}

enum { BRIDGED_BYTES = 512 * 1024 };

/* How a page is mapped, and where its mapping starts; r-x of its own when the list of mappings cannot be had. */
static struct wtm_page_run page_run(const struct wtm_vector *mappings, uintptr_t page, uintptr_t *mapping_start)
{
    const struct wtm_mapping *mapping = mappings->items;
    size_t low = 0, high = mappings->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (mapping[middle].end <= page)
            low = middle + 1;
        else
            high = middle;
    }
    struct wtm_page_run run = {page, page + WTM_PAGE_BYTES, PROT_READ | PROT_EXEC, 0, 0};
    if (low < mappings->count && mapping[low].start <= page) {
        run.protection = mapping[low].protection;
        run.shared = mapping[low].shared;
        *mapping_start = mapping[low].start;
    }
    return run;
}

static int add_page(struct wtm_vector *runs, const struct wtm_vector *mappings, uintptr_t page)
{
    struct wtm_page_run *last = runs->count ? (struct wtm_page_run *)runs->items + (runs->count - 1) : NULL;
    if (last && page < last->end)
        return 0;
    uintptr_t mapping_start = page;
    struct wtm_page_run run = page_run(mappings, page, &mapping_start);
    /* Pages of one mapping have one protection: those in between may change with them and back. Two calls for a long
     * stretch cost less than two for each page, which split the mapping and join it again. */
    int together = last && (last->end == page || (mapping_start <= last->start && page - last->end <= BRIDGED_BYTES));
    if (together && last->protection == run.protection && last->shared == run.shared) {
        last->end = run.end;
        return 0;
    }
    last = wtm_vector_push(runs);
    if (!last)
        return -ENOMEM;
    *last = run;
    return 0;
}

static void open_run(struct wtm_page_run *run, int running)
{
    void *at = (void *)run->start;
    size_t bytes = run->end - run->start;
    if (run->shared)
        return;
    run->open = wtm_sys_mprotect(at, bytes, PROT_READ | PROT_WRITE | PROT_EXEC) == 0 ||
                (!running && wtm_sys_mprotect(at, bytes, PROT_READ | PROT_WRITE) == 0);
    if (!run->open) /* the kernel may have changed a part of it before it failed */
        wtm_sys_mprotect(at, bytes, run->protection);
}

int wtm_text_open(struct wtm_text_access *access, struct wtm_span *spans, size_t count, int running)
{
    struct wtm_vector mappings = {.item_bytes = sizeof(struct wtm_mapping)};
    access->runs = (struct wtm_vector){.item_bytes = sizeof(struct wtm_page_run)};
    wtm_sort(spans, count, sizeof *spans, by_address);
    if (wtm_maps_read(&mappings) < 0)
        wtm_vector_give(&mappings);
    int result = 0;
    for (size_t i = 0; i < count && result == 0; i++)
        for (uintptr_t page = wtm_page_down(spans[i].at); page < spans[i].at + spans[i].bytes && result == 0;
             page += WTM_PAGE_BYTES)
            result = add_page(&access->runs, &mappings, page);
    wtm_vector_give(&mappings);
    struct wtm_page_run *runs = access->runs.items;
    for (size_t i = 0; i < access->runs.count && result == 0; i++)
        open_run(&runs[i], running);
    return result;
}

int wtm_text_is_open(const struct wtm_text_access *access, uintptr_t at, size_t bytes)
{
    const struct wtm_page_run *runs = access->runs.items;
    size_t low = 0, high = access->runs.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (runs[middle].end <= at)
            low = middle + 1;
        else
            high = middle;
    }
    for (uintptr_t end = at + bytes; at < end; at = runs[low++].end)
        if (low == access->runs.count || runs[low].start > at || !runs[low].open)
            return 0;
    return 1;
}

void wtm_text_close(struct wtm_text_access *access)
{
    struct wtm_page_run *runs = access->runs.items;
    for (size_t i = 0; i < access->runs.count; i++)
        if (runs[i].open)
            wtm_sys_mprotect((void *)runs[i].start, runs[i].end - runs[i].start, runs[i].protection);
    wtm_vector_give(&access->runs);
}

enum { WORD = 8, LINE = 64 };

int wtm_text_is_one_store(uintptr_t at, size_t count)
{
    return count <= WORD && at % LINE + count <= LINE;
}

/* The eight bytes of the line that hold those: never across two lines, so a locked exchange of them is one store. It is
 * aligned wherever that is possible. */
static uint64_t *word_of(uintptr_t at, size_t count)
{
    if (at % WORD + count <= WORD)
        return (uint64_t *)(at - at % WORD);
    uintptr_t last = at - at % LINE + LINE - WORD;
    return (uint64_t *)(at < last ? at : last);
}

/* Other bytes of the word may be what another thread of ours, or a debugger, changes meanwhile: compare and swap. The
 * address need not be aligned, which C's atomics want. */
static int swap_word(uint64_t *word, uint64_t *before, uint64_t after)
{
    uint8_t done;
    __asm__ volatile("lock cmpxchgq %3, %1\n\tsete %0"
                     : "=q"(done), "+m"(*word), "+a"(*before)
                     : "r"(after)
                     : "cc", "memory");
    return done;
}

static void store_word(uintptr_t at, const uint8_t *bytes, size_t count)
{
    uint64_t *word = word_of(at, count), before, after;
    unsigned first = (unsigned)(at - (uintptr_t)word);
    __asm__ volatile("movq %1, %0" : "=r"(before) : "m"(*word));
    do {
        after = before;
        for (size_t i = 0; i < count; i++) { /* no memcpy: it may be what is being written */
            unsigned shift = 8 * (unsigned)(first + i);
            after = (after & ~((uint64_t)0xff << shift)) | (uint64_t)bytes[i] << shift;
        }
    } while (!swap_word(word, &before, after));
}

int wtm_text_write(uintptr_t at, const uint8_t *bytes, size_t count)
{
    int one_store = wtm_text_is_one_store(at, count);
    if (one_store) {
        store_word(at, bytes, count);
    } else {
        volatile uint8_t *to = (volatile uint8_t *)at;
        for (size_t i = 0; i < count; i++)
            to[i] = bytes[i];
    }
    VALGRIND_DISCARD_TRANSLATIONS((void *)at, count);
    return one_store;
}
