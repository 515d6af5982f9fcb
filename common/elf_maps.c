/* SPDX-License-Identifier: MIT
 * Which file is mapped at an address, from /proc/self/maps: what the program is when it was started through
 * the loader (ld.so ./program), where /proc/self/exe is the loader. */
#include "common/elf_internal.h"
#include "common/sys.h"
#include <fcntl.h>
#include <string.h>

enum { BUFFER_BYTES = 16 * 1024 };

static const char *parse_hex(const char *text, uint64_t *value)
{
    for (*value = 0;; text++) {
        if (*text >= '0' && *text <= '9')
            *value = *value << 4 | (uint64_t)(*text - '0');
        else if (*text >= 'a' && *text <= 'f')
            *value = *value << 4 | (uint64_t)(*text - 'a' + 10);
        else
            return text;
    }
}

/* start-end perms offset dev inode   path */
static const char *path_of_line(const char *line, uintptr_t address)
{
    uint64_t start, end;
    const char *at = parse_hex(line, &start);
    if (*at != '-')
        return NULL;
    parse_hex(at + 1, &end);
    return address >= start && address < end ? strchr(line, '/') : NULL;
}

/* Lines are cut where they end; an incomplete one stays in the buffer for the next read. */
static const char *search(int fd, char *buffer, uintptr_t address)
{
    size_t used = 0;
    for (;;) {
        long got = wtm_sys_read(fd, buffer + used, BUFFER_BYTES - 1 - used);
        if (got <= 0)
            return NULL;
        used += (size_t)got;
        buffer[used] = 0;
        char *line = buffer;
        for (char *end; (end = strchr(line, '\n')); line = end + 1) {
            *end = 0;
            const char *path = path_of_line(line, address);
            if (path)
                return path;
        }
        used -= (size_t)(line - buffer);
        memmove(buffer, line, used);
        if (used == BUFFER_BYTES - 1)
            return NULL; /* no path is that long */
    }
}

const char *wtm_elf_path_at(uintptr_t address, struct wtm_arena *arena)
{
    char *buffer = wtm_arena_alloc(arena, BUFFER_BYTES);
    long fd = wtm_sys_open("/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
    if (wtm_sys_failed(fd))
        return NULL;
    const char *path = buffer ? search((int)fd, buffer, address) : NULL;
    wtm_sys_close((int)fd);
    return path;
}
