/* SPDX-License-Identifier: MIT
 * A loaded object in the patcher's words. */
#include "preload/describe.h"
#include <string.h>

void wtm_describe_module(const struct wtm_object *object, struct wtm_code_module *module, struct wtm_arena *arena)
{
    memset(module, 0, sizeof *module);
    module->span.start = UINTPTR_MAX;
    for (unsigned i = 0; i < object->phdr_count; i++) {
        const Elf64_Phdr *p = &object->phdr[i];
        uintptr_t start = object->bias + p->p_vaddr, end = start + p->p_memsz;
        if (p->p_type == PT_GNU_EH_FRAME) {
            module->eh_frame_hdr = start;
            module->eh_frame_hdr_bytes = p->p_memsz;
        }
        if (p->p_type != PT_LOAD || !p->p_memsz)
            continue;
        module->span.start = start < module->span.start ? start : module->span.start;
        module->span.end = end > module->span.end ? end : module->span.end;
        struct wtm_code_range range = {start, end};
        if ((p->p_flags & (PF_X | PF_R)) == (PF_X | PF_R) && module->text_count < WTM_MAX_TEXT_RANGES)
            module->text[module->text_count++] = range;
        else if (p->p_flags & PF_R && module->data_count < WTM_MAX_TEXT_RANGES)
            module->data[module->data_count++] = range;
    }
    if (object->symbols_read && object->symbol_count) {
        uintptr_t *starts = wtm_arena_alloc(arena, object->symbol_count * sizeof *starts);
        for (size_t i = 0; starts && i < object->symbol_count; i++)
            starts[i] = object->bias + object->symbols[i].offset;
        module->starts = starts;
        module->start_count = starts ? object->symbol_count : 0;
    }
    module->code_pointers = wtm_object_code_pointers(object, arena, &module->code_pointer_count);
}
