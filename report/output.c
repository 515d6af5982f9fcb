/* SPDX-License-Identifier: MIT
 * Standard output. */
#include "report/output.h"
#include "report/options.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static int write_all(void *context, const char *text, size_t bytes)
{
    while (bytes) {
        ssize_t wrote = write(STDOUT_FILENO, text, bytes);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote < 0)
            return -errno;
        text += wrote;
        bytes -= (size_t)wrote;
    }
    return 0;
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
    struct winsize size;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) ? 0 : size.ws_col;
}
