/* SPDX-License-Identifier: MIT
 * From patterns to candidates. Plain names cost a look into the loader's hash tables and, where an object's
 * file has a .symtab, a walk through that; debug files are opened only for names found nowhere, or for sweeps
 * that name a module. */
#include "common/resolve_internal.h"
#include <errno.h>
#include <string.h>

enum { MAX_VERSIONS = 8 };

int wtm_resolver_is_own(const struct wtm_resolver *resolver, const struct wtm_object *object)
{
    return resolver->own_base && object->loaded && wtm_object_contains(object, resolver->own_base);
}

static int is_apart(const struct wtm_object *object)
{
    return object->is_loader || object->is_vdso;
}

/* Whether a pattern is to be looked up in an object at all. */
static int applies(const struct wtm_pattern *pattern, const struct wtm_object *object)
{
    if (pattern->exclude || pattern->kind == WTM_PATTERN_ADDRESS || !wtm_pattern_wants(pattern, object))
        return 0;
    return pattern->module || !is_apart(object) || !wtm_pattern_sweeps(pattern);
}

static int add_candidate(struct wtm_resolver *resolver, struct wtm_object *object,
                         const struct wtm_symbol *symbol, size_t pattern, int is_address)
{
    if (resolver->candidate_count == resolver->candidate_capacity) {
        size_t capacity = resolver->candidate_capacity ? resolver->candidate_capacity * 2 : 64;
        struct wtm_candidate *grown = wtm_arena_alloc(&resolver->scratch, capacity * sizeof *grown);
        if (!grown)
            return -ENOMEM;
        if (resolver->candidate_count)
            memcpy(grown, resolver->candidates, resolver->candidate_count * sizeof *grown);
        resolver->candidates = grown;
        resolver->candidate_capacity = capacity;
    }
    int reserve = !is_address && is_apart(object) && !resolver->set->patterns[pattern].module;
    resolver->candidates[resolver->candidate_count++] =
        (struct wtm_candidate){.object = object,
                               .symbol = *symbol,
                               .pattern = (uint32_t)pattern,
                               .reserve = (uint8_t)reserve,
                               .is_address = (uint8_t)is_address};
    (reserve ? resolver->reserve_hits : resolver->hits)[pattern]++;
    return 0;
}

/* glibc's own have no mangled names: their tables need not be read for a C++ name. */
static int is_plain_c(const struct wtm_object *object)
{
    return !strcmp(object->name, "libc.so.6") || !strcmp(object->name, "libm.so.6") || is_apart(object);
}

/* How much of an object must be read for one pattern. */
static enum wtm_symbol_level level_for(struct wtm_object *object, const struct wtm_pattern *pattern)
{
    if (wtm_pattern_sweeps(pattern))
        return pattern->module || (object->is_main && !wtm_object_has_symtab(object)) ? WTM_LEVEL_ALL
                                                                                      : WTM_LEVEL_OWN;
    if (pattern->kind == WTM_PATTERN_SPELLED)
        return is_plain_c(object) && !pattern->module ? WTM_LEVEL_NONE : WTM_LEVEL_OWN;
    /* A plain name: hash tables do, unless there may be a local function of that name. The loader's and the
     * vdso's own are looked at only if the name is found nowhere. */
    if (is_apart(object) && object->loaded && !pattern->module)
        return WTM_LEVEL_NONE;
    return !object->loaded || wtm_object_has_symtab(object) ? WTM_LEVEL_OWN : WTM_LEVEL_NONE;
}

static int read_level(struct wtm_resolver *resolver, struct wtm_object *object, enum wtm_symbol_level level)
{
    enum { KEPT_BYTES = 8 << 20 };
    int error = wtm_object_read_to_level(object, level, resolver->arena, &resolver->reading);
    /* Shared by all objects, since each new mapping has its price; but not for ever larger. */
    if (resolver->reading.taken_bytes > KEPT_BYTES)
        wtm_arena_free(&resolver->reading);
    return error == -ENOMEM ? error : 0; /* others: what there is of it counts */
}

static int match_table(struct wtm_resolver *resolver, struct wtm_object *object, const size_t *patterns,
                       size_t count, unsigned from_source)
{
    int error = 0;
    for (size_t s = 0; s < object->symbol_count && !error; s++) {
        const struct wtm_symbol *symbol = &object->symbols[s];
        if (symbol->source < from_source)
            continue;
        for (size_t i = 0; i < count && !error; i++)
            if (wtm_pattern_matches(&resolver->set->patterns[patterns[i]], symbol, &resolver->demangler))
                error = add_candidate(resolver, object, symbol, patterns[i], 0);
    }
    return error;
}

