/* SPDX-License-Identifier: MIT
 * Functions of every kind that symbol tables tell of. Built in several forms by make-fixtures.sh. */
#define KEEP          __attribute__((noinline, used))
#define AS(n)         __asm__(n)
#define ALIAS(of, as) __attribute__((alias(of))) as

int fx_exported(int n);
int fx_twin_weak(int n);
int fx_twin_strong(int n);
KEEP int fx_exported(int n)
{
    return n + 1;
}
int ALIAS("fx_exported", fx_twin_weak)(int n) __attribute__((weak));
int ALIAS("fx_exported", fx_twin_strong)(int n);

KEEP static int fx_local(int n)
{
    __asm__ volatile("" ::: "memory");
    return n + 2;
}
KEEP int fx_calls_local(int n);
int fx_calls_local(int n)
{
    return fx_local(n);
}

/* What a compiler makes of functions, under the names it gives. */
int fx_cloned(int n) AS("fx_cloned.constprop.0");
KEEP int fx_cloned(int n)
{
    return n + 3;
}
int fx_parted(int n) AS("fx_parted.part.1.isra.0");
KEEP int fx_parted(int n)
{
    return n + 4;
}
int fx_cold(int n) AS("fx_exported.cold");
KEEP int fx_cold(int n)
{
    return n + 5;
}
int fx_cold_more(int n) AS("fx_local.part.0.cold.7");
KEEP int fx_cold_more(int n)
{
    return n + 6;
}
int fx_coldest(int n) AS("fx_coldness");
KEEP int fx_coldest(int n)
{
    return n + 7;
}

/* Mangled as g++ and rustc mangle: no such compiler is needed. */
int cxx_global(int) AS("_Z10fx_computei");
KEEP int cxx_global(int n)
{
    return n;
}
int cxx_static(int) AS("_ZL9fx_hiddeni");
KEEP int cxx_static(int n)
{
    return n + 1;
}
int cxx_anonymous(int) AS("_ZN12_GLOBAL__N_18fx_innerEi");
KEEP int cxx_anonymous(int n)
{
    return n + 2;
}
int cxx_get(void) AS("_ZNK2fx3Box3getEv");
KEEP int cxx_get(void)
{
    return 3;
}
int cxx_get_int(int) AS("_ZN2fx3Box3getEi");
KEEP int cxx_get_int(int n)
{
    return n + 4;
}
int cxx_add(int, int) AS("_ZN2fx3addEii");
KEEP int cxx_add(int a, int b)
{
    return a + b;
}
double cxx_add_double(double, double) AS("_ZN2fx3addEdd");
KEEP double cxx_add_double(double a, double b)
{
    return a + b;
}
int cxx_template(int) AS("_ZN2fx4pairIiE4makeEi");
KEEP int cxx_template(int n)
{
    return n + 5;
}
int cxx_string(int) AS("_ZN2fx6lengthERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE");
KEEP int cxx_string(int n)
{
    return n + 6;
}
int cxx_less(int) AS("_ZN2fxltERKNS_3BoxES2_");
KEEP int cxx_less(int n)
{
    return n + 7;
}
int rust_old(int) AS("_ZN8fx_crate5inner5solve17h0123456789abcdefE");
KEEP int rust_old(int n)
{
    return n + 8;
}
int rust_trait(int) AS("_ZN52_$LT$fx_crate..Square$u20$as$u20$fx_crate..Shape$GT$4area17h0123456789abcdefE");
KEEP int rust_trait(int n)
{
    return n + 9;
}
int rust_new(int) AS("_RNvNtCs1234_8fx_crate5inner5parse");
KEEP int rust_new(int n)
{
    return n + 10;
}

/* An IFUNC, its resolver, and bodies. */
static int resolutions;
int fx_resolutions(void);
KEEP int fx_resolutions(void)
{
    return resolutions;
}
KEEP static int fx_pick_plain(int n)
{
    __asm__ volatile("" ::: "memory");
    return n + 11;
}
KEEP static int fx_pick_other(int n)
{
    __asm__ volatile("" ::: "memory");
    return n + 12;
}
static int (*fx_choose(void))(int)
{
    resolutions++;
    return resolutions > 1000 ? fx_pick_plain : fx_pick_other;
}
int fx_pick(int n) __attribute__((ifunc("fx_choose")));
int fx_unused_pick(int n) __attribute__((ifunc("fx_choose")));
int fx_calls_pick(int n);
KEEP int fx_calls_pick(int n)
{
    return fx_pick(n);
}

/* Names that are refused wherever they are. */
int fx_context(int n) AS("jump_fcontext");
KEEP int fx_context(int n)
{
    return n;
}

/* Data and labels. */
int fx_data = 1;
int (*const fx_table[])(int) = {fx_exported, fx_local, fx_cloned};
__asm__(".text\n.globl fx_label\nfx_label: ret\n"
        ".type fx_size_zero,@function\n.globl fx_size_zero\nfx_size_zero: ret\n");

/* Two versions of one name, as libc has of memcpy. */
#ifdef FX_VERSIONS
int fx_old_form(int n);
int fx_new_form(int n);
KEEP int fx_old_form(int n)
{
    return n + 20;
}
KEEP int fx_new_form(int n)
{
    return n + 21;
}
__asm__(".symver fx_old_form,fx_versioned@FX_1");
__asm__(".symver fx_new_form,fx_versioned@@FX_2");
#endif
#ifdef FX_MAIN
int main(void)
{
    return fx_calls_local(-2) + fx_calls_pick(-12);
}
#endif
