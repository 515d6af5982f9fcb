/* SPDX-License-Identifier: MIT */
#include "sandbox.h"
#include "common/sys.h"
#include <string.h>
#include <sys/mman.h>

enum { LOWEST = 0x10000, MOST_SHOWN = 8 };
#define HIGHEST ((uintptr_t)0x7fffffffe000)

static struct {
    struct wtm_code_range writable[WTM_MAX_TEXT_RANGES];
    unsigned writable_count;
    struct sandbox_page pages[SANDBOX_MOST_PAGES]; /* `bytes`: a module page as it was */
    unsigned count;
    uint64_t core[SANDBOX_BYTES / sizeof(uint64_t)];  /* as it is to be */
} sandbox;

uintptr_t sandbox_pointer(uint64_t number)
{
    return SANDBOX_BASE + (sandbox_mix(number) % SANDBOX_BYTES & ~(uintptr_t)63);
}

static void fill(uintptr_t page, uint64_t *words)
{
    for (unsigned i = 0; i < SANDBOX_PAGE / sizeof *words; i++) {
        uint64_t hash = sandbox_mix(page + i * sizeof *words);
        switch (hash >> 59) {
        case 0: case 1: case 2: case 3: case 4: case 5: case 6: case 7:
            words[i] = 0;
            break;
        case 8: case 9: case 10: case 11: case 12: case 13: case 14: case 15:
            words[i] = hash & 0xff;
            break;
        case 16: case 17: case 18:
            words[i] = -(hash & 0xf);
            break;
        default: /* most code follows pointers */
            words[i] = sandbox_pointer(hash);
        }
    }
}

static int is_module_page(uintptr_t page)
{
    for (unsigned i = 0; i < sandbox.writable_count; i++)
        if (page + SANDBOX_PAGE > sandbox.writable[i].start && page < sandbox.writable[i].end)
            return 1;
    return 0;
}

static void protect(uintptr_t page, int protection)
{
    wtm_sys_mprotect((void *)page, SANDBOX_PAGE, protection);
}

static long map(uintptr_t at, size_t bytes)
{
    return wtm_sys_mmap((void *)at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
                        0);
}

int sandbox_start(const struct wtm_code_range *writable, unsigned count)
{
    memcpy(sandbox.writable, writable, count * sizeof *writable);
    sandbox.writable_count = count;
    for (unsigned i = 0; i < count; i++)
        for (uintptr_t page = writable[i].start & ~(uintptr_t)(SANDBOX_PAGE - 1); page < writable[i].end;
             page += SANDBOX_PAGE)
            protect(page, PROT_READ);
    long got = map(SANDBOX_BASE, SANDBOX_BYTES);
    if (wtm_sys_failed(got))
        return (int)got;
    for (size_t at = 0; at < SANDBOX_BYTES; at += SANDBOX_PAGE)
        fill(SANDBOX_BASE + at, sandbox.core + at / sizeof *sandbox.core);
    memcpy((void *)SANDBOX_BASE, sandbox.core, SANDBOX_BYTES);
    return 0;
}

int sandbox_fault(uintptr_t address, int is_present, int is_write)
{
    uintptr_t page = address & ~(uintptr_t)(SANDBOX_PAGE - 1);
    struct sandbox_page *entry = &sandbox.pages[sandbox.count];
    int is_module = is_module_page(page);
    if (sandbox.count == SANDBOX_MOST_PAGES || page < LOWEST || page >= HIGHEST || is_present != is_module ||
        (is_present && !is_write))
        return 0;
    if (is_module) {
        memcpy(entry->bytes, (const void *)page, SANDBOX_PAGE);
        protect(page, PROT_READ | PROT_WRITE);
    } else {
        if (map(page, SANDBOX_PAGE) != (long)page)
            return 0;
        fill(page, (uint64_t *)page);
    }
    entry->address = page;
    entry->is_module = is_module;
    sandbox.count++;
    return 1;
}

static void take_core(struct sandbox_image *image)
{
    for (size_t at = 0; at < SANDBOX_BYTES; at += SANDBOX_PAGE) {
        uint8_t *page = (uint8_t *)SANDBOX_BASE + at;
        const uint8_t *as_it_was = (const uint8_t *)sandbox.core + at;
        if (!memcmp(page, as_it_was, SANDBOX_PAGE))
            continue;
        struct sandbox_page *copy = &image->pages[image->count++];
        copy->address = (uintptr_t)page;
        copy->is_module = 0;
        memcpy(copy->bytes, page, SANDBOX_PAGE);
        memcpy(page, as_it_was, SANDBOX_PAGE);
    }
}

void sandbox_take(struct sandbox_image *image)
{
    image->count = sandbox.count;
    for (unsigned i = 0; i < sandbox.count; i++) {
        struct sandbox_page *entry = &sandbox.pages[i], *copy = &image->pages[i];
        copy->address = entry->address;
        copy->is_module = entry->is_module;
        memcpy(copy->bytes, (const void *)entry->address, SANDBOX_PAGE);
        if (entry->is_module) {
            memcpy((void *)entry->address, entry->bytes, SANDBOX_PAGE);
            protect(entry->address, PROT_READ);
        } else {
            wtm_sys_munmap((void *)entry->address, SANDBOX_PAGE);
        }
    }
    sandbox.count = 0;
    take_core(image);
}

/* A page's bytes in an image, or what it holds when nobody touches it. */
static const uint8_t *bytes_in(const struct sandbox_image *image, const struct sandbox_page *like, uint64_t *spare)
{
    for (unsigned i = 0; i < image->count; i++)
        if (image->pages[i].address == like->address)
            return image->pages[i].bytes;
    if (like->is_module)
        return (const uint8_t *)like->address;
    fill(like->address, spare);
    return (const uint8_t *)spare;
}

unsigned sandbox_compare(const struct sandbox_image *left, const struct sandbox_image *right, FILE *out)
{
    uint64_t spare[SANDBOX_PAGE / sizeof(uint64_t)];
    unsigned differing = 0;
    for (unsigned side = 0; side < 2; side++) {
        const struct sandbox_image *mine = side ? right : left, *other = side ? left : right;
        for (unsigned i = 0; i < mine->count; i++) {
            const struct sandbox_page *page = &mine->pages[i];
            const uint8_t *bytes = bytes_in(other, page, spare);
            if (!memcmp(page->bytes, bytes, SANDBOX_PAGE))
                continue;
            for (unsigned at = 0; at < SANDBOX_PAGE; at++)
                if (page->bytes[at] != bytes[at] && ++differing <= MOST_SHOWN && out)
                    fprintf(out, "    memory %#lx: %02x here, %02x there (%s)\n", (unsigned long)page->address + at,
                            page->bytes[at], bytes[at], side ? "second, first" : "first, second");
        }
    }
    return differing;
}