static int match_hashed(struct wtm_resolver *resolver, struct wtm_object *object, size_t pattern)
{
    struct wtm_symbol found[MAX_VERSIONS];
    const struct wtm_pattern *wanted = &resolver->set->patterns[pattern];
    int error = 0;
    if (wanted->kind != WTM_PATTERN_NAME)
        return 0;
    unsigned count = wtm_object_lookup_all(object, wanted->body, found, MAX_VERSIONS);
    for (unsigned i = 0; i < count && !error; i++)
        error = add_candidate(resolver, object, &found[i], pattern, 0);
    return error;
}

/* The patterns that apply, into `list`; and how much must be read for them. */
static size_t select_patterns(struct wtm_resolver *resolver, struct wtm_object *object, size_t *list,
                              enum wtm_symbol_level *level)
{
    size_t count = 0;
    *level = WTM_LEVEL_NONE;
    for (size_t i = 0; i < resolver->set->count; i++) {
        const struct wtm_pattern *pattern = &resolver->set->patterns[i];
        if (!applies(pattern, object))
            continue;
        enum wtm_symbol_level needed = *level < WTM_LEVEL_ALL ? level_for(object, pattern) : *level;
        *level = needed > *level ? needed : *level;
        list[count++] = i;
    }
    return count;
}

static int scan_object(struct wtm_resolver *resolver, struct wtm_object *object, size_t *list)
{
    enum wtm_symbol_level level;
    size_t count = select_patterns(resolver, object, list, &level);
    if (!count)
        return 0;
    int error = read_level(resolver, object, level);
    /* A sweep over an object that tells nothing by itself: maybe a debug file does. */
    int sweeps = 0;
    for (size_t i = 0; i < count; i++)
        sweeps |= wtm_pattern_sweeps(&resolver->set->patterns[list[i]]);
    if (!error && sweeps && !object->symbol_count)
        error = read_level(resolver, object, WTM_LEVEL_ALL);
    if (error)
        return error;
    if (wtm_object_detail(object)->level)
        return match_table(resolver, object, list, count, 0);
    for (size_t i = 0; i < count && !error; i++)
        error = match_hashed(resolver, object, list[i]);
    return error;
}

/* Names that nothing has matched yet, in what a higher level adds. */
static int scan_further(struct wtm_resolver *resolver, struct wtm_object *object, size_t *list, size_t count,
                        enum wtm_symbol_level level)
{
    enum wtm_symbol_level before = wtm_object_detail(object)->level;
    if (!count || before >= level)
        return 0;
    int error = read_level(resolver, object, level);
    return error ? error
                 : match_table(resolver, object, list, count, before == WTM_LEVEL_OWN ? WTM_SYMBOL_DEBUG : 0);
}

/* An exported C++ function outside namespaces: no hash table finds it by its plain name. Only then is a table
 * of (often tens of thousands of) C++ names read. */
static int scan_cxx(struct wtm_resolver *resolver, struct wtm_object *object, size_t *list)
{
    size_t count = 0;
    if (!wtm_object_detail(object)->dynamic.needs_cxx)
        return 0;
    for (size_t i = 0; i < resolver->set->count; i++)
        if (!resolver->found[i] && applies(&resolver->set->patterns[i], object))
            list[count++] = i;
    return scan_further(resolver, object, list, count, WTM_LEVEL_OWN);
}

/* Now debug files are worth their cost. With libraries loaded later only where a module was named, since
 * elsewhere the name may long have been found. */
static int scan_debug(struct wtm_resolver *resolver, struct wtm_object *object, size_t *list)
{
    size_t count = 0;
    for (size_t i = 0; i < resolver->set->count; i++) {
        const struct wtm_pattern *pattern = &resolver->set->patterns[i];
        if (!resolver->found[i] && (pattern->module || !resolver->first) && applies(pattern, object))
            list[count++] = i;
    }
    return scan_further(resolver, object, list, count, WTM_LEVEL_ALL);
}

