/* SPDX-License-Identifier: MIT
 * Running processes, by /proc. */
#include "report/process.h"
#include "report/options.h"
#include "report/preload.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

pid_t wtm_process_number(const char *text)
{
    char *end;
    errno = 0;
    long number = strtol(text, &end, 10);
    int digits = text[0] >= '1' && text[0] <= '9' && !*end;
    return digits && !errno && number <= INT_MAX ? (pid_t)number : 0;
}

/* One shared mapping of a file from its beginning: what a profile looks like in /proc/PID/maps. */
struct mapping {
    unsigned long start, end;
    dev_t device;
    ino_t inode;
    const char *path;
};

static int open_regular(const char *path, const struct mapping *mapping)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0 && (fstat(fd, &status) || !S_ISREG(status.st_mode) || status.st_ino != mapping->inode ||
                    status.st_dev != mapping->device)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* By the descriptor that the process keeps for it. */
static int open_by_descriptor(pid_t pid, const struct mapping *mapping)
{
    char path[PATH_MAX];
    struct stat status;
    int found = -1;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *directory = opendir(path);
    for (struct dirent *entry; directory && found < 0 && (entry = readdir(directory));) {
        snprintf(path, sizeof path, "/proc/%d/fd/%.20s", (int)pid, entry->d_name);
        if (!stat(path, &status) && status.st_ino == mapping->inode && status.st_dev == mapping->device)
            found = open_regular(path, mapping);
    }
    if (directory)
        closedir(directory);
    return found;
}

/* By its name, as the process sees it; then by its descriptor; then by the mapping itself, which needs more rights. */
static int open_mapping(pid_t pid, const struct mapping *mapping)
{
    char path[2 * PATH_MAX];
    int fd = -1;
    if (mapping->path[0] == '/') {
        snprintf(path, sizeof path, "/proc/%d/root%s", (int)pid, mapping->path);
        fd = open_regular(path, mapping);
    }
    if (fd < 0)
        fd = open_by_descriptor(pid, mapping);
    if (fd < 0) {
        snprintf(path, sizeof path, "/proc/%d/map_files/%lx-%lx", (int)pid, mapping->start, mapping->end);
        fd = open_regular(path, mapping);
    }
    return fd;
}

static int read_header(int fd, struct wtm_profile_header *header)
{
    if (pread(fd, header, sizeof *header, 0) != (ssize_t)sizeof *header)
        return -1;
    return memcmp(header->magic, WTM_PROFILE_MAGIC, sizeof header->magic) || header->oldest_reader > WTM_PROFILE_VERSION ? -1 : 0;
}

/* Keeps the profile of its own where there are two: a forked process still has its parent's mapped. */
static void consider(struct wtm_process_view *view, const struct mapping *mapping)
{
    struct wtm_profile_header header;
    if (view->own)
        return;
    int fd = open_mapping(view->pid, mapping);
    if (fd < 0)
        return;
    int own = !read_header(fd, &header) ? header.pid == (uint32_t)view->inner_pid : -1;
    if (own < 0 || (!own && view->profile >= 0)) {
        close(fd);
        return;
    }
    if (view->profile >= 0)
        close(view->profile);
    view->profile = fd;
    view->own = own;
}

static void read_line(struct wtm_process_view *view, char *line)
{
    struct mapping mapping;
    unsigned long offset, inode;
    unsigned major, minor;
    char rights[5];
    int at = 0;
    line[strcspn(line, "\n")] = 0;
    if (sscanf(line, "%lx-%lx %4s %lx %x:%x %lu %n", &mapping.start, &mapping.end, rights, &offset, &major, &minor, &inode, &at) < 7)
        return;
    mapping.path = line + at;
    mapping.device = makedev(major, minor);
    mapping.inode = inode;
    const char *name = strrchr(mapping.path, '/');
    view->carries |= name && !strncmp(name + 1, "libwtmtime.so", 13);
    if (inode && !offset && rights[3] == 's')
        consider(view, &mapping);
}

/* 0 or an errno. */
static int read_maps(struct wtm_process_view *view)
{
    char path[64], *line = NULL;
    size_t room = 0;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)view->pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return errno;
    errno = 0;
    while (getline(&line, &room, file) > 0)
        read_line(view, line);
    int error = ferror(file) ? errno ? errno : EIO : 0;
    free(line);
    fclose(file);
    return error;
}

