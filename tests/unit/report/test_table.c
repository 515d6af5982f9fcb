/* SPDX-License-Identifier: MIT
 * The table, word for word, and what must hold for any table. */
#include "common/status.h"
#include "common/table.h"
#include "profile_builder.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static char printed[1 << 20];
static size_t printed_bytes;
static struct wtm_arena arena;
static struct wtm_summary summary;

static int sink(void *context, const char *text, size_t bytes)
{
    cr_assert_lt(printed_bytes + bytes, sizeof printed);
    memcpy(printed + printed_bytes, text, bytes);
    printed_bytes += bytes;
    return 0;
}

static const char *print_with(const struct profile_builder *builder, struct wtm_table_options options)
{
    struct wtm_profile profile = builder_profile(builder);
    char small[7];
    struct wtm_text text;
    wtm_arena_free(&arena);
    cr_assert_eq(wtm_summary_build(&summary, &profile, 1, 0, &arena), 0);
    printed_bytes = 0;
    wtm_text_init(&text, small, sizeof small, sink, NULL);
    cr_assert_eq(wtm_table_print(&text, &summary, &options), 0);
    printed[printed_bytes] = 0;
    return printed;
}

static const char *print(const struct profile_builder *builder)
{
    return print_with(builder, (struct wtm_table_options){.width = 80});
}

static void check_lines(const char *table, size_t width)
{
    while (*table) {
        char line[4096];
        size_t length = strcspn(table, "\n");
        cr_assert_lt(length, sizeof line);
        memcpy(line, table, length);
        line[length] = 0;
        cr_assert_leq(wtm_text_name_columns(line), width, "%s", line);
        cr_assert(!length || line[length - 1] != ' ', "blank at the end: '%s'", line);
        for (size_t i = 0; i < length; i++)
            cr_assert((unsigned char)line[i] >= 0x20 && line[i] != 0x7f);
        cr_assert(table[length] == '\n', "the last line has no end");
        table += length + 1;
    }
}

/* 2 GHz, 10 ns inside and 8 ns outside, +- 0.3. */
static void open_measured(struct profile_builder *b)
{
    builder_open(b, 1 << 24);
    builder_header(b)->cost = (struct wtm_cost){
        .inside = 20 * 256, .outside = 16 * 256, .recursive = 4 * 256, .spread_inside = 154};
}

static void add_calls(struct wtm_cell *cell, unsigned count, int64_t ticks)
{
    while (count--)
        cell_call(cell, ticks);
}