static int scan_objects(struct wtm_resolver *resolver,
                        int (*scan)(struct wtm_resolver *, struct wtm_object *, size_t *))
{
    size_t patterns = resolver->set->count;
    size_t *list = wtm_arena_alloc(&resolver->scratch, patterns * sizeof *list);
    resolver->found = wtm_arena_alloc(&resolver->scratch, patterns);
    if (!list || !resolver->found)
        return -ENOMEM;
    /* As of now: what one object answers in this round must not keep the others from being asked. */
    for (size_t i = 0; i < patterns; i++)
        resolver->found[i] = resolver->hits[i] || resolver->reserve_hits[i];
    int error = 0;
    for (size_t i = resolver->first; i < resolver->count && !error; i++)
        if (!wtm_resolver_is_own(resolver, &resolver->objects[i]))
            error = scan(resolver, &resolver->objects[i], list);
    return error;
}

static int add_address(struct wtm_resolver *resolver, size_t index)
{
    const struct wtm_pattern *pattern = &resolver->set->patterns[index];
    int error = 0;
    for (size_t i = resolver->first; i < resolver->count && !error; i++) {
        struct wtm_object *object = &resolver->objects[i];
        /* A bare number is an address of this process; on disk, one of the file. */
        uint64_t offset = pattern->module ? pattern->address : pattern->address - object->bias;
        if (wtm_resolver_is_own(resolver, object) || !wtm_pattern_wants(pattern, object) ||
            !wtm_object_contains(object, object->bias + offset))
            continue;
        if (wtm_object_has_symtab(object))
            error = read_level(resolver, object, WTM_LEVEL_OWN);
        struct wtm_symbol symbol = {.offset = offset, .name = pattern->handle, .global = 1};
        if (!error)
            error = add_candidate(resolver, object, &symbol, index, 1);
    }
    return error;
}

static int add_addresses(struct wtm_resolver *resolver)
{
    int error = 0;
    for (size_t i = 0; i < resolver->set->count && !error; i++)
        if (resolver->set->patterns[i].kind == WTM_PATTERN_ADDRESS && !resolver->set->patterns[i].exclude)
            error = add_address(resolver, i);
    return error;
}

void wtm_resolver_symbols_at(const struct wtm_object *object, uint64_t offset, wtm_symbol_visit *visit,
                             void *context)
{
    const struct wtm_elf_dynamic *dynamic = &wtm_object_detail(object)->dynamic;
    if (wtm_object_detail(object)->level) {
        const struct wtm_symbol *symbol = wtm_object_symbols_at(object, offset);
        for (; symbol && symbol < object->symbols + object->symbol_count && symbol->offset == offset;
             symbol++)
            visit(context, symbol);
        return;
    }
    for (uint32_t i = 1; i < dynamic->symbol_count; i++) {
        struct wtm_symbol symbol;
        if (dynamic->symbols[i].st_value == offset &&
            wtm_elf_symbol_accept(object, &dynamic->symbols[i],
                                  wtm_elf_dynamic_string(dynamic, dynamic->symbols[i].st_name),
                                  WTM_SYMBOL_DYNAMIC, &symbol))
            visit(context, &symbol);
    }
}

static int collect(struct wtm_resolver *resolver)
{
    size_t patterns = resolver->set->count;
    resolver->hits = wtm_arena_alloc(&resolver->scratch, patterns * sizeof *resolver->hits);
    resolver->reserve_hits = wtm_arena_alloc(&resolver->scratch, patterns * sizeof *resolver->reserve_hits);
    if (!resolver->hits || !resolver->reserve_hits)
        return -ENOMEM;
    int error = scan_objects(resolver, scan_object);
    if (!error)
        error = scan_objects(resolver, scan_cxx);
    if (!error)
        error = scan_objects(resolver, scan_debug);
    return error ? error : add_addresses(resolver);
}

int wtm_resolve(const struct wtm_pattern_set *set, struct wtm_object *objects, size_t count, size_t first,
                uintptr_t own_base, struct wtm_arena *arena, struct wtm_resolution *out)
{
    struct wtm_resolver resolver = {
        .set = set, .objects = objects, .count = count, .first = first, .own_base = own_base, .arena = arena};
    memset(out, 0, sizeof *out);
    if (!set->count)
        return 0;
    int error = collect(&resolver);
    if (!error)
        error = wtm_resolver_make_targets(&resolver, out);
    if (!error && !first)
        error = wtm_resolver_tell_missing(&resolver, out);
    wtm_demangler_end(&resolver.demangler);
    wtm_arena_free(&resolver.reading);
    wtm_arena_free(&resolver.scratch);
    return error;
}
