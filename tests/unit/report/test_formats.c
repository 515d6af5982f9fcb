/* SPDX-License-Identifier: MIT
 * JSON read back by json-c, CSV read back by a reader written here, orders of rows, option tables. */
#include "common/status.h"
#include "profile_builder.h"
#include "report/json_writer.h"
#include "report/options.h"
#include "report/printers.h"
#include "report/rows.h"
#include <criterion/criterion.h>
#include <json-c/json.h>
#include <math.h>
#include <stdlib.h>
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
    printed[printed_bytes] = 0;
    return 0;
}

static void print_with(wtm_printer *printer, const struct profile_builder *builder, const char *sort,
                       size_t top)
{
    struct wtm_profile profile = builder_profile(builder);
    char small[5];
    struct wtm_text text;
    wtm_arena_free(&arena);
    cr_assert_eq(wtm_summary_build(&summary, &profile, 1, 0, &arena), 0);
    if (sort)
        cr_assert_eq(wtm_rows_sort(&summary, sort), 0);
    printed_bytes = 0;
    wtm_text_init(&text, small, sizeof small, sink, NULL);
    cr_assert_eq(printer(&text, &summary, &(struct wtm_table_options){.top = top}), 0);
}

static struct json_object *member(struct json_object *object, const char *path)
{
    char copy[128], *save = NULL;
    strcpy(copy, path);
    for (char *key = strtok_r(copy, ".", &save); key; key = strtok_r(NULL, ".", &save)) {
        struct json_object *next;
        cr_assert(json_object_object_get_ex(object, key, &next), "no %s in %s", key, path);
        object = next;
    }
    return object;
}

static double number(struct json_object *object, const char *path)
{
    struct json_object *value = member(object, path);
    cr_assert(json_object_is_type(value, json_type_double) || json_object_is_type(value, json_type_int), "%s",
              path);
    return json_object_get_double(value);
}

static const char *string(struct json_object *object, const char *path)
{
    struct json_object *value = member(object, path);
    cr_assert(json_object_is_type(value, json_type_string), "%s", path);
    return json_object_get_string(value);
}

/* Strict: nothing behind it, no invalid UTF-8. */
static struct json_object *parse(void)
{
    struct json_tokener *tokener = json_tokener_new();
    json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
    struct json_object *object = json_tokener_parse_ex(tokener, printed, (int)printed_bytes);
    cr_assert_eq(json_tokener_get_error(tokener), json_tokener_success, "%s\n%s",
                 json_tokener_error_desc(json_tokener_get_error(tokener)), printed);
    json_tokener_free(tokener);
    return object;
}

static const char *const hostile[] = {
    "\x1b[2J", "a\"b,c\nd\re\tf\\g", "\xff\xfe\xc3(", "\302\23331m",  "\xe6\xbc\xa2", "plain", "", " lead",
    "x;y",     "\xf0\x9f\x98\x80",   "\xed\xa0\x80",  "cut \xe6\xbc",
};
enum { HOSTILE = sizeof hostile / sizeof *hostile };

static void fill(struct profile_builder *b)
{
    builder_open(b, 1 << 24);
    builder_header(b)->cost = (struct wtm_cost){
        .inside = 20 * 256, .outside = 16 * 256, .recursive = 4 * 256, .spread_inside = 128};
    uint32_t f = builder_function(b, "work", "/bin/app", 0x10),
             g = builder_function(b, "inner", "/bin/app", 0x20);
    uint32_t thread = builder_thread(b);
    builder_function(b, "idle", "/bin/app", 0x30);
    struct wtm_cell *cell = builder_cell(b, f, thread);
    cell_call(cell, 2000);
    cell_call(cell, 4001);
    cell->recursive = 3;
    cell->late = 1;
    cell->abnormal = 2;
    cell->entered += 1 + 2 + 4;
    cell_call(builder_cell(b, g, thread), 500);
    struct wtm_edges_chunk *edges = builder_edges(b, thread, 1);
    edges->edges[0] = (struct wtm_edge){f, g, 1, 500};
    edges->count = 1;
    builder_refused(b, "vfork", "libc.so.6", 0x7f0000001000, WTM_REFUSED_POPS_RETURN);
    builder_missing(b, "wrok", "work\nworm");
    builder_note(b, "a note");
}

