/* SPDX-License-Identifier: MIT
 * Globs, and the nearest names. */
#include <criterion/criterion.h>
#include <string.h>
#include "common/glob.h"
#include "common/nearest.h"

Test(glob, table)
{
    static const struct {
        const char *pattern, *text;
        int matches;
    } table[] = {
        {"", "", 1},
        {"", "a", 0},
        {"*", "", 1},
        {"*", "abc", 1},
        {"a*", "abc", 1},
        {"a*", "bac", 0},
        {"*c", "abc", 1},
        {"*c", "abcd", 0},
        {"a*c", "ac", 1},
        {"a*c", "abbbc", 1},
        {"a*b*c", "a1b2c", 1},
        {"a*b*c", "a1c2b", 0},
        {"?", "a", 1},
        {"?", "", 0},
        {"a?c", "abc", 1},
        {"a?c", "ac", 0},
        {"**", "x", 1},
        {"*?", "", 0},
        {"*?", "x", 1},
        {"[abc]x", "bx", 1},
        {"[abc]x", "dx", 0},
        {"[a-c]", "b", 1},
        {"[!a-c]", "b", 0},
        {"[!a-c]", "d", 1},
        {"[^a]", "b", 1},
        {"[]]", "]", 1},
        {"[!]]", "]", 0},
        {"[a-]", "-", 1},
        {"[", "[", 1},
        {"[a", "[a", 1},
        {"\\*", "*", 1},
        {"\\*", "a", 0},
        {"a\\", "a\\", 1},
        {"\\?x", "?x", 1},
        {"*ab", "aab", 1},
        {"*aab", "aaaab", 1},
        {"str*cpy", "strncpy", 1},
        {"str*cpy", "strlcpy_s", 0},
        {"*_[0-9]", "a_b_7", 1},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        cr_assert_eq(wtm_glob_match(table[i].pattern, table[i].text, strlen(table[i].text)), table[i].matches,
                     "%s on %s", table[i].pattern, table[i].text);
    cr_assert(wtm_glob_match("ab*", "abXXX", 3), "only the given length counts");
    cr_assert_not(wtm_glob_match("ab?", "abXXX", 2));
    cr_assert(wtm_glob_is_glob("a*") && wtm_glob_is_glob("a?") && wtm_glob_is_glob("[a]") &&
              wtm_glob_is_glob("\\a"));
    cr_assert_not(wtm_glob_is_glob("a[") || wtm_glob_is_glob("plain") || wtm_glob_is_glob("a]"));
}

/* Forty stars over a long text: an implementation that tries all splits does not come back. */
Test(glob, many_stars, .timeout = 10)
{
    static char text[20000], pattern[128];
    memset(text, 'a', sizeof text - 1);
    for (int i = 0; i < 40; i++)
        memcpy(pattern + 2 * i, "*a", 2);
    strcpy(pattern + 80, "*b");
    cr_assert_not(wtm_glob_match(pattern, text, sizeof text - 1));
    strcpy(pattern + 80, "*");
    cr_assert(wtm_glob_match(pattern, text, sizeof text - 1));
}

static unsigned distance(const char *a, const char *b, unsigned limit, int fold)
{
    unsigned there = wtm_edit_distance(a, strlen(a), b, strlen(b), limit, fold);
    cr_assert_eq(there, wtm_edit_distance(b, strlen(b), a, strlen(a), limit, fold), "%s %s: not symmetrical",
                 a, b);
    return there;
}

Test(nearest, distances)
{
    cr_assert_eq(distance("", "", 5, 0), 0);
    cr_assert_eq(distance("abc", "abc", 5, 0), 0);
    cr_assert_eq(distance("abc", "abd", 5, 0), 1);
    cr_assert_eq(distance("abc", "ab", 5, 0), 1);
    cr_assert_eq(distance("abc", "acb", 5, 0), 1, "neighbours swapped are one edit");
    cr_assert_eq(distance("ca", "abc", 5, 0), 3, "no edit inside a swapped pair");
    cr_assert_eq(distance("kitten", "sitting", 5, 0), 3);
    cr_assert_eq(distance("kitten", "sitting", 2, 0), 3, "more than the limit is limit + 1");
    cr_assert_eq(distance("abcdef", "xyzuvw", 3, 0), 4);
    cr_assert_eq(distance("Abc", "aBC", 5, 1), 0);
    cr_assert_eq(distance("Abc", "aBC", 5, 0), 3);
    cr_assert_eq(distance("", "abc", 5, 0), 3);
    cr_assert_eq(distance("sqlite3BtreNext", "sqlite3BtreeNext", 5, 1), 1);
    /* The band must not change what the whole matrix would give. */
    static const char *const words[] = {"malloc",   "mallopt", "calloc", "reallocarray",
                                        "memalign", "mlock",   "m",      ""};
    for (size_t i = 0; i < 8; i++)
        for (size_t j = 0; j < 8; j++) {
            unsigned full = distance(words[i], words[j], 50, 0);
            for (unsigned limit = 0; limit < 14; limit++)
                cr_assert_eq(distance(words[i], words[j], limit, 0), full <= limit ? full : limit + 1,
                             "%s %s %u", words[i], words[j], limit);
        }
}

static void offer(struct wtm_nearest *nearest, const char *name)
{
    wtm_nearest_offer(nearest, name, name, strlen(name));
}

Test(nearest, keeps_the_three_best)
{
    static const char *const names[] = {"free",   "mallopt", "calloc", "MALLOC_X",
                                        "malloc", "valloc",  "mallox", "malloc"};
    struct wtm_nearest nearest;
    wtm_nearest_begin(&nearest, "mallocx");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        offer(&nearest, names[i]);
    cr_assert_eq(nearest.count, 3);
    cr_assert_str_eq(nearest.names[0].name, "malloc", "a longer common begin goes first");
    cr_assert_str_eq(nearest.names[1].name, "mallox");
    cr_assert_str_eq(nearest.names[2].name, "MALLOC_X");

    /* The same in any order. */
    wtm_nearest_begin(&nearest, "mallocx");
    for (size_t i = sizeof names / sizeof *names; i-- > 0;)
        offer(&nearest, names[i]);
    cr_assert_str_eq(nearest.names[0].name, "malloc");
    cr_assert_str_eq(nearest.names[1].name, "mallox");
    cr_assert_str_eq(nearest.names[2].name, "MALLOC_X");

    wtm_nearest_begin(&nearest, "MyFunction");
    offer(&nearest, "my_function");
    offer(&nearest, "myfunction");
    offer(&nearest, "myFunction");
    cr_assert_str_eq(nearest.names[0].name, "myFunction", "of the same letters the one with more equal case");
    cr_assert_str_eq(nearest.names[1].name, "myfunction");

    wtm_nearest_begin(&nearest, "zz");
    offer(&nearest, "zy");
    cr_assert_eq(nearest.count, 0, "nothing is near a very short name");
    char endless[WTM_NEAREST_MAX_LENGTH + 200];
    memset(endless, 'a', sizeof endless - 1);
    endless[sizeof endless - 1] = 0;
    wtm_nearest_begin(&nearest, endless);
    offer(&nearest, endless);
    cr_assert_eq(nearest.count, 0, "longer than what is compared");
}
