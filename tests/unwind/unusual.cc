/* SPDX-License-Identifier: MIT
 * Exceptions and walks that few programs have: `unusual KIND`. Prints what it saw, and what the report must say. */
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <execinfo.h>
#include <future>
#include <pthread.h>
#include <stdexcept>
#include <sys/mman.h>
#include <thread>
#include <time.h>
#include <unistd.h>
#include <unwind.h>
#include "../programs/promise.h"

enum { ROUNDS = 400 };
static volatile long sink;
static long destroyed, cleaned;

extern "C" {
REAL long leaf(long n) { IMPURE; return n + 1; }
REAL void thrower(long n) { sink += leaf(n); if (n >= 0) throw n; IMPURE; }
}

/* ---- exceptions of another language: no type, seen by catch (...) and by cleanups ---- */
static void drop(_Unwind_Reason_Code, _Unwind_Exception *exception) { free(exception); }
struct guard { ~guard() { destroyed++; sink = sink + leaf(1); } };
extern "C" {
REAL void raise_foreign(long n)
{
    _Unwind_Exception *exception = static_cast<_Unwind_Exception *>(calloc(1, sizeof *exception));
    exception->exception_class = 0x4e4f544355535858; /* not C++'s */
    exception->exception_cleanup = drop;
    if (n >= 0)
        _Unwind_RaiseException(exception);
    IMPURE;
}
REAL void through(long n) { guard g; raise_foreign(n); IMPURE; }
REAL long catches_foreign(long n) { try { through(n); } catch (...) { return 1; } return 0; }
}
static void foreign()
{
    long caught = 0;
    for (long i = 0; i < ROUNDS; i++)
        caught += catches_foreign(i);
    printf("caught %ld destroyed %ld\n", caught, destroyed);
    promise("raise_foreign", ROUNDS, 0, ROUNDS, 0);
    promise("through", ROUNDS, 0, ROUNDS, 0);
    promise("catches_foreign", ROUNDS, 0, 0, 0);
    promise("leaf", ROUNDS, 0, 0, 0);
}

/* ---- forced unwinding to a frame that stops it, as thread libraries do ---- */

static _Unwind_Reason_Code stop(int, _Unwind_Action, _Unwind_Exception_Class, _Unwind_Exception *, _Unwind_Context *context, void *argument)
{
    sink = sink + leaf(2);
    (void)context;
    (void)argument;
    return _URC_NO_REASON;
}
extern "C" {
REAL void forces(long n)
{
    static thread_local _Unwind_Exception exception;
    if (n >= 0)
        _Unwind_ForcedUnwind(&exception, stop, nullptr);
    IMPURE;
}
REAL void through_forced(long n) { guard g; forces(n); IMPURE; }
REAL void ends_forced(long n)
{
    try {
        through_forced(n);
    } catch (...) { /* a forced unwind must go on: here it becomes the end of the thread */
        cleaned++;
        pthread_exit(nullptr);
    }
}
}
static void *forced_thread(void *) { ends_forced(1); return nullptr; }
static void forced()
{
    for (int i = 0; i < 100; i++) {
        pthread_t thread;
        pthread_create(&thread, nullptr, forced_thread, nullptr);
        pthread_join(thread, nullptr);
    }
    printf("destroyed %ld cleaned %ld\n", destroyed, cleaned);
    promise("forces", 100, 0, 100, 0);
    promise("through_forced", 100, 0, 100, 0);
    promise("ends_forced", 100, 0, 100, 0);
}

/* ---- thrown in destructors while another exception is on its way; rethrown, nested, kept, sent to another thread ---- */
struct throws_inside {
    ~throws_inside() noexcept(false)
    {
        try {
            thrower(3);
        } catch (long) {
            destroyed++;
        }
    }
};
extern "C" {
REAL void two_at_once(long n) { throws_inside outer; guard inner; thrower(n); IMPURE; }
REAL void nests(long n)
{
    try {
        two_at_once(n);
    } catch (long) {
        std::throw_with_nested(std::runtime_error("outer"));
    }
}
REAL long unnests(long n)
{
    try {
        nests(n);
    } catch (const std::exception &e) {
        try {
            std::rethrow_if_nested(e);
        } catch (long inner) {
            return inner;
        }
    }
    return -1;
}
REAL void keeps(std::exception_ptr &kept, long n) { try { thrower(n); } catch (...) { kept = std::current_exception(); } }
REAL void gives_back(const std::exception_ptr &kept) { std::rethrow_exception(kept); IMPURE; }
REAL long sends(long n)
{
    std::exception_ptr kept;
    std::thread([&] { keeps(kept, n); }).join();
    try {
        gives_back(kept);
    } catch (long got) {
        return got;
    }
    return -1;
}
REAL long cleans(long n)
{
    auto clean = [](long *value) { cleaned += leaf(*value) > 0; };
    struct scope { decltype(clean) &call; long value; ~scope() { call(&value); } } scope{clean, n};
    return n;
}
}
static void nested()
{
    long sum = 0, sent = 0;
    for (long i = 0; i < ROUNDS; i++)
        sum += unnests(i) + cleans(i);
    for (long i = 0; i < 100; i++)
        sent += sends(i);
    printf("sum %ld sent %ld destroyed %ld cleaned %ld\n", sum, sent, destroyed, cleaned);
    promise("two_at_once", ROUNDS, 0, ROUNDS, 0);
    promise("nests", ROUNDS, 0, ROUNDS, 0);
    promise("unnests", ROUNDS, 0, 0, 0);
    promise("thrower", 2 * ROUNDS + 100, 0, 2 * ROUNDS + 100, 0);
    promise("keeps", 100, 0, 0, 0);
    promise("gives_back", 100, 0, 100, 0);
    promise("sends", 100, 0, 0, 0);
    promise("cleans", ROUNDS, 0, 0, 0);
    promise("leaf", 4 * ROUNDS + 100, 0, 0, 0);
}

