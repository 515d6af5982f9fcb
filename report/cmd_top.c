/* SPDX-License-Identifier: MIT
 * wtm top PID: the table of a running process again and again; on a terminal in place. */
#include "report/commands.h"
#include "report/live.h"
#include "report/load.h"
#include "report/output.h"
#include "report/preload.h"
#include "report/rows.h"
#include "common/table.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

struct values {
    const char *delay, *sort;
    size_t count, top;
    int wide;
};

#define FIELD(name) offsetof(struct values, name)
static const struct wtm_option options[] = {
    {'d', "delay", WTM_OPTION_TEXT, FIELD(delay), "SECONDS", "time between two tables (default 1; 0.1 to 86400)"},
    {'n', "count", WTM_OPTION_NUMBER, FIELD(count), "N", "end after N tables (default: with the process)"},
    {'s', "sort", WTM_OPTION_TEXT, FIELD(sort), "KEY", "as wtm report --sort"},
    {0, "top", WTM_OPTION_NUMBER, FIELD(top), "N", "the first N functions only"},
    {'w', "wide", WTM_OPTION_FLAG, FIELD(wide), NULL, "all columns, however wide"},
};

static int run(int argc, char **argv);
const struct wtm_command wtm_command_top = {
    .name = "top",
    .summary = "the table of a running process, refreshed",
    .operands = "PID",
    .description = "Shows the table of a process under the library and refreshes it, until the process\n"
                   "ends or q is pressed. Where standard output is no terminal, one table follows\n"
                   "the other. The process itself is not disturbed: its profile is read.",
    .examples = "  wtm top $(pidof app)\n"
                "  wtm top -d 10 -n 6 4242 >minute.txt",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .run = run,
};

static struct termios before;
static int screen; /* 1: standard output is a terminal and the table stays in place */
static int keys;   /* 1: standard input gives keys, `before` is how it was */
static volatile sig_atomic_t interrupted;

static void on_interrupt(int number)
{
    interrupted = number;
}

static void begin_screen(void)
{
    struct sigaction action = {.sa_handler = on_interrupt};
    screen = isatty(STDOUT_FILENO);
    keys = screen && isatty(STDIN_FILENO) && !tcgetattr(STDIN_FILENO, &before);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    if (keys) {
        struct termios raw = before;
        raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    }
}

static void end_screen(void)
{
    if (keys)
        tcsetattr(STDIN_FILENO, TCSANOW, &before);
}

/* 1: the user wants no more. */
static int pause_or_quit(double seconds)
{
    struct timespec now, end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    double left = seconds;
    while (left > 0 && !interrupted) {
        struct pollfd input = {.fd = keys ? STDIN_FILENO : -1, .events = POLLIN};
        char key;
        int ready = poll(&input, 1, (int)(left < 1000 ? left * 1000 + 1 : 1000000));
        if (ready > 0 && (read(STDIN_FILENO, &key, 1) != 1 || key == 'q' || key == 'Q'))
            return 1;
        clock_gettime(CLOCK_MONOTONIC, &now);
        left = seconds - (double)(now.tv_sec - end.tv_sec) - (double)(now.tv_nsec - end.tv_nsec) / 1e9;
    }
    return interrupted != 0;
}

/* Collects a whole table, so that it can be cut to the screen's height. */
struct page {
    char *text;
    size_t used, room;
};

static int to_page(void *context, const char *text, size_t bytes)
{
    struct page *page = context;
    if (page->used + bytes > page->room) {
        size_t room = (page->used + bytes) * 2;
        char *grown = realloc(page->text, room);
        if (!grown)
            return -ENOMEM;
        page->text = grown;
        page->room = room;
    }
    memcpy(page->text + page->used, text, bytes);
    page->used += bytes;
    return 0;
}

static int render(struct page *page, struct wtm_live *live, const struct values *values, int *running)
{
    struct wtm_loaded loaded;
    struct wtm_text text;
    char buffer[4096];
    int result = wtm_load(&loaded, live->paths, live->count, 0);
    if (!result) {
        struct wtm_table_options table = {.width = wtm_output_width(), .wide = values->wide, .top = values->top};
        if (values->sort)
            wtm_rows_sort(&loaded.summary, values->sort);
        wtm_text_init(&text, buffer, sizeof buffer, to_page, page);
        wtm_table_print(&text, &loaded.summary, &table);
        if (wtm_text_flush(&text))
            result = wtm_preload_error("top", WTM_EXIT_INPUT, "table", "no memory");
        *running = (int)loaded.summary.running;
    }
    wtm_unload(&loaded);
    return result;
}

/* Line by line over what stood there; what is left of the old lines is erased. */
static int show(const struct page *page)
{
    struct wtm_text text;
    struct winsize size;
    size_t rows = screen && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_row > 2 ? size.ws_row - 1u : SIZE_MAX;
    wtm_output_begin(&text);
    if (screen)
        wtm_text_string(&text, "\033[H");
    for (size_t at = 0, line = 0; at < page->used && (!screen || line < rows); line++) {
        const char *end = memchr(page->text + at, '\n', page->used - at);
        size_t length = end ? (size_t)(end - page->text) - at : page->used - at;
        wtm_text_bytes(&text, page->text + at, length);
        wtm_text_string(&text, screen ? "\033[K\n" : "\n");
        at += length + 1;
    }
    wtm_text_string(&text, screen ? "\033[J" : "\n");
    return wtm_output_end(&text);
}

static int loop(struct wtm_live *live, const struct values *values, double delay)
{
    struct page page = {0};
    int result = 0;
    for (size_t shown = 0;;) {
        int running = 0, alive = wtm_process_alive(&live->views[0]); /* first: what comes after its end is the end */
        page.used = 0;
        result = render(&page, live, values, &running);
        if (!result)
            result = show(&page);
        if (result || ++shown == values->count)
            break;
        if (!alive || !running) {
            fprintf(stderr, "wtm top: %d has ended\n", (int)live->views[0].pid);
            break;
        }
        if (pause_or_quit(delay))
            break;
    }
    free(page.text);
    return result;
}

static int run(int argc, char **argv)
{
    struct values values = {0};
    struct wtm_live live;
    struct wtm_summary empty = {0};
    char *end;
    int count = wtm_options_parse(&wtm_command_top, argc, argv, &values);
    if (count < 0)
        return wtm_options_exit(count);
    if (count != 1 || !wtm_process_number(argv[1]))
        return wtm_usage_error(&wtm_command_top, "name one process by its number");
    double delay = values.delay ? strtod(values.delay, &end) : 1;
    if (values.delay && (*end || end == values.delay || !(delay >= 0.1 && delay <= 86400)))
        return wtm_usage_error(&wtm_command_top, "--delay: expected seconds from 0.1 to 86400, not '%s'", values.delay);
    if (values.sort && wtm_rows_sort(&empty, values.sort))
        return wtm_usage_error(&wtm_command_top, "--sort: expected one of %s, not '%s'", wtm_rows_sort_keys, values.sort);
    int result = wtm_live_open(&live, "top", NULL, 0, argv[1]);
    if (!result) {
        begin_screen();
        if (screen)
            printf("\033[2J");
        result = loop(&live, &values, delay);
        end_screen();
    }
    wtm_live_close(&live);
    return result;
}