static void read_status(const struct wtm_process_view *view, struct wtm_process_state *state, pid_t *inner, char *name, size_t bytes)
{
    char path[64], line[512];
    snprintf(path, sizeof path, "/proc/%d/status", (int)view->pid);
    FILE *file = fopen(path, "re");
    *state = (struct wtm_process_state){0};
    while (file && fgets(line, sizeof line, file)) {
        char *value = strchr(line, '\t');
        if (!value)
            continue;
        line[strcspn(line, "\n")] = 0;
        if (!strncmp(line, "State:", 6))
            state->state = value[1];
        else if (!strncmp(line, "SigCgt:", 7))
            state->caught = strtoull(value, NULL, 16);
        else if (!strncmp(line, "SigBlk:", 7))
            state->blocked = strtoull(value, NULL, 16);
        else if (!strncmp(line, "NSpid:", 6) && inner)
            *inner = (pid_t)atol(strrchr(line, '\t') + 1);
        else if (!strncmp(line, "Name:", 5) && name)
            snprintf(name, bytes, "%s", value + 1);
    }
    if (file)
        fclose(file);
}

void wtm_process_state(const struct wtm_process_view *view, struct wtm_process_state *state)
{
    read_status(view, state, NULL, NULL, 0);
}

static int complain(const struct wtm_process_view *view, const char *command, int error)
{
    char subject[32];
    snprintf(subject, sizeof subject, "%d", (int)view->pid);
    return wtm_preload_error(command, WTM_EXIT_INPUT, subject,
                             error == ENOENT || error == ESRCH   ? "there is no such process"
                             : error == EACCES || error == EPERM ? "it belongs to another user; no permission"
                                                                 : strerror(error));
}

/* Whoever started `wtm run` in the background has its number, and means the program that it runs. That one's, or 0. */
static pid_t program_of_run(pid_t pid)
{
    char path[64];
    struct stat theirs, ours;
    int children[2], found = 0;
    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    if (stat(path, &theirs) || stat("/proc/self/exe", &ours) || theirs.st_ino != ours.st_ino || theirs.st_dev != ours.st_dev)
        return 0;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
    FILE *file = fopen(path, "re");
    if (file) {
        found = fscanf(file, "%d %d", &children[0], &children[1]);
        fclose(file);
    }
    return found == 1 ? (pid_t)children[0] : 0;
}

int wtm_process_open(struct wtm_process_view *view, pid_t pid, const char *command)
{
    pid_t program = program_of_run(pid);
    pid = program ? program : pid;
    struct wtm_process_state state;
    *view = (struct wtm_process_view){.pid = pid, .inner_pid = pid, .handle = -1, .profile = -1};
    view->handle = (int)syscall(SYS_pidfd_open, pid, 0); /* before anything is looked at */
    if (view->handle < 0 && errno == ESRCH)
        return complain(view, command, ESRCH);
    read_status(view, &state, &view->inner_pid, view->name, sizeof view->name);
    int error = read_maps(view);
    if (!error)
        return 0;
    wtm_process_close(view);
    return complain(view, command, error);
}

void wtm_process_close(struct wtm_process_view *view)
{
    if (view->handle >= 0)
        close(view->handle);
    if (view->profile >= 0)
        close(view->profile);
    view->handle = view->profile = -1;
}

void wtm_process_look_again(struct wtm_process_view *view)
{
    if (!view->own)
        read_maps(view);
}

int wtm_process_header(const struct wtm_process_view *view, struct wtm_profile_header *header)
{
    return view->profile < 0 ? -1 : read_header(view->profile, header);
}

int wtm_process_alive(const struct wtm_process_view *view)
{
    struct wtm_process_state state;
    wtm_process_state(view, &state);
    return state.state && state.state != 'Z' && state.state != 'X' && !wtm_process_signal(view, 0);
}

int wtm_process_signal(const struct wtm_process_view *view, int number)
{
    long result = view->handle >= 0 ? syscall(SYS_pidfd_send_signal, view->handle, number, NULL, 0) : kill(view->pid, number);
    return result ? -errno : 0;
}

int wtm_process_queue(const struct wtm_process_view *view, int number, int value)
{
    siginfo_t info;
    memset(&info, 0, sizeof info);
    info.si_signo = number;
    info.si_code = SI_QUEUE;
    info.si_pid = getpid();
    info.si_uid = getuid();
    info.si_value.sival_int = value;
    long result = view->handle >= 0 ? syscall(SYS_pidfd_send_signal, view->handle, number, &info, 0)
                                    : syscall(SYS_rt_sigqueueinfo, view->pid, number, &info);
    return result ? -errno : 0;
}