Test(json, schema_and_values)
{
    struct profile_builder b;
    fill(&b);
    print_with(wtm_print_json, &b, NULL, 0);
    struct json_object *root = parse();
    cr_assert_str_eq(string(root, "schema"), "wtm-report/1");
    cr_assert_eq(number(root, "process.pid"), 4242);
    cr_assert_str_eq(string(root, "process.program"), "sqlite3");
    cr_assert_eq(number(root, "process.wall_ns"), 1284e6);
    cr_assert_str_eq(string(root, "clock.source"), "tsc");
    cr_assert_eq(json_object_get_boolean(member(root, "clock.trusted")), 1);
    cr_assert_eq(number(root, "clock.hz"), 2e9);
    cr_assert_str_eq(string(root, "cpu.source"), "rseq");
    cr_assert_eq(number(root, "cost.inside_ns"), 10);
    cr_assert_eq(number(root, "cost.outside_ns"), 8);
    cr_assert_eq(number(root, "cost.spread_ns"), 0.25);
    cr_assert_eq(number(root, "cost.recursive_ns"), 2);
    struct json_object *functions = member(root, "functions");
    cr_assert_eq(json_object_array_length(functions), 3);
    struct json_object *work = json_object_array_get_idx(functions, 0);
    cr_assert_str_eq(string(work, "name"), "work");
    cr_assert_str_eq(string(work, "mangled"), "work");
    cr_assert_str_eq(string(work, "module"), "/bin/app");
    cr_assert_str_eq(string(work, "address"), "0x555500000010");
    cr_assert_eq(number(work, "calls"), 12);
    cr_assert_eq(number(work, "recursive"), 3);
    cr_assert_eq(number(work, "abnormal"), 2);
    cr_assert_eq(number(work, "open"), 4);
    cr_assert_eq(number(work, "late"), 1);
    static const struct {
        const char *name;
        double value, error;
    } times[] = {{"total_ns", 3000.5, 0}, {"mean_ns", 1500.25, 0},  {"min_ns", 1000, 0},
                 {"max_ns", 2000.5, 0},   {"stddev_ns", 500.25, 0}, {"p50_ns", 1000, 30},
                 {"p90_ns", 2000.5, 60},  {"p99_ns", 2000.5, 60},   {"p999_ns", 2000.5, 60}};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        cr_assert_float_eq(number(member(work, "realtime"), times[i].name), times[i].value,
                           times[i].error + 1e-9);
        cr_assert_float_eq(number(member(work, "runtime"), times[i].name), times[i].value,
                           times[i].error + 1e-9);
    }
    cr_assert_float_eq(number(work, "realtime.self_ns"), 3000.5, 1e-9);
    cr_assert_eq(json_object_array_length(member(work, "callers")), 0);
    cr_assert_eq(json_object_array_length(member(work, "slow")), 0);
    cr_assert_eq(json_object_array_length(member(work, "samples_ns")), 0);
    struct json_object *caller =
        json_object_array_get_idx(member(json_object_array_get_idx(functions, 1), "callers"), 0);
    cr_assert_str_eq(string(caller, "name"), "work");
    cr_assert_eq(number(caller, "calls"), 1);
    cr_assert_eq(number(caller, "realtime_ns"), 250);
    struct json_object *idle = json_object_array_get_idx(functions, 2);
    cr_assert_eq(number(idle, "calls"), 0);
    cr_assert(json_object_is_type(member(idle, "realtime.mean_ns"), json_type_null)); /* of nothing */
    struct json_object *refused = json_object_array_get_idx(member(root, "refused"), 0);
    cr_assert_str_eq(string(refused, "name"), "vfork");
    cr_assert_str_eq(string(refused, "module"), "libc.so.6");
    cr_assert_str_eq(string(refused, "address"), "0x7f0000001000");
    cr_assert_str_eq(string(refused, "reason"), "pops its own return address");
    struct json_object *missing = json_object_array_get_idx(member(root, "not_found"), 0);
    cr_assert_str_eq(string(missing, "pattern"), "wrok");
    cr_assert_eq(json_object_array_length(member(missing, "near")), 2);
    cr_assert_str_eq(json_object_get_string(json_object_array_get_idx(member(missing, "near"), 1)), "worm");
    json_object_put(root);

    builder_header(&b)->cpu_source = WTM_CPU_OFF;
    builder_header(&b)->clock = WTM_CLOCK_MONOTONIC;
    print_with(wtm_print_json, &b, NULL, 1);
    root = parse();
    cr_assert_eq(json_object_array_length(member(root, "functions")), 1);
    work = json_object_array_get_idx(member(root, "functions"), 0);
    cr_assert(
        json_object_is_type(member(work, "runtime.total_ns"), json_type_null)); /* not measured is not 0 */
    cr_assert_str_eq(string(root, "cpu.source"), "off");
    cr_assert_str_eq(string(root, "clock.source"), "monotonic");
    json_object_put(root);
    builder_close(&b);
}

