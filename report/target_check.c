/* SPDX-License-Identifier: MIT
 * The program to be run: found, executable, and one that a library can be preloaded into. */
#include "report/target_check.h"
#include "report/elf_check.h"
#include "report/options.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { MOST_INTERPRETERS = 4 }; /* scripts of scripts; the kernel allows five levels */

static int fails(struct wtm_target_check *check, int exit_code, const char *words)
{
    snprintf(check->problem, sizeof check->problem, "%s", words);
    return exit_code;
}

/* As execvp looks for it: a name with a slash as it is, else the first executable file in PATH. */
static int find_program(char path[PATH_MAX], const char *program)
{
    const char *places = getenv("PATH");
    int denied = 0;
    if (strchr(program, '/') || !*program)
        return snprintf(path, PATH_MAX, "%s", program) >= PATH_MAX || access(path, F_OK) ? WTM_EXIT_NO_PROGRAM
                                                                                         : 0;
    for (places = places ? places : "/bin:/usr/bin"; places;) {
        size_t length = strcspn(places, ":");
        struct stat status;
        int fits = snprintf(path, PATH_MAX, "%.*s%s%s", (int)length, places, length ? "/" : "./", program) <
                   PATH_MAX;
        if (fits && !stat(path, &status) && S_ISREG(status.st_mode)) {
            if (!access(path, X_OK))
                return 0;
            denied = 1;
        }
        places = places[length] ? places + length + 1 : NULL;
    }
    snprintf(path, PATH_MAX, "%s", program);
    return denied ? WTM_EXIT_CANNOT : WTM_EXIT_NO_PROGRAM;
}

/* Programs that gain rights at exec run without preloaded libraries. */
static const char *secure_reason(const char *path, const struct stat *status)
{
    if ((status->st_mode & S_ISUID) && status->st_uid != getuid())
        return "is setuid: the loader preloads nothing into programs that change their rights. Run it as its "
               "owner";
    if ((status->st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && status->st_gid != getgid())
        return "is setgid: the loader preloads nothing into programs that change their rights";
    if (getuid() && getxattr(path, "security.capability", NULL, 0) > 0)
        return "has file capabilities: the loader preloads nothing into programs that change their rights";
    return NULL;
}

static int check_elf(struct wtm_target_check *check, int fd)
{
    struct wtm_elf_facts facts;
    wtm_elf_facts_read(&facts, fd);
    if (facts.foreign)
        return fails(check, WTM_EXIT_CANNOT, facts.foreign);
    if (facts.is_broken)
        return fails(check, WTM_EXIT_CANNOT, "is a damaged ELF file");
    if (!facts.interpreter[0])
        return fails(
            check, WTM_EXIT_CANNOT,
            facts.is_go
                ? "is a statically linked Go program: nothing can be preloaded into it, and Go moves its "
                  "stacks, which timing does not survive"
                : "is statically linked: there is no loader that would preload the library. Link it "
                  "dynamically to time it");
    if (strstr(facts.interpreter, "ld-musl"))
        return fails(check, WTM_EXIT_CANNOT, "is linked with musl; the library needs glibc");
    if (access(facts.interpreter, F_OK))
        return fails(check, WTM_EXIT_CANNOT, "needs a loader that is not here");
    if (facts.is_go)
        snprintf(check->warning, sizeof check->warning,
                 "is a Go program: Go's own functions are refused (it moves stacks); only those of C "
                 "libraries are timed");
    snprintf(check->runtime, sizeof check->runtime, "%s", facts.sanitizer);
    return 0;
}

/* The interpreter of a "#!" line; for env the program that it will start. */
static int interpreter_of(const char *line, char path[PATH_MAX])
{
    char words[256], *save = NULL;
    snprintf(words, sizeof words, "%s", line + 2);
    words[strcspn(words, "\n")] = 0;
    char *word = strtok_r(words, " \t", &save);
    if (!word)
        return WTM_EXIT_CANNOT;
    const char *base = strrchr(word, '/');
    if (!strcmp(base ? base + 1 : word, "env")) {
        char *next;
        while ((next = strtok_r(NULL, " \t", &save)) && (*next == '-' || strchr(next, '=')))
            continue;
        if (next)
            return find_program(path, next);
    }
    return snprintf(path, PATH_MAX, "%s", word) >= PATH_MAX || access(path, F_OK) ? WTM_EXIT_CANNOT : 0;
}

static int check_file(struct wtm_target_check *check, int depth);

static int check_content(struct wtm_target_check *check, int fd, int depth)
{
    char begin[256];
    ssize_t got = pread(fd, begin, sizeof begin - 1, 0);
    if (got < 0)
        return fails(check, WTM_EXIT_CANNOT, strerror(errno));
    begin[got] = 0;
    if (got >= 4 && !memcmp(begin, "\177ELF", 4))
        return check_elf(check, fd);
    char next[PATH_MAX];
    if (got >= 2 && !memcmp(begin, "#!", 2)) {
        if (interpreter_of(begin, next))
            return fails(check, WTM_EXIT_CANNOT, "is a script whose interpreter is not here");
    } else {
        strcpy(next, "/bin/sh"); /* what exec falls back to */
    }
    strcpy(check->subject, next);
    if (depth >= MOST_INTERPRETERS)
        return fails(check, WTM_EXIT_CANNOT, "is a script of a script of a script: too many interpreters");
    return check_file(check, depth + 1);
}

/* Of check->subject. */
static int check_file(struct wtm_target_check *check, int depth)
{
    struct stat status;
    if (stat(check->subject, &status))
        return fails(check, errno == ENOENT ? WTM_EXIT_NO_PROGRAM : WTM_EXIT_CANNOT, strerror(errno));
    if (S_ISDIR(status.st_mode))
        return fails(check, WTM_EXIT_CANNOT, "is a directory");
    if (!S_ISREG(status.st_mode) || access(check->subject, X_OK))
        return fails(check, WTM_EXIT_CANNOT, "is not executable");
    const char *secure = secure_reason(check->subject, &status);
    if (secure)
        return fails(check, WTM_EXIT_CANNOT, secure);
    int fd = open(check->subject, O_RDONLY | O_CLOEXEC);
    if (fd < 0) /* may be executed, but not read: nothing more can be told */
        return 0;
    int result = check_content(check, fd, depth);
    close(fd);
    return result;
}

int wtm_target_check(struct wtm_target_check *check, const char *program)
{
    memset(check, 0, sizeof *check);
    int result = find_program(check->path, program);
    strcpy(check->subject, check->path);
    if (result)
        return fails(check, result,
                     result == WTM_EXIT_CANNOT ? "is not executable"
                     : strchr(program, '/')    ? "there is no such file"
                                               : "there is no such program in PATH");
    return check_file(check, 0);
}
