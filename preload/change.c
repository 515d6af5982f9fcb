/* SPDX-License-Identifier: MIT
 * Raw system calls and own routines only, so that it works in a signal handler as well. */
#include "preload/change.h"
#include "common/sys.h"
#include "common/text.h"
#include "preload/callers.h"
#include "preload/control.h"
#include "preload/install.h"
#include "preload/probes.h"
#include "preload/process.h"
#include "preload/start.h"
#include "preload/thread.h"
#include "preload/watch.h"
#include "preload/wtmtime.h"
#include <string.h>
#include <time.h>

enum { LOADER_WAITS = 5000, LOADER_WAIT_NS = 1000000 };

static int wait_for_loader(void)
{
    const struct timespec pause = {0, LOADER_WAIT_NS};
    for (int i = 0; i < LOADER_WAITS; i++) {
        int result = wtm_install_lock();
        if (result || wtm_modules_consistent() || !wtm_modules_notification())
            return result;
        wtm_install_unlock();
        wtm_syscall3(SYS_nanosleep, (long)&pause, 0, 0);
    }
    return -EBUSY;
}

/* The list of what is loaded was made when the loader last told of a change. Where it cannot tell, an ordinary thread looks
 * for itself. */
static int look(struct wtm_change *change)
{
    if (wtm_watch_follows_loader())
        return wtm_modules_recall(&change->modules, &change->arena);
    return change->in_handler ? -EOPNOTSUPP : wtm_modules_scan(&change->modules, &change->arena);
}

int wtm_change_begin(struct wtm_change *change, int in_handler)
{
    *change = (struct wtm_change){.in_handler = in_handler};
    int result = in_handler ? wtm_install_try_lock() : wait_for_loader();
    if (result)
        return result;
    if (!in_handler)
        result = wtm_start_late();
    if (!result && !wtm_control_ready())
        result = -ENODEV;
    if (!result && wtm_process.sandboxed)
        result = -EPERM;
    change->before = wtm_mute();
    return result ? result : look(change);
}

int wtm_change_end(struct wtm_change *change, int result)
{
    if (!change->before)
        return result; /* it did not begin */
    wtm_install_gates();
    wtm_arena_free(&change->arena);
    wtm_unmute(change->before);
    wtm_install_unlock();
    return result;
}

static int resolve(struct wtm_change *change, const char *pattern, struct wtm_resolution *found)
{
    struct wtm_pattern_set set = {0};
    int result = wtm_patterns_parse(&set, pattern, "wtmtime_time", &change->arena, NULL, NULL);
    if (!result && !set.count)
        return -EINVAL;
    if (!result)
        result = wtm_resolve(&set, change->modules.objects, change->modules.count, 0, wtm_modules_own_address(), &change->arena, found);
    if (!result)
        wtm_callers_admit(change->modules.objects, change->modules.count, found);
    return result;
}

static void note_refused(struct wtm_change *change, const struct wtm_target *target)
{
    if (target->swept)
        return;
    wtm_install_refuse(target, target->refusal);
    if (!change->refused.reason)
        change->refused = (struct wtm_refused){target, target->refusal};
}

/* Those of `targets` that lie in one object: what was timed before is turned on again, the rest patched. */
static int time_in(struct wtm_change *change, const struct wtm_object *object, const struct wtm_target *targets, size_t count)
{
    const struct wtm_target **group = wtm_arena_alloc(&change->arena, (count + 1) * sizeof *group);
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
            note_refused(change, &targets[i]);
        else
            group[n++] = &targets[i];
    }
    if (n)
        timed += wtm_install_live(object, group, n, &change->refused, &change->arena);
    return timed;
}

int wtm_change_time_targets(struct wtm_change *change, const struct wtm_target *targets, size_t count)
{
    int timed = 0;
    for (size_t i = 0; i < change->modules.count; i++)
        timed += time_in(change, &change->modules.objects[i], targets, count);
    wtm_generation_advance(); /* threads make room for the new functions; their gates are still closed */
    if (timed)
        return timed;
    return change->refused.reason ? WTMTIME_REFUSED - (int)change->refused.reason : -ENOENT;
}

int wtm_change_time(struct wtm_change *change, const char *pattern)
{
    struct wtm_resolution found = {0};
    int result = resolve(change, pattern, &found);
    if (result)
        return result;
    if (found.missing_count)
        change->near = found.missing[0].near;
    return wtm_change_time_targets(change, found.targets, found.target_count);
}

int wtm_change_turn_off(struct wtm_probe *probe, int *result)
{
    int failed = wtm_probes_turn(probe, 1);
    if (failed)
        *result = failed;
    return !failed;
}

/* By names as the report has them; then, since what is timed by a pattern is untimed by it, by pattern. */
static int untime_named(struct wtm_change *change, const char *name, int *result)
{
    struct wtm_resolution found = {0};
    struct wtm_probe *probe = NULL;
    int count = 0;
    while ((probe = wtm_probes_named(name, probe)))
        count += wtm_change_turn_off(probe, result);
    if (count || *result != -ENOENT || resolve(change, name, &found))
        return count;
    for (size_t i = 0; i < found.target_count; i++)
        if ((probe = wtm_probes_at(found.targets[i].address)) && wtm_probes_is_on(probe))
            count += wtm_change_turn_off(probe, result);
    return count;
}

int wtm_change_untime(struct wtm_change *change, const char *name)
{
    int result = -ENOENT, count = untime_named(change, name, &result);
    return count ? count : result;
}
