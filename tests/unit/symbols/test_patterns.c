/* SPDX-License-Identifier: MIT
 * What lists of patterns are split and parsed into, and what is complained about. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/patterns.h"
#include "common/patterns_split.h"

static char complaints[4096];
static unsigned complaint_count;

static void complain(void *context, const char *message)
{
    cr_assert_eq(context, complaints);
    complaint_count++;
    strncat(complaints, message, sizeof complaints - strlen(complaints) - 2);
    strcat(complaints, "\n");
}

static struct wtm_arena arena;

static struct wtm_pattern_set parse(const char *text)
{
    struct wtm_pattern_set set;
    complaint_count = 0;
    complaints[0] = 0;
    cr_assert_eq(wtm_patterns_parse(&set, text, "WTM_TIME", &arena, complain, complaints), 0);
    return set;
}

/* The list, split, with | between its parts. */
static const char *split(const char *list)
{
    static char out[512];
    out[0] = 0;
    for (size_t at = 0; list[at];) {
        size_t begin, length, next;
        wtm_split_next(list + at, &begin, &length, &next);
        cr_assert_gt(next, 0, "%s: no progress", list);
        snprintf(out + strlen(out), sizeof out - strlen(out), "%s%.*s", *out ? "|" : "", (int)length,
                 list + at + begin);
        at += next;
    }
    return out;
}

