/* SPDX-License-Identifier: MIT
 * Finding a run's profiles: by their names, then by the run's number in their headers. */
#include "report/collect.h"
#include "report/options.h"
#include "report/preload.h"
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

static int fails(const char *subject)
{
    return wtm_preload_error("run", WTM_EXIT_CANNOT, subject, strerror(errno ? errno : ENOMEM));
}

/* What stands in a path as it is, in a pattern: % doubled. */
static char *quoted(const char *path, const char *rest)
{
    char *pattern = malloc(2 * strlen(path) + strlen(rest) + 2), *to = pattern;
    if (!pattern)
        return NULL;
    for (; *path; path++) {
        *to++ = *path;
        if (*path == '%')
            *to++ = '%';
    }
    sprintf(to, "/%s", rest);
    return pattern;
}

static int make_temporary(struct wtm_run_place *place)
{
    const char *folder = getenv("TMPDIR");
    if (!folder || folder[0] != '/')
        folder = "/tmp";
    if (asprintf(&place->temporary, "%s/wtm.XXXXXX", folder) < 0 || !mkdtemp(place->temporary)) {
        fails(folder);
        free(place->temporary);
        place->temporary = NULL;
        return WTM_EXIT_CANNOT;
    }
    place->pattern = quoted(place->temporary, "%p.prof");
    return place->pattern ? 0 : fails("WTM_OUT");
}

int wtm_run_place_make(struct wtm_run_place *place, const char *out)
{
    char here[PATH_MAX];
    *place = (struct wtm_run_place){0};
    if (getrandom(&place->number, sizeof place->number, GRND_NONBLOCK) != sizeof place->number) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        place->number = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec + (uint64_t)getpid();
    }
    place->number |= 1; /* 0 is none */
    if (!out || !strcmp(out, "none"))
        return make_temporary(place);
    if (out[0] != '/' && !getcwd(here, sizeof here)) /* processes change their directory */
        return fails("the working directory");
    place->pattern = out[0] == '/' ? strdup(out) : quoted(here, out);
    return place->pattern ? 0 : fails("WTM_OUT");
}

void wtm_run_place_free(struct wtm_run_place *place)
{
    if (place->temporary)
        rmdir(place->temporary);
    free(place->temporary);
    free(place->pattern);
}

/* One % field; `any`: as a glob. */
static void put_field(FILE *to, char field, pid_t pid, const char *program, int any)
{
    struct utsname host;
    const char *name = program;
    if (field == 'h')
        name = uname(&host) ? "" : host.nodename;
    if (field == 'p' && !any)
        fprintf(to, "%d", (int)pid);
    else if (field == 'p' || ((field == 'e' || field == 'h') && any))
        fputc('*', to);
    else if (field == 'e' || field == 'h')
        for (; *name; name++)
            fputc(*name == '/' ? '_' : *name, to);
    else
        fprintf(to, field == '%' ? "%%" : "%%%c", field);
}

static char *expand(const char *pattern, pid_t pid, const char *program, int any)
{
    char *text = NULL;
    size_t bytes;
    FILE *to = open_memstream(&text, &bytes);
    if (!to)
        return NULL;
    for (; *pattern; pattern++) {
        if (any && !strcmp(pattern, ".prof"))
            fputc('*', to); /* ".N" of processes that executed other programs */
        if (*pattern == '%' && pattern[1]) {
            put_field(to, *++pattern, pid, program, any);
            continue;
        }
        if (any && strchr("*?[]\\", *pattern))
            fputc('\\', to);
        fputc(*pattern, to);
    }
    if (any)
        fputc('*', to); /* ".PID" of children where there is no %p */
    if (fclose(to)) {
        free(text);
        return NULL;
    }
    return text;
}

char *wtm_run_expand(const char *pattern, pid_t pid, const char *program)
{
    return expand(pattern, pid, program, 0);
}

struct found {
    char *path;
    int is_root;
    uint64_t started_ns;
};

static int by_start(const void *a, const void *b)
{
    const struct found *first = a, *second = b;
    if (first->is_root != second->is_root)
        return second->is_root - first->is_root;
    if (first->started_ns != second->started_ns)
        return first->started_ns < second->started_ns ? -1 : 1;
    return strcmp(first->path, second->path);
}

/* 1 and the rest of `found` when the file is of this run. */
static int is_of_run(struct found *found, uint64_t run, pid_t root)
{
    struct wtm_profile_header header;
    int fd = open(found->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    ssize_t got = fd < 0 ? -1 : pread(fd, &header, sizeof header, 0);
    if (fd >= 0)
        close(fd);
    if (got != (ssize_t)sizeof header || memcmp(header.magic, WTM_PROFILE_MAGIC, sizeof header.magic) || header.run != run)
        return 0;
    found->is_root = header.pid == (uint32_t)root;
    found->started_ns = header.start_realtime_ns;
    return 1;
}

int wtm_run_collect(struct wtm_run_files *files, const struct wtm_run_place *place, pid_t root)
{
    glob_t names;
    *files = (struct wtm_run_files){0};
    char *pattern = expand(place->pattern, 0, "", 1);
    int error = pattern ? glob(pattern, GLOB_NOSORT, NULL, &names) : GLOB_NOSPACE;
    free(pattern);
    if (error)
        return error == GLOB_NOMATCH ? 0 : error == GLOB_NOSPACE ? -ENOMEM : -EIO;
    struct found *found = calloc(names.gl_pathc + 1, sizeof *found);
    files->paths = calloc(names.gl_pathc + 1, sizeof *files->paths);
    size_t count = 0;
    for (size_t i = 0; found && files->paths && i < names.gl_pathc; i++) {
        found[count].path = names.gl_pathv[i];
        count += (size_t)is_of_run(&found[count], place->number, root);
    }
    if (found)
        qsort(found, count, sizeof *found, by_start);
    for (size_t i = 0; found && files->paths && i < count; i++)
        if ((files->paths[files->count] = strdup(found[i].path)))
            files->count++;
    int short_of = !found || !files->paths || files->count < count;
    free(found);
    globfree(&names);
    return short_of ? -ENOMEM : 0;
}

void wtm_run_files_free(struct wtm_run_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        free(files->paths[i]);
    free(files->paths);
}

/* Room that was taken in advance. Nobody has it mapped any more. */
static void cut(const char *path)
{
    struct wtm_profile_header header;
    struct stat status;
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return;
    if (pread(fd, &header, sizeof header, 0) == (ssize_t)sizeof header && !fstat(fd, &status) &&
        header.used_bytes >= WTM_PROFILE_HEADER_BYTES && header.used_bytes < (uint64_t)status.st_size &&
        ftruncate(fd, (off_t)header.used_bytes))
        (void)0; /* then it stays as it is */
    close(fd);
}

void wtm_run_tidy(const struct wtm_summary *summary, const struct wtm_run_place *place, pid_t root)
{
    for (size_t i = 0; i < summary->profiles; i++) {
        const struct wtm_process_row *process = &summary->processes[i];
        int is_root = process->pid == (uint32_t)root;
        if (place->temporary || (!process->running && !process->calls && !is_root))
            unlink(process->path);
        else if (!process->running)
            cut(process->path);
    }
}
