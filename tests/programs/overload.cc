/* SPDX-License-Identifier: MIT
 * C++ names: overloads, templates, members, an anonymous namespace. Counts are 10, 20, 30, ... */
#include <cstdio>
#include "target.h"

namespace ns {
REAL int add(int a, int b) { IMPURE; return a + b; }
REAL double add(double a, double b) { IMPURE; return a + b; }
template <class T> struct Box {
    T value;
    REAL T get() const { IMPURE; return value; }
    REAL void set(T v) { IMPURE; value = v; }
};
namespace { REAL int hidden(int n) { IMPURE; return n; } }
struct Shape {
    virtual ~Shape() {}
    virtual int area() const = 0;
};
struct Square : Shape {
    int side;
    explicit Square(int s) : side(s) {}
    REAL int area() const override { IMPURE; return side * side; }
};
}
template struct ns::Box<int>;
template struct ns::Box<char>;

int main()
{
    long sum = 0;
    ns::Box<int> number{1};
    ns::Box<char> letter{'a'};
    ns::Square square{3};
    const ns::Shape &shape = square;
    for (int i = 0; i < 10; i++) sum += ns::add(i, 1);
    for (int i = 0; i < 20; i++) sum += (long)ns::add(i * 1.0, 1.0);
    for (int i = 0; i < 30; i++) { number.set(i); sum += number.get(); }
    for (int i = 0; i < 40; i++) sum += letter.get();
    for (int i = 0; i < 50; i++) sum += ns::hidden(i);
    for (int i = 0; i < 60; i++) sum += shape.area();
    std::printf("sum %ld\n", sum);
    return 0;
}
