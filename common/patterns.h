/* SPDX-License-Identifier: MIT
 * What the user's patterns were parsed into; for resolve.c and the parser alone. */
#ifndef WTM_COMMON_PATTERNS_H
#define WTM_COMMON_PATTERNS_H

#include "common/resolve.h"
#include "common/demangle.h"
#include "common/regex.h"
#include <stdint.h>

enum wtm_pattern_kind {
    WTM_PATTERN_NAME, /* as it stands in a symbol table, or a C++ function's outside namespaces */
    WTM_PATTERN_GLOB, /* the same with wildcards */
    WTM_PATTERN_REGEX,
    WTM_PATTERN_SPELLED, /* C++ or Rust as people write it */
    WTM_PATTERN_ADDRESS, /* of this process, or from a module's begin */
};

struct wtm_pattern {
    const char *text;   /* as written */
    const char *module; /* NULL: any; may be a glob */
    const char
        *body; /* behind `!` and `module:`; normalised where it is spelled; a glob for wtm_glob_match */
    size_t body_length;
    uint8_t kind;
    uint8_t exclude;
    uint8_t wild;       /* a spelled one with wildcards */
    uint8_t parameters; /* a spelled one with its parameter list */
    uint8_t templates;  /* a spelled one with template arguments */
    uint8_t anonymous;  /* a spelled one that names the anonymous namespace */
    uint8_t qualified;  /* a spelled one with const or & behind the parameters */
    const char *needle; /* occurs in the mangled name; NULL: no such text */
    struct wtm_regex *regex;
    uint64_t address;
    const char *handle; /* what to show for an address */
};

/* 1: not a name (or address) in full, so it sweeps over many. */
static inline int wtm_pattern_sweeps(const struct wtm_pattern *pattern)
{
    return pattern->kind == WTM_PATTERN_GLOB || pattern->kind == WTM_PATTERN_REGEX || pattern->wild;
}

/* The object that a `module:` part means. */
int wtm_pattern_wants(const struct wtm_pattern *pattern, const struct wtm_object *object);
/* The symbol's name. The demangler is used only where names are mangled and could match. */
int wtm_pattern_matches(const struct wtm_pattern *pattern, const struct wtm_symbol *symbol,
                        struct wtm_demangler *demangler);

#endif