/* ---- noexcept ends it: from terminate's handler, with the calls still on the stack ---- */
extern "C" {
REAL void never(long n) noexcept { thrower(n); IMPURE; }
REAL void at_end(void)
{
    void *frames[64];
    int count = backtrace(frames, 64);
    printf("deep %d\n", count >= 6);
    promise("never", 1, 0, 0, 1);
    promise("thrower", 1, 0, -1, -1); /* clang unwinds as far as the noexcept function */
    promise("at_end", 1, 0, 0, 1);
    fflush(stdout);
    exit(0);
}
}
static void ends()
{
    std::set_terminate(at_end);
    never(1);
}

/* ---- walks from a handler that interrupts timed calls anywhere ---- */
static volatile long walks, lost;
static uintptr_t main_low, main_high;
static _Unwind_Reason_Code count_frame(_Unwind_Context *context, void *found)
{
    uintptr_t at = _Unwind_GetIP(context);
    *static_cast<int *>(found) |= at >= main_low && at < main_high;
    return _URC_NO_REASON;
}
static void walk(int)
{
    int found = 0;
    _Unwind_Backtrace(count_frame, &found);
    walks = walks + 1;
    lost = lost + !found;
}
extern "C" {
REAL long inner(long n) { IMPURE; return n + 1; }
REAL long outer(long n) { long result = inner(n); IMPURE; return result; }
REAL long spin(long until)
{
    long calls = 0;
    while (walks < until) {
        sink = sink + outer(calls);
        calls++;
    }
    return calls;
}
}
static void sampled()
{
    struct sigaction action = {};
    action.sa_handler = walk;
    action.sa_flags = SA_RESTART;
    sigaction(SIGPROF, &action, nullptr);
    main_low = reinterpret_cast<uintptr_t>(spin);
    main_high = main_low + 256;
    void *warm[4];
    backtrace(warm, 4);
    timer_t timer;
    struct sigevent event = {};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGPROF;
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    struct itimerspec often = {{0, 200000}, {0, 200000}};
    timer_settime(timer, 0, &often, nullptr);
    long calls = spin(1500);
    often = {{0, 0}, {0, 0}};
    timer_settime(timer, 0, &often, nullptr);
    fprintf(stderr, "calls %ld lost %ld\n", calls, lost); /* what hits a stub or moved instructions ends there: see docs/limits.md */
    printf("walked %d\n", lost * 20 < walks);
}

/* ---- a fault that becomes an exception (-fnon-call-exceptions); not among the first instructions: docs/limits.md ---- */
static void on_fault(int) { throw 7; }
extern "C" {
REAL int later_faults(const int *at) { sink = sink + leaf(1); return *at + 1; }
}
static void faults()
{
    struct sigaction action = {};
    action.sa_handler = on_fault;
    action.sa_flags = SA_NODEFER;
    sigaction(SIGSEGV, &action, nullptr);
    int *volatile nowhere = nullptr;
    long caught = 0;
    for (int i = 0; i < ROUNDS; i++)
        try {
            sink = sink + later_faults(nowhere);
        } catch (int) {
            caught++;
        }
    printf("caught %ld\n", caught);
    promise("later_faults", ROUNDS, 0, ROUNDS, 0);
    promise("leaf", ROUNDS, 0, 0, 0);
}

int main(int count, char **words)
{
    static const struct {
        const char *name;
        void (*run)();
    } kinds[] = {{"foreign", foreign}, {"forced", forced}, {"nested", nested}, {"ends", ends}, {"sampled", sampled}, {"faults", faults}};
    for (const auto &kind : kinds)
        if (count > 1 && !strcmp(words[1], kind.name)) {
            kind.run();
            return 0;
        }
    return 2;
}