Test(patterns, splitting)
{
    static const struct {
        const char *list, *parts;
    } table[] = {
        {"a,b", "a|b"},
        {" a , b ", "a|b"},
        {"a", "a"},
        {"", ""},
        {"a,,b", "a||b"},
        {"f(int, int),g", "f(int, int)|g"},
        {"A<b, c>::d,g", "A<b, c>::d|g"},
        {"f(A<b, c>(*)(d, e)),g", "f(A<b, c>(*)(d, e))|g"},
        {"ns::operator<,g", "ns::operator<|g"},
        {"ns::operator<<,g", "ns::operator<<|g"},
        {"ns::operator->,g", "ns::operator->|g"},
        {"ns::operator,(A, B),g", "ns::operator,(A, B)|g"},
        {"ns::operator()(int, int),g", "ns::operator()(int, int)|g"},
        {"/a,b/,c", "/a,b/|c"},
        {"/a\\/,b/,c", "/a\\/,b/|c"},
        {"/a{1,2}/ , /b/", "/a{1,2}/|/b/"},
        {"!/a,b/,c", "!/a,b/|c"},
        {"lib.so:/a,b/,c", "lib.so:/a,b/|c"},
        {"/usr/lib/x.so:f,g", "/usr/lib/x.so:f|g"},
        {"/usr/lib/x.so:/a,b/,g", "/usr/lib/x.so:/a,b/|g"},
        {"/a:b,c/,d", "/a:b,c/|d"},
        {"f(int,g", "f(int|g"},
        {"A<b,g", "A<b|g"},
        {"f),g", "f)|g"},
        {"/a,b", "/a|b"},
        {"! a,b", "! a|b"},
        {"\ta,\nb", "a|b"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        cr_assert_str_eq(split(table[i].list), table[i].parts, "%s", table[i].list);
    cr_assert_eq(wtm_split_module("lib.so:f", 8), 6);
    cr_assert_eq(wtm_split_module("ns::f", 5), 0);
    cr_assert_eq(wtm_split_module("main:ns::f", 10), 4);
    cr_assert_eq(wtm_split_module("/usr/lib/x.so:f", 15), 13);
    cr_assert_eq(wtm_split_module("/x:y/", 5), 0, "a regular expression");
    cr_assert_eq(wtm_split_module(":f", 2), 0);
}

static void expect(const char *text, int kind, const char *module, const char *body)
{
    struct wtm_pattern_set set = parse(text);
    cr_assert_eq(set.count, 1, "%s: %zu, %s", text, set.count, complaints);
    cr_assert_eq(complaint_count, 0, "%s", complaints);
    cr_assert_eq(set.patterns[0].kind, kind, "%s: kind %d", text, set.patterns[0].kind);
    cr_assert_str_eq(set.patterns[0].text, text);
    cr_assert_eq(!set.patterns[0].module, !module, "%s", text);
    if (module)
        cr_assert_str_eq(set.patterns[0].module, module);
    if (body)
        cr_assert_str_eq(set.patterns[0].body, body);
}

Test(patterns, kinds)
{
    expect("malloc", WTM_PATTERN_NAME, NULL, "malloc");
    expect("_ZN2ns3addEii", WTM_PATTERN_NAME, NULL, "_ZN2ns3addEii");
    expect("str*", WTM_PATTERN_GLOB, NULL, "str*");
    expect("/^a(b|c)$/", WTM_PATTERN_REGEX, NULL, NULL);
    expect("ns::add", WTM_PATTERN_SPELLED, NULL, "ns::add");
    expect("add(int, int)", WTM_PATTERN_SPELLED, NULL, "add(int,int)");
    expect("::compute", WTM_PATTERN_NAME, NULL, "compute");
    expect("operator_name", WTM_PATTERN_NAME, NULL, "operator_name");
    expect("libc.so.6:malloc", WTM_PATTERN_NAME, "libc.so.6", "malloc");
    expect("lib*.so:mal*", WTM_PATTERN_GLOB, "lib*.so", "mal*");
    expect("main:ns::f", WTM_PATTERN_SPELLED, "main", "ns::f");
    expect("/usr/lib/libx.so:f", WTM_PATTERN_NAME, "/usr/lib/libx.so", "f");
    expect("x.so:/f/", WTM_PATTERN_REGEX, "x.so", NULL);
    expect("0x401234", WTM_PATTERN_ADDRESS, NULL, NULL);
    expect("libx.so+0x10=h", WTM_PATTERN_ADDRESS, "libx.so", NULL);
    expect("/usr/lib/libx.so+0x10=h", WTM_PATTERN_ADDRESS, "/usr/lib/libx.so", NULL);
}

Test(patterns, details)
{
    struct wtm_pattern_set set = parse("0x401234=my handle,0x10000000,4096,lib.so+0x1f,!foo,! bar*");
    cr_assert_eq(set.count, 6);
    cr_assert_eq(complaint_count, 0, "%s", complaints);
    cr_assert_eq(set.patterns[0].address, 0x401234);
    cr_assert_str_eq(set.patterns[0].handle, "my handle");
    cr_assert_eq(set.patterns[1].address, 0x10000000);
    cr_assert_str_eq(set.patterns[1].handle, "0x10000000", "shown as written");
    cr_assert_eq(set.patterns[2].address, 4096);
    cr_assert_eq(set.patterns[3].address, 0x1f);
    cr_assert_str_eq(set.patterns[3].handle, "lib.so+0x1f");
    cr_assert(set.patterns[4].exclude && set.patterns[4].kind == WTM_PATTERN_NAME);
    cr_assert(set.patterns[5].exclude && set.patterns[5].kind == WTM_PATTERN_GLOB);
    cr_assert_str_eq(set.patterns[5].body, "bar*");

    set = parse("ns::Box<int>::get() const,ns::f(char *),ns::f(*),ns::*::get,ns::operator*,ns::T[]::f*,"
                "ns::f(int, void (*)(int))");
    cr_assert_eq(set.count, 7);
    cr_assert_not(set.patterns[6].wild, "a pointer to a function");
    cr_assert(set.patterns[0].parameters && set.patterns[0].templates && set.patterns[0].qualified);
    cr_assert(set.patterns[1].parameters && !set.patterns[1].wild && !set.patterns[1].qualified);
    cr_assert_str_eq(set.patterns[1].body, "ns::f(char*)");
    cr_assert(set.patterns[2].wild, "a whole parameter");
    cr_assert(set.patterns[3].wild && !set.patterns[3].parameters);
    cr_assert_not(set.patterns[4].wild, "a name");
    cr_assert_str_eq(set.patterns[5].body, "ns::T\\[]::f*");
}

Test(patterns, complaints_do_not_stop_the_others)
{
    struct wtm_pattern_set set =
        parse("good,/(/,0x12zz,//,/x,x.so:,!,0x11112222333344445,@/nonexistent/file,last");
    cr_assert_eq(set.count, 2, "%s", complaints);
    cr_assert_str_eq(set.patterns[0].text, "good");
    cr_assert_str_eq(set.patterns[1].text, "last");
    cr_assert_eq(complaint_count, 8, "%s", complaints);
    cr_assert(strstr(complaints, "WTM_TIME: \"/(/\": a ( is not closed"), "%s", complaints);
    cr_assert(strstr(complaints, "\"0x12zz\": an address is a number"), "%s", complaints);
    cr_assert(strstr(complaints, "\"//\": the regular expression is empty"), "%s", complaints);
    cr_assert(strstr(complaints, "\"/x\": a /regular expression/ needs"), "%s", complaints);
    cr_assert(strstr(complaints, "\"@/nonexistent/file\": there is no such file"), "%s", complaints);
    cr_assert_eq(parse("").count, 0);
    cr_assert_eq(parse(" , ,").count, 0);
    cr_assert_eq(complaint_count, 0, "empty parts are nothing to complain about");

    char *endless = malloc(100001);
    memset(endless, '(', 100000);
    endless[100000] = 0;
    parse(endless);
    cr_assert_leq(strlen(complaints), 600);
    free(endless);
}

static void write_file(const char *path, const char *text, size_t length)
{
    FILE *file = fopen(path, "w");
    cr_assert(file);
    cr_assert_eq(fwrite(text, 1, length, file), length);
    fclose(file);
}

Test(patterns, files)
{
    static const char text[] =
        "# comment\nfirst # and more\n\n  ns::add(int, int)\t# two\nrun::{closure#0}\r\n!x\n@other\n"
        "last";
    char path[] = "/tmp/wtm-patterns-XXXXXX", list[64];
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    close(fd);
    write_file(path, text, sizeof text - 1);
    snprintf(list, sizeof list, "before,@%s,after", path);
    struct wtm_pattern_set set = parse(list);
    cr_assert_eq(set.count, 7);
    static const char *const expected[] = {"before", "first", "ns::add(int, int)", "run::{closure#0}", "!x",
                                           "last",   "after"};
    for (size_t i = 0; i < 7; i++)
        cr_assert_str_eq(set.patterns[i].text, expected[i]);
    cr_assert_eq(complaint_count, 1, "%s", complaints);
    cr_assert(strstr(complaints, "\"@other\": a file of patterns cannot name another one"), "%s", complaints);

    char *huge = malloc(2 << 20);
    memset(huge, 'x', 2 << 20);
    write_file(path, huge, 2 << 20);
    snprintf(list, sizeof list, "@%s", path);
    cr_assert_eq(parse(list).count, 0);
    cr_assert(strstr(complaints, "larger than 1 MiB"), "%s", complaints);
    unlink(path);
    free(huge);
    cr_assert_eq(parse("@/").count, 0, "a directory");
    cr_assert_eq(complaint_count, 1);
}
