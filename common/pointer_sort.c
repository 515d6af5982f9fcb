/* SPDX-License-Identifier: MIT
 * Heap sort over pointers. */
#include "common/pointer_sort.h"

static void sift(void **heap, size_t at, size_t count, wtm_pointer_before *before, const void *context)
{
    void *value = heap[at];
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && before(heap[child], heap[child + 1], context))
            child++;
        if (!before(value, heap[child], context))
            break;
        heap[at] = heap[child];
    }
    heap[at] = value;
}

void wtm_pointer_sort(void **pointers, size_t count, wtm_pointer_before *before, const void *context)
{
    for (size_t at = count / 2; at-- > 0;)
        sift(pointers, at, count, before, context);
    for (size_t end = count; end-- > 1;) {
        void *last = pointers[0]; /* the heap's top is what comes last */
        pointers[0] = pointers[end];
        pointers[end] = last;
        sift(pointers, 0, end, before, context);
    }
}
