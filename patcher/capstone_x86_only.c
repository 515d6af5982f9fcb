/* SPDX-License-Identifier: MIT
 * Keeps capstone small and away from libc.
 *
 * capstone's cs.o refers to the init functions of every architecture; defining those of the others here keeps their
 * members out of the link: 1.6 MB instead of 6.7, and 2,000 relocations instead of 77,000 in every child process. The
 * names are those of capstone 4.0.2 (include/capstone/capstone.h, cs_arch); a link that suddenly grows means new ones.
 *
 * strncpy and qsort are what capstone still takes from libc while decoding, and libc's may be timed (its qsort calls
 * malloc as well). The copies are hidden, as everything here. */
#include <stddef.h>
#include <string.h>
#include <stdlib.h>
#include "patcher/memory.h"

enum { CAPSTONE_UNSUPPORTED = 3 /* CS_ERR_ARCH */ };

#define WITHOUT(architecture)                                                                                          \
    int architecture##_global_init(void *handle);                                                                      \
    int architecture##_option(void *handle, int option, size_t value);                                                 \
    int architecture##_global_init(void *handle)                                                                       \
    {                                                                                                                  \
        return CAPSTONE_UNSUPPORTED;                                                                                   \
    }                                                                                                                  \
    int architecture##_option(void *handle, int option, size_t value)                                                  \
    {                                                                                                                  \
        return CAPSTONE_UNSUPPORTED;                                                                                   \
    }

WITHOUT(ARM)
WITHOUT(AArch64)
WITHOUT(Mips)
WITHOUT(PPC)
WITHOUT(Sparc)
WITHOUT(SystemZ)
WITHOUT(XCore)
WITHOUT(M68K)
WITHOUT(TMS320C64x)
WITHOUT(M680X)
WITHOUT(EVM)

char *strncpy(char *restrict to, const char *restrict from, size_t count)
{
    size_t used = 0;
    while (used < count && from[used]) {
        to[used] = from[used];
        used++;
    }
    memset(to + used, 0, count - used);
    return to;
}

void qsort(void *items, size_t count, size_t item_bytes, int (*compare)(const void *, const void *))
{
    wtm_sort(items, count, item_bytes, compare);
}
