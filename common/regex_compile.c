/* SPDX-License-Identifier: MIT
 * Compiles an extended regular expression: recursive descent, states emitted in the order of the text,
 * repetition by copying the states of what is repeated. */
#include "common/regex_internal.h"
#include <string.h>

enum { MAX_NESTING = 32, MAX_REPEAT = 255, NO_LIMIT = -1, MAX_PATTERN_BYTES = 4096 };

struct compiler {
    const char *at, *end;
    struct wtm_regex *regex;
    const char *reason;
    unsigned nesting;
};

static int fail(struct compiler *compiler, const char *reason)
{
    if (!compiler->reason)
        compiler->reason = reason;
    return -1;
}

static int emit(struct compiler *compiler, enum wtm_regex_op op, unsigned next, unsigned other, unsigned set)
{
    struct wtm_regex *regex = compiler->regex;
    if (regex->state_count == WTM_REGEX_MAX_STATES)
        return fail(compiler, "it is too large");
    regex->states[regex->state_count++] =
        (struct wtm_regex_state){(uint16_t)op, (uint16_t)next, (uint16_t)other, (uint16_t)set};
    return 0;
}

/* Moves the states from `at` up by one, to put one in front of them. */
static int insert(struct compiler *compiler, unsigned at, enum wtm_regex_op op, unsigned next, unsigned other)
{
    struct wtm_regex *regex = compiler->regex;
    if (emit(compiler, WTM_REGEX_GO, 0, 0, 0))
        return -1;
    for (unsigned i = regex->state_count - 1; i > at; i--) {
        regex->states[i] = regex->states[i - 1];
        if (regex->states[i].next >= at)
            regex->states[i].next++;
        if (regex->states[i].other >= at)
            regex->states[i].other++;
    }
    regex->states[at] = (struct wtm_regex_state){(uint16_t)op, (uint16_t)next, (uint16_t)other, 0};
    return 0;
}

static uint64_t *new_set(struct compiler *compiler)
{
    if (compiler->regex->set_count == WTM_REGEX_MAX_STATES) {
        fail(compiler, "it is too large");
        return NULL;
    }
    return compiler->regex->sets[compiler->regex->set_count++];
}

static void add_range(uint64_t *set, unsigned low, unsigned high)
{
    for (unsigned c = low; c <= high; c++)
        set[c >> 6] |= 1ull << (c & 63);
}

static void invert(uint64_t *set)
{
    for (int i = 0; i < 4; i++)
        set[i] = ~set[i];
}

/* Ranges as pairs of characters; 0 where there is no such class. */
static const char *class_ranges(const char *name, size_t length)
{
    static const char *const classes[][2] = {{"alpha", "azAZ"},   {"digit", "09"},     {"alnum", "azAZ09"},
                                             {"upper", "AZ"},     {"lower", "az"},     {"xdigit", "09afAF"},
                                             {"space", "\t\r  "}, {"blank", "\t\t  "}, {"punct", "!/:@[`{~"},
                                             {"print", " ~"},     {"graph", "!~"},     {"word", "azAZ09__"}};
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (strlen(classes[i][0]) == length && !memcmp(classes[i][0], name, length))
            return classes[i][1];
    return NULL;
}

static void add_pairs(uint64_t *set, const char *pairs)
{
    for (; *pairs; pairs += 2)
        add_range(set, (unsigned char)pairs[0], (unsigned char)pairs[1]);
}

/* [:alpha:] inside brackets. 1: it was one. */
static int named_class(struct compiler *compiler, uint64_t *set)
{
    const char *name = compiler->at + 2, *at = name;
    if (compiler->end - compiler->at < 4 || compiler->at[1] != ':')
        return 0;
    while (at + 1 < compiler->end && !(at[0] == ':' && at[1] == ']'))
        at++;
    if (at + 1 >= compiler->end)
        return 0;
    const char *ranges = class_ranges(name, (size_t)(at - name));
    if (!ranges)
        return fail(compiler, "it has an unknown character class");
    add_pairs(set, ranges);
    compiler->at = at + 2;
    return 1;
}

static int bracket(struct compiler *compiler)
{
    uint64_t *set = new_set(compiler);
    int negated = compiler->at < compiler->end && *compiler->at == '^', first = 1;
    if (!set)
        return -1;
    for (compiler->at += negated; compiler->at < compiler->end && (first || *compiler->at != ']');
         first = 0) {
        int named = *compiler->at == '[' ? named_class(compiler, set) : 0;
        if (named < 0)
            return -1;
        if (named)
            continue;
        unsigned low = (unsigned char)*compiler->at++, high = low;
        if (compiler->end - compiler->at >= 2 && compiler->at[0] == '-' && compiler->at[1] != ']') {
            high = (unsigned char)compiler->at[1];
            compiler->at += 2;
        }
        if (high < low)
            return fail(compiler, "it has a range that ends before it begins");
        add_range(set, low, high);
    }
    if (compiler->at == compiler->end)
        return fail(compiler, "a [ is not closed");
    compiler->at++;
    if (negated)
        invert(set);
    return emit(compiler, WTM_REGEX_SET, compiler->regex->state_count + 1, 0, compiler->regex->set_count - 1);
}

