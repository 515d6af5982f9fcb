/* SPDX-License-Identifier: MIT
 * Regular expressions: a table of what matches, what is refused, and that no pattern takes exponential time.
 */
#include <criterion/criterion.h>
#include <string.h>
#include <time.h>
#include "common/regex.h"

static const struct {
    const char *pattern, *text;
    int matches;
} table[] = {
    {"abc", "abc", 1},
    {"abc", "xabcx", 1},
    {"abc", "ab", 0},
    {"abc", "", 0},
    {"^abc", "abcd", 1},
    {"^abc", "xabc", 0},
    {"abc$", "xabc", 1},
    {"abc$", "abcx", 0},
    {"^$", "", 1},
    {"^$", "x", 0},
    {"$", "abc", 1},
    {"^", "abc", 1},
    {"a^b", "a^b", 0},
    {"a$b", "a$b", 0},
    {"a.c", "abc", 1},
    {"a.c", "ac", 0},
    {".", "", 0},
    {"^...$", "abc", 1},
    {"^...$", "abcd", 0},
    {"ab*c", "ac", 1},
    {"ab*c", "abbbbc", 1},
    {"ab+c", "ac", 0},
    {"ab+c", "abbc", 1},
    {"ab?c", "ac", 1},
    {"ab?c", "abc", 1},
    {"^ab?c$", "abbc", 0},
    {"^(ab|cd)$", "ab", 1},
    {"^(ab|cd)$", "cd", 1},
    {"^(ab|cd)$", "abcd", 0},
    {"^(ab|cd)+$", "abcdab", 1},
    {"^a|b$", "axx", 1},
    {"^a|b$", "xxb", 1},
    {"^a|b$", "xax", 0},
    {"a||b", "", 1},
    {"(|a)b", "b", 1},
    {"^(a|ab)(c|bcd)(d*)$", "abcd", 1},
    {"^(a|b|c|d|e)f$", "ef", 1},
    {"^(a|b|c|d|e)f$", "f", 0},
    {"^(a*)*$", "aaa", 1},
    {"^(a*)*$", "b", 0},
    {"^(a*)+b$", "aab", 1},
    {"^((a))$", "a", 1},
    {"()", "", 1},
    {"^()*x$", "x", 1},
    {"^(a?){3}$", "aa", 1},
    {"^(a?){3}$", "aaaa", 0},
    {"[abc]", "b", 1},
    {"[abc]", "d", 0},
    {"[^abc]", "a", 0},
    {"[^abc]", "d", 1},
    {"[a-f0-9]+x", "be3x", 1},
    {"^[]a]$", "]", 1},
    {"^[^]a]$", "b", 1},
    {"^[^]a]$", "]", 0},
    {"^[a-]$", "-", 1},
    {"^[-a]$", "-", 1},
    {"^[[:alpha:]_][[:alnum:]_]*$", "_a9", 1},
    {"^[[:alpha:]_][[:alnum:]_]*$", "9a", 0},
    {"[[:digit:]]", "x7", 1},
    {"^[^[:upper:]]+$", "abc", 1},
    {"^[^[:upper:]]+$", "aBc", 0},
    {"[.]", "a", 0},
    {"[.]", ".", 1},
    {"[$]", "$", 1},
    {"a\\.c", "abc", 0},
    {"a\\.c", "a.c", 1},
    {"\\(x\\)", "(x)", 1},
    {"a\\|b", "a|b", 1},
    {"\\^\\$", "^$", 1},
    {"\\\\", "\\", 1},
    {"\\d+", "abc12", 1},
    {"\\d", "abc", 0},
    {"^\\w+$", "a_1", 1},
    {"^\\W$", "-", 1},
    {"^\\D$", "7", 0},
    {"\\s", "a b", 1},
    {"\\S", "  ", 0},
    {"a/b", "a/b", 1},
    {"^a{3}$", "aaa", 1},
    {"^a{3}$", "aa", 0},
    {"^a{3}$", "aaaa", 0},
    {"^a{2,}$", "aaaaa", 1},
    {"^a{2,}$", "a", 0},
    {"^a{2,4}$", "aaaa", 1},
    {"^a{2,4}$", "aaaaa", 0},
    {"^a{0,1}$", "", 1},
    {"^a{0}b$", "b", 1},
    {"^a{0}b$", "ab", 0},
    {"^(ab){2,3}$", "ababab", 1},
    {"^(ab){2,3}$", "ab", 0},
    {"^(a|b){2}$", "ba", 1},
    {"^(a{2}){2}$", "aaaa", 1},
    {"^(a{2}){2}$", "aaa", 0},
    {"^a{0,}$", "aaa", 1},
    {"^(a|b){0,2}c$", "abc", 1},
    {"^(a|b){0,2}c$", "abac", 0},
    {"^pthread_mutex_(un)?lock$", "pthread_mutex_unlock", 1},
    {"^pthread_mutex_(un)?lock$", "pthread_mutex_trylock", 0},
    {"^(read|write)(v|64)?$", "writev", 1},
    {"^(read|write)(v|64)?$", "writes", 0},
    {"x*", "", 1},
    {"x*y", "zzz", 0},
    {"a**", "aa", 1},
    {"^a+?$", "", 1},
    {"^[\x80-\xff]$", "\xc3", 1},
    {")", ")", 1},
    {"^a)b$", "a)b", 1},
    {"}", "}", 1},
};