Test(table, golden)
{
    struct profile_builder b;
    open_measured(&b);
    uint32_t step = builder_function(&b, "sqlite3_step", "/usr/bin/sqlite3", 0x100);
    uint32_t next = builder_function(&b, "sqlite3BtreeNext", "/usr/bin/sqlite3", 0x200);
    uint32_t alloc = builder_function(&b, "malloc", "/usr/lib/libc.so.6", 0x300);
    builder_function(&b, "sqlite3VdbeHalt", "/usr/bin/sqlite3", 0x400);
    uint32_t thread = builder_thread(&b);
    struct wtm_cell *cell = builder_cell(&b, step, thread);
    add_calls(cell, 1500, 1078000);
    add_calls(cell, 7, 2620000);
    cell->self = 344000000;
    cell->recursive = 21;
    cell->entered++; /* open */
    cell = builder_cell(&b, next, thread);
    add_calls(cell, 214880, 5960);
    cell->subtracted = 214880 * 20;
    cell->abnormal = 2;
    cell->entered += 2;
    cell = builder_cell(&b, alloc, thread);
    add_calls(cell, 98112, 96);
    cell->subtracted = 98112 * 20;
    struct wtm_switched *switched = builder_switched(&b, cell);
    stats_add(&switched->real, 20000000);
    stats_add(&switched->run, 100);
    cell->entered++;
    struct wtm_edges_chunk *edges = builder_edges(&b, thread, 1);
    edges->edges[0] = (struct wtm_edge){step, next, 214880, 1280000000};
    edges->count = 1;
    builder_missing(&b, "sqlite3BtreNext", "sqlite3BtreeNext");
    builder_missing(&b, "sqlite_step", "sqlite3_step\nsqlite3_stmt\nsqlite3_reset");
    builder_refused(&b, "vfork", "/usr/lib/libc.so.6", 0x500, WTM_REFUSED_POPS_RETURN);
    builder_note(&b,
                 "a library that was loaded at 0.3 s could not be read: its functions are not in this table");
    const char *table = print(&b);
    check_lines(table, 80);
    cr_assert_str_eq(table,
                     "wtm: sqlite3 (pid 4242) ran 1.284 s; 4 functions timed, 2 not found, 1 refused\n"
                     "wtm: clock tsc 2.000 GHz (trusted), runtime by rseq; 10.0 ns inside and 8.0 ns\n"
                     "     outside each call (+-0.3) were subtracted; timing took 5.7 ms, 0.4 % of the\n"
                     "     run\n"
                     "\n"
                     "                           realtime -----------------------------  runtime\n"
                     "function            calls   total    self    mean     p50     p99  total  %wall\n"
                     "sqlite3_step        1,529   818ms   172ms   543us   539us   539us  818ms   63.7\n"
                     "sqlite3BtreeNext  214,882   640ms   640ms  2.98us  2.98us  2.98us  640ms   49.9\n"
                     "malloc             98,113  14.7ms  4.7ms+   150ns    49ns    49ns  4.7ms    1.1\n"
                     "  + near the noise of the measurement (+-0.3 ns a call)\n"
                     "\n"
                     "recursive            sqlite3_step 21 of 1,529 calls\n"
                     "abnormal             sqlite3BtreeNext 2 of 214,882 calls left by longjmp,\n"
                     "                       exception or end of thread\n"
                     "still open           sqlite3_step 1 of 1,529 calls\n"
                     "callers              sqlite3_step -> sqlite3BtreeNext 214,880 calls 640ms\n"
                     "never called         sqlite3VdbeHalt\n"
                     "not found            sqlite3BtreNext: did you mean sqlite3BtreeNext?\n"
                     "                     sqlite_step: did you mean sqlite3_step, sqlite3_stmt or\n"
                     "                       sqlite3_reset?\n"
                     "refused              vfork: pops its own return address\n"
                     "note                 a library that was loaded at 0.3 s could not be read: its\n"
                     "                       functions are not in this table\n");
    builder_close(&b);
}

/* Whatever a profile says, no line is wider than asked for, and no escape reaches the terminal. */
Test(table, hostile_names_and_numbers)
{
    static const char *const names[] = {
        "\x1b]0;owned\x07\x1b[2J",
        "quote\"comma,newline\nreturn\rtab\t",
        "\xff\xfe broken \xc3",
        "a b c d e f g h i j k l",
        "std::map<std::string, std::vector<int, std::allocator<int> >, std::less<>>::at(std::string&)",
        "\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2\xe5\xad\x97 wide",
        "e\xcc\x81 combining",
        "\xe2\x80\xae reversed",
        "",
        "%s%n%d",
    };
    struct profile_builder b;
    open_measured(&b);
    uint32_t thread = builder_thread(&b);
    char endless[3000];
    memset(endless, 'x', sizeof endless - 1);
    endless[sizeof endless - 1] = 0;
    memset(builder_header(&b)->program, '\x1b', sizeof builder_header(&b)->program);
    for (size_t i = 0; i <= sizeof names / sizeof *names; i++) {
        const char *name = i < sizeof names / sizeof *names ? names[i] : endless;
        uint32_t f = builder_function(&b, name, name, i);
        struct wtm_cell *cell = builder_cell(&b, f, thread);
        cell_call(cell, 1000);
        cell->recursive = cell->abnormal = cell->late = cell->entered = 77;
        if (i == 3) { /* counts and sums of a damaged file */
            cell->entered = cell->recursive = cell->abnormal = UINT64_MAX / 2;
            cell->steady.sum = INT64_MAX;
            cell->steady.max = INT64_MAX;
            cell->self = INT64_MIN;
            cell->subtracted = INT64_MIN;
        }
        if (i == 4)
            cell->steady.sum = -1234567890123456789;
        builder_missing(&b, name, i % 2 ? name : "\n\n,\n");
        builder_refused(&b, name, name, i, 1000);
        builder_note(&b, name);
        struct wtm_edges_chunk *edges = builder_edges(&b, thread, 1);
        edges->edges[0] = (struct wtm_edge){f, 1 + (uint32_t)i / 2, UINT64_MAX, INT64_MIN};
        edges->count = 1;
    }
    for (int width = 0; width < 260; width += 13) {
        check_lines(print_with(&b, (struct wtm_table_options){.width = width}),
                    width < 80 ? 80 : (size_t)width);
        check_lines(print_with(&b, (struct wtm_table_options){.width = width, .verbose = 1}),
                    width < 80 ? 80 : (size_t)width);
    }
    cr_assert(strstr(printed, "\\x1b]0;owned\\x07\\x1b[2J"));
    cr_assert(strstr(printed, "%s%n%d"));
    builder_close(&b);
}

