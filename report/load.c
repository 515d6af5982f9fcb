/* SPDX-License-Identifier: MIT
 * Reads profile files. */
#include "report/load.h"
#include "report/options.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int complain(const char *path, const char *reason)
{
    fprintf(stderr, "wtm: %s: %s\n", path, reason);
    return WTM_EXIT_INPUT;
}

static int read_all(int fd, unsigned char *to, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t got = pread(fd, to + done, bytes - done, (off_t)done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return errno;
        if (!got)
            return 0; /* it shrank: what is missing reads as zeros, that is, as a hole */
        done += (size_t)got;
    }
    return 0;
}

/* Only what was handed out: the file may be larger, and sparse. */
static size_t bytes_to_read(int fd, size_t size)
{
    struct wtm_profile_header header;
    if (size < sizeof header || pread(fd, &header, sizeof header, 0) != (ssize_t)sizeof header)
        return size;
    if (memcmp(header.magic, WTM_PROFILE_MAGIC, sizeof header.magic))
        return size < WTM_PROFILE_HEADER_BYTES ? size : WTM_PROFILE_HEADER_BYTES;
    return header.used_bytes < WTM_PROFILE_HEADER_BYTES ? WTM_PROFILE_HEADER_BYTES
           : header.used_bytes < size                   ? header.used_bytes
                                                        : size;
}

static int read_file(struct wtm_profile *profile, const char *path, int fd)
{
    struct stat status;
    if (fstat(fd, &status))
        return complain(path, strerror(errno));
    if (!S_ISREG(status.st_mode))
        return complain(path, S_ISDIR(status.st_mode) ? "is a directory; name the profiles in it"
                                                      : "is not a file");
    if (!status.st_size)
        return complain(path, "is empty");
    size_t bytes = bytes_to_read(fd, (size_t)status.st_size);
    if (bytes > (size_t)status.st_size)
        bytes = (size_t)status.st_size;
    unsigned char *base =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        return complain(path, "no memory to read it");
    *profile = (struct wtm_profile){base, bytes, path};
    int error = read_all(fd, base, bytes);
    if (error)
        return complain(path, strerror(error));
    const char *reason;
    return wtm_profile_check(profile, &reason) ? complain(path, reason) : 0;
}

static int load_file(struct wtm_profile *profile, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe must not hold it up */
    if (fd < 0)
        return complain(path, strerror(errno));
    int result = read_file(profile, path, fd);
    close(fd);
    return result;
}

int wtm_load(struct wtm_loaded *loaded, char **paths, size_t count)
{
    int result = 0;
    struct timespec now;
    memset(loaded, 0, sizeof *loaded);
    loaded->profiles = calloc(count, sizeof *loaded->profiles);
    if (!loaded->profiles)
        return complain("profiles", "no memory");
    loaded->count = count;
    for (size_t i = 0; i < count; i++)
        if (load_file(&loaded->profiles[i], paths[i]))
            result = WTM_EXIT_INPUT;
    if (result)
        return result;
    clock_gettime(CLOCK_MONOTONIC, &now);
    int error = wtm_summary_build(&loaded->summary, loaded->profiles, count,
                                  (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec, &loaded->arena);
    return error ? complain(paths[0], strerror(-error)) : 0;
}

void wtm_unload(struct wtm_loaded *loaded)
{
    for (size_t i = 0; i < loaded->count; i++)
        if (loaded->profiles[i].base)
            munmap((void *)loaded->profiles[i].base, loaded->profiles[i].bytes);
    free(loaded->profiles);
    wtm_arena_free(&loaded->arena);
}
