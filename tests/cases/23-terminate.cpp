// SPDX-License-Identifier: MIT
// 23: an exception meets noexcept: std::terminate runs the program's handler with timed frames on the stack
// time: fence,thrower,on_terminate
// build: $CXX -O2 -o $OUT $SRC
// run: $OUT
// expect: exit 0, prints "ok" from the terminate handler; calls fence=1 thrower=1 on_terminate=1, none of them returned (abnormal or still running at exit); the report appears
#include "case.h"
#include <cstring>
#include <exception>
#include <stdexcept>
extern "C" {
KEEP int thrower(int n) { HERE; throw std::logic_error("lost " + std::to_string(n)); }
KEEP int fence(int n) noexcept { int r = thrower(n); HERE; return r; }
KEEP void on_terminate()
{
    HERE;
    try { std::rethrow_exception(std::current_exception()); }
    catch (const std::logic_error &e) { CHECK(!strcmp(e.what(), "lost 7")); }
    std::exit(case_ok());
}
}
int main() { std::set_terminate(on_terminate); return fence(7); }
