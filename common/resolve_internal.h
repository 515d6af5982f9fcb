/* SPDX-License-Identifier: MIT
 * State of one wtm_resolve(), shared by its files: resolve.c collects candidates, resolve_targets.c makes
 * targets of them, resolve_missing.c tells what was not found. */
#ifndef WTM_COMMON_RESOLVE_INTERNAL_H
#define WTM_COMMON_RESOLVE_INTERNAL_H

#include "common/elf_internal.h"
#include "common/patterns.h"

struct wtm_candidate {
    struct wtm_object *object;
    struct wtm_symbol symbol; /* of an address: offset, and the handle as name */
    uint32_t pattern;
    uint8_t
        reserve; /* in the loader or the vdso, and nobody asked for these: counts if there is nothing else */
    uint8_t is_address;
};

struct wtm_resolver {
    const struct wtm_pattern_set *set;
    struct wtm_object *objects;
    size_t count, first;
    uintptr_t own_base;
    struct wtm_arena *arena;
    struct wtm_arena scratch; /* until the end */
    struct wtm_arena reading; /* while an object's symbols are read */
    struct wtm_demangler demangler;
    struct wtm_candidate *candidates;
    size_t candidate_count, candidate_capacity;
    uint32_t *hits, *reserve_hits; /* candidates by pattern */
    uint8_t *found;                /* by pattern: had any when this round began */
};

/* The library itself is never looked at. */
int wtm_resolver_is_own(const struct wtm_resolver *resolver, const struct wtm_object *object);
/* Calls `visit` with each symbol at an offset, whether the object's symbols were read or not. */
typedef void wtm_symbol_visit(void *context, const struct wtm_symbol *symbol);
void wtm_resolver_symbols_at(const struct wtm_object *object, uint64_t offset, wtm_symbol_visit *visit,
                             void *context);

int wtm_resolver_make_targets(struct wtm_resolver *resolver, struct wtm_resolution *out);
int wtm_resolver_tell_missing(struct wtm_resolver *resolver, struct wtm_resolution *out);

#endif
