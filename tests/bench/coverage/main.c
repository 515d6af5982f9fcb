/* SPDX-License-Identifier: MIT
 * How many functions of real objects can be timed, by which kind of patch, and why the others cannot.
 *
 *   measure-coverage [--names] [OBJECT...]
 *
 * --names also lists each function that is refused, by its kind or by the patcher.
 * Nothing is run and nothing is written into text: each object is mapped, its symbols are read (separate debug files
 * included) and the patcher decides on all functions, one request for each address that some symbol names. */
#include "tests/differential/mapped.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_OBJECTS = 32, METHODS = 5, LABEL_WIDTH = 34, COLUMN_WIDTH = 12 };

static const char *const defaults[] = {
    "/usr/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
    "/usr/lib/x86_64-linux-gnu/libcrypto.so.3", "/usr/lib/x86_64-linux-gnu/libsqlite3.so.0", "/usr/bin/sqlite3",
    "/usr/bin/python3.11", "/usr/bin/gdb", "/bin/bash", "/usr/bin/node"};

static int with_names;

struct coverage {
    const char *name;
    int is_measured;
    unsigned symbols, functions, long_enough, debug_symbols;
    unsigned patched[METHODS], patched_all, patched_long;
    unsigned not_functions[WTM_REFUSAL_COUNT], by_name[WTM_REFUSAL_COUNT], by_patcher[WTM_REFUSAL_COUNT];
    double prepare_ms;
};

static double milliseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

/* Symbols of type "function" that are none: the code that a compiler moved away from its function; the resolvers of IFUNC
 * symbols, which only the loader runs (the bodies that they choose are functions of their own); V8's builtins, which are code
 * of its own making with conventions of its own; and where the kernel enters a program or returns from a signal handler. */
static int is_no_function(const struct mapped_function *function)
{
    return function->refusal == WTM_REFUSED_COLD_PART || function->refusal == WTM_REFUSED_RESOLVER ||
           (function->refusal == WTM_REFUSED_OWN_CONVENTION &&
            (!strcmp(function->name, "_start") || !strcmp(function->name, "__restore_rt"))) ||
           (function->refusal == WTM_REFUSED_STACK_WALKER && !strncmp(function->name, "Builtins_", 9));
}

static void tell(const struct coverage *coverage, const struct mapped_function *function, enum wtm_refusal refusal)
{
    if (with_names && !is_no_function(function))
        printf("%s: %s (%zu bytes): %s\n", coverage->name, function->name, function->size, wtm_refusal_name(refusal));
}

static void count(const struct mapped_function *function, const struct wtm_patch_request *request,
                  struct coverage *coverage)
{
    unsigned is_long = function->size >= 5;
    coverage->symbols++;
    if (is_no_function(function)) {
        coverage->not_functions[function->refusal]++;
        return;
    }
    coverage->functions++;
    coverage->long_enough += is_long;
    if (function->refusal != WTM_REFUSED_NONE) {
        coverage->by_name[function->refusal]++;
        tell(coverage, function, function->refusal);
    } else if (request->refusal != WTM_REFUSED_NONE) {
        coverage->by_patcher[request->refusal]++;
        tell(coverage, function, request->refusal);
    } else {
        coverage->patched[request->patch->method]++;
        coverage->patched_all++;
        coverage->patched_long += is_long;
    }
}

static void measure(const char *path, struct coverage *coverage)
{
    struct mapped *mapped = calloc(1, sizeof *mapped);
    if (!mapped || mapped_open(mapped, path))
        return;
    size_t most = mapped->function_count, wanted = 0;
    struct wtm_patch_request *requests = calloc(most, sizeof *requests);
    struct wtm_patch *patches = calloc(most, sizeof *patches);
    for (size_t i = 0; i < most; i++) {
        const struct mapped_function *function = &mapped->functions[i];
        if (function->refusal == WTM_REFUSED_NONE)
            requests[wanted] = (struct wtm_patch_request){
                .entry = function->address, .size = function->size, .hook = (uintptr_t)measure, .patch = &patches[wanted]},
            wanted++;
    }
    double start = milliseconds();
    int result = wtm_patch_prepare(&mapped->module, requests, wanted);
    coverage->prepare_ms = milliseconds() - start;
    coverage->debug_symbols = (unsigned)mapped->has_debug_symbols;
    const struct wtm_patch_request *next = requests;
    for (size_t i = 0; i < most; i++) {
        count(&mapped->functions[i], next, coverage);
        next += mapped->functions[i].refusal == WTM_REFUSED_NONE;
    }
    coverage->is_measured = result == 0;
}

