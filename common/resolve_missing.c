/* SPDX-License-Identifier: MIT
 * Patterns that found nothing, and the names that may have been meant. */
#include "common/resolve_internal.h"
#include "common/nearest.h"
#include "common/spelling.h"
#include <errno.h>
#include <string.h>

/* A thousand a millisecond or so: what a misspelt C++ name may cost at most. */
enum { MAX_DEMANGLED = 20000 };

struct search {
    struct wtm_resolver *resolver;
    const struct wtm_pattern *pattern;
    struct wtm_nearest nearest;
    unsigned demangled;
};

static void offer_plain(struct search *search, const struct wtm_symbol *symbol)
{
    size_t length;
    const char *word = wtm_spelling_unscoped(symbol->name, &length);
    if (!word) {
        wtm_nearest_offer(&search->nearest, symbol->name, symbol->name,
                          wtm_spelling_base_length(symbol->name));
        return;
    }
    if (wtm_edit_distance(search->nearest.wanted, search->nearest.length, word, length, search->nearest.limit,
                          1) > search->nearest.limit)
        return;
    char *copy = wtm_arena_string(&search->resolver->scratch, word, length);
    if (copy)
        wtm_nearest_offer(&search->nearest, copy, copy, length);
}

/* Compared without parameters, shown with them if the user wrote some: an overload that does not exist is
 * near. */
static void offer_spelled(struct search *search, const struct wtm_symbol *symbol)
{
    struct wtm_demangler *demangler = &search->resolver->demangler;
    if (!wtm_is_mangled(symbol->name) || search->demangled++ >= MAX_DEMANGLED)
        return;
    if (!wtm_demangler_run(demangler, symbol->name, 0))
        return;
    size_t length = wtm_spelling_normalise(demangler->text, demangler->text, demangler->length);
    if (!search->pattern->templates)
        length = wtm_spelling_drop_templates(demangler->text, length);
    if (wtm_edit_distance(search->nearest.wanted, search->nearest.length, demangler->text, length,
                          search->nearest.limit, 1) > search->nearest.limit)
        return;
    char *text = wtm_arena_string(&search->resolver->scratch, demangler->text, length);
    const char *full = wtm_demangler_run(demangler, symbol->name, search->pattern->parameters);
    char *shown = full ? wtm_arena_string(&search->resolver->scratch, full, demangler->length) : NULL;
    if (text && shown)
        wtm_nearest_offer(&search->nearest, shown, text, length);
}

static void offer_object(struct search *search, const struct wtm_object *object)
{
    for (size_t i = 0; i < object->symbol_count; i++) {
        const struct wtm_symbol *symbol = &object->symbols[i];
        if (symbol->cold || symbol->notype)
            continue;
        if (search->pattern->kind == WTM_PATTERN_SPELLED)
            offer_spelled(search, symbol);
        else
            offer_plain(search, symbol);
    }
}

static char *join(const struct wtm_nearest *nearest, struct wtm_arena *arena)
{
    size_t bytes = 0, used = 0;
    for (unsigned i = 0; i < nearest->count; i++)
        bytes += strlen(nearest->names[i].name) + 1;
    char *text = bytes ? wtm_arena_alloc(arena, bytes) : NULL;
    for (unsigned i = 0; text && i < nearest->count; i++) {
        size_t length = strlen(nearest->names[i].name);
        if (used)
            text[used++] = '\n';
        memcpy(text + used, nearest->names[i].name, length);
        used += length;
    }
    return text;
}

static const char *nearest_names(struct wtm_resolver *resolver, const struct wtm_pattern *pattern)
{
    struct search search = {.resolver = resolver, .pattern = pattern};
    if ((pattern->kind != WTM_PATTERN_NAME && pattern->kind != WTM_PATTERN_SPELLED) || pattern->wild)
        return NULL;
    const char *wanted = pattern->body,
               *parameters = pattern->parameters ? wtm_spelling_parameters(wanted) : NULL;
    if (parameters)
        wanted = wtm_arena_string(&resolver->scratch, wanted, (size_t)(parameters - wanted));
    if (!wanted)
        return NULL;
    wtm_nearest_begin(&search.nearest, wanted);
    for (size_t i = 0; i < resolver->count; i++) {
        const struct wtm_object *object = &resolver->objects[i];
        int apart = object->is_loader || object->is_vdso;
        if (wtm_resolver_is_own(resolver, object) || !wtm_pattern_wants(pattern, object) ||
            (apart && !pattern->module))
            continue;
        offer_object(&search, object);
    }
    return join(&search.nearest, resolver->arena);
}

static const char *module_note(struct wtm_resolver *resolver, const struct wtm_pattern *pattern)
{
    static const char before[] = "no object named ", after[] = " is loaded; it will be looked for when it is";
    if (!pattern->module)
        return NULL;
    for (size_t i = 0; i < resolver->count; i++)
        if (wtm_pattern_wants(pattern, &resolver->objects[i]))
            return NULL;
    size_t length = strlen(pattern->module);
    char *text = wtm_arena_alloc(resolver->arena, sizeof before + length + sizeof after);
    if (!text)
        return NULL;
    memcpy(text, before, sizeof before - 1);
    memcpy(text + sizeof before - 1, pattern->module, length);
    memcpy(text + sizeof before - 1 + length, after, sizeof after);
    return text;
}

int wtm_resolver_tell_missing(struct wtm_resolver *resolver, struct wtm_resolution *out)
{
    size_t count = 0;
    for (size_t i = 0; i < resolver->set->count; i++)
        count += !resolver->set->patterns[i].exclude && !resolver->hits[i] && !resolver->reserve_hits[i];
    if (!count)
        return 0;
    out->missing = wtm_arena_alloc(resolver->arena, count * sizeof *out->missing);
    if (!out->missing)
        return -ENOMEM;
    for (size_t i = 0; i < resolver->set->count; i++) {
        const struct wtm_pattern *pattern = &resolver->set->patterns[i];
        if (pattern->exclude || resolver->hits[i] || resolver->reserve_hits[i])
            continue;
        struct wtm_not_found *missing = &out->missing[out->missing_count++];
        missing->pattern = pattern->text;
        missing->note = module_note(resolver, pattern);
        missing->near = missing->note ? NULL : nearest_names(resolver, pattern);
    }
    return 0;
}
