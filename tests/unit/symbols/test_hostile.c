/* SPDX-License-Identifier: MIT
 * Damaged files: cut at every 64 bytes, with bytes changed at random (always the same ones), with the numbers
 * in them that hurt most. Nothing may crash, hang, or give a symbol outside executable segments; fuzz_elf.c
 * checks that. */
#include <criterion/criterion.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/fuzz/fuzz_elf.h"

static const char *const files[] = {"libplain.so.1.2", "libsysv.so", "librelr.so",
                                    "libmini.so",      "nopie",      "link/.debug/libsplit.so.debug"};
enum { FILES = sizeof files / sizeof *files, ROUNDS = 400 };

static unsigned char *bytes, *work;
static size_t size;

static void load(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, FIXTURES "/%s", name);
    FILE *file = fopen(path, "r");
    cr_assert(file, "%s", path);
    bytes = realloc(bytes, 1 << 20);
    work = realloc(work, 1 << 20);
    size = fread(bytes, 1, 1 << 20, file);
    fclose(file);
    cr_assert(size > 4096 && size < 1 << 20, "%s", path);
}

/* xorshift64* (S. Vigna): the same numbers on every machine. */
static uint64_t seed = 88172645463325252u;
static uint64_t random_number(void)
{
    seed ^= seed >> 12;
    seed ^= seed << 25;
    seed ^= seed >> 27;
    return seed * 2685821657736338717u;
}

Test(hostile, undamaged)
{
    for (size_t i = 0; i < FILES; i++) {
        load(files[i]);
        cr_assert_gt(wtm_fuzz_elf(bytes, size), 10, "%s", files[i]);
    }
}

Test(hostile, cut_short, .timeout = 120)
{
    for (size_t i = 0; i < FILES; i++) {
        load(files[i]);
        for (size_t length = 0; length < size; length += 64)
            wtm_fuzz_elf(bytes, length);
    }
}

/* Half of the changes hit headers and tables, where they matter; the rest hits anything. */
static size_t interesting_place(const Elf64_Ehdr *header)
{
    switch (random_number() % 6) {
    case 0:
        return random_number() % sizeof *header;
    case 1:
        return header->e_phoff + random_number() % (header->e_phnum * sizeof(Elf64_Phdr));
    case 2:
        return header->e_shoff + random_number() % (header->e_shnum * sizeof(Elf64_Shdr));
    default:
        return random_number() % size;
    }
}

Test(hostile, changed_at_random, .timeout = 240)
{
    static const unsigned char values[] = {0x00, 0xff, 0x7f, 0x80, 0x01};
    for (size_t i = 0; i < FILES; i++) {
        load(files[i]);
        const Elf64_Ehdr *header = (const Elf64_Ehdr *)bytes;
        for (unsigned round = 0; round < ROUNDS; round++) {
            memcpy(work, bytes, size);
            unsigned changes = 1 + random_number() % 16;
            for (unsigned c = 0; c < changes; c++) {
                size_t at = interesting_place(header) % size;
                uint64_t how = random_number();
                work[at] = how & 1 ? (unsigned char)(how >> 8) : values[(how >> 8) % sizeof values];
            }
            wtm_fuzz_elf(work, size);
        }
    }
}

/* Each field of each section and program header in turn with values that overflow, underflow or point far
 * away. */
static void spoil_fields(size_t from, size_t count, size_t record, size_t field)
{
    static const uint64_t values[] = {
        0,         1, 0x7fffffff, 0xffffffff, 0x8000000000000000u, 0xffffffffffffffffu, 0xfffffffffffff000u,
        0x40000000};
    for (size_t i = 0; i < count; i++)
        for (size_t at = 0; at + field <= record; at += field) {
            uint64_t value = values[random_number() % 8];
            memcpy(work, bytes, size);
            memcpy(work + from + i * record + at, &value, field);
            wtm_fuzz_elf(work, size);
        }
}

Test(hostile, spoilt_headers, .timeout = 240)
{
    load("libplain.so.1.2");
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)bytes;
    for (unsigned turn = 0; turn < 2; turn++) {
        spoil_fields(header->e_phoff, header->e_phnum, sizeof(Elf64_Phdr), 8);
        spoil_fields(header->e_shoff, header->e_shnum, sizeof(Elf64_Shdr), turn ? 8 : 4);
        spoil_fields(16, 1, sizeof *header - 16, 2);
    }
    /* The dynamic section, entry by entry; the hash tables, word by word. */
    const Elf64_Shdr *sections = (const Elf64_Shdr *)(bytes + header->e_shoff);
    for (unsigned i = 0; i < header->e_shnum; i++) {
        if (sections[i].sh_type == SHT_DYNAMIC)
            spoil_fields(sections[i].sh_offset, sections[i].sh_size / 16, 16, 8);
        if (sections[i].sh_type == SHT_GNU_HASH || sections[i].sh_type == SHT_GNU_versym ||
            sections[i].sh_type == SHT_GNU_verdef)
            spoil_fields(sections[i].sh_offset, sections[i].sh_size / 4, 4, 4);
    }
}

/* A section count that does not fit in its field, and one that lies. */
Test(hostile, section_counts)
{
    load("libsysv.so");
    Elf64_Ehdr header;
    memcpy(&header, bytes, sizeof header);
    uint64_t true_count = header.e_shnum, lies[] = {0, UINT64_MAX, 1ull << 58, 1ull << 32, 100000};
    memcpy(work, bytes, size);
    ((Elf64_Ehdr *)work)->e_shnum = 0;
    ((Elf64_Shdr *)(work + header.e_shoff))->sh_size = true_count;
    cr_assert_gt(wtm_fuzz_elf(work, size), 10, "the extended form is read");
    for (size_t i = 0; i < 5; i++) {
        ((Elf64_Shdr *)(work + header.e_shoff))->sh_size = lies[i];
        wtm_fuzz_elf(work, size);
    }
}
