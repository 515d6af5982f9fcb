/* SPDX-License-Identifier: MIT
 * From what the user wrote (WTM_TIME) to the functions that it means. Used inside the target and by `wtm
 * list`.
 *
 * Patterns: name, glob*, /regex/ (POSIX extended), lib.so:name, main:name, C++ and Rust names as people write
 * them (ns::Box::get matches every overload; ns::add(int, int) that one), mangled names, 0x401234=handle,
 * lib.so+0x1234=handle, !pattern (takes out again, wherever it stands), @FILE (one pattern a line, #
 * comments). Commas inside () or <> or // do not separate. A `lib.so:` part matches the object's file name,
 * with or without its version suffix (libc, libc.so, libc.so.6), or a whole path when it contains a slash;
 * globs allowed.
 *
 * All memory from the arena; raw system calls only; 0 or negative errno. One thread at a time. */
#ifndef WTM_COMMON_RESOLVE_H
#define WTM_COMMON_RESOLVE_H

#include "common/elf_object.h"
#include "common/status.h"

struct wtm_pattern; /* patterns.c */
struct wtm_pattern_set {
    struct wtm_pattern *patterns;
    size_t count;
};

/* Told once per problem, in words for the user (which setting, what is wrong, what to do). May be NULL. */
typedef void wtm_complain(void *context, const char *message);

/* Parses a comma-separated list. A bad pattern is complained about and left out; the others count. Returns 0,
 * also when nothing is left; -ENOMEM. `setting` is the name used in complaints ("WTM_TIME"). */
int wtm_patterns_parse(struct wtm_pattern_set *set, const char *text, const char *setting,
                       struct wtm_arena *arena, wtm_complain *complain, void *context);

/* One body to be timed. Aliases are one target; bodies of one name in several places are several. */
struct wtm_target {
    const struct wtm_object *object;
    uint64_t offset;   /* from the object's bias */
    uintptr_t address; /* bias + offset; the chosen body for an IFUNC */
    uint64_t size;     /* 0: unknown */
    const char
        *name; /* to show: demangled where it is C++ or Rust, the handle, or the plain name that matched */
    const char *mangled;      /* as in the table, NULL for a bare address */
    const char *aliases;      /* comma-separated other names of the same address, or NULL */
    const char *pattern;    /* the (first) pattern that named it, as written */
    unsigned special;       /* for the caller's use; 0 */
    uint8_t ifunc;            /* 1: named by an IFUNC symbol */
    uint8_t unbound;          /* 1: one whose object is not relocated yet (`unbound` there); refused as RESOLVER */
    uint8_t walked;           /* 1: refused as STACK_WALKER, but not if compiled code alone calls it */
    uint8_t swept;            /* 1: one of many that a pattern found: its refusal is not worth a line */
    enum wtm_refusal refusal; /* decided by name, kind or place; NONE: up to the patcher */
};

struct wtm_not_found {
    const char *pattern; /* as written */
    const char *near;    /* nearest names, at most 3, newline-separated, or NULL */
    const char *note;    /* what else is to be said ("no object named libfoo.so is loaded; ..."), or NULL */
};

struct wtm_resolution {
    struct wtm_target *targets;
    size_t target_count;
    struct wtm_not_found *missing;
    size_t missing_count;
};

/* Matches all patterns against the objects from `first` on (0: all; larger: only newly loaded ones, and then
 * `missing` lists nothing). Reads symbol files only if the loader's tables cannot answer. A glob or regex
 * without a module part leaves out the dynamic loader, the vdso and the library itself (`own_base`: an
 * address inside it, or 0), and does not report functions refused by name that it merely swept over. Objects'
 * symbols are read on demand, so the objects are not const. */
int wtm_resolve(const struct wtm_pattern_set *set, struct wtm_object *objects, size_t count, size_t first,
                uintptr_t own_base, struct wtm_arena *arena, struct wtm_resolution *out);

/* Functions that must not be timed, by name ("vfork" -> WTM_REFUSED_POPS_RETURN); NONE when the name says
 * nothing. */
enum wtm_refusal wtm_refused_by_name(const char *mangled, const struct wtm_object *object);

/* 1: refused as STACK_WALKER, and compiled: a call by other compiled code leaves its return slot to whom it may concern. 0:
 * generated code itself, or a function of another kind. */
int wtm_is_walked(const char *mangled, const struct wtm_object *object);

/* Demangles C++ (Itanium) and Rust (legacy and v0) names into the arena; NULL when it is neither. Bounded in
 * time and length; no malloc. `parameters`: with the parameter list. */
char *wtm_demangle(const char *mangled, int parameters, struct wtm_arena *arena);

#endif
