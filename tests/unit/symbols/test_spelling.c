/* SPDX-License-Identifier: MIT
 * Demangling, and names as people write them. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/demangle.h"
#include "common/resolve.h"
#include "common/spelling.h"

Test(demangle, cxx_and_rust)
{
    static const struct {
        const char *mangled, *bare, *full;
    } table[] = {
        {"_Z10fx_computei", "fx_compute", "fx_compute(int)"},
        {"_ZNK2fx3Box3getEv", "fx::Box::get", "fx::Box::get() const"},
        {"_ZN2fx4pairIiE4makeEi", "fx::pair<int>::make", "fx::pair<int>::make(int)"},
        {"_Z3addIiET_S0_S0_", "add<int>", "add<int>(int, int)"}, /* without its return type */
        {"_ZN2fx3addEii.constprop.0", "fx::add", "fx::add(int, int) [clone .constprop.0]"},
        {"_ZN8fx_crate5inner5solve17h0123456789abcdefE", "fx_crate::inner::solve", "fx_crate::inner::solve"},
        {"_RNvNtCs1234_8fx_crate5inner5parse", "fx_crate::inner::parse", "fx_crate::inner::parse"},
        {"malloc", NULL, NULL},
        {"_Z", NULL, NULL},
        {"_R", NULL, NULL},
        {"_ZN", NULL, NULL},
        {"", NULL, NULL},
    };
    struct wtm_arena arena = {0};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        char *bare = wtm_demangle(table[i].mangled, 0, &arena),
             *full = wtm_demangle(table[i].mangled, 1, &arena);
        cr_assert_eq(!bare, !table[i].bare, "%s", table[i].mangled);
        if (bare) {
            cr_assert_str_eq(bare, table[i].bare);
            cr_assert_str_eq(full, table[i].full);
        }
    }
    wtm_arena_free(&arena);
}

/* Names that would need gigabytes, megabytes of stack, or are just long. */
Test(demangle, bounded, .timeout = 20)
{
    struct wtm_arena arena = {0};
    struct wtm_demangler demangler = {0};
    char *name = malloc(70000);
    /* Each parameter is a pair of the one before: 2^60 words of output. */
    size_t used = (size_t)sprintf(name, "_Z1fI1AESt4pairIT_S1_E");
    for (int i = 0; i < 60; i++)
        used += (size_t)sprintf(name + used, "St4pairIS%d_S%d_E", i + 2, i + 2);
    wtm_demangler_run(&demangler, name, 1);
    for (int depth = 10; depth < 20000; depth *= 3) {
        /* Pointers to pointers, and names nested without end. */
        used = (size_t)sprintf(name, "_Z1f");
        memset(name + used, 'P', (size_t)depth);
        strcpy(name + used + depth, "i");
        wtm_demangler_run(&demangler, name, 1);
        used = 2;
        memcpy(name, "_Z", 2);
        for (int i = 0; i < depth; i++, used += 3)
            memcpy(name + used, "N1a", 3);
        name[used] = 0;
        wtm_demangler_run(&demangler, name, 1);
    }
    memcpy(name, "_Z5000", 6);
    memset(name + 6, 'x', 5000);
    name[5006] = 0;
    cr_assert_null(wtm_demangler_run(&demangler, name, 1), "longer than what is looked at");
    cr_assert_str_eq(wtm_demangler_run(&demangler, "_ZN2fx3addEii", 1), "fx::add(int, int)", "still of use");
    wtm_demangler_end(&demangler);
    wtm_arena_free(&arena);
    free(name);
}

static const char *normal(const char *text)
{
    static char out[512];
    wtm_spelling_normalise(out, text, strlen(text));
    return out;
}

static const char *dropped(size_t (*drop)(char *, size_t), const char *text)
{
    static char out[512];
    size_t length = drop(out, wtm_spelling_normalise(out, text, strlen(text)));
    cr_assert_eq(out[length], 0);
    return out;
}

Test(spelling, one_spelling)
{
    cr_assert_str_eq(normal("ns::add(int, int)"), "ns::add(int,int)");
    cr_assert_str_eq(normal("ns::add( int,int )"), "ns::add(int,int)");
    cr_assert_str_eq(normal("f(unsigned  long, char const*)"), "f(unsigned long,char const*)");
    cr_assert_str_eq(normal("f(void)"), "f()");
    cr_assert_str_eq(normal("Box::get() const"), "Box::get()const");
    cr_assert_str_eq(
        normal("f(std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > const&)"),
        "f(std::string const&)");
    cr_assert_str_eq(normal("std::map<int, std::vector<A<B>, std::allocator<A<B> > >, std::less<int>, "
                            "std::allocator<std::pair<int const, A> > >::at"),
                     "std::map<int,std::vector<A<B>>>::at");
    cr_assert_str_eq(normal("f(A, std::allocator<"), "f(A,std::allocator<", "not closed: left as it is");
    cr_assert_str_eq(normal("std::__1::vector<int>"), "std::vector<int>");
    cr_assert_str_eq(normal("<T as core::convert::Into<U>>::into"), "<T as core::convert::Into<U>>::into");
    cr_assert_str_eq(normal("core::mem::align_of::<usize>"), "core::mem::align_of<usize>");
    cr_assert_str_eq(normal("  "), "");
    cr_assert_str_eq(normal(" a "), "a");
}

