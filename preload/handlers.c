/* SPDX-License-Identifier: MIT
 * Signal handlers of the program. Ordinary C without libc's allocator; runs at start-up and in the hook of sigaction. */
#include "preload/handlers.h"
#include "common/sys.h"
#include "common/text.h"
#include "preload/config.h"
#include "preload/install.h"
#include "preload/modules.h"
#include "preload/probes.h"
#include "preload/process.h"
#include "preload/special.h"
#include "preload/thread.h"
#include "preload/watch.h"
#include <signal.h>
#include <string.h>

enum { SIGNALS = 64, FIRST_INTERNAL = 32, LAST_INTERNAL = 33, TRIED = 128, NAME_BYTES = 256 };

static int take_out; /* `signals:*` */

/* What was looked at already: programs set the same handlers again and again. A full table only costs time. */
static uintptr_t tried[TRIED];

int wtm_handlers_wanted(void)
{
    return wtm_settings.noise || take_out;
}

int wtm_handlers_asked(char *patterns)
{
    static const char word[] = "signals:*";
    size_t length = sizeof word - 1;
    for (char *at = patterns; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        if (strncmp(at, word, length) || (at[length] && at[length] != ','))
            continue;
        char *rest = at + length + (at[length] == ',');
        memmove(at, rest, strlen(rest) + 1);
        take_out = 1;
        return 1;
    }
    return 0;
}

static int was_tried(uintptr_t address)
{
    for (size_t slot = (address >> 4) % TRIED, i = 0; i < TRIED; i++, slot = (slot + 1) % TRIED) {
        uintptr_t none = 0;
        if (__atomic_compare_exchange_n(&tried[slot], &none, address, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            return 0;
        if (none == address)
            return 1;
    }
    return 0;
}

/* Its symbol, or a name that says where it is. */
static void name_target(struct wtm_target *target, struct wtm_object *object, char name[NAME_BYTES], struct wtm_arena *arena)
{
    struct wtm_text text;
    if (!wtm_object_read_symbols(object, arena)) {
        for (size_t i = 0; i < object->symbol_count; i++) {
            if (object->symbols[i].offset != target->offset || object->symbols[i].ifunc)
                continue;
            const char *demangled = wtm_demangle(object->symbols[i].name, 1, arena);
            target->mangled = object->symbols[i].name;
            target->name = demangled ? demangled : object->symbols[i].name;
            target->size = object->symbols[i].size;
            return;
        }
    }
    wtm_text_init(&text, name, NAME_BYTES - 1, NULL, NULL);
    wtm_text_string(&text, "signal handler at ");
    wtm_text_string(&text, object->name);
    wtm_text_char(&text, '+', 1);
    wtm_text_hex(&text, target->offset);
    name[text.used] = 0;
    target->name = name;
}

/* sigaction() may be called in a signal handler, which must not call the loader's functions: what it last told will do. */
static int look(struct wtm_modules *modules, struct wtm_arena *arena)
{
    if (!wtm_watch_follows_loader())
        return wtm_modules_scan(modules, arena);
    return wtm_modules_consistent() ? wtm_modules_recall(modules, arena) : -11; /* EAGAIN */
}

/* With the installer's lock held, or at start-up. */
static void time_handler(uintptr_t address)
{
    struct wtm_arena arena = {0};
    struct wtm_modules modules;
    char name[NAME_BYTES];
    uint32_t special = WTM_SPECIAL_HANDLER | (take_out ? (uint32_t)WTM_SPECIAL_SUBTRACT : 0);
    struct wtm_probe *probe = wtm_probes_at(address);
    if (probe && !probe->flags) {
        __atomic_fetch_or(&probe->special, special, __ATOMIC_RELAXED);
    } else if (!probe && !look(&modules, &arena)) {
        struct wtm_target target = {.address = address, .special = special};
        const struct wtm_target *one = &target;
        struct wtm_refused refused = {0};
        for (size_t i = 0; i < modules.count; i++) {
            struct wtm_object *object = &modules.objects[i];
            if (!wtm_object_executable(object, address - object->bias) || wtm_object_contains(object, (uintptr_t)wtm_entry) || object->is_vdso)
                continue;
            target.object = object;
            target.offset = address - object->bias;
            name_target(&target, object, name, &arena);
            if (wtm_install_live(object, &one, 1, &refused, &arena) > 0) {
                wtm_generation_advance();
                wtm_install_gates();
            }
            break;
        }
    }
    wtm_arena_free(&arena);
}

void wtm_handlers_learn(int number, uintptr_t action)
{
    if (!action || number < 1 || number > SIGNALS || (number >= FIRST_INTERNAL && number <= LAST_INTERNAL))
        return; /* libc refuses these without a look at the action */
    uintptr_t address = (uintptr_t)((const struct sigaction *)action)->sa_handler;
    if (address == (uintptr_t)SIG_DFL || address == (uintptr_t)SIG_IGN || !wtm_process.ready || wtm_process.sandboxed ||
        wtm_process.tsc_off || was_tried(address))
        return;
    /* A child that was not noticed yet, or one of vfork, would write into its parent's profile. */
    if (!__atomic_load_n(&wtm_generation.value, __ATOMIC_ACQUIRE) ||
        (uint32_t)wtm_syscall3(SYS_getpid, 0, 0, 0) != wtm_process.pid || wtm_install_lock())
        return;
    struct wtm_thread *before = wtm_mute();
    time_handler(address);
    wtm_unmute(before);
    wtm_install_unlock();
}

void wtm_handlers_present(void)
{
    for (int number = 1; number <= SIGNALS; number++) {
        uintptr_t kernel[4] = {0}; /* handler, flags, restorer, mask */
        if (wtm_sys_failed(wtm_syscall6(SYS_rt_sigaction, number, 0, (long)kernel, 8, 0, 0)))
            continue;
        if (kernel[0] != (uintptr_t)SIG_DFL && kernel[0] != (uintptr_t)SIG_IGN && !was_tried(kernel[0]))
            time_handler(kernel[0]);
    }
}
