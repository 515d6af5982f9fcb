/* SPDX-License-Identifier: MIT
 * Runs code instruction by instruction (the trap flag and a SIGTRAP handler) from a state given in full, until it
 * arrives where it is wanted no longer, and tells the state then. One thread; the code must not change the trap flag or enter the
 * kernel. */
#ifndef WTM_TESTS_MACHINE_H
#define WTM_TESTS_MACHINE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "sandbox.h"

enum {
    MACHINE_GENERAL = 16,
    MACHINE_VECTOR_BYTES = 416 + 256 + 64 + 512 + 1024, /* FXSAVE's part; upper halves of ymm; k0-7; of zmm; zmm16-31 */
    MACHINE_FLAGS = 0xcd5 | 0x200000                    /* CF PF AF ZF SF DF OF, ID */
};

/* In the order of a signal frame. */
enum machine_register {
    MACHINE_R8, MACHINE_R9, MACHINE_R10, MACHINE_R11, MACHINE_R12, MACHINE_R13, MACHINE_R14, MACHINE_R15,
    MACHINE_RDI, MACHINE_RSI, MACHINE_RBP, MACHINE_RBX, MACHINE_RDX, MACHINE_RAX, MACHINE_RCX, MACHINE_RSP
};
extern const char *const machine_register_names[MACHINE_GENERAL];

struct machine_state {
    uint64_t general[MACHINE_GENERAL];
    uint64_t flags;
    uint8_t vectors[MACHINE_VECTOR_BYTES];
};

/* LOST: it arrived with a stack pointer that is no address, and with such a one no processor state can be resumed, so that
 * code which takes one step more on its way faults. */
enum machine_end { MACHINE_ARRIVED, MACHINE_FAULTED, MACHINE_ENDLESS, MACHINE_LOST };

struct machine_result {
    enum machine_end end;
    uintptr_t at;              /* where it arrived or faulted */
    uintptr_t from;            /* the instruction before */
    int signal, trap;          /* FAULTED: which */
    uintptr_t fault_address;
    unsigned steps;
    struct machine_state state;
    struct sandbox_image memory;
};

/* 1 while the run shall go on: `ip` is reached after `steps` instructions, the last of them at `from`. */
typedef int machine_inside(const void *context, uintptr_t ip, uintptr_t from, unsigned steps);

void machine_start(void);      /* installs the handlers */
extern const char *machine_subject; /* named when this program itself fails */
void machine_run(const struct machine_state *state, uintptr_t ip, unsigned most_steps, machine_inside *inside,
                 const void *context, struct machine_result *result);

/* Random vectors that follow from a number; x87 and MXCSR as at a function's entry. */
void machine_vectors(uint64_t number, struct machine_state *state);
/* Number of differing registers, told of when `out` is given. */
unsigned machine_compare(const struct machine_state *left, const struct machine_state *right, FILE *out);

#endif