static void fill_hostile(struct profile_builder *b)
{
    builder_open(b, 1 << 24);
    uint32_t thread = builder_thread(b);
    memcpy(builder_header(b)->program, "\x1b\xff\"", 4);
    for (int i = 0; i < HOSTILE; i++) {
        struct wtm_cell *cell =
            builder_cell(b, builder_function(b, hostile[i], hostile[i], (uint64_t)i), thread);
        cell_call(cell, 100000 - i); /* keeps the order */
        builder_refused(b, hostile[i], hostile[i], 1, 1);
        builder_missing(b, hostile[i], hostile[i]);
        builder_note(b, hostile[i]);
    }
}

Test(json, hostile_names)
{
    struct profile_builder b;
    fill_hostile(&b);
    print_with(wtm_print_json, &b, NULL, 0);
    for (size_t i = 0; i < printed_bytes; i++)
        cr_assert((unsigned char)printed[i] >= 0x20 || printed[i] == '\n');
    struct json_object *root = parse();
    struct json_object *functions = member(root, "functions");
    cr_assert_eq(json_object_array_length(functions), HOSTILE);
    static const char *const expected[HOSTILE] = {[2] = "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd(",
                                                  [10] = "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd",
                                                  [11] = "cut \xef\xbf\xbd\xef\xbf\xbd"};
    for (int i = 0; i < HOSTILE; i++) {
        struct json_object *function = json_object_array_get_idx(functions, (size_t)i);
        cr_assert_str_eq(string(function, "name"), expected[i] ? expected[i] : hostile[i]);
    }
    json_object_put(root);
    builder_close(&b);
}

