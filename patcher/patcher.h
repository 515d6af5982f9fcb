/* SPDX-License-Identifier: MIT
 * Redirects the entries of functions in a running program, and takes that back. Bytes and addresses only: nothing here
 * knows what the hook is for. The only headers of common/ used here are status.h (why a function is refused) and sys.h.
 *
 *   entry:  jmp stub          5 bytes (or another form, see enum wtm_patch_method), behind an endbr64 if there is one
 *   stub:   jmp *gate         gate, in near data, holds `body` (closed) or `armed` (open)
 *   armed:  mov %r11,-16(%rsp); mov $context,%r11; jmp *hook
 *   body:   the displaced instructions, relocated; jmp entry + window
 *
 * The hook is entered by a jump, at the function's entry: every register and flag but r11 as the caller left it, r11's
 * value at -16(%rsp), `context` in r11, the return address at (%rsp). It must end in a jump or call to `body`.
 *
 * Life: modules are described; wtm_patch_prepare() decides and builds everything, without a change to the module;
 * wtm_patch_commit() writes the jumps, with closed gates; wtm_patch_open/close() switch by one store of data, at any
 * time and from any thread; wtm_patch_revert() puts the bytes back. A function that cannot be patched safely gets a
 * refusal and stays as it is.
 *
 * Threads: prepare, commit, revert and forget are for one thread at a time (the caller sees to it). They allocate by
 * mmap alone and enter no libc function. Errors: 0 or a negative errno, refusals by enum wtm_refusal. */
#ifndef WTM_PATCHER_PATCHER_H
#define WTM_PATCHER_PATCHER_H

#include <stddef.h>
#include <stdint.h>
#include "common/status.h"

enum wtm_patch_method {
    WTM_PATCH_NONE = 0,
    WTM_PATCH_JUMP5 = 1,   /* e9 rel32 over the first instructions */
    WTM_PATCH_PADDED = 2,  /* e9 rel32 over a short function and free padding behind it */
    WTM_PATCH_JUMP2 = 3,   /* eb rel8 to five free bytes nearby, which hold the e9 rel32 */
    WTM_PATCH_PUNNED = 4,  /* e9 whose last displacement bytes are those that stood there and stay */
};

struct wtm_code_range {
    uintptr_t start, end;
};

enum { WTM_MAX_TEXT_RANGES = 8, WTM_MAX_WINDOW = 32 };

/* What is known of the object that functions live in. The memory it describes must stay mapped while it is used here. */
struct wtm_code_module {
    struct wtm_code_range text[WTM_MAX_TEXT_RANGES]; /* its executable segments; readable */
    unsigned text_count;
    struct wtm_code_range data[WTM_MAX_TEXT_RANGES]; /* its other readable segments (jump tables are looked up there) */
    unsigned data_count;
    struct wtm_code_range span;        /* all of it: what moved rip-relative operands must reach */
    const uintptr_t *starts;           /* sorted addresses at which some symbol begins; may be empty */
    size_t start_count;
    const uintptr_t *code_pointers;    /* sorted addresses in text that relocated data points to; may be empty */
    size_t code_pointer_count;
    uintptr_t eh_frame_hdr;            /* PT_GNU_EH_FRAME as mapped, or 0: function extents and landing pads */
    size_t eh_frame_hdr_bytes;
};

/* One patched entry. Storage is the caller's and must outlive the patch; fields are read-only for the caller. */
struct wtm_patch {
    uintptr_t entry;      /* as asked for */
    uintptr_t site;       /* where bytes change: entry, or behind its endbr64 */
    uintptr_t body;       /* runs the function without the hook, from `site` on */
    uintptr_t armed;      /* the stub's hooked path */
    uintptr_t *gate;      /* what the stub jumps through: body or armed */
    void *context;
    enum wtm_patch_method method;
    uint8_t window;       /* bytes displaced at `site` */
    uint8_t changed;      /* bytes that commit writes at `site` */
    uint8_t committed;
    uint8_t original[WTM_MAX_WINDOW], replacement[WTM_MAX_WINDOW];
    void *detail;         /* the patcher's own: re-aimed branches, island, slot */
};

