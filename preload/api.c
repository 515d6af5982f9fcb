/* SPDX-License-Identifier: MIT
 * Timing and untiming from inside the program. Ordinary threads call this, so it may wait; but no libc function is
 * entered that may be timed, and nothing that is called here is counted. */
#include "preload/api.h"
#include "preload/change.h"
#include "preload/control.h"
#include "preload/probes.h"
#include <string.h>

int wtmtime_1_time(const char *pattern)
{
    struct wtm_change change;
    int result = wtm_change_begin(&change, 0);
    if (!result)
        result = pattern ? wtm_change_time(&change, pattern) : -EINVAL;
    return wtm_change_end(&change, result);
}

static const struct wtm_object *object_at(const struct wtm_change *change, uintptr_t address)
{
    for (size_t i = 0; i < change->modules.count; i++)
        if (wtm_object_executable(&change->modules.objects[i], address - change->modules.objects[i].bias))
            return &change->modules.objects[i];
    return NULL;
}

int wtmtime_1_time_address(const void *function, const char *name)
{
    struct wtm_change change;
    struct wtm_target target = {.address = (uintptr_t)function};
    int result = wtm_change_begin(&change, 0);
    if (!result && !(target.object = object_at(&change, target.address)))
        result = WTMTIME_REFUSED - WTM_REFUSED_NOT_CODE;
    if (!result && target.object->is_vdso)
        result = WTMTIME_REFUSED - WTM_REFUSED_VDSO;
    if (!result && wtm_object_contains(target.object, wtm_modules_own_address()))
        result = WTMTIME_REFUSED - WTM_REFUSED_OWN_LIBRARY;
    if (!result) {
        target.offset = target.address - target.object->bias;
        target.name = wtm_arena_string(&change.arena, name ? name : "?", strlen(name ? name : "?"));
        result = target.name ? wtm_change_time_targets(&change, &target, 1) : -ENOMEM;
    }
    return wtm_change_end(&change, result);
}

int wtmtime_1_untime(const char *name)
{
    struct wtm_change change;
    int result = wtm_change_begin(&change, 0);
    if (!result)
        result = name ? wtm_change_untime(&change, name) : -ENOENT;
    return wtm_change_end(&change, result);
}

int wtmtime_1_untime_address(const void *function)
{
    struct wtm_change change;
    int failed = wtm_change_begin(&change, 0), result = -ENOENT, count = 0;
    struct wtm_probe *probe = failed ? NULL : wtm_probes_at((uintptr_t)function);
    if (probe && wtm_probes_is_on(probe))
        count = wtm_change_turn_off(probe, &result);
    return wtm_change_end(&change, failed ? failed : count ? count : result);
}

int wtmtime_1_untime_all(void)
{
    struct wtm_change change;
    int failed = wtm_change_begin(&change, 0), ignored = 0, count = 0;
    struct wtm_probe *probe = NULL;
    while (!failed && (probe = wtm_probes_named(NULL, probe)))
        count += wtm_change_turn_off(probe, &ignored);
    return wtm_change_end(&change, failed ? failed : count);
}

int wtmtime_1_control(int what)
{
    return what >= 0 && what < WTM_CONTROLS ? wtm_control((enum wtm_control)what) : -EINVAL;
}

const char *wtmtime_1_why(int result)
{
    if (result <= WTMTIME_REFUSED)
        return wtm_refusal_text((unsigned)(WTMTIME_REFUSED - result));
    switch (-result) {
    case ENOENT: return "no function of that name is loaded, or timed";
    case ENODEV: return "nothing is timed in this process yet";
    case ENOMEM: return "no memory";
    case EINVAL: return "not a pattern or a request";
    case EBUSY: return "another call of the library is at work in this thread, or the loader is";
    case EPERM: return "the program has forbidden the system calls that this needs";
    case EOPNOTSUPP: return "the library itself must hear of its calls";
    default: return result < 0 ? "an error of the system" : NULL;
    }
}
