/* SPDX-License-Identifier: MIT
 * C++ and Rust names by libiberty (linked statically; its files of demanglers may be linked into anything).
 */
#include "common/demangle.h"
#include "common/resolve.h"
#include "common/spelling.h"
#include "common/sys.h"
#include <libiberty/demangle.h>
#include <string.h>
#include <sys/mman.h>

enum { STACK_BYTES = 4 << 20, GUARD_BYTES = 4096, TEXT_BYTES = 64 * 1024, MAX_MANGLED_BYTES = 4096 };

int wtm_is_mangled(const char *name)
{
    return name[0] == '_' && (name[1] == 'Z' || name[1] == 'R');
}

struct job {
    struct wtm_demangler *demangler;
    const char *mangled;
    int options;
    int done;
    void *way_out[5];
};

static void take_text(const char *text, size_t length, void *context)
{
    struct job *job = context;
    struct wtm_demangler *demangler = job->demangler;
    /* The demanglers do not ask whether to go on; they hold nothing that would have to be given back. */
    if (length >= TEXT_BYTES - demangler->length)
        __builtin_longjmp(job->way_out, 1);
    if (length) /* they give an empty text as a null pointer */
        memcpy(demangler->text + demangler->length, text, length);
    demangler->length += length;
}

/* Rust's old names look like C++ and end in 17h and 16 hexadecimal digits; they must be tried as Rust first.
 */
static void demangle(struct job *job)
{
    job->done = 0;
    job->demangler->length = 0;
    if (rust_demangle_callback(job->mangled, job->options, take_text, job)) {
        job->done = 1;
        return;
    }
    job->demangler->length = 0;
    job->done = cplus_demangle_v3_callback(job->mangled, job->options, take_text, job) != 0;
}

static void __attribute__((noinline)) guarded(void *context)
{
    struct job *job = context;
    if (__builtin_setjmp(job->way_out))
        job->done = 0;
    else
        demangle(job);
}

/* Calls on another stack. rbx holds this one's pointer meanwhile; the frame pointer lets debuggers pass. */
static void __attribute__((noinline))
call_on_stack(void (*function)(void *), void *context, unsigned char *top)
{
    __asm__ volatile("mov %%rsp, %%rbx\n\t"
                     "mov %[top], %%rsp\n\t"
                     "call *%[function]\n\t"
                     "mov %%rbx, %%rsp"
                     : "+D"(context), [function] "+a"(function)
                     : [top] "r"(top)
                     : "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "xmm0", "xmm1", "xmm2", "xmm3",
                       "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13",
                       "xmm14", "xmm15", "memory", "cc");
}

static int make_room(struct wtm_demangler *demangler)
{
    if (demangler->stack)
        return 0;
    demangler->text = wtm_arena_alloc(&demangler->arena, TEXT_BYTES);
    if (!demangler->text)
        return -1;
    long at = wtm_sys_mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (wtm_sys_failed(at))
        return -1;
    wtm_sys_mprotect((void *)at, GUARD_BYTES, PROT_NONE);
    demangler->stack = (unsigned char *)at;
    return 0;
}

const char *wtm_demangler_run(struct wtm_demangler *demangler, const char *mangled, int parameters)
{
    if (!wtm_is_mangled(mangled) || strlen(mangled) > MAX_MANGLED_BYTES || make_room(demangler))
        return NULL;
    struct job job = {.demangler = demangler, .mangled = mangled};
    job.options = DMGL_ANSI | DMGL_RET_DROP | (parameters ? DMGL_PARAMS : 0);
    call_on_stack(guarded, &job, demangler->stack + STACK_BYTES);
    if (!job.done || !demangler->length)
        return NULL;
    demangler->text[demangler->length] = 0;
    demangler->length = wtm_spelling_shorten(demangler->text, demangler->length);
    return demangler->text;
}

void wtm_demangler_end(struct wtm_demangler *demangler)
{
    if (demangler->stack)
        wtm_sys_munmap(demangler->stack, STACK_BYTES);
    wtm_arena_free(&demangler->arena);
    memset(demangler, 0, sizeof *demangler);
}

char *wtm_demangle(const char *mangled, int parameters, struct wtm_arena *arena)
{
    struct wtm_demangler demangler = {0};
    const char *text = wtm_demangler_run(&demangler, mangled, parameters);
    char *copy = text ? wtm_arena_string(arena, text, demangler.length) : NULL;
    wtm_demangler_end(&demangler);
    return copy;
}
