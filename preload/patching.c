/* SPDX-License-Identifier: MIT */
#include "preload/patching.h"
#include "patcher/memory.h"
#include "patcher/patcher.h"
#include "preload/callers.h"
#include "preload/config.h"
#include "preload/describe.h"
#include "preload/install.h"
#include "preload/log.h"
#include "preload/probes.h"
#include "preload/special.h"
#include "preload/watch.h"

static struct wtm_refused first_refused; /* since wtm_install_live() was called last */

void wtm_install_refuse(const struct wtm_target *target, enum wtm_refusal reason)
{
    if (!first_refused.reason)
        first_refused = (struct wtm_refused){target, reason};
    wtm_probes_refused(target->name, target->mangled, target->object ? target->object->path : "", target->address, reason);
    if (wtm_settings.verbose)
        wtm_log("not timed: ", target->name, " (", target->object ? target->object->name : "?", "): ", wtm_refusal_text(reason));
}

static const char *const method_names[] = {
    [WTM_PATCH_NONE] = "", [WTM_PATCH_JUMP5] = "by a five-byte jump", [WTM_PATCH_PADDED] = "by a jump into its padding",
    [WTM_PATCH_JUMP2] = "by a two-byte jump", [WTM_PATCH_PUNNED] = "by a punned jump"};

/* What is wanted of each timed function's calls. */
static uint32_t wanted_of_all(void)
{
    return (wtm_settings.samples ? (uint32_t)WTM_SPECIAL_SAMPLED : 0) | (wtm_settings.noise ? (uint32_t)WTM_SPECIAL_COUNTED : 0);
}

static uintptr_t choose_hook(const struct wtm_target *target, struct wtm_probe *probe)
{
    int by_tsc = wtm_timed_entry == (uintptr_t)wtm_entry;
    uintptr_t hook = wtm_watch_hook(target, probe);
    if (probe->flags) /* what is watched has a hook of its own */
        return hook;
    if (by_tsc) /* by the kernel's clock nothing more than times is to be had */
        probe->special = wanted_of_all() | target->special;
    if (target->walked)
        return (uintptr_t)(by_tsc ? wtm_entry_walked : wtm_entry_walked_clocked);
    if (by_tsc && (probe->special || wtm_settings.subtract)) /* handlers may turn out to be among them */
        return (uintptr_t)wtm_entry_special;
    return hook;
}

/* Requests for the targets that are not patched yet. Their probes are the requests' contexts. */
static size_t request_targets(const struct wtm_target *const *targets, size_t count, struct wtm_patch_request *requests,
                              const struct wtm_target **of)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        enum wtm_refusal looks = wtm_probes_looking_at(targets[i]->address);
        if (looks)
            wtm_install_refuse(targets[i], looks);
        if (looks || wtm_probes_at(targets[i]->address))
            continue;
        struct wtm_probe *probe = wtm_probes_new();
        if (!probe) {
            wtm_install_refuse(targets[i], WTM_REFUSED_NO_MEMORY);
            continue;
        }
        uintptr_t hook = choose_hook(targets[i], probe);
        /* What looks at its return address is refused, and watched: tail-called by a timed function it must find its caller there. */
        requests[n] = (struct wtm_patch_request){
            .entry = targets[i]->address, .size = targets[i]->size, .hook = hook, .looking_hook = (uintptr_t)wtm_watch_looking,
            .context = probe, .patch = probe->patch};
        of[n++] = targets[i];
    }
    return n;
}

static int finish_target(const struct wtm_patch_request *request, const struct wtm_target *target)
{
    if (request->refusal) {
        struct wtm_probe *probe = request->context;
        if (probe->index || probe->flags == WTM_PROBE_LOOKS) /* prepared, and refused when it was to be written: it may be tried again */
            wtm_patch_forget(&request->patch, 1);
        wtm_probes_drop(probe);
        wtm_install_refuse(target, request->refusal);
        return 0;
    }
    wtm_probes_ready(request->context);
    if (request->looks) {
        wtm_patch_open(request->patch);
        wtm_install_refuse(target, request->looks);
        return 0;
    }
    wtm_probes_found(target->pattern);
    if (wtm_settings.verbose)
        wtm_log("timed: ", target->name, " (", target->object->name, ") ", method_names[request->patch->method]);
    return 1;
}

static int by_address(const void *left, const void *right)
{
    uintptr_t l = *(const uintptr_t *)left, r = *(const uintptr_t *)right;
    return l < r ? -1 : l > r;
}

/* Where the object's symbols were not all read, those that name what is wanted say at least where these functions begin: decoding
 * from what is known below cannot pass data that lies in between. A bare address is none. */
static void add_starts(struct wtm_code_module *module, const struct wtm_target *const *of, size_t count, struct wtm_arena *arena)
{
    if (module->start_count || !count)
        return;
    uintptr_t *starts = wtm_arena_alloc(arena, count * sizeof *starts);
    size_t n = 0;
    for (size_t i = 0; starts && i < count; i++)
        if (of[i]->mangled)
            starts[n++] = of[i]->address;
    wtm_sort(starts, n, sizeof *starts, by_address);
    module->starts = starts;
    module->start_count = n;
}

int wtm_patching_object(const struct wtm_object *object, const struct wtm_target *const *targets, size_t count, int watch,
                        enum wtm_company company, struct wtm_arena *arena)
{
    struct wtm_code_module module;
    size_t most = count + WTM_WATCHES_PER_OBJECT;
    struct wtm_patch_request *requests = wtm_arena_alloc(arena, most * sizeof *requests);
    const struct wtm_target **of = wtm_arena_alloc(arena, most * sizeof *of);
    int timed = 0;
    if (!requests || !of)
        return 0;
    size_t n = request_targets(targets, count, requests, of);
    size_t all = n + (watch ? wtm_watch_wanted(object, requests + n) : 0);
    if (!all)
        return 0;
    wtm_describe_module(object, &module, arena);
    add_starts(&module, of, n, arena);
    for (size_t i = 0; i < all; i++)
        requests[i].running = company == WTM_COMPANY_RUNS;
    wtm_patch_prepare(&module, requests, all);
    for (size_t i = 0; i < all; i++) {
        if (!requests[i].refusal && i < n && requests[i].looks)
            wtm_probes_looks(requests[i].context, of[i], requests[i].looks);
        else if (!requests[i].refusal && i < n)
            wtm_probes_describe(requests[i].context, of[i]);
        else if (!requests[i].refusal)
            wtm_watch_prepared(&requests[i]);
    }
    wtm_company_hold_back(company, requests, all);
    wtm_patch_commit(requests, all, company == WTM_COMPANY_NONE);
    for (size_t i = 0; i < n; i++)
        timed += finish_target(&requests[i], of[i]);
    for (size_t i = n; i < all; i++)
        wtm_watch_patched(&requests[i]);
    return timed;
}

int wtm_install_live(const struct wtm_object *object, const struct wtm_target *const *targets, size_t count,
                     struct wtm_refused *refused, struct wtm_arena *arena)
{
    struct wtm_company_state state;
    first_refused = (struct wtm_refused){0};
    enum wtm_company company = wtm_company_begin(&state);
    int timed = wtm_patching_object(object, targets, count, 0, company, arena);
    wtm_company_end(&state);
    if (!refused->reason)
        *refused = first_refused;
    return timed;
}