struct wtm_patch_request {
    uintptr_t entry;            /* in: address of the function */
    size_t size;                /* in: its size, 0 when unknown */
    uintptr_t hook;             /* in: where the armed stub jumps to */
    uintptr_t looking_hook;     /* in: the hook of a function that looks at its return address: one that leaves it in its
                                 * place. 0: such a function is refused */
    void *context;              /* in: in r11 there */
    uint8_t running;            /* in: threads may be in the function when it is committed; see wtm_patch_live.traps */
    struct wtm_patch *patch;    /* in: storage; filled when `refusal` is WTM_REFUSED_NONE */
    enum wtm_refusal refusal;   /* out */
    enum wtm_refusal looks;     /* out: NONE; _READS_RETURN, _POPS_RETURN: `looking_hook` was taken */
};

/* Decides on each request and builds stubs and relocated bodies; scans the module's text once for all of them.
 * Returns 0, or a negative errno when nothing could be done at all (each request then has a refusal as well).
 * Two requests for one entry, in one call or in two: the second gets WTM_REFUSED_FOREIGN_HOOK, until the first patch is
 * forgotten. An entry need not be a symbol, but must be reached by calls: (%rsp) is the return address there. */
int wtm_patch_prepare(const struct wtm_code_module *module, struct wtm_patch_request *requests, size_t count);

/* Writes the jumps of all prepared (not refused) requests; page by page, so that protections change once a page.
 * `alone`: no other thread can be in the module's code (start-up, or a library just loaded); otherwise the live protocol
 * is used and a function in whose window a thread stands gets WTM_REFUSED_BUSY. A page that cannot be written refuses
 * its functions with WTM_REFUSED_PROTECTED. Text is r-x again when it returns. */
int wtm_patch_commit(struct wtm_patch_request *requests, size_t count, int alone);

/* Live changes of code that more than one instruction stands in need the caller's help: a SIGTRAP handler that sends a
 * thread on to wtm_patch_trap(). For requests that were prepared as `running` that is all: wherever a thread can stand
 * inside the bytes that change, it finds an int3 afterwards (the displacement is chosen so), and goes on in the relocated
 * copy. For others somebody must say whether a thread stands inside. */
struct wtm_patch_live {
    uint8_t traps; /* the SIGTRAP handler is in place, and no thread that may come to the bytes blocks the signal */
    /* NULL: nobody can tell. Sets busy[i] when some thread's instruction pointer (or that of a frame a signal interrupted) lies in bytes[i];
     * it may move the thread instead. Called with an int3 before each of them: no thread can get there any more.
     * Negative errno: nothing is known, all are busy. */
    int (*stand_clear)(void *context, const struct wtm_code_range *bytes, uint8_t *busy, size_t count);
    void *context;
};
/* Copied. NULL: no help; then only entries whose changed bytes are one instruction, in one cache line, can be changed
 * live, and the others get WTM_REFUSED_BUSY. */
void wtm_patch_set_live(const struct wtm_patch_live *live);
/* Who meets an int3 when a request that was prepared as `running` is written: nobody; threads that stand inside its bytes at
 * that moment; or also every thread that calls it in the microseconds that writing takes. */
enum wtm_patch_trapped { WTM_TRAPS_NOBODY = 0, WTM_TRAPS_INSIDE = 1, WTM_TRAPS_CALLERS = 2 };
enum wtm_patch_trapped wtm_patch_trapped(const struct wtm_patch *patch);
/* Where a thread that trapped at the int3 at `ip` (its instruction pointer less one) goes on; 0: not ours. It keeps the answer
 * after the commit, for threads whose signal comes late. Any thread, signal-safe. */
uintptr_t wtm_patch_trap(uintptr_t ip);

/* One store each; any thread, signal-safe. Threads already past the gate are not affected. */
static inline void wtm_patch_open(const struct wtm_patch *patch)
{
    __atomic_store_n(patch->gate, patch->armed, __ATOMIC_RELEASE);
}
static inline void wtm_patch_close(const struct wtm_patch *patch)
{
    __atomic_store_n(patch->gate, patch->body, __ATOMIC_RELEASE);
}

/* Puts the original bytes back. Stubs and bodies stay mapped for threads that are still in them. Those that cannot be
 * reverted stay committed, and the result is -EBUSY (a thread in the way, or bytes that somebody else changed since) or
 * -EACCES; all others are reverted all the same. A reverted patch can be committed again. */
int wtm_patch_revert(struct wtm_patch *const *patches, size_t count, int alone);
/* The object was unmapped, or the patches are reverted and nobody can be in their stubs and bodies any more: nothing is
 * written, slots may be used again, and the entries may be prepared anew. Not for committed patches of mapped objects. */
void wtm_patch_forget(struct wtm_patch *const *patches, size_t count);

#endif
