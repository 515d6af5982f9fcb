/* SPDX-License-Identifier: MIT
 * Writes behind a block of the heap, three calls deep. */
#include <stdlib.h>
#include "target.h"

REAL int overrun(char *p, int n) { p[n] = 1; IMPURE; return p[0]; }
REAL int middle(char *p, int n) { int r = overrun(p, n); IMPURE; return r + 1; }

int main(int argc, char **argv)
{
    char *p = calloc(1, 10);
    int r = middle(p, 9 + argc);
    free(p);
    return r;
}
