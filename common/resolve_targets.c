/* SPDX-License-Identifier: MIT
 * From candidates to targets: IFUNCs become the body that was chosen, names of one address become one target,
 * and what is known not to be timeable gets its refusal. */
#include "common/resolve_internal.h"
#include "common/spelling.h"
#include <errno.h>
#include <string.h>

enum { SWEPT_OVER = 10, MANY_TARGETS = 64, MAX_ALIAS_BYTES = 4096 };

struct name_node {
    const char *name;
    struct name_node *next;
};

/* A target while candidates are still being added to it. */
struct draft {
    struct wtm_target target;
    struct wtm_symbol symbol; /* whose name is shown */
    uint32_t pattern;         /* that matched first */
    struct name_node *names;  /* of candidates, newest first */
    uint8_t asked, is_address, is_ifunc, excluded;
    uint8_t at_resolver;     /* an IFUNC whose body is not known: on disk, or when nobody could tell */
    uint32_t next_in_bucket; /* index + 1 */
};

struct drafts {
    struct wtm_resolver *resolver;
    struct draft *items;
    size_t count;
    uint32_t *buckets;
    size_t bucket_mask;
};

static const struct wtm_object *object_at(const struct wtm_resolver *resolver, uintptr_t address)
{
    for (size_t i = 0; i < resolver->count; i++)
        if (resolver->objects[i].loaded && wtm_object_contains(&resolver->objects[i], address))
            return &resolver->objects[i];
    return NULL;
}

/* Where a candidate's body is. An IFUNC that cannot be resolved stays at its resolver. */
static void place(const struct wtm_resolver *resolver, const struct wtm_candidate *candidate,
                  struct draft *draft)
{
    const struct wtm_object *object = candidate->object;
    struct wtm_target *target = &draft->target;
    uint64_t offset = candidate->symbol.offset;
    target->size = candidate->symbol.size;
    draft->is_ifunc = draft->at_resolver = candidate->symbol.ifunc;
    if (candidate->symbol.ifunc && object->loaded) {
        uintptr_t body =
            wtm_object_ifunc_target(object, &candidate->symbol, resolver->objects, resolver->count);
        const struct wtm_object *home = body ? object_at(resolver, body) : NULL;
        draft->at_resolver = !home;
        if (home) {
            object = home;
            offset = body - home->bias;
            target->size = 0; /* the symbol's is the resolver's; the body's own name may tell */
        }
    }
    target->object = object;
    target->offset = offset;
    target->address = object->bias + offset;
}

static size_t hash_of(const struct wtm_object *object, uint64_t offset)
{
    uint64_t mixed = ((uintptr_t)object >> 4) * 0x9e3779b97f4a7c15u ^ offset * 0xff51afd7ed558ccdu;
    return (size_t)(mixed >> 32);
}

/* Global before local, then the shorter, then by the alphabet. */
static int is_better_name(const struct wtm_symbol *a, const struct wtm_symbol *b)
{
    if (a->global != b->global)
        return a->global > b->global;
    size_t a_length = strlen(a->name), b_length = strlen(b->name);
    return a_length != b_length ? a_length < b_length : strcmp(a->name, b->name) < 0;
}

static int add_name(struct drafts *drafts, struct draft *draft, const char *name)
{
    for (struct name_node *node = draft->names; node; node = node->next)
        if (!strcmp(node->name, name))
            return 0;
    struct name_node *node = wtm_arena_alloc(&drafts->resolver->scratch, sizeof *node);
    if (!node)
        return -ENOMEM;
    *node = (struct name_node){name, draft->names};
    draft->names = node;
    return 0;
}

static int is_asked_for(const struct wtm_resolver *resolver, const struct wtm_candidate *candidate)
{
    return !wtm_pattern_sweeps(&resolver->set->patterns[candidate->pattern]) ||
           resolver->hits[candidate->pattern] < SWEPT_OVER;
}

