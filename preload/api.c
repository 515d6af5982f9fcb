/* SPDX-License-Identifier: MIT
 * Timing and untiming from inside the program. Ordinary threads call this, so it may wait; but no libc function is
 * entered that may be timed, and nothing that is called here is counted. */
#include "preload/api.h"
#include "preload/control.h"
#include "preload/install.h"
#include "preload/modules.h"
#include "preload/probes.h"
#include "preload/start.h"
#include "preload/thread.h"
#include <string.h>

/* What is loaded, while something is done with it. */
struct work {
    struct wtm_thread *before;
    struct wtm_arena arena;
    struct wtm_modules modules;
};

static int begin(struct work *work)
{
    *work = (struct work){0};
    int result = wtm_install_lock();
    if (result)
        return result;
    result = wtm_start_late();
    if (!result && !wtm_control_ready())
        result = -ENODEV;
    work->before = wtm_mute();
    if (!result)
        result = wtm_modules_scan(&work->modules, &work->arena);
    return result;
}

/* With what begin() gave, or what came of it. */
static int end(struct work *work, int result)
{
    if (!work->before)
        return result; /* it did not begin */
    wtm_install_gates();
    wtm_arena_free(&work->arena);
    wtm_unmute(work->before);
    wtm_install_unlock();
    return result;
}

static int resolve(struct work *work, const char *pattern, struct wtm_resolution *found)
{
    struct wtm_pattern_set set = {0};
    int result = wtm_patterns_parse(&set, pattern, "wtmtime_time", &work->arena, NULL, NULL);
    if (!result && !set.count)
        return -EINVAL;
    return result ? result
                  : wtm_resolve(&set, work->modules.objects, work->modules.count, 0, wtm_modules_own_address(), &work->arena, found);
}

/* Those of `targets` that lie in one object: what was timed before is turned on again, the rest patched. */
static int time_in(struct work *work, const struct wtm_object *object, const struct wtm_target *targets, size_t count,
                   enum wtm_refusal *refusal)
{
    const struct wtm_target **group = wtm_arena_alloc(&work->arena, (count + 1) * sizeof *group);
    enum wtm_refusal first = WTM_REFUSED_NONE;
    size_t n = 0;
    int timed = 0;
    if (!group)
        return 0;
    for (size_t i = 0; i < count; i++) {
        if (targets[i].object != object)
            continue;
        struct wtm_probe *probe = wtm_probes_at(targets[i].address);
        if (probe)
            timed += !wtm_probes_turn(probe, 0);
        else if (targets[i].refusal)
            first = first ? first : targets[i].refusal;
        else
            group[n++] = &targets[i];
    }
    if (n) {
        enum wtm_refusal live;
        timed += wtm_install_live(object, group, n, &live, &work->arena);
        first = first ? first : live;
    }
    *refusal = *refusal ? *refusal : first;
    return timed;
}

static int time_all(struct work *work, const struct wtm_target *targets, size_t count)
{
    enum wtm_refusal refusal = WTM_REFUSED_NONE;
    int timed = 0;
    for (size_t i = 0; i < work->modules.count; i++)
        timed += time_in(work, &work->modules.objects[i], targets, count, &refusal);
    wtm_generation_advance(); /* threads make room for the new functions; their gates are still closed */
    return timed ? timed : refusal ? WTMTIME_REFUSED - (int)refusal : -ENOENT;
}

int wtmtime_1_time(const char *pattern)
{
    struct work work;
    struct wtm_resolution found = {0};
    int result = begin(&work);
    if (!result)
        result = pattern ? resolve(&work, pattern, &found) : -EINVAL;
    if (!result)
        result = time_all(&work, found.targets, found.target_count);
    return end(&work, result);
}

static int contains(const struct wtm_object *object, uintptr_t address, unsigned flags)
{
    for (unsigned i = 0; i < object->phdr_count; i++) {
        const Elf64_Phdr *segment = &object->phdr[i];
        if (segment->p_type == PT_LOAD && (segment->p_flags & flags) == flags && address >= object->bias + segment->p_vaddr &&
            address - object->bias - segment->p_vaddr < segment->p_memsz)
            return 1;
    }
    return 0;
}

static const struct wtm_object *object_at(const struct work *work, uintptr_t address)
{
    for (size_t i = 0; i < work->modules.count; i++)
        if (contains(&work->modules.objects[i], address, PF_X))
            return &work->modules.objects[i];
    return NULL;
}

int wtmtime_1_time_address(const void *function, const char *name)
{
    struct work work;
    struct wtm_target target = {.address = (uintptr_t)function};
    int result = begin(&work);
    if (!result && !(target.object = object_at(&work, target.address)))
        result = WTMTIME_REFUSED - WTM_REFUSED_NOT_CODE;
    if (!result && target.object->is_vdso)
        result = WTMTIME_REFUSED - WTM_REFUSED_VDSO;
    if (!result && contains(target.object, wtm_modules_own_address(), 0))
        result = WTMTIME_REFUSED - WTM_REFUSED_OWN_LIBRARY;
    if (!result) {
        target.offset = target.address - target.object->bias;
        target.name = wtm_arena_string(&work.arena, name ? name : "?", strlen(name ? name : "?"));
        result = target.name ? time_all(&work, &target, 1) : -ENOMEM;
    }
    return end(&work, result);
}

static int turn_off(struct wtm_probe *probe, int *result)
{
    int failed = wtm_probes_turn(probe, 1);
    if (failed)
        *result = failed;
    return !failed;
}

/* By names as the report has them; then, since what is timed by a pattern is untimed by it, by pattern. */
static int untime_named(struct work *work, const char *name, int *result)
{
    struct wtm_resolution found = {0};
    struct wtm_probe *probe = NULL;
    int count = 0;
    while ((probe = wtm_probes_named(name, probe)))
        count += turn_off(probe, result);
    if (count || *result != -ENOENT || resolve(work, name, &found))
        return count;
    for (size_t i = 0; i < found.target_count; i++)
        if ((probe = wtm_probes_at(found.targets[i].address)) && wtm_probes_is_on(probe))
            count += turn_off(probe, result);
    return count;
}

int wtmtime_1_untime(const char *name)
{
    struct work work;
    int failed = begin(&work), result = -ENOENT;
    int count = failed ? 0 : name ? untime_named(&work, name, &result) : 0;
    return end(&work, failed ? failed : count ? count : result);
}

int wtmtime_1_untime_address(const void *function)
{
    struct work work;
    int failed = begin(&work), result = -ENOENT, count = 0;
    struct wtm_probe *probe = failed ? NULL : wtm_probes_at((uintptr_t)function);
    if (probe && wtm_probes_is_on(probe))
        count = turn_off(probe, &result);
    return end(&work, failed ? failed : count ? count : result);
}

int wtmtime_1_untime_all(void)
{
    struct work work;
    int failed = begin(&work), ignored = 0, count = 0;
    struct wtm_probe *probe = NULL;
    while (!failed && (probe = wtm_probes_named(NULL, probe)))
        count += turn_off(probe, &ignored);
    return end(&work, failed ? failed : count);
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
    case EBUSY: return "another call of the library is at work in this thread";
    case EOPNOTSUPP: return "the library itself must hear of its calls";
    default: return result < 0 ? "an error of the system" : NULL;
    }
}
