/* SPDX-License-Identifier: MIT
 * One pattern against one object and one symbol. */
#include "common/patterns.h"
#include "common/glob.h"
#include "common/spelling.h"
#include <string.h>

/* libc, libc.so and libc.so.6 all mean libc.so.6; so does a path that ends in it when it has a slash. */
static int names_file(const char *module, const char *file)
{
    size_t length = strlen(file);
    if (wtm_glob_match(module, file, length))
        return 1;
    const char *so = strstr(file, ".so");
    if (!so || (so[3] && so[3] != '.'))
        return 0;
    return wtm_glob_match(module, file, (size_t)(so - file)) ||
           wtm_glob_match(module, file, (size_t)(so - file) + 3);
}

int wtm_pattern_wants(const struct wtm_pattern *pattern, const struct wtm_object *object)
{
    const char *module = pattern->module;
    if (!module)
        return 1;
    if (!strcmp(module, "main"))
        return object->is_main;
    if (strchr(module, '/'))
        return wtm_glob_match(module, object->path, strlen(object->path));
    return names_file(module, object->name);
}

static int equals(const char *text, size_t length, const char *body, size_t body_length)
{
    return length == body_length && !memcmp(text, body, length);
}

static int matches_plain(const struct wtm_pattern *pattern, const char *name)
{
    size_t length;
    if (!strncmp(name, pattern->body, pattern->body_length)) {
        const char *rest = name + pattern->body_length;
        if (!*rest || (*rest == '.' && wtm_spelling_base_length(name) == pattern->body_length))
            return 1;
    }
    const char *word = wtm_spelling_unscoped(name, &length);
    return word && equals(word, length, pattern->body, pattern->body_length);
}

static int matches_glob(const struct wtm_pattern *pattern, const char *name)
{
    size_t length = strlen(name);
    if (wtm_glob_match(pattern->body, name, length))
        return 1;
    size_t base = wtm_spelling_base_length(name);
    if (base != length && wtm_glob_match(pattern->body, name, base))
        return 1;
    const char *word = wtm_spelling_unscoped(name, &length);
    return word && wtm_glob_match(pattern->body, word, length);
}

static int matches_regex(const struct wtm_pattern *pattern, const char *name, struct wtm_demangler *demangler)
{
    if (wtm_regex_search(pattern->regex, name, strlen(name)))
        return 1;
    const char *text = wtm_demangler_run(demangler, name, 1);
    return text && wtm_regex_search(pattern->regex, text, demangler->length);
}

static int compare_spelled(const struct wtm_pattern *pattern, const char *text, size_t length)
{
    return pattern->wild ? wtm_glob_match(pattern->body, text, length)
                         : equals(text, length, pattern->body, pattern->body_length);
}

/* The demanglers' " [clone .constprop.0]" is no part of a name. */
static size_t drop_clone(char *text, size_t length)
{
    char *clone = strstr(text, " [clone");
    if (!clone)
        return length;
    *clone = 0;
    return (size_t)(clone - text);
}

static int matches_spelled(const struct wtm_pattern *pattern, const char *name,
                           struct wtm_demangler *demangler)
{
    if (!wtm_is_mangled(name) || (pattern->needle && !strstr(name, pattern->needle)))
        return 0;
    if (!wtm_demangler_run(demangler, name, pattern->parameters))
        return 0;
    char *text = demangler->text;
    size_t length = drop_clone(text, demangler->length);
    length = wtm_spelling_normalise(text, text, length);
    if (pattern->parameters && !pattern->qualified)
        length = wtm_spelling_drop_qualifiers(text, length);
    if (!pattern->anonymous)
        length = wtm_spelling_drop_anonymous(text, length);
    if (compare_spelled(pattern, text, length))
        return 1;
    if (pattern->templates)
        return 0;
    return compare_spelled(pattern, text, wtm_spelling_drop_templates(text, length));
}

int wtm_pattern_matches(const struct wtm_pattern *pattern, const struct wtm_symbol *symbol,
                        struct wtm_demangler *demangler)
{
    /* Labels without a type are functions only if somebody says so by name. */
    if (symbol->notype)
        return pattern->kind == WTM_PATTERN_NAME && !strcmp(symbol->name, pattern->body);
    /* A cold part is matched by its own full name alone, to be refused. */
    if (symbol->cold)
        return pattern->kind == WTM_PATTERN_NAME && !strcmp(symbol->name, pattern->body);
    switch (pattern->kind) {
    case WTM_PATTERN_NAME:
        return matches_plain(pattern, symbol->name);
    case WTM_PATTERN_GLOB:
        return matches_glob(pattern, symbol->name);
    case WTM_PATTERN_REGEX:
        return matches_regex(pattern, symbol->name, demangler);
    case WTM_PATTERN_SPELLED:
        return matches_spelled(pattern, symbol->name, demangler);
    }
    return 0;
}
