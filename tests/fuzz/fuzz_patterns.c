/* SPDX-License-Identifier: MIT
 * libFuzzer's entry point for patterns: the list's parser, the globs, the regular expressions, the demanglers
 * and the spelling. The first line of the input is the list, each further line a symbol's name. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "common/nearest.h"
#include "common/patterns.h"
#include "common/spelling.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void complain(void *context, const char *message)
{
    if (strlen(message) > 1024)
        abort();
    ++*(unsigned *)context;
}

static void try_name(const struct wtm_pattern_set *set, const char *name, struct wtm_demangler *demangler)
{
    struct wtm_symbol symbol = {.name = name};
    struct wtm_object object = {.path = name, .name = name};
    size_t length = 0;
    for (size_t i = 0; i < set->count; i++) {
        wtm_pattern_wants(&set->patterns[i], &object);
        wtm_pattern_matches(&set->patterns[i], &symbol, demangler);
        if (!set->patterns[i].body)
            continue;
        struct wtm_nearest nearest;
        wtm_nearest_begin(&nearest, set->patterns[i].body);
        wtm_nearest_offer(&nearest, name, name, strlen(name));
    }
    if (wtm_spelling_base_length(name) > strlen(name))
        abort();
    const char *word = wtm_spelling_unscoped(name, &length);
    if (word && strnlen(word, length) < length)
        abort();
    wtm_refused_by_name(name, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wtm_arena arena = {.limit_bytes = 256 << 20};
    struct wtm_demangler demangler = {0};
    struct wtm_pattern_set set;
    unsigned complaints = 0;
    char *text = malloc(size + 1);
    memcpy(text, data, size);
    text[size] = 0;
    for (char *at = text; (at = strchr(at, '@'));)
        *at = ' '; /* files of the machine are none of the input */
    char *line = strchr(text, '\n');
    if (line)
        *line++ = 0;
    if (!wtm_patterns_parse(&set, text, "fuzz", &arena, complain, &complaints))
        for (char *next; line && *line; line = next) {
            next = strchr(line, '\n');
            if (next)
                *next++ = 0;
            try_name(&set, line, &demangler);
        }
    wtm_demangler_end(&demangler);
    wtm_arena_free(&arena);
    free(text);
    return 0;
}
