// SPDX-License-Identifier: MIT
// 22: C++ exceptions through timed frames: caught above, caught inside, rethrown, nested, with destructors
// time: thrower,passer,catcher,rethrower,nester
// build: $CXX -O2 -fno-optimize-sibling-calls -o $OUT $SRC
// run: $OUT
// expect: exit 0, prints "ok"; calls thrower=10000 abnormal 10000; passer=4000 abnormal 4000; catcher=2000 abnormal 0; rethrower=2000 abnormal 2000; nester=2000 abnormal 0; recursive 0; memory growth < 16 MB
#include "case.h"
#include <stdexcept>
#include <string>
static long dtors;
struct Guard { ~Guard() { dtors++; } };
extern "C" {
KEEP int thrower(int n) { HERE; if (n >= 0) throw std::runtime_error(std::to_string(n)); return n; }
KEEP int passer(int n) { Guard g; int r = thrower(n); HERE; return r; }
KEEP int catcher(int n) { try { return passer(n); } catch (const std::runtime_error &e) { HERE; return std::stoi(e.what()) + 1; } }
KEEP int rethrower(int n) { try { return thrower(n); } catch (...) { Guard g; HERE; throw; } }
KEEP int nester(int n)
{
    try { thrower(n); }
    catch (const std::exception &e) {
        std::string s = e.what();
        try { passer(n + 1); } catch (const std::exception &f) { HERE; return std::stoi(s) * 2 + std::stoi(f.what()); }
    }
    return -1;
}
}
int main()
{
    long r0 = 0;
    for (int i = 0; i < 2000; i++) {
        CHECK(catcher(i) == i + 1);
        int got = -1;
        try { rethrower(i); } catch (std::runtime_error &e) { got = std::stoi(e.what()); }
        CHECK(got == i);
        CHECK(nester(i) == 3 * i + 1);
        got = -1;
        try { thrower(i); } catch (std::exception &e) { got = std::stoi(e.what()); }
        CHECK(got == i);
        if (i == 100) r0 = case_rss_kb();
    }
    CHECK(dtors == 6000);
    CHECK(case_rss_kb() - r0 < 16384);
    return case_ok();
}
