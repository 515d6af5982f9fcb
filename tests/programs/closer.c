/* SPDX-License-Identifier: MIT
 * Closes every descriptor above 2, as daemons and shells do, then works with files of its own under the freed numbers,
 * calling timed functions all the while, and reads back what it wrote. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "target.h"

REAL int work(int n) { IMPURE; return n + 1; }
static void *body(void *arg) { for (int i = 0; i < 1000; i++) work(i); return arg; }

int main(void)
{
    char name[] = "/tmp/wtm-closer-XXXXXX", text[64] = {0};
    for (int fd = 3; fd < 1024; fd++)
        close(fd);
    int file = mkstemp(name), second = open(name, O_RDWR);
    if (file < 0 || second < 0)
        return 2;
    unlink(name);
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, body, NULL) || write(file, "0123456789", 10) != 10 || pthread_join(thread, NULL))
            return 3;
    }
    if (lseek(file, 0, SEEK_END) != 200 || pread(second, text, 20, 0) != 20 || strcmp(text, "01234567890123456789") != 0)
        return 4;
    printf("files %d %d are whole\n", file, second);
    return 0;
}
