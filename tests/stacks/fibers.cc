/* SPDX-License-Identifier: MIT
 * Boost.Fiber with the work-stealing scheduler: fibers yield within timed calls and go on in other threads. Arguments: rounds. */
#include <atomic>
#include <boost/fiber/all.hpp>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <thread>
#include <vector>
#include "../programs/target.h"

enum { THREADS = 4, FIBERS = 200 };

static std::atomic<long> sum, moved;
static boost::fibers::mutex lock;
static boost::fibers::condition_variable_any all_done;
static int open_fibers;

/* Out of line: the address of a thread's own data must not be kept over a switch. */
REAL std::thread::id where()
{
    IMPURE;
    return std::this_thread::get_id();
}

REAL long step(long value)
{
    std::thread::id before = where();
    boost::this_fiber::yield();
    if (where() != before)
        moved++;
    IMPURE;
    return value + 1;
}

REAL long thrower(long value)
{
    boost::this_fiber::yield();
    if (value >= 0)
        throw std::runtime_error("thrown");
    IMPURE;
    return value;
}

REAL long attempt(long value)
{
    try {
        return thrower(value);
    } catch (const std::exception &) {
        return value;
    }
}

REAL long body(long rounds)
{
    long value = 0;
    for (long i = 0; i < rounds; i++) {
        value = step(value);
        if (i % 50 == 0)
            value += attempt(i);
    }
    return value;
}

static void fiber(long rounds)
{
    sum += body(rounds);
    lock.lock();
    if (--open_fibers == 0) {
        lock.unlock();
        all_done.notify_all();
    } else {
        lock.unlock();
    }
}

static void wait_for_all()
{
    lock.lock();
    while (open_fibers)
        all_done.wait(lock);
    lock.unlock();
}

static void worker()
{
    boost::fibers::use_scheduling_algorithm<boost::fibers::algo::work_stealing>(THREADS);
    wait_for_all();
}

int main(int count, char **words)
{
    long rounds = count > 1 ? atol(words[1]) : 100;
    open_fibers = FIBERS;
    std::vector<std::thread> threads;
    for (int i = 1; i < THREADS; i++)
        threads.emplace_back(worker);
    boost::fibers::use_scheduling_algorithm<boost::fibers::algo::work_stealing>(THREADS);
    for (int i = 0; i < FIBERS; i++)
        boost::fibers::fiber(boost::fibers::launch::post, fiber, rounds).detach();
    wait_for_all();
    for (std::thread &thread : threads)
        thread.join();
    printf("%ld\n", sum.load());
    fprintf(stderr, "moved %ld\n", moved.load());
    return 0;
}
