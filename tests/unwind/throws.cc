/* SPDX-License-Identifier: MIT
 * Exceptions through timed frames, ten thousand times: caught above, inside, rethrown, nested, from a constructor, out of a
 * recursion and through noexcept-free C frames; destructors are counted. With "thread": also pthread_exit and
 * cancellation, which glibc always gives to libgcc's unwinder. */
#include <cstdio>
#include <cstring>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <unistd.h>

#define FRAME __attribute__((noinline, used))
#define IMPURE __asm__ volatile("" ::: "memory")
#define CHECK(c) do { if (!(c)) { std::fprintf(stderr, "line %d: %s\n", __LINE__, #c); _exit(1); } } while (0)

static long destroyed;
struct Guard { ~Guard() { destroyed++; } };
struct Fussy { explicit Fussy(int n) { if (n % 2) throw n; } };

extern "C" {
FRAME int thrower(int n) { IMPURE; if (n >= 0) throw std::runtime_error(std::to_string(n)); return n; }
FRAME int passer(int n) { Guard g; int r = thrower(n); IMPURE; return r; }
FRAME int catcher(int n) { try { return passer(n); } catch (const std::runtime_error &e) { IMPURE; return std::stoi(e.what()); } }
FRAME int rethrower(int n) { try { return passer(n); } catch (...) { Guard g; throw; } }
FRAME int descender(int n) { Guard g; int r = n ? descender(n - 1) : thrower(7); IMPURE; return r; }
FRAME int builder(int n) { Fussy f(n); IMPURE; return n; }
FRAME void leaver(void *value) { Guard g; pthread_exit(value); }
FRAME void waiter(void) { Guard g; for (;;) pause(); }
}

static void *leave(void *value) { Guard g; leaver(value); return nullptr; }
static void *wait_for_cancel(void *ready) { __atomic_store_n((int *)ready, 1, __ATOMIC_RELEASE); waiter(); return nullptr; }

static void threads()
{
    for (long i = 1; i <= 50; i++) {
        pthread_t thread;
        void *value;
        int ready = 0;
        CHECK(!pthread_create(&thread, nullptr, leave, (void *)i) && !pthread_join(thread, &value) && value == (void *)i);
        CHECK(!pthread_create(&thread, nullptr, wait_for_cancel, &ready));
        while (!__atomic_load_n(&ready, __ATOMIC_ACQUIRE)) usleep(50);
        CHECK(!pthread_cancel(thread) && !pthread_join(thread, &value) && value == PTHREAD_CANCELED);
    }
}

int main(int argc, char **argv)
{
    const int rounds = 10000;
    int got = 0;
    for (int i = 0; i < rounds; i++) {
        CHECK(catcher(i) == i);
        try { rethrower(i); CHECK(0); } catch (const std::exception &e) { got = std::stoi(e.what()); }
        CHECK(got == i);
        try { descender(3); CHECK(0); } catch (const std::runtime_error &e) { got = std::stoi(e.what()); }
        CHECK(got == 7);
        try { got = builder(i); CHECK(i % 2 == 0); } catch (int n) { got = n; CHECK(i % 2 == 1); }
        CHECK(got == i);
    }
    CHECK(builder(0) == 0); /* one more event: whoever learns of a throw late has learnt of the last one now */
    CHECK(destroyed == rounds * 7L);
    if (argc > 1 && !std::strcmp(argv[1], "thread")) {
        threads();
        std::printf("threads left\n");
    }
    std::printf("thrown %d\n", rounds * 3 + rounds / 2);
    return 0;
}
