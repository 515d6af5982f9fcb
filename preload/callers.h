/* SPDX-License-Identifier: MIT
 * Who calls: compiled code, or code that a runtime made (V8, HotSpot). The stack walks of such a runtime begin at the place
 * where its code called a C++ function, and find it by the return address in that call's slot, which must be left alone then.
 * Calls among C++ functions are nothing to it. So the entry code of these functions (wtm_entry_walked) looks at the caller of
 * each call; what a call by generated code tail-calls has that caller as well. */
#ifndef WTM_PRELOAD_CALLERS_H
#define WTM_PRELOAD_CALLERS_H

#include "common/resolve.h"
#include "preload/hot.h"

/* The text of the object that holds the runtime, and the part of it that the runtime generated when it was built. */
struct wtm_callers {
    uintptr_t text;
    uint64_t text_bytes; /* 0: there is none, and all callers count as generated */
    uintptr_t generated;
    uint64_t generated_bytes;
};
extern struct wtm_callers wtm_callers WTM_HIDDEN;
WTM_ASSERT_AT(struct wtm_callers, text, 0);
WTM_ASSERT_AT(struct wtm_callers, text_bytes, 8);
WTM_ASSERT_AT(struct wtm_callers, generated, 16);
WTM_ASSERT_AT(struct wtm_callers, generated_bytes, 24);

extern const char wtm_entry_walked[] WTM_HIDDEN, wtm_entry_walked_clocked[] WTM_HIDDEN; /* hooks of such functions */

/* These stay loaded as long as the process lives: their code is compiled code wherever a runtime is. Start-up. */
void wtm_callers_stay(const struct wtm_object *objects, size_t count) WTM_HIDDEN;
/* The object with this load bias was unmapped. */
void wtm_callers_unloaded(uintptr_t bias) WTM_HIDDEN;
/* After patterns were resolved: looks for a runtime among the objects, if none is known yet, and takes the refusal from targets
 * that are `walked`, where callers can be told apart. Of a runtime without symbols it is not known which code it generated.
 * Start-up, or with the lock of install.h held. */
void wtm_callers_admit(const struct wtm_object *objects, size_t object_count, const struct wtm_resolution *found) WTM_HIDDEN;
/* 1: the callers of functions of this object can be told apart. */
int wtm_callers_are_of(const struct wtm_object *object) WTM_HIDDEN;
/* 1: this return address lies in compiled code outside of the runtime's object. Any thread. */
int wtm_callers_outside(uint64_t return_address) WTM_HIDDEN;

/* Called by wtm_entry_walked for callers that are not in `text`, or are generated. RETRY: time it; BODY: it was counted. */
enum wtm_entry_action wtm_entry_from_outside(uint64_t *slot, struct wtm_probe *probe) WTM_HIDDEN;

#endif
