/* SPDX-License-Identifier: MIT
 * C++20 coroutines: generators that end, that are thrown away half-way, that throw, and that call each other. Their frames are on
 * the heap, each resumption is a call on the caller's stack. Prints what the report must say. */
#include <coroutine>
#include <exception>
#include <vector>
#include "../programs/promise.h"

enum { ROUNDS = 300, LENGTH = 20 };
static volatile long sink;
static long destroyed;

struct generator {
    struct promise_type {
        long value = 0;
        std::exception_ptr thrown;
        generator get_return_object() { return generator{std::coroutine_handle<promise_type>::from_promise(*this)}; }
        std::suspend_always initial_suspend() { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        std::suspend_always yield_value(long next) { value = next; return {}; }
        void return_void() {}
        void unhandled_exception() { thrown = std::current_exception(); }
    };
    std::coroutine_handle<promise_type> handle;
    explicit generator(std::coroutine_handle<promise_type> made) : handle(made) {}
    generator(generator &&other) : handle(other.handle) { other.handle = nullptr; }
    ~generator() { if (handle) handle.destroy(); }
};
struct guard { ~guard() { destroyed++; } };

extern "C" {
REAL long step(long n) { IMPURE; return n + 1; }
REAL void fails(long n) { if (n >= 0) throw n; IMPURE; }
REAL long take(generator &from)
{
    from.handle.resume();
    if (from.handle.promise().thrown)
        std::rethrow_exception(from.handle.promise().thrown);
    return from.handle.done() ? -1 : from.handle.promise().value;
}
}

static generator count(long to, bool throws)
{
    guard g;
    for (long i = 0; i < to; i++)
        co_yield step(i);
    if (throws)
        fails(to);
}
static generator twice(long to)
{
    guard g;
    generator inner = count(to, false);
    for (long value; (value = take(inner)) >= 0;)
        co_yield 2 * value;
}

int main()
{
    long caught = 0, takes = 0;
    for (int i = 0; i < ROUNDS; i++) {
        generator whole = count(LENGTH, i % 2), outer = twice(LENGTH), half = count(LENGTH, false);
        try {
            for (takes++; take(whole) >= 0; takes++)
                ;
        } catch (long) {
            caught++;
        }
        for (takes++; take(outer) >= 0; takes++)
            ;
        takes += LENGTH / 2;
        for (int j = 0; j < LENGTH / 2; j++)
            sink = sink + take(half);
    }
    printf("caught %ld destroyed %ld\n", caught, destroyed);
    long inner = (long)ROUNDS * (LENGTH + 1);
    promise("take", takes + inner, inner, ROUNDS / 2, 0);
    promise("step", (long)ROUNDS * (2 * LENGTH + LENGTH / 2), 0, 0, 0);
    promise("fails", ROUNDS / 2, 0, ROUNDS / 2, 0);
    return 0;
}
