/* SPDX-License-Identifier: MIT
 * Blocks: code pages first, data pages behind them. Within a block, pages are filled once and sealed; a page that runs
 * is never made writable again while anything in its block is in use. */
#include "patcher/near.h"
#include "patcher/dictated.h"
#include "patcher/gaps.h"
#include "patcher/memory.h"
#include "common/sys.h"
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

enum {
    SMALL_CODE_BYTES = 48 * 1024,
    LARGEST_CODE_BYTES = 32 * 1024 * 1024,
    CODE_BYTES_FOR_DATA = 3, /* a stub with its body takes some 60 to 80 bytes of code and 8 or 16 of data */
    TRAP = 0xcc
};
static const uintptr_t reach = ((uintptr_t)1 << 31) - 65536; /* an operand's end and small offsets stay inside */

struct wtm_near_block {
    struct wtm_near_block *next;
    uintptr_t code, code_used, sealed, code_end; /* [code, sealed) is r-x, [sealed, code_end) rw */
    uintptr_t data, data_used, data_end;
    size_t pieces;
};

static struct wtm_near_block *blocks;
static struct wtm_pool block_pool;
/* A search that found nothing, until the next seal: thousands of requests must not repeat it one by one. */
static struct wtm_code_range hopeless;
static size_t hopeless_bytes;

static int within_reach(const struct wtm_code_range *span, uintptr_t start, uintptr_t end)
{
    return (start >= span->end || span->end - start <= reach) && (end <= span->start || end - span->start <= reach);
}

static int block_fits(struct wtm_near_block *block, size_t code_bytes, size_t data_bytes)
{
    return block->code_end - block->code_used >= code_bytes && block->data_end - block->data_used >= data_bytes;
}

static struct wtm_near_block *new_block(const struct wtm_code_range *span, size_t code_bytes)
{
    size_t code = wtm_page_up(code_bytes < SMALL_CODE_BYTES ? SMALL_CODE_BYTES : code_bytes);
    size_t data = wtm_page_up(code / CODE_BYTES_FOR_DATA);
    uintptr_t low = span->end > reach ? span->end - reach : 0, high = span->start + reach;
    struct wtm_near_block *block = wtm_pool_take(&block_pool, sizeof *block);
    if (!block)
        return NULL;
    long at = wtm_gap_map(low, high, span, code + data);
    if (wtm_sys_failed(at))
        return NULL;
    *block = (struct wtm_near_block){.next = blocks, .code = (uintptr_t)at, .code_used = (uintptr_t)at,
                                     .sealed = (uintptr_t)at, .code_end = (uintptr_t)at + code,
                                     .data = (uintptr_t)at + code, .data_used = (uintptr_t)at + code,
                                     .data_end = (uintptr_t)at + code + data};
    blocks = block;
    return block;
}

/* A block that lost its last piece starts over: nothing can run in it. */
static int reopen(struct wtm_near_block *block)
{
    if (block->pieces || block->code_used == block->code)
        return 0;
    if (block->sealed > block->code &&
        wtm_sys_mprotect((void *)block->code, block->sealed - block->code, PROT_READ | PROT_WRITE) < 0)
        return -1;
    block->code_used = block->sealed = block->code;
    block->data_used = block->data;
    return 0;
}

int wtm_near_take(const struct wtm_code_range *span, size_t code_bytes, size_t data_bytes, size_t expected_bytes,
                  struct wtm_near_piece *piece)
{
    code_bytes = (code_bytes + 15) & ~(size_t)15;
    data_bytes = (data_bytes + 7) & ~(size_t)7;
    struct wtm_near_block *block;
    if (span->end <= span->start || span->end - span->start > reach)
        return -ENOMEM;
    for (block = blocks; block; block = block->next)
        if (within_reach(span, block->code, block->data_end) && reopen(block) == 0 &&
            block_fits(block, code_bytes, data_bytes))
            break;
    if (!block) {
        if (hopeless_bytes && code_bytes >= hopeless_bytes && hopeless.start == span->start && hopeless.end == span->end)
            return -ENOMEM;
        size_t bytes = expected_bytes > LARGEST_CODE_BYTES ? LARGEST_CODE_BYTES : expected_bytes;
        block = new_block(span, bytes > code_bytes ? bytes : code_bytes);
        if (!block && bytes > code_bytes)
            block = new_block(span, code_bytes);
        if (!block) {
            hopeless = *span;
            hopeless_bytes = code_bytes;
            return -ENOMEM;
        }
    }
    piece->block = block;
    piece->code = (uint8_t *)block->code_used;
    piece->data = (uint8_t *)block->data_used;
    block->code_used += code_bytes;
    block->data_used += data_bytes;
    block->pieces++;
    return 0;
}

void wtm_near_release(struct wtm_near_block *block)
{
    if (block && block->pieces)
        block->pieces--;
}

static int seal_block(struct wtm_near_block *block)
{
    uintptr_t end = wtm_page_up(block->code_used);
    if (end > block->sealed) {
        memset((void *)block->code_used, TRAP, end - block->code_used);
        long result = wtm_sys_mprotect((void *)block->sealed, end - block->sealed, PROT_READ | PROT_EXEC);
        if (result < 0)
            return (int)result;
        block->code_used = block->sealed = end;
    }
    return 0;
}

int wtm_near_seal(void)
{
    int result = 0;
    hopeless_bytes = 0;
    for (struct wtm_near_block *block = blocks; block; block = block->next) {
        int one = seal_block(block);
        result = one < 0 ? one : result;
    }
    int dictated = wtm_dictated_seal();
    return dictated < 0 ? dictated : result;
}

int wtm_near_owns(uintptr_t address)
{
    for (const struct wtm_near_block *block = blocks; block; block = block->next)
        if (address >= block->code && address < block->code_end)
            return 1;
    return wtm_dictated_owns(address);
}