Test(json, numbers)
{
    static const struct {
        double value;
        const char *expected;
    } cases[] = {{0, "0"},
                 {1.5, "1.5"},
                 {100, "100"},
                 {-0.0004, "0"},
                 {1e22, "10000000000000000000000"},
                 {NAN, "null"},
                 {INFINITY, "null"},
                 {-12.3456, "-12.346"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char buffer[64];
        struct wtm_text text;
        struct wtm_json json;
        wtm_text_init(&text, buffer, sizeof buffer - 1, NULL, NULL);
        wtm_json_begin(&json, &text);
        wtm_json_decimal(&json, NULL, cases[i].value);
        buffer[text.used] = 0;
        cr_assert_str_eq(buffer, cases[i].expected);
    }
}

/* Reads one field of RFC 4180; gives where the next begins. */
static const char *read_field(const char *at, char *field)
{
    int quoted = *at == '"';
    at += quoted;
    for (;; at++) {
        if (quoted && at[0] == '"' && at[1] == '"')
            at++;
        else if (quoted && at[0] == '"')
            break;
        else if (!quoted && (*at == ',' || *at == '\n'))
            break;
        cr_assert(*at, "no end");
        *field++ = *at;
    }
    *field = 0;
    at += quoted;
    cr_assert(*at == ',' || *at == '\n', "'%.20s'", at);
    return at;
}

Test(csv, read_back)
{
    struct profile_builder b;
    fill_hostile(&b);
    print_with(wtm_print_csv, &b, NULL, 0);
    const char *at = printed;
    int columns = 0, titles = 0;
    for (int line = 0; *at; line++) {
        char name[256], field[256];
        columns = 0;
        for (;; at++) {
            at = read_field(at, columns ? field : name);
            if (columns == 4 && line)
                cr_assert_str_eq(field, "1"); /* calls */
            if (columns == 9 && line)
                cr_assert_float_eq(atof(field), (100000 - (line - 1)) / 2.0, 1e-6); /* realtime_total_ns */
            columns++;
            if (*at == '\n')
                break;
        }
        at++;
        if (!line) {
            titles = columns;
            cr_assert_str_eq(name, "name");
            continue;
        }
        cr_assert_eq(columns, titles, "line %d", line);
        static const char *const expected[HOSTILE] = {
            "\\x1b[2J",      "a\"b,c\\x0ad\\x0de\\x09f\\g", "\\xff\\xfe\\xc3(",
            "\\xc2\\x9b31m", [10] = "\\xed\\xa0\\x80",      [11] = "cut \\xe6\\xbc"};
        cr_assert_str_eq(name, expected[line - 1] ? expected[line - 1] : hostile[line - 1]);
    }
    cr_assert_eq(titles, 29);
    builder_close(&b);

    fill(&b);
    builder_header(&b)->cpu_source = WTM_CPU_OFF;
    print_with(wtm_print_csv, &b, NULL, 0);
    cr_assert(strstr(printed, "\nwork,work,/bin/app,0x555500000010,12,3,2,4,1,3000.500,3000.500,1500.250,"));
    cr_assert(strstr(
        printed, "\nidle,idle,/bin/app,0x555500000030,0,0,0,0,0,,,,,,,,,,,,,,,,,,,,\n")); /* empty: none */
    builder_close(&b);
}

Test(rows, orders)
{
    struct profile_builder b;
    builder_open(&b, 1 << 24);
    uint32_t thread = builder_thread(&b);
    struct wtm_cell *often = builder_cell(&b, builder_function(&b, "often", "m", 1), thread);
    struct wtm_cell *slow = builder_cell(&b, builder_function(&b, "slow", "m", 2), thread);
    struct wtm_cell *all = builder_cell(&b, builder_function(&b, "all", "m", 3), thread);
    for (int i = 0; i < 50; i++)
        cell_call(often, 10 + i);
    cell_call(slow, 3000);
    cell_call(all, 2500);
    cell_call(all, 2500);
    all->self = 1;
    static const struct {
        const char *key, *first, *last;
    } cases[] = {{"total", "all", "often"}, {"self", "slow", "all"},     {"calls", "often", "slow"},
                 {"mean", "slow", "often"}, {"name", "all", "slow"},     {"deviation", "often", "slow"},
                 {"max", "slow", "often"},  {"runtime", "all", "often"}, {"min", "slow", "often"},
                 {"p50", "slow", "often"},  {"p90", "slow", "often"},    {"p99", "slow", "often"},
                 {"p99.9", "slow", "often"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        print_with(wtm_print_csv, &b, cases[i].key, 0);
        cr_assert_str_eq(summary.rows[0].name, cases[i].first, "%s", cases[i].key);
        cr_assert_str_eq(summary.rows[2].name, cases[i].last, "%s", cases[i].key);
        cr_assert(strstr(wtm_rows_sort_keys, cases[i].key));
    }
    cr_assert_lt(wtm_rows_sort(&summary, "bogus"), 0);
    builder_close(&b);
}

struct values {
    int flag;
    const char *text, *list;
    size_t number;
};
static const struct wtm_option options[] = {
    {'f', "flag", WTM_OPTION_FLAG, offsetof(struct values, flag), NULL, "a flag"},
    {'t', "text", WTM_OPTION_TEXT, offsetof(struct values, text), "TEXT", "a text"},
    {'l', "list", WTM_OPTION_LIST, offsetof(struct values, list), "LIST", "a list"},
    {0, "number", WTM_OPTION_NUMBER, offsetof(struct values, number), "N", "a number"},
};
static struct wtm_command command = {
    .name = "test", .operands = "", .description = "", .options = options, .option_count = 4};

static int parse_options(struct values *values, int count, const char *const *words)
{
    static char *argv[16];
    memset(values, 0, sizeof *values);
    argv[0] = strdup("test");
    for (int i = 0; i < count; i++)
        argv[i + 1] = strdup(words[i]);
    argv[count + 1] = NULL;
    return wtm_options_parse(&command, count + 1, argv, values);
}
#define PARSE(...)                                                                                           \
    parse_options(&values, sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *),                           \
                  (const char *[]){__VA_ARGS__})

Test(options, parsing)
{
    struct values values;
    command.stops = 0;
    cr_assert_eq(PARSE("a", "-f", "b", "--text", "x", "--number=42", "-", "-l", "1", "--list=2,3", "-l4"), 3);
    cr_assert(values.flag == 1 && values.number == 42);
    cr_assert_str_eq(values.text, "x");
    cr_assert_str_eq(values.list, "1,2,3,4");
    cr_assert_eq(PARSE("-ffty", "--", "-f"), 1);
    cr_assert_eq(values.flag, 2);
    cr_assert_str_eq(values.text, "y");
    cr_assert_eq(PARSE("--text="), 0);
    cr_assert_str_eq(values.text, "");
    command.stops = 1;
    cr_assert_eq(PARSE("-f", "program", "-f", "--text", "--help"), 4);
    cr_assert_eq(values.flag, 1);
    cr_assert_eq(PARSE("--", "-f"), 1);
    cr_assert_eq(values.flag, 0);
    command.stops = 0;
    cr_assert_eq(PARSE("--nope"), -2);
    cr_assert_eq(PARSE("--fla"), -2);
    cr_assert_eq(PARSE("-x"), -2);
    cr_assert_eq(PARSE("--text"), -2);
    cr_assert_eq(PARSE("-t"), -2);
    cr_assert_eq(PARSE("--flag=1"), -2);
    cr_assert_eq(PARSE("--number=x"), -2);
    cr_assert_eq(PARSE("--number=-1"), -2);
    cr_assert_eq(PARSE("--number="), -2);
    cr_assert_eq(PARSE("--number=99999999999999999999999"), -2);
    cr_assert_eq(PARSE("--help"), -1);
    cr_assert_eq(wtm_options_exit(-1), WTM_EXIT_OK);
    cr_assert_eq(wtm_options_exit(-2), WTM_EXIT_USAGE);
}