Test(table, one_line_when_nothing_was_called)
{
    struct profile_builder b;
    open_measured(&b);
    cr_assert_str_eq(print(&b), "wtm: sqlite3 (pid 4242) ran 1.284 s; no function timed\n");
    builder_missing(&b, "fooo", "foo\nfo");
    cr_assert_str_eq(print(&b),
                     "wtm: sqlite3 (pid 4242) ran 1.284 s; no function timed, not found: fooo (did you mean "
                     "foo?)\n");
    builder_function(&b, "foo", "m", 1);
    builder_refused(&b, "vfork", "libc", 1, WTM_REFUSED_POPS_RETURN);
    builder_missing(&b, "barr", NULL);
    builder_header(&b)->end_monotonic_ns = builder_header(&b)->start_monotonic_ns + 12345678;
    cr_assert_str_eq(print(&b),
                     "wtm: sqlite3 (pid 4242) ran 12.3 ms; no call of the 1 function timed, not found: fooo "
                     "(did you mean foo?) and 1 more, 1 refused\n");
    cr_assert(strstr(print_with(&b, (struct wtm_table_options){.width = 80, .verbose = 1}),
                     "not found            fooo"));
    check_lines(printed, 80);
    builder_close(&b);
}

Test(table, columns_by_width_and_state)
{
    struct profile_builder b;
    open_measured(&b);
    uint32_t thread = builder_thread(&b), f = builder_function(&b, "f", "/usr/lib/libz.so.1", 1);
    struct wtm_cell *cell = builder_cell(&b, f, thread);
    add_calls(cell, 10, 4000000);
    cr_assert(strstr(print(&b), "f            10  20.0ms  20.0ms  2.00ms  2.00ms  2.00ms  20.0ms    1.6\n"));
    cr_assert(!strstr(printed, "recursive"));
    print_with(&b, (struct wtm_table_options){.width = 200});
    cr_assert(strstr(printed, "deviation") && strstr(printed, "module") && strstr(printed, "p99.9"));
    cr_assert(!strstr(printed, "recursive")); /* nothing to tell */
    check_lines(printed, 200);
    cell->recursive = 4;
    print_with(&b, (struct wtm_table_options){.width = 200});
    cr_assert(strstr(printed, "  recursive  ")); /* a column now, and no line below */
    cr_assert(!strstr(printed, "4 of 14"));
    cr_assert(strstr(print(&b), "recursive            f 4 of 14 calls\n"));
    print_with(&b, (struct wtm_table_options){.width = 80, .wide = 1});
    cr_assert(strstr(printed, "recursive  abnormal  open  untimed") && strstr(printed, "libz.so.1\n"));

    builder_header(&b)->cpu_source = WTM_CPU_OFF;
    builder_header(&b)->clock_trusted = 0;
    strcpy(builder_header(&b)->clock_note, "it runs backwards");
    builder_header(&b)->state = WTM_PROFILE_RUNNING;
    print(&b);
    cr_assert(strstr(printed, "runtime off;"));
    cr_assert(strstr(printed, "2.00ms    off    1.6\n"));
    cr_assert(strstr(printed, "(not trusted: it runs backwards)"));
    cr_assert(strstr(printed, "has run 1.284 s"));
    builder_header(&b)->clock = WTM_CLOCK_MONOTONIC;
    cr_assert(strstr(print(&b), "clock monotonic"));
    builder_close(&b);
}