Test(regex, table)
{
    struct wtm_arena arena = {0};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const char *reason;
        struct wtm_regex *regex =
            wtm_regex_compile(table[i].pattern, strlen(table[i].pattern), &arena, &reason);
        cr_assert(regex, "%s: %s", table[i].pattern, reason);
        for (int turn = 0; turn < 2; turn++) /* a second run must not see the first one's states */
            cr_assert_eq(wtm_regex_search(regex, table[i].text, strlen(table[i].text)), table[i].matches,
                         "/%s/ on \"%s\"", table[i].pattern, table[i].text);
    }
    wtm_arena_free(&arena);
}

Test(regex, refuses_what_is_malformed)
{
    static const char *const bad[] = {"(",
                                      "(a",
                                      "a(b|c",
                                      "[",
                                      "[a",
                                      "[^",
                                      "[z-a]",
                                      "[[:what:]]",
                                      "a{",
                                      "a{2",
                                      "a{,3}",
                                      "a{3,2}",
                                      "a{256}",
                                      "*a",
                                      "+",
                                      "?",
                                      "(*a)",
                                      "|*",
                                      "\\",
                                      "a\\",
                                      "\\1",
                                      "\\q",
                                      "((((((((((((((((((((((((((((((((((a))))))))))))))))))))))))))))))))))",
                                      "((a{255}){255}){255}"};
    struct wtm_arena arena = {0};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *reason = NULL;
        cr_assert_null(wtm_regex_compile(bad[i], strlen(bad[i]), &arena, &reason), "%s", bad[i]);
        cr_assert(reason && *reason, "%s", bad[i]);
    }
    wtm_arena_free(&arena);
}

static double search_seconds(const char *pattern, size_t length)
{
    static char text[1 << 20];
    struct wtm_arena arena = {0};
    struct timespec begin, end;
    const char *reason;
    struct wtm_regex *regex = wtm_regex_compile(pattern, strlen(pattern), &arena, &reason);
    cr_assert(regex, "%s: %s", pattern, reason);
    memset(text, 'a', length);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
    cr_assert_not(wtm_regex_search(regex, text, length));
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    wtm_arena_free(&arena);
    return (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
}

/* Backtracking needs 2^n steps for these. Linear is allowed a factor of four for noise where the text is
 * eight times as long, and would be above any timeout were it exponential. */
Test(regex, never_exponential, .timeout = 30)
{
    static const char *const patterns[] = {"(a*)*b", "(a|a)*b", "(a|aa)+b", "(.*)(.*)(.*)(.*)b",
                                           "(a?){30}a{30}b"};
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        double small = search_seconds(patterns[i], 4000), large = search_seconds(patterns[i], 32000);
        cr_assert_lt(large, 8 * 4 * small + 0.05, "%s: %g s, %g s", patterns[i], small, large);
    }
}
