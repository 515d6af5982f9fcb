/* SPDX-License-Identifier: MIT
 * Standard output. */
#include "report/output.h"
#include "common/table.h"
#include "report/options.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static int write_to(int fd, const char *text, size_t bytes)
{
    while (bytes) {
        ssize_t wrote = write(fd, text, bytes);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote < 0)
            return -errno;
        text += wrote;
        bytes -= (size_t)wrote;
    }
    return 0;
}

static int write_all(void *context, const char *text, size_t bytes)
{
    return write_to(STDOUT_FILENO, text, bytes);
}

static int write_there(void *context, const char *text, size_t bytes)
{
    return write_to(*(int *)context, text, bytes);
}

static int width_of(int fd)
{
    struct winsize size;
    return ioctl(fd, TIOCGWINSZ, &size) ? 0 : size.ws_col;
}

int wtm_output_table(const struct wtm_summary *summary, int fd, const char *verbose)
{
    char buffer[4096];
    struct wtm_text text;
    struct wtm_table_options options = {.width = width_of(fd), .verbose = verbose && *verbose && strcmp(verbose, "0")};
    wtm_text_init(&text, buffer, sizeof buffer, write_there, &fd);
    wtm_table_print(&text, summary, &options);
    int error = wtm_text_flush(&text);
    if (!error || error == -EPIPE)
        return WTM_EXIT_OK;
    fprintf(stderr, "wtm: the table: %s\n", strerror(-error));
    return WTM_EXIT_INPUT;
}

void wtm_output_begin(struct wtm_text *text)
{
    static char buffer[16384];
    fflush(stdout);
    wtm_text_init(text, buffer, sizeof buffer, write_all, NULL);
}

int wtm_output_end(struct wtm_text *text)
{
    int error = wtm_text_flush(text);
    if (!error || error == -EPIPE)
        return WTM_EXIT_OK;
    fprintf(stderr, "wtm: standard output: %s\n", strerror(-error));
    return WTM_EXIT_INPUT;
}

int wtm_output_width(void)
{
    return width_of(STDOUT_FILENO);
}
