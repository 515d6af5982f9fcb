/* SPDX-License-Identifier: MIT */
#include "patcher/maps.h"
#include "common/sys.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

enum { BUFFER_BYTES = 2048 };

struct reader {
    char buffer[BUFFER_BYTES];
    size_t used, at;
    int fd;
};

static int next_char(struct reader *reader)
{
    if (reader->at == reader->used) {
        long got;
        do
            got = wtm_sys_read(reader->fd, reader->buffer, sizeof reader->buffer);
        while (got == -EINTR);
        if (got <= 0)
            return got ? (int)got : -ENODATA;
        reader->used = (size_t)got;
        reader->at = 0;
    }
    return (unsigned char)reader->buffer[reader->at++];
}

/* A hexadecimal number and the character behind it, which is dropped. */
static int next_number(struct reader *reader, uintptr_t *value)
{
    *value = 0;
    for (;;) {
        int c = next_char(reader);
        if (c < 0)
            return c;
        unsigned digit = c >= '0' && c <= '9' ? (unsigned)c - '0' : c >= 'a' && c <= 'f' ? (unsigned)c - 'a' + 10 : 16;
        if (digit == 16)
            return 0;
        *value = *value << 4 | digit;
    }
}

/* "7f00-7f10 r-xp 0000 08:01 12   /name": 1 when one was read, 0 at the end */
static int next_mapping(struct reader *reader, struct wtm_mapping *mapping)
{
    static const char stack_name[] = "[stack]";
    int c = next_number(reader, &mapping->start);
    if (c < 0)
        return c == -ENODATA ? 0 : c;
    c = next_number(reader, &mapping->end);
    char flags[5] = {0};
    for (unsigned i = 0; c >= 0 && i < sizeof flags; i++)
        flags[i] = (char)(c = next_char(reader));
    mapping->protection = (uint8_t)((flags[0] == 'r' ? PROT_READ : 0) | (flags[1] == 'w' ? PROT_WRITE : 0) |
                                    (flags[2] == 'x' ? PROT_EXEC : 0));
    mapping->shared = flags[3] == 's';
    mapping->is_stack = 0;
    for (size_t matched = 0; c >= 0 && c != '\n'; c = next_char(reader)) {
        matched = c == stack_name[matched] ? matched + 1 : c == '[';
        if (matched == sizeof stack_name - 1) {
            mapping->is_stack = 1;
            matched = 0;
        }
    }
    return c < 0 ? c : 1;
}

int wtm_maps_read(struct wtm_vector *mappings)
{
    struct reader reader = {.fd = (int)wtm_sys_open("/proc/self/maps", O_RDONLY | O_CLOEXEC, 0)};
    if (reader.fd < 0)
        return reader.fd;
    struct wtm_mapping mapping;
    int result;
    while ((result = next_mapping(&reader, &mapping)) > 0) {
        struct wtm_mapping *kept = wtm_vector_push(mappings);
        if (!kept) {
            result = -ENOMEM;
            break;
        }
        *kept = mapping;
    }
    wtm_sys_close(reader.fd);
    return result;
}
