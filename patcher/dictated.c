/* SPDX-License-Identifier: MIT */
#include "patcher/dictated.h"
#include "patcher/gaps.h"
#include "patcher/memory.h"
#include "common/sys.h"
#include <string.h>
#include <sys/mman.h>

enum {
    TRAP = 0xcc,
    MOST_PAGES = 4096, /* each is a mapping of its own, mostly; a process has 65530 of those */
    MOST_UNUSED = 64
};

struct dictated {
    struct dictated *next;
    uintptr_t start, end; /* equal: given back, to be used for others */
    uintptr_t used_end;   /* behind the last piece, since the pages were opened */
    unsigned pieces;
    int sealed;
};
static struct dictated *all_pages;
static struct wtm_pool pool;
static unsigned page_count, unused_count; /* of those that are mapped; without any use */

static int is_trap(const uint8_t *at, size_t bytes)
{
    while (bytes && *at == TRAP)
        at++, bytes--;
    return !bytes;
}

/* Pages of ours that hold [at, at + bytes), writable; NULL when there are none, or something runs there. */
static struct dictated *own_pages(uintptr_t at, size_t bytes)
{
    for (struct dictated *pages = all_pages; pages; pages = pages->next) {
        if (at < pages->start || at + bytes > pages->end)
            continue;
        if (!pages->sealed)
            return is_trap((const uint8_t *)at, bytes) ? pages : NULL;
        void *start = (void *)pages->start;
        size_t length = pages->end - pages->start;
        if (pages->pieces || wtm_sys_mprotect(start, length, PROT_READ | PROT_WRITE) < 0)
            return NULL;
        memset(start, TRAP, length);
        pages->sealed = 0;
        pages->used_end = pages->start;
        return pages;
    }
    return NULL;
}

/* Pages without any use stay mapped, for the same function may be patched again, until there are many. */
static void give_unused_back(void)
{
    for (struct dictated *pages = all_pages; pages; pages = pages->next) {
        if (pages->pieces || pages->start == pages->end)
            continue;
        wtm_sys_munmap((void *)pages->start, pages->end - pages->start);
        pages->start = pages->end = 0;
        page_count--;
    }
    unused_count = 0;
}

static struct dictated *unmapped_one(void)
{
    struct dictated *pages = all_pages;
    while (pages && pages->start != pages->end)
        pages = pages->next;
    if (pages || !(pages = wtm_pool_take(&pool, sizeof *pages)))
        return pages;
    pages->next = all_pages;
    all_pages = pages;
    return pages;
}

static struct dictated *new_pages(uintptr_t at, size_t bytes)
{
    uintptr_t start = wtm_page_down(at), end = wtm_page_up(at + bytes);
    if (unused_count >= MOST_UNUSED)
        give_unused_back();
    struct dictated *pages = page_count < MOST_PAGES ? unmapped_one() : NULL;
    if (!pages || wtm_sys_failed(wtm_gap_map_at(start, end - start)))
        return NULL;
    memset((void *)start, TRAP, end - start);
    pages->start = start;
    pages->end = end;
    pages->used_end = start;
    pages->sealed = 0;
    page_count++;
    return pages;
}

uint8_t *wtm_dictated_take(uintptr_t at, size_t bytes)
{
    struct dictated *pages = own_pages(at, bytes);
    int was_unused = pages != NULL;
    if (!pages)
        pages = new_pages(at, bytes);
    if (!pages)
        return NULL;
    if (!pages->pieces++ && was_unused)
        unused_count--;
    if (at + bytes > pages->used_end)
        pages->used_end = at + bytes;
    return (uint8_t *)at;
}

const void *wtm_dictated_open(const void *after, struct wtm_code_range *free)
{
    const struct dictated *pages = after ? ((const struct dictated *)after)->next : all_pages;
    while (pages && (pages->sealed || pages->start == pages->end))
        pages = pages->next;
    if (pages)
        *free = (struct wtm_code_range){pages->used_end, pages->end};
    return pages;
}

void wtm_dictated_release(uintptr_t at)
{
    for (struct dictated *pages = all_pages; pages; pages = pages->next)
        if (at >= pages->start && at < pages->end && pages->pieces && !--pages->pieces)
            unused_count++;
}

int wtm_dictated_seal(void)
{
    int result = 0;
    for (struct dictated *pages = all_pages; pages; pages = pages->next) {
        if (pages->sealed || pages->start == pages->end)
            continue;
        long one = wtm_sys_mprotect((void *)pages->start, pages->end - pages->start, PROT_READ | PROT_EXEC);
        result = one < 0 ? (int)one : result;
        pages->sealed = 1;
    }
    return result;
}

int wtm_dictated_owns(uintptr_t address)
{
    for (const struct dictated *pages = all_pages; pages; pages = pages->next)
        if (address >= pages->start && address < pages->end)
            return 1;
    return 0;
}
