/* SPDX-License-Identifier: MIT
 * Nearest names by the restricted Damerau-Levenshtein distance (F. Damerau, CACM 7(3), 1964), only within the
 * band that the cut-off leaves. */
#include "common/nearest.h"
#include <stdint.h>
#include <string.h>

static unsigned char folded(char c, int fold)
{
    return (unsigned char)(fold && c >= 'A' && c <= 'Z' ? c + 32 : c);
}

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

unsigned wtm_edit_distance(const char *a, size_t a_length, const char *b, size_t b_length, unsigned limit,
                           int fold)
{
    uint8_t room[3][WTM_NEAREST_MAX_LENGTH + 2];
    uint8_t *before = room[0], *last = room[1], *row = room[2];
    unsigned far = limit + 1, n = (unsigned)a_length, m = (unsigned)b_length;
    if (limit > 100 || n > WTM_NEAREST_MAX_LENGTH || m > WTM_NEAREST_MAX_LENGTH ||
        (n > m ? n - m : m - n) > limit)
        return far;
    for (unsigned j = 0; j <= m; j++)
        last[j] = (uint8_t)least(j, far);
    for (unsigned i = 1; i <= n; i++) {
        unsigned from = i > limit ? i - limit : 1, to = least(m, i + limit), best = far;
        memset(row, (int)far, m + 1);
        if (from == 1)
            row[0] = (uint8_t)(best = least(i, far));
        for (unsigned j = from; j <= to; j++) {
            unsigned char x = folded(a[i - 1], fold), y = folded(b[j - 1], fold);
            unsigned cost = least(least(row[j - 1], last[j]) + 1u, last[j - 1] + (x != y));
            if (i > 1 && j > 1 && x == folded(b[j - 2], fold) && folded(a[i - 2], fold) == y)
                cost = least(cost, before[j - 2] + 1u);
            row[j] = (uint8_t)least(cost, far);
            best = least(best, row[j]);
        }
        if (best > limit)
            return far;
        uint8_t *oldest = before;
        before = last;
        last = row;
        row = oldest;
    }
    return last[m];
}

void wtm_nearest_begin(struct wtm_nearest *nearest, const char *wanted)
{
    size_t length = strlen(wanted);
    memset(nearest, 0, sizeof *nearest);
    nearest->wanted = wanted;
    nearest->length = (unsigned)(length < WTM_NEAREST_MAX_LENGTH ? length : WTM_NEAREST_MAX_LENGTH + 1);
    /* A third of the letters wrong is no misspelling any more. */
    nearest->limit = nearest->length < 3       ? 0
                     : nearest->length < 6     ? 1
                     : nearest->length / 3 < 4 ? nearest->length / 3
                                               : 4;
}

/* Fewer edits; then by exact case; then the longer common begin; then the shorter; then by the alphabet, so
 * that the order of the tables does not matter. */
static int is_nearer(const struct wtm_near_name *a, const struct wtm_near_name *b)
{
    if (a->distance != b->distance)
        return a->distance < b->distance;
    if (a->exact_distance != b->exact_distance)
        return a->exact_distance < b->exact_distance;
    if (a->common_prefix != b->common_prefix)
        return a->common_prefix > b->common_prefix;
    if (a->length != b->length)
        return a->length < b->length;
    return strcmp(a->name, b->name) < 0;
}

void wtm_nearest_offer(struct wtm_nearest *nearest, const char *name, const char *text, size_t length)
{
    unsigned limit = nearest->limit;
    if (nearest->count == WTM_NEAREST_KEPT)
        limit = least(limit, nearest->names[WTM_NEAREST_KEPT - 1].distance);
    unsigned distance = wtm_edit_distance(nearest->wanted, nearest->length, text, length, limit, 1);
    if (distance > limit)
        return;
    struct wtm_near_name found = {.name = name, .distance = distance, .length = (unsigned)length};
    found.exact_distance = wtm_edit_distance(nearest->wanted, nearest->length, text, length, 100, 0);
    while (found.common_prefix < length && nearest->wanted[found.common_prefix] == text[found.common_prefix])
        found.common_prefix++;
    unsigned at = nearest->count;
    for (unsigned i = 0; i < nearest->count; i++)
        if (!strcmp(nearest->names[i].name, name))
            return;
    while (at && is_nearer(&found, &nearest->names[at - 1]))
        at--;
    if (at == WTM_NEAREST_KEPT)
        return;
    if (nearest->count < WTM_NEAREST_KEPT)
        nearest->count++;
    for (unsigned i = nearest->count - 1; i > at; i--)
        nearest->names[i] = nearest->names[i - 1];
    nearest->names[at] = found;
}
