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
#include <sys/utsname.h>
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

static uint64_t clock_of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* When process `pid` began, by CLOCK_MONOTONIC; 0 when there is none. /proc/PID/stat has it in ticks since boot. */
static uint64_t process_began_ns(uint32_t pid)
{
    char path[32], line[1024];
    unsigned long long ticks = 0;
    snprintf(path, sizeof path, "/proc/%u/stat", pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    char *words = fgets(line, sizeof line, file) ? strrchr(line, ')') : NULL; /* the name may hold anything */
    fclose(file);
    char state = words && words[1] ? words[2] : 'Z';
    for (int field = 2; words && field < 22; field++)
        words = strchr(words + 1, ' ');
    if (!words || state == 'Z' || state == 'X' || sscanf(words, "%llu", &ticks) != 1)
        return 0;
    uint64_t asleep_ns = clock_of(CLOCK_BOOTTIME) - clock_of(CLOCK_MONOTONIC);
    uint64_t began_ns = ticks * (uint64_t)(1000000000 / sysconf(_SC_CLK_TCK));
    return began_ns > asleep_ns ? began_ns - asleep_ns : 1;
}

/* A process that was killed could not say that it ended. */
static void find_end(struct wtm_profile *profile)
{
    const uint64_t second = 1000000000;
    const struct wtm_profile_header *header = (const void *)profile->base;
    struct utsname here;
    if (header->state == WTM_PROFILE_ENDED || uname(&here))
        return;
    if (!strncmp(profile->path, "/proc/self/fd/", 14)) /* taken from a running process, whose own idea of its pid may differ */
        return;
    if (*header->host && strncmp(header->host, here.nodename, sizeof header->host - 1))
        return;
    uint64_t began = process_began_ns(header->pid);
    if (began && began < header->start_monotonic_ns + second)
        return;
    profile->gone = 1;
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
    *profile = (struct wtm_profile){.base = base, .bytes = bytes, .path = path};
    int error = read_all(fd, base, bytes);
    if (error)
        return complain(path, strerror(error));
    const char *reason;
    if (wtm_profile_check(profile, &reason))
        return complain(path, reason);
    find_end(profile);
    return 0;
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

/* On a terminal, once it takes longer than a second. */
static void tell_progress(uint64_t began_ns, size_t done, size_t count)
{
    static uint64_t told_ns;
    uint64_t now = clock_of(CLOCK_MONOTONIC);
    if (now - began_ns < 1000000000 || (done < count && now - told_ns < 200000000) || !isatty(STDERR_FILENO))
        return;
    told_ns = now;
    if (done < count)
        fprintf(stderr, "\rwtm: %zu of %zu profiles read", done, count);
    else
        fputs("\r\033[K", stderr);
}

int wtm_load(struct wtm_loaded *loaded, char **paths, size_t count, unsigned by)
{
    int result = 0;
    uint64_t began_ns = clock_of(CLOCK_MONOTONIC);
    memset(loaded, 0, sizeof *loaded);
    loaded->profiles = calloc(count, sizeof *loaded->profiles);
    if (!loaded->profiles)
        return complain("profiles", "no memory");
    for (size_t i = 0; i < count; i++) {
        struct wtm_profile *profile = &loaded->profiles[loaded->count];
        if (!load_file(profile, paths[i])) {
            loaded->count++;
        } else {
            result = WTM_EXIT_INPUT;
            if (profile->base)
                munmap((void *)profile->base, profile->bytes);
            *profile = (struct wtm_profile){0};
        }
        tell_progress(began_ns, i + 1, count);
    }
    if (!loaded->count)
        return WTM_EXIT_INPUT;
    if (result)
        fprintf(stderr, "wtm: the other %zu of %zu profiles are summed up\n", loaded->count, count);
    int error = wtm_summary_build_by(&loaded->summary, loaded->profiles, loaded->count, clock_of(CLOCK_MONOTONIC), by,
                                     &loaded->arena);
    if (!error)
        return result;
    loaded->count = 0;
    return complain(loaded->profiles[0].path, strerror(-error));
}

void wtm_unload(struct wtm_loaded *loaded)
{
    for (size_t i = 0; i < loaded->count; i++)
        munmap((void *)loaded->profiles[i].base, loaded->profiles[i].bytes);
    free(loaded->profiles);
    wtm_arena_free(&loaded->arena);
    loaded->profiles = NULL;
    loaded->count = 0;
}
