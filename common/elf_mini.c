/* SPDX-License-Identifier: MIT
 * .gnu_debugdata ("minidebuginfo"): an xz-compressed ELF file inside the object that has the .symtab which
 * strip took. Unpacked by liblzma's decoder with memory from the arena alone; built without liblzma it is
 * just not read. */
#include "common/elf_internal.h"
#include <errno.h>

#ifdef WTM_HAVE_LZMA
#include <lzma.h>

enum { FIRST_GUESS = 8 };
static const uint64_t max_unpacked_bytes = 256 << 20, max_decoder_bytes = 64 << 20;

static void *decoder_alloc(void *arena, size_t count, size_t bytes)
{
    return bytes && count > SIZE_MAX / bytes ? NULL : wtm_arena_alloc(arena, count * bytes);
}

static void decoder_free(void *arena, void *memory)
{
    (void)arena; /* given back as a whole */
    (void)memory;
}

static int unpack(const unsigned char *packed, size_t packed_bytes, unsigned char **out, size_t *out_bytes,
                  struct wtm_arena *scratch)
{
    lzma_allocator allocator = {.alloc = decoder_alloc, .free = decoder_free, .opaque = scratch};
    for (uint64_t capacity = packed_bytes * FIRST_GUESS; capacity <= max_unpacked_bytes; capacity *= 4) {
        uint64_t limit = max_decoder_bytes;
        size_t from = 0, to = 0;
        unsigned char *bytes = wtm_arena_alloc(scratch, capacity);
        if (!bytes)
            return -ENOMEM;
        lzma_ret result = lzma_stream_buffer_decode(&limit, 0, &allocator, packed, &from, packed_bytes, bytes,
                                                    &to, capacity);
        if (result == LZMA_OK) {
            *out = bytes;
            *out_bytes = to;
            return 0;
        }
        if (result != LZMA_BUF_ERROR)
            return result == LZMA_MEM_ERROR ? -ENOMEM : -ENOEXEC;
    }
    return -EFBIG;
}

int wtm_elf_mini_open(struct wtm_elf_file *own, struct wtm_elf_file *mini, struct wtm_arena *scratch)
{
    unsigned index = wtm_elf_file_section_named(own, ".gnu_debugdata");
    if (!index || !own->sections[index].sh_size)
        return -ENOENT;
    const Elf64_Shdr *section = &own->sections[index];
    const unsigned char *packed = wtm_elf_file_load(own, section->sh_offset, section->sh_size, scratch);
    unsigned char *bytes;
    size_t count;
    if (!packed)
        return -ENOEXEC;
    int error = unpack(packed, section->sh_size, &bytes, &count, scratch);
    if (!error)
        error = wtm_elf_file_from_bytes(mini, bytes, count, scratch);
    return error ? error : wtm_elf_file_read_sections(mini);
}

#else

int wtm_elf_mini_open(struct wtm_elf_file *own, struct wtm_elf_file *mini, struct wtm_arena *scratch)
{
    (void)own;
    (void)mini;
    (void)scratch;
    return -ENOSYS;
}

#endif