Test(table, below_the_noise)
{
    struct profile_builder b;
    open_measured(&b);
    uint32_t thread = builder_thread(&b);
    struct wtm_cell *tiny = builder_cell(&b, builder_function(&b, "tiny", "m", 1), thread);
    struct wtm_cell *negative = builder_cell(&b, builder_function(&b, "negative", "m", 2), thread);
    for (int i = 0; i < 1000; i++) {
        cell_call(tiny, i % 2);
        cell_call(negative, -8);
    }
    tiny->subtracted = negative->subtracted = 20000;
    print(&b);
    cr_assert(
        strstr(printed, "tiny      1,000  <300ns+  <300ns+  <0.3ns")); /* 0.25 ns where 0.3 ns are noise */
    cr_assert(strstr(printed, "negative  1,000    -4us+    -4us+    -4ns")); /* told, not hidden */
    builder_close(&b);
}

Test(table, long_lists)
{
    struct profile_builder b;
    open_measured(&b);
    uint32_t thread = builder_thread(&b), first = 0;
    for (int i = 0; i < 40; i++) {
        char name[32], no[32];
        snprintf(name, sizeof name, "function%02d", i);
        snprintf(no, sizeof no, "no%02d", i);
        uint32_t f = builder_function(&b, name, "/bin/app", (uint64_t)i);
        first = first ? first : f;
        builder_refused(&b, no, "/bin/app", (uint64_t)i,
                        i < 30 ? WTM_REFUSED_TOO_SHORT : WTM_REFUSED_BRANCH_INSIDE);
        builder_missing(&b, name, NULL);
        if (i >= 20)
            continue;
        struct wtm_cell *cell = builder_cell(&b, f, thread);
        add_calls(cell, 1, 1000000 - i);
        cell->recursive = 1;
        struct wtm_edges_chunk *edges = builder_edges(&b, thread, 1);
        edges->edges[0] = (struct wtm_edge){f, first, 1, 1000 + i * 1000};
        edges->count = 1;
    }
    print(&b);
    check_lines(printed, 80);
    cr_assert(strstr(printed, "refused              no00 and 29 more: too short"));
    cr_assert(strstr(printed, "\n                     no30 and 9 more: a branch from elsewhere"));
    cr_assert(strstr(printed, "not found            function00\n"));
    cr_assert(strstr(printed, "                     and 30 more\n"));
    cr_assert(strstr(printed,
                     "never called         function20, function21, function22, function23, function24\n"
                     "                       and 15 more\n"));
    cr_assert(strstr(printed,
                     "callers              function19 -> function00 1 call 10.0us\n")); /* heaviest first */
    cr_assert(strstr(printed, "recursive            function00 1 of 2 calls\n"));
    cr_assert(!strstr(printed, "function05 ->"));
    print_with(&b, (struct wtm_table_options){.width = 80, .all_callers = 1, .top = 3});
    cr_assert(strstr(printed, "function05 -> function00"));
    cr_assert(strstr(printed, "  and 17 more functions\n"));
    cr_assert(!strstr(printed, "\nfunction03 "));
    print_with(&b, (struct wtm_table_options){.width = 80, .verbose = 1});
    cr_assert(strstr(printed, "\nfunction39 "));
    cr_assert(!strstr(printed, "never called"));
    cr_assert(strstr(printed, "                     no39: a branch"));
    check_lines(printed, 80);
    builder_close(&b);
}
