/* SPDX-License-Identifier: MIT
 * Machine code in, machine code out. A case lays out a small module at a fixed address, asks the patcher for one of its
 * functions, and compares every byte: of the site, of the stub, of the relocated body, of everything that must not
 * change, and of the text after the revert.
 *
 * Code is written as hexadecimal bytes; what depends on addresses as
 *   @N    rel32 to the function's start + N        @^N   rel32 to the body + N
 *   !K    right behind @: K bytes of the instruction follow the displacement
 *   lo:N  the low four bytes of the address start + N, hi:N the high four
 * N may be negative and is hexadecimal. */
#ifndef WTM_GOLDEN_H
#define WTM_GOLDEN_H

#include <stddef.h>
#include <stdint.h>
#include "patcher/patcher.h"

enum {
    GOLDEN_TEXT_BYTES = 0x4000,
    GOLDEN_FUNCTION = 0x2000,   /* offset of the function under test */
    GOLDEN_DATA = 0x100000,     /* offset of a readable and writable page */
    GOLDEN_MOST_PLACED = 6,
    GOLDEN_MOST_POINTERS = 4
};
/* One where return addresses need both halves, one where they do not. */
#define GOLDEN_HIGH ((uintptr_t)0x5a0000000000)
#define GOLDEN_LOW  ((uintptr_t)0x10000000)

struct golden_placed {
    int at;            /* offset from the function's start */
    const char *code;
};

struct golden {
    const char *name;
    const char *code;                                  /* the function */
    const char *body;                                  /* expected; NULL: not compared */
    uintptr_t base;                                    /* 0: GOLDEN_HIGH */
    unsigned size;                                     /* of the function, the rest of `code` is padding; 0: all */
    int no_size;                                       /* ask with size 0 */
    int entry;                                         /* ask for the function's start + entry */
    uint8_t fill;                                      /* around it; 0: c3, so that there is no padding */
    struct golden_placed placed[GOLDEN_MOST_PLACED];   /* other code */
    int starts[GOLDEN_MOST_POINTERS];                  /* more symbols, offsets from the start, 0 ends */
    int pointers[GOLDEN_MOST_POINTERS];                /* relocated data points there, 0 ends */
    struct golden_placed edits[GOLDEN_MOST_PLACED];    /* expected changes beside the site */
    enum wtm_patch_method method;
    unsigned site, window, changed;                    /* expected; changed 0: five */
    const char *site_code;                             /* expected instead of e9 to the stub */
    enum wtm_refusal refusal;                          /* expected */
    uintptr_t span_bytes;                              /* 0: text and data */
    struct golden_placed data[2];                      /* offsets from GOLDEN_DATA */
    const uint8_t *(*frame_header)(uintptr_t base, size_t *bytes); /* makes an eh_frame_hdr in the data page */
};

/* Lays it out: text r-x, data rw. Fills `module` (its arrays live until golden_unmap). */
struct golden_world {
    uintptr_t base, function;
    unsigned code_bytes;
    struct wtm_code_module module;
    uintptr_t starts[GOLDEN_MOST_POINTERS + 4], pointers[GOLDEN_MOST_POINTERS];
    uint8_t before[GOLDEN_TEXT_BYTES];
};
void golden_map(const struct golden *golden, struct golden_world *world);
void golden_unmap(struct golden_world *world);

/* Bytes of `text` as they stand at `address`; gives their number. */
unsigned golden_assemble(const char *text, uintptr_t function, uintptr_t body, uintptr_t address, uint8_t *bytes);

/* The whole test of one case; fails through Criterion with the case's name. */
void golden_check(const struct golden *golden);

#endif
