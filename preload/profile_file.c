/* SPDX-License-Identifier: MIT */
#include "preload/profile_file.h"
#include "common/profile_format.h"
#include "common/sys.h"
#include "preload/process.h"
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/* Somebody's source or database, named by mistake, is not ours to replace. An empty file is what mktemp makes. 0 or negative errno. */
static int may_replace(const char *path, const struct stat *st)
{
    char magic[8] = {0};
    if (!S_ISREG(st->st_mode))
        return -17; /* EEXIST */
    if (!st->st_size)
        return 0;
    long fd = wtm_sys_open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);
    if (wtm_sys_failed(fd))
        return (int)fd;
    long got = wtm_sys_read((int)fd, magic, sizeof magic);
    wtm_sys_close((int)fd);
    return got == (long)sizeof magic && !memcmp(magic, WTM_PROFILE_MAGIC, sizeof magic) ? 0 : -17;
}

/* A new file; an old profile of the same name is unlinked, never truncated: another process may have it mapped. */
int wtm_profile_open_new(const char *path)
{
    struct stat st;
    if (!wtm_sys_failed(wtm_syscall3(SYS_lstat, (long)path, (long)&st, 0))) {
        int problem = may_replace(path, &st);
        if (problem)
            return problem;
        long gone = wtm_syscall3(SYS_unlink, (long)path, 0, 0);
        if (wtm_sys_failed(gone))
            return (int)gone;
    }
    return (int)wtm_sys_open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

/* Is it what this very process wrote before it executed another program? Only `wtm run` gives the numbers to tell. */
static int is_of_this_process(const char *path)
{
    static struct wtm_profile_header header; /* not on the program's stack; a process begins with one thread */
    if (!wtm_process.run)
        return 0;
    long fd = wtm_sys_open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);
    if (wtm_sys_failed(fd))
        return 0;
    long got = wtm_sys_read((int)fd, &header, sizeof header);
    wtm_sys_close((int)fd);
    return got == (long)sizeof header && !memcmp(header.magic, WTM_PROFILE_MAGIC, sizeof header.magic) &&
           header.run == wtm_process.run && header.pid == wtm_process.pid;
}

/* Programs that execute others in their place (shells, compiler drivers) keep what they counted: a number is added to the
 * name, before .prof. `path` has room for `bytes`. */
void wtm_profile_step_aside(char *path, size_t bytes)
{
    enum { MOST = 99, DIGITS = 3 }; /* .99 */
    static const char ending[] = ".prof";
    size_t length = strlen(path);
    if (length + DIGITS >= bytes)
        return;
    int has_ending = length >= sizeof ending && !strcmp(path + length - (sizeof ending - 1), ending);
    length -= has_ending ? sizeof ending - 1 : 0;
    for (unsigned n = 1; n <= MOST && is_of_this_process(path); n++) {
        char *to = path + length;
        *to++ = '.';
        if (n >= 10)
            *to++ = (char)('0' + n / 10);
        *to++ = (char)('0' + n % 10);
        memcpy(to, ending, has_ending ? sizeof ending : 0);
        to[has_ending ? sizeof ending - 1 : 0] = 0;
    }
}
