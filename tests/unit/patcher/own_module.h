/* SPDX-License-Identifier: MIT
 * Describes the test program itself as a module, from its program headers and its own symbol table on disk. */
#ifndef WTM_OWN_MODULE_H
#define WTM_OWN_MODULE_H

#include "patcher/patcher.h"

/* The object whose path ends in `name` ("" for the program); its arrays are never freed. */
struct own_function {
    uintptr_t address;
    size_t size;
    const char *name;
};
struct own_module {
    struct wtm_code_module module;
    struct own_function *functions; /* by address, each address once */
    size_t function_count;
};
void own_module_read(const char *name, struct own_module *own);

#endif