static int escape(struct compiler *compiler)
{
    if (compiler->at == compiler->end)
        return fail(compiler, "it ends in a backslash");
    char c = *compiler->at++;
    uint64_t *set = new_set(compiler);
    if (!set)
        return -1;
    const char *pairs = c == 'd' || c == 'D'   ? "09"
                        : c == 'w' || c == 'W' ? "azAZ09__"
                        : c == 's' || c == 'S' ? "\t\r  "
                                               : NULL;
    if (pairs) {
        add_pairs(set, pairs);
        if (c < 'a')
            invert(set);
    } else {
        if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))
            return fail(compiler, "it has an escape that is not known (no back references here)");
        add_range(set, (unsigned char)c, (unsigned char)c);
    }
    return emit(compiler, WTM_REGEX_SET, compiler->regex->state_count + 1, 0, compiler->regex->set_count - 1);
}

static int alternatives(struct compiler *compiler);

static int group(struct compiler *compiler)
{
    if (++compiler->nesting > MAX_NESTING)
        return fail(compiler, "its parentheses are nested too deeply");
    if (alternatives(compiler))
        return -1;
    if (compiler->at == compiler->end)
        return fail(compiler, "a ( is not closed");
    compiler->at++;
    compiler->nesting--;
    return 0;
}

static int atom(struct compiler *compiler)
{
    char c = *compiler->at++;
    unsigned after = compiler->regex->state_count + 1;
    switch (c) {
    case '(':
        return group(compiler);
    case '[':
        return bracket(compiler);
    case '\\':
        return escape(compiler);
    case '^':
        return emit(compiler, WTM_REGEX_BEGIN, after, 0, 0);
    case '$':
        return emit(compiler, WTM_REGEX_END, after, 0, 0);
    case '*':
    case '+':
    case '?':
    case '{':
        return fail(compiler, "it repeats nothing");
    }
    uint64_t *set = new_set(compiler);
    if (!set)
        return -1;
    add_range(set, c == '.' ? 0 : (unsigned char)c, c == '.' ? 255 : (unsigned char)c);
    return emit(compiler, WTM_REGEX_SET, after, 0, compiler->regex->set_count - 1);
}

/* A copy of the states [from, to) at the end; the references among them move along. */
static int copy(struct compiler *compiler, unsigned from, unsigned to)
{
    struct wtm_regex *regex = compiler->regex;
    unsigned shift = regex->state_count - from;
    for (unsigned i = from; i < to; i++) {
        struct wtm_regex_state state = regex->states[i];
        if (emit(compiler, state.op, state.next + shift, state.other + shift, state.set))
            return -1;
    }
    return 0;
}

static int star(struct compiler *compiler, unsigned from)
{
    if (insert(compiler, from, WTM_REGEX_SPLIT, from + 1, compiler->regex->state_count + 2))
        return -1;
    return emit(compiler, WTM_REGEX_GO, from, 0, 0);
}

static int optional(struct compiler *compiler, unsigned from)
{
    return insert(compiler, from, WTM_REGEX_SPLIT, from + 1, compiler->regex->state_count + 1);
}

/* x{low,high}: x as often as it must be, then x* or optional ones. The first x stands at [from, to) already.
 */
static int repeat(struct compiler *compiler, unsigned from, int low, int high)
{
    struct wtm_regex *regex = compiler->regex;
    unsigned length = regex->state_count - from, last = from;
    for (int i = 1; i < low || (i < high && high != NO_LIMIT) || (i == low && low && high == NO_LIMIT); i++) {
        last = regex->state_count;
        if (copy(compiler, from, from + length))
            return -1;
        if (i >= low && (high == NO_LIMIT ? star(compiler, last) : optional(compiler, last)))
            return -1;
    }
    if (low == 0)
        return high == NO_LIMIT ? star(compiler, from) : optional(compiler, from);
    return 0;
}

static int number(struct compiler *compiler, int *value)
{
    const char *begin = compiler->at;
    *value = 0;
    for (; compiler->at < compiler->end && *compiler->at >= '0' && *compiler->at <= '9'; compiler->at++)
        if ((*value = *value * 10 + (*compiler->at - '0')) > MAX_REPEAT)
            return fail(compiler, "it repeats more than 255 times");
    return compiler->at > begin;
}

