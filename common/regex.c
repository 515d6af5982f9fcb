/* SPDX-License-Identifier: MIT
 * Runs a compiled expression: the set of all states it can be in, one byte of the text after the other. */
#include "common/regex_internal.h"
#include <string.h>

struct run {
    struct wtm_regex *regex;
    int at_begin, at_end;
    int matched;
};

static void push(struct wtm_regex *regex, unsigned *depth, uint16_t state)
{
    if (regex->mark[state] == regex->turn)
        return;
    regex->mark[state] = regex->turn;
    regex->stack[(*depth)++] = state; /* each state once a turn: cannot overflow */
}

/* Adds a state and all that are reached from it without a byte. */
static unsigned follow(struct run *run, uint16_t first, uint16_t *list, unsigned count)
{
    struct wtm_regex *regex = run->regex;
    unsigned depth = 0;
    push(regex, &depth, first);
    while (depth) {
        uint16_t index = regex->stack[--depth];
        const struct wtm_regex_state *state = &regex->states[index];
        switch (state->op) {
        case WTM_REGEX_SET:
            list[count++] = index;
            break;
        case WTM_REGEX_SPLIT:
            push(regex, &depth, state->other);
            push(regex, &depth, state->next);
            break;
        case WTM_REGEX_GO:
            push(regex, &depth, state->next);
            break;
        case WTM_REGEX_BEGIN:
            if (run->at_begin)
                push(regex, &depth, state->next);
            break;
        case WTM_REGEX_END:
            if (run->at_end)
                push(regex, &depth, state->next);
            break;
        default:
            run->matched = 1;
        }
    }
    return count;
}

static void new_turn(struct wtm_regex *regex)
{
    if (!++regex->turn) { /* wrapped: old marks would look new */
        memset(regex->mark, 0, regex->state_count * sizeof *regex->mark);
        regex->turn = 1;
    }
}

int wtm_regex_search(struct wtm_regex *regex, const char *text, size_t length)
{
    struct run run = {.regex = regex, .at_begin = 1, .at_end = length == 0};
    unsigned count;
    new_turn(regex);
    count = follow(&run, 0, regex->now, 0);
    for (size_t i = 0; i < length && !run.matched; i++) {
        unsigned next = 0;
        unsigned char c = (unsigned char)text[i];
        run.at_begin = 0;
        run.at_end = i + 1 == length;
        new_turn(regex);
        for (unsigned s = 0; s < count; s++) {
            const struct wtm_regex_state *state = &regex->states[regex->now[s]];
            if (wtm_regex_set_has(regex->sets[state->set], c))
                next = follow(&run, state->next, regex->then, next);
        }
        count = follow(&run, 0, regex->then, next); /* a match may also begin here */
        uint16_t *swap = regex->now;
        regex->now = regex->then;
        regex->then = swap;
    }
    return run.matched;
}
