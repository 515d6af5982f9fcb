/* SPDX-License-Identifier: MIT
 * Loads the mathematical library, most functions of which are IFUNCs, and uses it. */
#include <dlfcn.h>
#include <stdio.h>

int main(void)
{
    void *library = dlopen("libm.so.6", RTLD_NOW);
    double (*one)(double) = library ? (double (*)(double))dlsym(library, "sin") : NULL;
    double (*other)(double) = library ? (double (*)(double))dlsym(library, "cos") : NULL;
    if (!one || !other)
        return 1;
    printf("%.4f %.4f\n", one(1), other(0));
    return 0;
}