/* In a process of its own: programs that are not position independent want the same addresses. */
static int measure_apart(const char *path, struct coverage *coverage)
{
    const char *slash = strrchr(path, '/');
    coverage->name = slash ? slash + 1 : path;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        measure(path, coverage);
        fflush(stdout);
        _exit(0);
    }
    if (child > 0)
        waitpid(child, NULL, 0);
    return coverage->is_measured;
}

static void label(const char *text)
{
    printf("%-*s", LABEL_WIDTH, text);
}

static void number_row(const char *text, const struct coverage *all, unsigned objects, size_t offset)
{
    label(text);
    for (unsigned i = 0; i < objects; i++)
        printf("%*u", COLUMN_WIDTH, *(const unsigned *)((const char *)&all[i] + offset));
    printf("\n");
}

static void percent_row(const char *text, const struct coverage *all, unsigned objects, size_t part, size_t whole)
{
    label(text);
    for (unsigned i = 0; i < objects; i++) {
        unsigned of = *(const unsigned *)((const char *)&all[i] + whole);
        printf("%*.2f", COLUMN_WIDTH, of ? 100.0 * *(const unsigned *)((const char *)&all[i] + part) / of : 0.0);
    }
    printf("\n");
}

static void refusal_rows(const char *title, const struct coverage *all, unsigned objects, size_t offset)
{
    printf("%s\n", title);
    for (unsigned refusal = 1; refusal < WTM_REFUSAL_COUNT; refusal++) {
        unsigned sum = 0;
        char text[LABEL_WIDTH + 1];
        size_t at = offset + refusal * sizeof(unsigned);
        for (unsigned i = 0; i < objects; i++)
            sum += *(const unsigned *)((const char *)&all[i] + at);
        snprintf(text, sizeof text, "  %s", wtm_refusal_name(refusal));
        if (sum)
            number_row(text, all, objects, at);
    }
}

static void print(const struct coverage *all, unsigned objects)
{
    static const char *const methods[METHODS] = {"", "  five-byte jump", "  jump into padding", "  two-byte jump",
                                                 "  punned jump"};
    label("");
    for (unsigned i = 0; i < objects; i++)
        printf("%*.*s", COLUMN_WIDTH, COLUMN_WIDTH - 1, all[i].name);
    printf("\n");
    number_row("static or debug symbols (1: yes)", all, objects, offsetof(struct coverage, debug_symbols));
    number_row("symbols of functions", all, objects, offsetof(struct coverage, symbols));
    refusal_rows("no functions, and not counted", all, objects, offsetof(struct coverage, not_functions));
    number_row("functions", all, objects, offsetof(struct coverage, functions));
    number_row("  of five bytes and more", all, objects, offsetof(struct coverage, long_enough));
    number_row("can be timed", all, objects, offsetof(struct coverage, patched_all));
    for (unsigned i = 1; i < METHODS; i++)
        number_row(methods[i], all, objects, offsetof(struct coverage, patched) + i * sizeof(unsigned));
    percent_row("  % of all", all, objects, offsetof(struct coverage, patched_all), offsetof(struct coverage, functions));
    percent_row("  % of those of five bytes and more", all, objects, offsetof(struct coverage, patched_long),
                offsetof(struct coverage, long_enough));
    refusal_rows("refused by name or kind", all, objects, offsetof(struct coverage, by_name));
    refusal_rows("refused by the patcher", all, objects, offsetof(struct coverage, by_patcher));
    label("time to decide on all, ms");
    for (unsigned i = 0; i < objects; i++)
        printf("%*.1f", COLUMN_WIDTH, all[i].prepare_ms);
    printf("\n");
}

int main(int words, char **paths)
{
    unsigned objects = 0, count_of = sizeof defaults / sizeof *defaults;
    const char *const *list = defaults;
    struct coverage *all = mmap(NULL, MOST_OBJECTS * sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED)
        return 1;
    if (words > 1 && !strcmp(paths[1], "--names")) {
        with_names = 1;
        words--;
        paths++;
    }
    if (words > 1) {
        list = (const char *const *)paths + 1;
        count_of = (unsigned)words - 1;
    }
    for (unsigned i = 0; i < count_of && objects < MOST_OBJECTS; i++) {
        if (access(list[i], R_OK))
            printf("(%s is not here)\n", list[i]);
        else if (measure_apart(list[i], &all[objects]))
            objects++;
        else
            printf("(%s cannot be mapped, or the patcher failed)\n", list[i]);
    }
    print(all, objects);
    return objects == 0;
}
