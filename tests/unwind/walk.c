/* SPDX-License-Identifier: MIT
 * Walks the chain from its innermost frame: directly, from a signal handler, in a thread, and on a coroutine's stack.
 * WALKER: 1 glibc's backtrace(), 2 _Unwind_Backtrace of whichever unwinder is loaded, 3 nongnu libunwind's unw_step(). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#if WALKER == 1
#include <execinfo.h>
#elif WALKER == 2
#include <unwind.h>
#else
#define UNW_LOCAL_ONLY
#include <libunwind.h>
#endif
#include "chain.h"

static int by_signal;

/* One's own frame in libwtmtime.so, between a timed function and its caller, is no frame of the program's. */
static void print_frame(void *address)
{
    Dl_info info;
    if (!dladdr(address, &info))
        printf("frame ? at %p\n", address);
    else if (!strstr(info.dli_fname, "libwtmtime"))
        printf("frame %s\n", info.dli_sname ? info.dli_sname : "?");
}

#if WALKER == 1
static void print_frames(void)
{
    void *frames[64];
    int count = backtrace(frames, 64);
    for (int i = 0; i < count; i++)
        print_frame((char *)frames[i] - (i > 0));
}
#elif WALKER == 2
static _Unwind_Reason_Code each(struct _Unwind_Context *context, void *unused)
{
    int before = 0;
    _Unwind_Ptr address = _Unwind_GetIPInfo(context, &before);
    print_frame((char *)address - !before);
    return _URC_NO_REASON;
}
static void print_frames(void)
{
    _Unwind_Backtrace(each, NULL);
}
#else
static void print_frames(void)
{
    unw_context_t context;
    unw_cursor_t cursor;
    unw_word_t address;
    unw_getcontext(&context);
    unw_init_local(&cursor, &context);
    do {
        unw_get_reg(&cursor, UNW_REG_IP, &address);
        print_frame((char *)address - (unw_is_signal_frame(&cursor) <= 0));
    } while (unw_step(&cursor) > 0);
}
#endif

static void on_signal(int number)
{
    print_frames();
}

void walk(void)
{
    if (by_signal)
        raise(SIGUSR1);
    else
        print_frames();
    IMPURE;
}

FRAME void *thread(void *unused);
FRAME void *thread(void *unused)
{
    one(1);
    return NULL;
}

static ucontext_t main_context, other_context;
FRAME void coroutine(void);
FRAME void coroutine(void)
{
    one(1);
    swapcontext(&other_context, &main_context);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "direct";
    if (!strcmp(how, "signal")) {
        struct sigaction action = {.sa_handler = on_signal};
        sigaction(SIGUSR1, &action, NULL);
        by_signal = 1;
    }
    if (!strcmp(how, "thread")) {
        pthread_t id;
        if (pthread_create(&id, NULL, thread, NULL) || pthread_join(id, NULL))
            return 2;
    } else if (!strcmp(how, "coroutine")) {
        static char stack[262144];
        getcontext(&other_context);
        other_context.uc_stack.ss_sp = stack;
        other_context.uc_stack.ss_size = sizeof stack;
        makecontext(&other_context, coroutine, 0);
        swapcontext(&main_context, &other_context);
    } else {
        printf("result %d\n", one(1));
    }
    IMPURE;
    return 0;
}
