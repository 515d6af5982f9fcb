/* SPDX-License-Identifier: MIT */
#include "preload/callers.h"

enum { MOST = 256 };

struct wtm_callers wtm_callers;
static uintptr_t runtime_bias;

/* Text of what stays loaded, sorted by nothing: few calls come from there. */
static struct {
    uintptr_t start, end;
} staying[MOST];
static size_t staying_count;

static void text_of(const struct wtm_object *object, uintptr_t *start, uintptr_t *end)
{
    *start = UINTPTR_MAX;
    *end = 0;
    for (unsigned i = 0; i < object->phdr_count; i++) {
        const Elf64_Phdr *segment = &object->phdr[i];
        uintptr_t at = object->bias + segment->p_vaddr;
        if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X))
            continue;
        *start = at < *start ? at : *start;
        *end = at + segment->p_memsz > *end ? at + segment->p_memsz : *end;
    }
}

static void learn(const struct wtm_object *objects, size_t count)
{
    for (size_t i = 0; i < count && !wtm_callers.text_bytes; i++) {
        const struct wtm_object *object = &objects[i];
        uintptr_t start, end;
        if (!wtm_object_tells_generated(object))
            continue;
        text_of(object, &start, &end);
        if (start >= end)
            continue;
        runtime_bias = object->bias;
        wtm_callers.text = start;
        wtm_callers.generated = object->bias + object->builtins;
        wtm_callers.generated_bytes = object->builtins_end - object->builtins;
        __atomic_store_n(&wtm_callers.text_bytes, end - start, __ATOMIC_RELEASE);
    }
}

void wtm_callers_stay(const struct wtm_object *objects, size_t count)
{
    for (size_t i = 0; i < count && staying_count < MOST; i++) {
        uintptr_t start, end;
        text_of(&objects[i], &start, &end);
        if (start >= end)
            continue;
        staying[staying_count].start = start;
        staying[staying_count++].end = end;
    }
}

void wtm_callers_unloaded(uintptr_t bias)
{
    if (wtm_callers.text_bytes && runtime_bias == bias)
        __atomic_store_n(&wtm_callers.text_bytes, 0, __ATOMIC_RELEASE);
}

int wtm_callers_are_of(const struct wtm_object *object)
{
    return wtm_callers.text_bytes && object->bias == runtime_bias;
}

void wtm_callers_admit(const struct wtm_object *objects, size_t object_count, const struct wtm_resolution *found)
{
    learn(objects, object_count);
    for (size_t i = 0; i < found->target_count && wtm_callers.text_bytes; i++) {
        struct wtm_target *target = &found->targets[i];
        /* A second runtime's code cannot be told from other compiled code. */
        if (target->walked && (!target->object->is_walker || wtm_callers_are_of(target->object)))
            target->refusal = WTM_REFUSED_NONE;
    }
}

int wtm_callers_outside(uint64_t return_address)
{
    uint64_t call = return_address - 1;
    if (call - wtm_callers.text < wtm_callers.text_bytes)
        return 0;
    for (size_t i = 0; i < staying_count; i++)
        if (call >= staying[i].start && call < staying[i].end)
            return 1;
    return 0;
}
