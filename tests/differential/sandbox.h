/* SPDX-License-Identifier: MIT
 * The memory that single-stepped code sees. Contents follow from addresses. Most pointers lead to a core that is always
 * there; any other page comes into being at its first use, wherever that is, and pages of the module's writable segments
 * are saved at their first change. What changed is taken as an image at the end of a run, and is as it was before. Called
 * from signal handlers: raw system calls alone. */
#ifndef WTM_TESTS_SANDBOX_H
#define WTM_TESTS_SANDBOX_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "patcher/patcher.h"

/* Its low half is an address of its own: code that cuts pointers to 32 bits gets pages as well; nine times it is one. */
#define SANDBOX_BASE ((uintptr_t)0x010040000000)
enum {
    SANDBOX_PAGE = 4096,
    SANDBOX_CORE_PAGES = 16,
    SANDBOX_BYTES = SANDBOX_CORE_PAGES * SANDBOX_PAGE,
    SANDBOX_MOST_PAGES = 24 /* others, in one run */
};

struct sandbox_page {
    uintptr_t address;
    int is_module;
    uint8_t bytes[SANDBOX_PAGE];
};
struct sandbox_image {
    unsigned count;
    struct sandbox_page pages[SANDBOX_CORE_PAGES + SANDBOX_MOST_PAGES];
};

/* A number that follows from another. */
static inline uint64_t sandbox_mix(uint64_t value)
{
    value = (value ^ value >> 31) * 0x9e3779b97f4a7c15u;
    value = (value ^ value >> 29) * 0xbf58476d1ce4e5b9u;
    return value ^ value >> 32;
}

/* A place in the core, aligned to 64 bytes, that follows from `number`. */
uintptr_t sandbox_pointer(uint64_t number);

/* Makes the core, and the module's writable segments read-only. 0 or a negative errno. */
int sandbox_start(const struct wtm_code_range *writable, unsigned count);

/* A fault at `address`: 1 when the access can be tried again. */
int sandbox_fault(uintptr_t address, int is_present, int is_write);

/* Copies what was changed or came into being since the last call, and resets it. */
void sandbox_take(struct sandbox_image *image);

/* Number of bytes that differ; tells of the first few when `out` is given. */
unsigned sandbox_compare(const struct sandbox_image *left, const struct sandbox_image *right, FILE *out);

#endif
