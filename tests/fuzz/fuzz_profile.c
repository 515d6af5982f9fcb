/* SPDX-License-Identifier: MIT
 * Any bytes as a profile: check, sum up (alone, and beside itself), print as table, JSON and CSV. With
 * libFuzzer:
 *
 *   clang -g -O1 -fsanitize=fuzzer,address,undefined -D_GNU_SOURCE -I. tests/fuzz/fuzz_profile.c
 * report/rows.c \
 *     report/json_writer.c report/print_*.c
 * common/{arena,histogram,outliers,pointer_sort,profile_check,statistics,status,units}.c \
 *     common/{summary,table,text}*.c -o fuzz_profile && ./fuzz_profile -max_len=120000 CORPUS
 *
 * Seeds: any profile. The
 * header's first words are put right, or nearly all inputs would end at the magic; whether wrong ones are
 * refused is for the unit tests. */
#include "common/table.h"
#include "report/printers.h"
#include "report/rows.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static int sink(void *context, const char *text, size_t bytes)
{
    uint64_t *sum = context;
    for (size_t i = 0; i < bytes; i++)
        *sum += (unsigned char)text[i]; /* each byte is read: the sanitizers see it */
    return 0;
}

static void repair(struct wtm_profile_header *header)
{
    memcpy(header->magic, WTM_PROFILE_MAGIC, sizeof header->magic);
    header->version = header->oldest_reader = WTM_PROFILE_VERSION;
    header->header_bytes = WTM_PROFILE_HEADER_BYTES;
    header->hist_buckets = WTM_HIST_BUCKETS;
    header->features = 0;
    header->clock = header->clock % 2 ? WTM_CLOCK_TSC : WTM_CLOCK_MONOTONIC;
}

static void print_all(struct wtm_summary *summary)
{
    static wtm_printer *const printers[] = {wtm_table_print, wtm_print_json, wtm_print_csv};
    for (size_t i = 0; i < sizeof printers / sizeof *printers; i++) {
        char buffer[64];
        uint64_t sum = 0;
        struct wtm_text text;
        struct wtm_table_options options = {.width = (int)(summary->row_count * 37 % 300), .verbose = i % 2};
        wtm_text_init(&text, buffer, sizeof buffer, sink, &sum);
        if (printers[i](&text, summary, &options))
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    if (bytes > 1 << 20)
        return 0;
    uint8_t *copy = malloc(bytes); /* of this very size, so that a step beyond it is seen */
    if (bytes)
        memcpy(copy, data, bytes);
    if (bytes >= WTM_PROFILE_HEADER_BYTES)
        repair((struct wtm_profile_header *)copy);
    struct wtm_profile profiles[2] = {{.base = copy, .bytes = bytes}, {.base = copy, .bytes = bytes}};
    const char *reason;
    int refused = wtm_profile_check(&profiles[0], &reason);
    for (size_t round = 0; round < 4; round++) { /* alone and beside itself, whole and split */
        size_t count = 1 + round % 2;
        unsigned by = round < 2 ? 0 : bytes >= WTM_PROFILE_HEADER_BYTES ? 1 + copy[WTM_PROFILE_HEADER_BYTES - 1] % 31u : 31;
        profiles[0].gone = profiles[1].gone = (unsigned)(bytes / 64 % 2);
        struct wtm_arena arena = {.limit_bytes = 512 << 20};
        struct wtm_summary summary;
        int result = wtm_summary_build_by(&summary, profiles, count, 1, by, &arena);
        if (!result != !refused)
            abort();
        if (!result) {
            print_all(&summary);
            wtm_rows_sort(&summary, "p99");
            wtm_rows_sort(&summary, "name");
        }
        wtm_arena_free(&arena);
    }
    free(copy);
    return 0;
}
