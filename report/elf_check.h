/* SPDX-License-Identifier: MIT
 * What wtm run must know of an executable: just its headers, its interpreter, its DT_NEEDED. For symbols
 * there is common/elf_object.h. */
#ifndef WTM_REPORT_ELF_CHECK_H
#define WTM_REPORT_ELF_CHECK_H

#include <stddef.h>

struct wtm_elf_facts {
    const char *foreign;   /* why it is not for this machine, or NULL */
    char interpreter[256]; /* PT_INTERP; empty: none */
    char sanitizer[256];   /* DT_NEEDED that is the runtime of one that must come first, or empty */
    int is_go;
    int is_broken; /* truncated, or offsets that lead nowhere */
};

/* `fd`: a file that begins with ELF's magic. Any content. */
void wtm_elf_facts_read(struct wtm_elf_facts *facts, int fd);

#endif