Test(spelling, what_is_left_out)
{
    size_t (*templates)(char *, size_t) = wtm_spelling_drop_templates;
    cr_assert_str_eq(dropped(templates, "ns::Box<int>::get"), "ns::Box::get");
    cr_assert_str_eq(dropped(templates, "a<b<c>, d>::e<f>"), "a::e");
    cr_assert_str_eq(dropped(templates, "ns::operator<"), "ns::operator<");
    cr_assert_str_eq(dropped(templates, "ns::operator<<"), "ns::operator<<");
    cr_assert_str_eq(dropped(templates, "ns::operator<< <int>"), "ns::operator<<");
    cr_assert_str_eq(dropped(templates, "ns::operator< <int>"), "ns::operator<");
    cr_assert_str_eq(dropped(templates, "ns::operator-<int>"), "ns::operator-");
    cr_assert_str_eq(dropped(templates, "Box<int>::operator std::vector<int>"), "Box::operator std::vector");
    cr_assert_str_eq(dropped(templates, "Box<int>::operator->"), "Box::operator->");
    cr_assert_str_eq(dropped(templates, "Box<int>::operator()"), "Box::operator()");
    cr_assert_str_eq(dropped(templates, "core::mem::align_of::<usize>"), "core::mem::align_of");
    cr_assert_str_eq(dropped(templates, "<my::Square as my::Shape>::area"), "my::Square::area");
    cr_assert_str_eq(dropped(templates, "<my::Square<T> as my::Shape>::area"), "my::Square::area");
    cr_assert_str_eq(dropped(templates, "<my::Square>::new"), "my::Square::new");
    cr_assert_str_eq(dropped(templates, "a<b"), "a<b");
    cr_assert_str_eq(dropped(wtm_spelling_drop_anonymous, "ns::(anonymous namespace)::f"), "ns::f");
    cr_assert_str_eq(dropped(wtm_spelling_drop_qualifiers, "B::get() const &"), "B::get()");
    cr_assert_str_eq(dropped(wtm_spelling_drop_qualifiers, "B::get"), "B::get");
    cr_assert_null(wtm_spelling_parameters("(anonymous namespace)::f"));
    cr_assert_null(wtm_spelling_parameters("B::operator()"));
    cr_assert_str_eq(wtm_spelling_parameters("B::operator()(int)"), "(int)");
    cr_assert_str_eq(wtm_spelling_parameters("(anonymous namespace)::f(int)"), "(int)");
}

static void expect_needle(const char *name, const char *expected)
{
    size_t length = 0;
    const char *needle = wtm_spelling_needle(name, strlen(name), &length);
    if (!expected)
        cr_assert_null(needle, "%s", name);
    else
        cr_assert(needle && length == strlen(expected) && !strncmp(needle, expected, length), "%s", name);
}

/* A needle that is not in every mangled name of the pattern's functions would lose them. */
Test(spelling, needles)
{
    expect_needle("ns::Box::get", "get");
    expect_needle("std::vector::push_back", "push_back");
    expect_needle("std::string::append", "append");
    expect_needle("std::string::string", NULL); /* a substitution: _ZNSsC1Ev */
    expect_needle("ns::Box::~Box", "ns");
    expect_needle("std::vector::~vector", NULL);
    expect_needle("ns::operator<<", "ns");
    expect_needle("std::operator<<", NULL);
    expect_needle("ns::get_*_now", "get_");
    expect_needle("ns::*", "ns");
    expect_needle("*::get", "get");
    expect_needle("my::run::{closure#0}", "my");
    expect_needle("(anonymous namespace)::f", NULL);
    expect_needle("ns::h\xc3\xb6he", "ns"); /* Rust encodes what is not ASCII */
}

Test(spelling, unscoped_and_clones)
{
    size_t length;
    cr_assert_str_eq(wtm_spelling_unscoped("_Z7computei", &length), "computei");
    cr_assert_eq(length, 7);
    cr_assert_str_eq(wtm_spelling_unscoped("_ZL7computei", &length), "computei");
    cr_assert_str_eq(wtm_spelling_unscoped("_ZN12_GLOBAL__N_17computeEi", &length), "computeEi");
    cr_assert_null(wtm_spelling_unscoped("_ZN12_GLOBAL__N_13Box3getEv", &length));
    cr_assert_null(wtm_spelling_unscoped("_ZN2ns7computeEi", &length));
    cr_assert_null(wtm_spelling_unscoped("_Z99compute", &length), "the text is shorter than it says");
    cr_assert_null(wtm_spelling_unscoped("_Z99999999999999999999x", &length));
    cr_assert_null(wtm_spelling_unscoped("compute", &length));
    cr_assert_null(wtm_spelling_unscoped("", &length));
    static const struct {
        const char *name;
        size_t base;
    } names[] = {{"foo", 3},
                 {"foo.constprop.0", 3},
                 {"foo.part.0.isra.12", 3},
                 {"foo.isra.0.cold", 15},
                 {"foo.lto_priv.3", 3},
                 {"foo.localalias", 3},
                 {"foo.bar", 7},
                 {"main.main", 9},
                 {"a.b.part.0", 3},
                 {".hidden", 7},
                 {"foo.partial", 11},
                 {"foo.part.x", 10},
                 {"", 0},
                 {".", 1},
                 {"foo.llvm.123", 3}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        cr_assert_eq(wtm_spelling_base_length(names[i].name), names[i].base, "%s: %zu", names[i].name,
                     wtm_spelling_base_length(names[i].name));
}
