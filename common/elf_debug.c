/* SPDX-License-Identifier: MIT
 * Separate debug files in the places where gdb looks: by build-id below /usr/lib/debug/.build-id, then by
 * .gnu_debuglink beside the object, in .debug/ there, and below /usr/lib/debug.
 * https://sourceware.org/gdb/current/onlinedocs/gdb.html/Separate-Debug-Files.html
 *
 * A file is taken when its build-id is that of the object; where one of them has none, a debuglink's CRC-32
 * over the whole file must be right. */
#include "common/elf_internal.h"
#include <errno.h>
#include <string.h>

#define DEBUG_ROOT "/usr/lib/debug"
enum { PATH_BYTES = 4096 + 512, CRC_CHUNK_BYTES = 64 * 1024 };

/* The polynomial of Ethernet and zlib, reflected; table made on the stack: used once a debug file at most. */
uint32_t wtm_crc32(uint32_t crc, const unsigned char *bytes, size_t count)
{
    uint32_t table[256];
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t value = i;
        for (int bit = 0; bit < 8; bit++)
            value = value & 1 ? value >> 1 ^ 0xedb88320u : value >> 1;
        table[i] = value;
    }
    crc = ~crc;
    for (size_t i = 0; i < count; i++)
        crc = table[(crc ^ bytes[i]) & 255] ^ crc >> 8;
    return ~crc;
}

static int crc_is(const struct wtm_elf_file *file, uint32_t expected, struct wtm_arena *scratch)
{
    unsigned char *chunk = wtm_arena_alloc(scratch, CRC_CHUNK_BYTES);
    uint32_t crc = 0;
    if (!chunk)
        return 0;
    for (uint64_t at = 0; at < file->size;) {
        uint64_t bytes = file->size - at < CRC_CHUNK_BYTES ? file->size - at : CRC_CHUNK_BYTES;
        if (wtm_elf_file_read(file, at, chunk, bytes))
            return 0;
        crc = wtm_crc32(crc, chunk, bytes);
        at += bytes;
    }
    return crc == expected;
}

struct search {
    const struct wtm_object *object;
    const struct wtm_elf_file *own;
    struct wtm_elf_file *debug;
    struct wtm_arena *scratch;
    const uint32_t *crc; /* NULL: only a build-id counts */
};

static int matches(const struct search *search)
{
    struct wtm_elf_notes notes = {.build_id_bytes = 0};
    struct wtm_elf_file *debug = search->debug;
    if (debug->device == search->own->device && debug->inode == search->own->inode)
        return 0; /* a debuglink that names the object itself */
    if (wtm_elf_file_read_sections(debug))
        return 0;
    wtm_elf_file_notes(debug, &notes);
    if (notes.build_id_bytes && search->object->build_id_bytes)
        return notes.build_id_bytes == search->object->build_id_bytes &&
               !memcmp(notes.build_id, search->object->build_id, notes.build_id_bytes);
    return search->crc && crc_is(debug, *search->crc, search->scratch);
}

static int try_path(const struct search *search, const char *path)
{
    int error = wtm_elf_file_open(search->debug, path, search->scratch);
    if (error)
        return error;
    if (matches(search))
        return 0;
    wtm_elf_file_close(search->debug);
    return -ENOENT;
}

static int append(char *path, size_t *used, const char *text, size_t length)
{
    if (length >= PATH_BYTES - *used)
        return -ENAMETOOLONG;
    memcpy(path + *used, text, length);
    *used += length;
    path[*used] = 0;
    return 0;
}

static int by_build_id(const struct search *search, char *path)
{
    static const char digits[] = "0123456789abcdef";
    const struct wtm_object *object = search->object;
    size_t used = 0;
    if (object->build_id_bytes < 2)
        return -ENOENT;
    append(path, &used, DEBUG_ROOT "/.build-id/", strlen(DEBUG_ROOT "/.build-id/"));
    for (unsigned i = 0; i < object->build_id_bytes; i++) {
        path[used++] = digits[object->build_id[i] >> 4];
        path[used++] = digits[object->build_id[i] & 15];
        if (i == 0)
            path[used++] = '/';
    }
    if (append(path, &used, ".debug", 6))
        return -ENAMETOOLONG;
    return try_path(search, path);
}

/* The link: a file name, NUL, padding to 4, the CRC. */
static const char *read_link(struct wtm_elf_file *own, uint32_t *crc, struct wtm_arena *scratch)
{
    unsigned index = wtm_elf_file_section_named(own, ".gnu_debuglink");
    if (!index || own->sections[index].sh_size > 4096 || own->sections[index].sh_size < 8)
        return NULL;
    size_t bytes = own->sections[index].sh_size;
    const char *link = wtm_elf_file_load(own, own->sections[index].sh_offset, bytes, scratch);
    if (!link)
        return NULL;
    size_t at = (strlen(link) + 4) & ~(size_t)3;
    if (!*link || at + 4 > bytes || strchr(link, '/'))
        return NULL;
    memcpy(crc, link + at, 4);
    return link;
}

static int by_link(const struct search *search, const char *link, char *path)
{
    static const char *const before[] = {"", "", DEBUG_ROOT}, *const after[] = {"", ".debug/", ""};
    const char *own = search->object->path, *slash = strrchr(own, '/');
    size_t folder = slash ? (size_t)(slash + 1 - own) : 0;
    int error = -ENOENT;
    for (int i = 0; i < 3 && error; i++) {
        size_t used = 0;
        if (*before[i] && *own != '/')
            continue; /* a relative path has no place below the root */
        if (append(path, &used, before[i], strlen(before[i])) || append(path, &used, own, folder) ||
            append(path, &used, after[i], strlen(after[i])) || append(path, &used, link, strlen(link)))
            continue;
        error = try_path(search, path);
    }
    return error;
}

int wtm_elf_debug_open(const struct wtm_object *object, struct wtm_elf_file *own, struct wtm_elf_file *debug,
                       struct wtm_arena *scratch)
{
    struct search search = {.object = object, .own = own, .debug = debug, .scratch = scratch};
    char *path = wtm_arena_alloc(scratch, PATH_BYTES);
    if (!path)
        return -ENOMEM;
    int error = by_build_id(&search, path);
    if (!error)
        return 0;
    uint32_t crc;
    const char *link = read_link(own, &crc, scratch);
    if (!link)
        return -ENOENT;
    search.crc = &crc;
    return by_link(&search, link, path);
}
