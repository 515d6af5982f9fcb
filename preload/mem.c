/* SPDX-License-Identifier: MIT
 * Hidden own copies of the few routines that compilers call by themselves and that our parts use. Without them our code
 * would enter libc's, which may be patched and timed, and which use vector registers.
 *
 * Plain loops over words; correctness and independence matter here, not speed. */
#include <stddef.h>
#include <stdint.h>

#define OWN __attribute__((visibility("hidden"), used))

OWN void *memcpy(void *restrict to, const void *restrict from, size_t bytes);
OWN void *memmove(void *to, const void *from, size_t bytes);
OWN void *memset(void *to, int value, size_t bytes);
OWN int memcmp(const void *a, const void *b, size_t bytes);
OWN int bcmp(const void *a, const void *b, size_t bytes);
OWN void *memchr(const void *in, int c, size_t bytes);
OWN size_t strlen(const char *s);
OWN size_t strnlen(const char *s, size_t most);
OWN int strcmp(const char *a, const char *b);
OWN int strncmp(const char *a, const char *b, size_t most);
OWN char *strchr(const char *s, int c);
OWN char *strrchr(const char *s, int c);
OWN char *strstr(const char *in, const char *what);
OWN char *strcpy(char *to, const char *from);
OWN char *strcat(char *to, const char *from);
OWN char *strncat(char *to, const char *from, size_t most);

/* Libraries linked into ours name these as their default allocators. They are given others, and never reach libc's.
 * By the linker's --wrap: a symbol of ours called malloc is the one that gdb would call for strings at its prompt. */
OWN void *__wrap_malloc(size_t bytes);
OWN void *__wrap_calloc(size_t count, size_t bytes);
OWN void *__wrap_realloc(void *old, size_t bytes);
OWN void __wrap_free(void *old);

void *__wrap_malloc(size_t bytes)
{
    return NULL;
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return NULL;
}

void *__wrap_realloc(void *old, size_t bytes)
{
    return NULL;
}

void __wrap_free(void *old)
{
}

typedef uint64_t __attribute__((may_alias, aligned(1))) word;

void *memcpy(void *restrict to, const void *restrict from, size_t bytes)
{
    unsigned char *t = to;
    const unsigned char *f = from;
    for (; bytes >= 8; bytes -= 8, t += 8, f += 8)
        *(word *)t = *(const word *)f;
    while (bytes--)
        *t++ = *f++;
    return to;
}

void *memmove(void *to, const void *from, size_t bytes)
{
    unsigned char *t = to;
    const unsigned char *f = from;
    if ((uintptr_t)t - (uintptr_t)f >= bytes)
        return memcpy(to, from, bytes);
    for (; bytes >= 8; bytes -= 8)
        *(word *)(t + bytes - 8) = *(const word *)(f + bytes - 8);
    while (bytes--)
        t[bytes] = f[bytes];
    return to;
}

void *memset(void *to, int value, size_t bytes)
{
    unsigned char *t = to;
    uint64_t all = 0x0101010101010101u * (unsigned char)value;
    for (; bytes >= 8; bytes -= 8, t += 8)
        *(word *)t = all;
    while (bytes--)
        *t++ = (unsigned char)value;
    return to;
}

int memcmp(const void *a, const void *b, size_t bytes)
{
    const unsigned char *x = a, *y = b;
    for (; bytes--; x++, y++)
        if (*x != *y)
            return *x < *y ? -1 : 1;
    return 0;
}

int bcmp(const void *a, const void *b, size_t bytes)
{
    return memcmp(a, b, bytes);
}

void *memchr(const void *in, int c, size_t bytes)
{
    const unsigned char *p = in;
    for (; bytes--; p++)
        if (*p == (unsigned char)c)
            return (void *)(uintptr_t)p;
    return NULL;
}

size_t strlen(const char *s)
{
    size_t n = 0;
    while (s[n])
        n++;
    return n;
}

size_t strnlen(const char *s, size_t most)
{
    size_t n = 0;
    while (n < most && s[n])
        n++;
    return n;
}

int strcmp(const char *a, const char *b)
{
    for (; *a && *a == *b; a++)
        b++;
    return (unsigned char)*a - (unsigned char)*b;
}

int strncmp(const char *a, const char *b, size_t most)
{
    for (; most && *a && *a == *b; most--, a++)
        b++;
    return most ? (unsigned char)*a - (unsigned char)*b : 0;
}

char *strchr(const char *s, int c)
{
    for (;; s++) {
        if (*s == (char)c)
            return (char *)(uintptr_t)s;
        if (!*s)
            return NULL;
    }
}

char *strrchr(const char *s, int c)
{
    const char *last = NULL;
    for (;; s++) {
        if (*s == (char)c)
            last = s;
        if (!*s)
            return (char *)(uintptr_t)last;
    }
}

char *strstr(const char *in, const char *what)
{
    size_t n = strlen(what);
    for (; *in || !n; in++) {
        if (!strncmp(in, what, n))
            return (char *)(uintptr_t)in;
        if (!*in)
            break;
    }
    return NULL;
}

char *strcpy(char *to, const char *from)
{
    memcpy(to, from, strlen(from) + 1);
    return to;
}

char *strcat(char *to, const char *from)
{
    strcpy(to + strlen(to), from);
    return to;
}

char *strncat(char *to, const char *from, size_t most)
{
    size_t at = strlen(to), n = strnlen(from, most);
    memcpy(to + at, from, n);
    to[at + n] = 0;
    return to;
}