static int add_candidate(struct drafts *drafts, const struct wtm_candidate *candidate)
{
    struct wtm_resolver *resolver = drafts->resolver;
    struct draft fresh = {.symbol = candidate->symbol, .pattern = candidate->pattern};
    place(resolver, candidate, &fresh);
    uint32_t *bucket =
        &drafts->buckets[hash_of(fresh.target.object, fresh.target.offset) & drafts->bucket_mask];
    struct draft *draft = NULL;
    for (uint32_t i = *bucket; i && !draft; i = drafts->items[i - 1].next_in_bucket) {
        struct draft *other = &drafts->items[i - 1];
        if (other->target.object == fresh.target.object && other->target.offset == fresh.target.offset &&
            other->at_resolver == fresh.at_resolver)
            draft = other;
    }
    if (!draft) {
        draft = &drafts->items[drafts->count++];
        *draft = fresh;
        draft->is_address = candidate->is_address;
        draft->next_in_bucket = *bucket;
        *bucket = (uint32_t)drafts->count;
    } else if (draft->pattern == candidate->pattern && is_better_name(&candidate->symbol, &draft->symbol)) {
        draft->symbol = candidate->symbol;
    }
    if (draft->target.size < fresh.target.size)
        draft->target.size = fresh.target.size;
    draft->asked |= (uint8_t)is_asked_for(resolver, candidate);
    return candidate->is_address ? 0 : add_name(drafts, draft, candidate->symbol.name);
}

/* In the order of the patterns, so that the first that matched names the target. */
static int add_candidates(struct drafts *drafts)
{
    struct wtm_resolver *resolver = drafts->resolver;
    size_t patterns = resolver->set->count, count = resolver->candidate_count;
    uint32_t *starts = wtm_arena_alloc(&resolver->scratch, (patterns + 1) * sizeof *starts);
    uint32_t *order = wtm_arena_alloc(&resolver->scratch, count * sizeof *order);
    if (!starts || !order)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        starts[resolver->candidates[i].pattern + 1]++;
    for (size_t i = 1; i <= patterns; i++)
        starts[i] += starts[i - 1];
    for (size_t i = 0; i < count; i++)
        order[starts[resolver->candidates[i].pattern]++] = (uint32_t)i;
    int error = 0;
    for (size_t i = 0; i < count && !error; i++) {
        const struct wtm_candidate *candidate = &resolver->candidates[order[i]];
        if (!candidate->reserve || !resolver->hits[candidate->pattern])
            error = add_candidate(drafts, candidate);
    }
    return error;
}

static int make_room(struct drafts *drafts)
{
    struct wtm_resolver *resolver = drafts->resolver;
    size_t buckets = 64;
    while (buckets < resolver->candidate_count * 2)
        buckets *= 2;
    drafts->bucket_mask = buckets - 1;
    drafts->items = wtm_arena_alloc(&resolver->scratch, resolver->candidate_count * sizeof *drafts->items);
    drafts->buckets = wtm_arena_alloc(&resolver->scratch, buckets * sizeof *drafts->buckets);
    return drafts->items && drafts->buckets ? 0 : -ENOMEM;
}

/* What the other names at a target's address tell. */
struct names_visit {
    struct drafts *drafts;
    struct draft *draft;
    int error;
    int has_resolver; /* an IFUNC symbol is here */
};

static void visit_name(void *context, const struct wtm_symbol *symbol)
{
    struct names_visit *visit = context;
    struct draft *draft = visit->draft;
    if (symbol->ifunc) {
        visit->has_resolver = 1;
        if (!draft->at_resolver)
            return;
    } else if (draft->at_resolver) {
        return; /* the resolver's own name is none of the function's */
    }
    if (symbol->notype || symbol->cold)
        return;
    if (draft->target.size < symbol->size)
        draft->target.size = symbol->size;
    if (!visit->error)
        visit->error = add_name(visit->drafts, draft, symbol->name);
}

static int is_excluded(struct wtm_resolver *resolver, const struct draft *draft)
{
    const struct wtm_target *target = &draft->target;
    for (size_t i = 0; i < resolver->set->count; i++) {
        const struct wtm_pattern *pattern = &resolver->set->patterns[i];
        if (!pattern->exclude || !wtm_pattern_wants(pattern, target->object))
            continue;
        if (pattern->kind == WTM_PATTERN_ADDRESS &&
            pattern->address == (pattern->module ? target->offset : target->address))
            return 1;
        for (const struct name_node *node = draft->names; node; node = node->next) {
            struct wtm_symbol symbol = {.name = node->name};
            if (wtm_pattern_matches(pattern, &symbol, &resolver->demangler))
                return 1;
        }
    }
    return 0;
}