static int braces(struct compiler *compiler, int *low, int *high)
{
    int found = number(compiler, low);
    if (found < 0)
        return -1;
    *high = *low;
    if (found && compiler->at < compiler->end && *compiler->at == ',') {
        compiler->at++;
        int bounded = number(compiler, high);
        if (bounded < 0)
            return -1;
        if (!bounded)
            *high = NO_LIMIT;
    }
    if (!found || compiler->at == compiler->end || *compiler->at != '}' ||
        (*high != NO_LIMIT && *high < *low))
        return fail(compiler, "its {} are not of the form {m}, {m,} or {m,n}");
    compiler->at++;
    return 0;
}

static int remove_states(struct compiler *compiler, unsigned from)
{
    compiler->regex->state_count = from; /* x{0} */
    return 0;
}

static int piece(struct compiler *compiler)
{
    unsigned from = compiler->regex->state_count;
    if (atom(compiler))
        return -1;
    while (compiler->at < compiler->end && *compiler->at && strchr("*+?{", *compiler->at)) {
        int low = 0, high = NO_LIMIT, error;
        switch (*compiler->at++) {
        case '+':
            low = 1;
            break;
        case '?':
            high = 1;
            break;
        case '{':
            if (braces(compiler, &low, &high))
                return -1;
        }
        error = high == 0 ? remove_states(compiler, from) : repeat(compiler, from, low, high);
        if (error)
            return -1;
    }
    return 0;
}

static int sequence(struct compiler *compiler)
{
    while (compiler->at < compiler->end && *compiler->at != '|' &&
           !(*compiler->at == ')' && compiler->nesting))
        if (piece(compiler))
            return -1;
    return 0;
}

/* a|b: a split in front of a, and behind a a jump past b. */
static int alternatives(struct compiler *compiler)
{
    struct wtm_regex *regex = compiler->regex;
    unsigned from = regex->state_count;
    if (sequence(compiler))
        return -1;
    while (compiler->at < compiler->end && *compiler->at == '|') {
        compiler->at++;
        if (insert(compiler, from, WTM_REGEX_SPLIT, from + 1, regex->state_count + 2))
            return -1;
        unsigned jump = regex->state_count;
        if (emit(compiler, WTM_REGEX_GO, 0, 0, 0) || sequence(compiler))
            return -1;
        regex->states[jump].next = (uint16_t)regex->state_count;
    }
    return 0;
}

static int give_room(struct wtm_regex *regex, struct wtm_arena *arena)
{
    size_t states = WTM_REGEX_MAX_STATES;
    regex->states = wtm_arena_alloc(arena, states * sizeof *regex->states);
    regex->sets = wtm_arena_alloc(arena, states * sizeof *regex->sets);
    return regex->states && regex->sets ? 0 : -1;
}

/* Compiled in generous room, kept in what it needs. */
static struct wtm_regex *keep(const struct wtm_regex *made, struct wtm_arena *arena)
{
    struct wtm_regex *regex = wtm_arena_alloc(arena, sizeof *regex);
    if (!regex)
        return NULL;
    size_t states = made->state_count;
    *regex = *made;
    regex->states = wtm_arena_alloc(arena, states * sizeof *regex->states);
    regex->sets = wtm_arena_alloc(arena, made->set_count * sizeof *regex->sets);
    regex->now = wtm_arena_alloc(arena, states * sizeof *regex->now);
    regex->then = wtm_arena_alloc(arena, states * sizeof *regex->then);
    regex->stack = wtm_arena_alloc(arena, states * sizeof *regex->stack);
    regex->mark = wtm_arena_alloc(arena, states * sizeof *regex->mark);
    if (!regex->states || !regex->sets || !regex->now || !regex->then || !regex->stack || !regex->mark)
        return NULL;
    memcpy(regex->states, made->states, states * sizeof *regex->states);
    memcpy(regex->sets, made->sets, made->set_count * sizeof *regex->sets);
    return regex;
}

struct wtm_regex *wtm_regex_compile(const char *pattern, size_t length, struct wtm_arena *arena,
                                    const char **reason)
{
    struct wtm_arena scratch = {0};
    struct wtm_regex made = {0}, *result = NULL;
    struct compiler compiler = {.at = pattern, .end = pattern + length, .regex = &made};
    if (length > MAX_PATTERN_BYTES)
        fail(&compiler, "it is too long");
    else if (give_room(&made, &scratch))
        fail(&compiler, "there is no memory for it");
    else if (!alternatives(&compiler) && !emit(&compiler, WTM_REGEX_MATCH, 0, 0, 0)) {
        result = keep(&made, arena);
        if (!result)
            fail(&compiler, "there is no memory for it");
    }
    wtm_arena_free(&scratch);
    *reason = compiler.reason;
    return result;
}