static enum wtm_refusal refusal_of_names(const struct draft *draft)
{
    enum wtm_refusal refusal =
        wtm_refused_by_name(draft->is_address ? NULL : draft->symbol.name, draft->target.object);
    for (const struct name_node *node = draft->names; node && refusal == WTM_REFUSED_NONE; node = node->next)
        refusal = wtm_refused_by_name(node->name, draft->target.object);
    return refusal;
}

/* Refused as one that generated code may call: is it compiled itself, by all of its names? */
static int is_walked(const struct draft *draft)
{
    int walked = !draft->is_address && wtm_is_walked(draft->symbol.name, draft->target.object);
    for (const struct name_node *node = draft->names; node; node = node->next) {
        if (wtm_refused_by_name(node->name, draft->target.object) != WTM_REFUSED_STACK_WALKER)
            continue;
        if (!wtm_is_walked(node->name, draft->target.object))
            return 0;
        walked = 1;
    }
    return walked;
}

/* A symbol that begins before the address and ends behind it: the address is in the midst of a function,
 * where the stack does not hold a return address. */
static int is_inside_function(const struct wtm_object *object, uint64_t offset)
{
    const struct wtm_elf_dynamic *dynamic = &wtm_object_detail(object)->dynamic;
    for (size_t i = 0; i < object->symbol_count; i++) {
        const struct wtm_symbol *symbol = &object->symbols[i];
        if (symbol->offset >= offset)
            break;
        if (offset - symbol->offset < symbol->size)
            return 1;
    }
    for (uint32_t i = 1; !object->symbol_count && i < dynamic->symbol_count; i++) {
        const Elf64_Sym *entry = &dynamic->symbols[i];
        if (ELF64_ST_TYPE(entry->st_info) == STT_FUNC && entry->st_shndx != SHN_UNDEF &&
            entry->st_value < offset && offset - entry->st_value < entry->st_size)
            return 1;
    }
    return 0;
}

static enum wtm_refusal decide(const struct wtm_resolver *resolver, const struct draft *draft,
                               int has_resolver)
{
    const struct wtm_target *target = &draft->target;
    const struct wtm_object *object = target->object;
    if (!wtm_object_executable(object, target->offset))
        return WTM_REFUSED_NOT_CODE;
    if (draft->symbol.cold)
        return WTM_REFUSED_COLD_PART;
    enum wtm_refusal refusal = refusal_of_names(draft);
    if (refusal != WTM_REFUSED_NONE)
        return refusal;
    if (object->is_vdso)
        return WTM_REFUSED_VDSO;
    if (object->is_loader && !draft->is_address && !resolver->set->patterns[draft->pattern].module)
        return WTM_REFUSED_LOADER;
    if ((draft->at_resolver && object->loaded) || (has_resolver && !draft->at_resolver && !draft->is_ifunc))
        return WTM_REFUSED_RESOLVER;
    if (draft->is_address && !draft->names && is_inside_function(object, target->offset))
        return WTM_REFUSED_NOT_A_START;
    return WTM_REFUSED_NONE;
}

static char *join_aliases(const struct draft *draft, const char *shown, struct wtm_arena *arena)
{
    size_t bytes = 0, used = 0;
    for (const struct name_node *node = draft->names; node; node = node->next)
        if (strcmp(node->name, shown) && bytes + strlen(node->name) + 1 <= MAX_ALIAS_BYTES)
            bytes += strlen(node->name) + 1;
    char *text = bytes ? wtm_arena_alloc(arena, bytes) : NULL;
    for (const struct name_node *node = draft->names; text && node; node = node->next) {
        size_t length = strlen(node->name);
        if (!strcmp(node->name, shown) || used + length + 1 > bytes)
            continue;
        if (used)
            text[used++] = ',';
        memcpy(text + used, node->name, length);
        used += length;
    }
    return text;
}

/* What is shown of a mangled name; its parameters if the user wrote some, or if it is one of a compiler's
 * clones. */
static const char *shown_name(struct wtm_resolver *resolver, const char *mangled, int parameters)
{
    int clone = wtm_spelling_base_length(mangled) != strlen(mangled);
    const char *text = wtm_demangler_run(&resolver->demangler, mangled, parameters || clone);
    return text ? wtm_arena_string(resolver->arena, text, resolver->demangler.length)
                : wtm_arena_string(resolver->arena, mangled, strlen(mangled));
}

static int finish(struct drafts *drafts, struct draft *draft)
{
    struct wtm_resolver *resolver = drafts->resolver;
    struct wtm_target *target = &draft->target;
    struct names_visit visit = {.drafts = drafts, .draft = draft};
    wtm_resolver_symbols_at(target->object, target->offset, visit_name, &visit);
    draft->excluded = (uint8_t)is_excluded(resolver, draft);
    if (visit.error || draft->excluded)
        return visit.error;
    target->refusal = decide(resolver, draft, visit.has_resolver);
    target->ifunc = draft->is_ifunc;
    target->swept = !draft->asked;
    target->walked = target->refusal == WTM_REFUSED_STACK_WALKER && is_walked(draft);
    if (draft->at_resolver && target->object->loaded && !wtm_object_relocated(target->object))
        target->unbound = 1;
    if (target->unbound && target->refusal == WTM_REFUSED_RESOLVER)
        ((struct wtm_object *)target->object)->unbound = 1;
    target->pattern = resolver->set->patterns[draft->pattern].text;
    const char *name = draft->symbol.name;
    if (draft->is_address) {
        target->name = name;
    } else {
        target->mangled = wtm_arena_string(resolver->arena, name, strlen(name));
        target->name = target->mangled ? shown_name(resolver, target->mangled,
                                                    resolver->set->patterns[draft->pattern].parameters)
                                       : NULL;
        if (!target->name)
            return -ENOMEM;
    }
    target->aliases = join_aliases(draft, draft->is_address ? "" : name, resolver->arena);
    return 0;
}

/* Overloads that would be shown alike get their parameters. */
static int tell_apart(struct wtm_resolver *resolver, struct wtm_resolution *out)
{
    size_t slots = 64;
    while (slots < out->target_count * 2)
        slots *= 2;
    struct {
        struct wtm_target *first;
        const char *name; /* as it was before it got its parameters */
    } *table = wtm_arena_alloc(&resolver->scratch, slots * sizeof *table);
    if (!table)
        return -ENOMEM;
    for (size_t i = 0; i < out->target_count; i++) {
        struct wtm_target *target = &out->targets[i];
        if (!target->mangled || !wtm_is_mangled(target->mangled))
            continue;
        size_t hash = (size_t)wtm_crc32(0, (const unsigned char *)target->name, strlen(target->name));
        size_t slot = (hash ^ (uintptr_t)target->object >> 4) & (slots - 1);
        while (table[slot].first &&
               (table[slot].first->object != target->object || strcmp(table[slot].name, target->name)))
            slot = (slot + 1) & (slots - 1);
        if (!table[slot].first) {
            table[slot].first = target;
            table[slot].name = target->name;
            continue;
        }
        target->name = shown_name(resolver, target->mangled, 1);
        if (table[slot].first->name == table[slot].name)
            table[slot].first->name = shown_name(resolver, table[slot].first->mangled, 1);
        if (!target->name || !table[slot].first->name)
            return -ENOMEM;
    }
    return 0;
}

int wtm_resolver_make_targets(struct wtm_resolver *resolver, struct wtm_resolution *out)
{
    struct drafts drafts = {.resolver = resolver};
    if (!resolver->candidate_count)
        return 0;
    int error = make_room(&drafts);
    if (!error)
        error = add_candidates(&drafts);
    if (error)
        return error;
    out->targets = wtm_arena_alloc(resolver->arena, drafts.count * sizeof *out->targets);
    if (!out->targets)
        return -ENOMEM;
    /* Many lookups by address are cheaper in a sorted table. */
    for (size_t i = 0; drafts.count > MANY_TARGETS && i < drafts.count; i++)
        wtm_object_read_to_level((struct wtm_object *)drafts.items[i].target.object, WTM_LEVEL_OWN,
                                 resolver->arena, &resolver->reading);
    for (size_t i = 0; i < drafts.count && !error; i++) {
        struct draft *draft = &drafts.items[i];
        error = finish(&drafts, draft);
        int refused = draft->target.refusal != WTM_REFUSED_NONE && !draft->target.walked;
        if (draft->excluded || (refused && !draft->asked))
            continue;
        out->targets[out->target_count++] = draft->target;
    }
    return error ? error : tell_apart(resolver, out);
}
