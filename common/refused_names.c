/* SPDX-License-Identifier: MIT
 * Functions that must not be timed through their return address, known by name: they pop, save or look at it,
 * are not entered by a call, or are called with a convention of their own. */
#include "common/resolve.h"
#include <string.h>

/* A `*` at the end: every name that begins so. */
static const struct {
    const char *name;
    enum wtm_refusal refusal;
} refused[] = {
    /* Take their return address off the stack and come back by a jump, in two processes on one stack. */
    {"vfork", WTM_REFUSED_POPS_RETURN},
    {"__vfork", WTM_REFUSED_POPS_RETURN},
    {"__libc_vfork", WTM_REFUSED_POPS_RETURN},
    /* Thunks of compilers that guard against speculation: their `ret` goes elsewhere than to the caller. */
    {"__x86_return_thunk", WTM_REFUSED_POPS_RETURN},
    {"__x86_indirect_thunk*", WTM_REFUSED_POPS_RETURN},
    {"__llvm_retpoline_*", WTM_REFUSED_POPS_RETURN},

    /* Their caller's RUNPATH, namespace or "next" object is meant. */
    {"dlopen", WTM_REFUSED_USES_CALLER},
    {"__dlopen", WTM_REFUSED_USES_CALLER},
    {"___dlopen", WTM_REFUSED_USES_CALLER},
    {"dlmopen", WTM_REFUSED_USES_CALLER},
    {"__dlmopen", WTM_REFUSED_USES_CALLER},
    {"___dlmopen", WTM_REFUSED_USES_CALLER},
    {"dlsym", WTM_REFUSED_USES_CALLER},
    {"__dlsym", WTM_REFUSED_USES_CALLER},
    {"___dlsym", WTM_REFUSED_USES_CALLER},
    {"dlvsym", WTM_REFUSED_USES_CALLER},
    {"__dlvsym", WTM_REFUSED_USES_CALLER},
    {"___dlvsym", WTM_REFUSED_USES_CALLER},
    {"__libc_dlopen*", WTM_REFUSED_USES_CALLER},
    {"__libc_dlsym", WTM_REFUSED_USES_CALLER},
    {"__libc_dlvsym", WTM_REFUSED_USES_CALLER},

    /* The child returns on another stack. */
    {"clone", WTM_REFUSED_NEW_STACK},
    {"__clone", WTM_REFUSED_NEW_STACK},
    {"clone2", WTM_REFUSED_NEW_STACK},
    {"__clone2", WTM_REFUSED_NEW_STACK},
    {"clone3", WTM_REFUSED_NEW_STACK},
    {"__clone3", WTM_REFUSED_NEW_STACK},

    {"setjmp", WTM_REFUSED_RETURNS_TWICE},
    {"_setjmp", WTM_REFUSED_RETURNS_TWICE},
    {"__setjmp", WTM_REFUSED_RETURNS_TWICE},
    {"sigsetjmp", WTM_REFUSED_RETURNS_TWICE},
    {"_sigsetjmp", WTM_REFUSED_RETURNS_TWICE},
    {"__sigsetjmp", WTM_REFUSED_RETURNS_TWICE},
    {"__sigsetjmp_cancel", WTM_REFUSED_RETURNS_TWICE},
    {"savectx", WTM_REFUSED_RETURNS_TWICE},

    {"getcontext", WTM_REFUSED_SWITCHES_STACK},
    {"__getcontext", WTM_REFUSED_SWITCHES_STACK},
    {"setcontext", WTM_REFUSED_SWITCHES_STACK},
    {"__setcontext", WTM_REFUSED_SWITCHES_STACK},
    {"swapcontext", WTM_REFUSED_SWITCHES_STACK},
    {"__swapcontext", WTM_REFUSED_SWITCHES_STACK},
    {"__start_context", WTM_REFUSED_SWITCHES_STACK},
    {"__push___start_context", WTM_REFUSED_SWITCHES_STACK},
    {"make_fcontext", WTM_REFUSED_SWITCHES_STACK},
    {"jump_fcontext", WTM_REFUSED_SWITCHES_STACK},
    {"ontop_fcontext", WTM_REFUSED_SWITCHES_STACK},
    {"co_switch", WTM_REFUSED_SWITCHES_STACK},
    {"__morestack", WTM_REFUSED_SWITCHES_STACK},
    {"__morestack_non_split", WTM_REFUSED_SWITCHES_STACK},

    {"_Unwind_*", WTM_REFUSED_UNWINDER},
    {"__unw_getcontext", WTM_REFUSED_UNWINDER},
    {"unw_getcontext", WTM_REFUSED_UNWINDER},
    {"_Ux86_64_getcontext*", WTM_REFUSED_UNWINDER},
    {"_Ux86_64_setcontext", WTM_REFUSED_UNWINDER},
    {"_x86_64_setcontext", WTM_REFUSED_UNWINDER},
    {"__libunwind_Registers_x86_64_jumpto", WTM_REFUSED_UNWINDER},

    /* Not entered by a call that expects the usual registers to be free, or not by a call at all. */
    {"_start", WTM_REFUSED_OWN_CONVENTION},
    {"_dl_start", WTM_REFUSED_OWN_CONVENTION},
    {"_dl_start_user", WTM_REFUSED_OWN_CONVENTION},
    {"_dl_runtime_resolve*", WTM_REFUSED_OWN_CONVENTION},
    {"_dl_runtime_profile*", WTM_REFUSED_OWN_CONVENTION},
    {"_dl_tlsdesc_*", WTM_REFUSED_OWN_CONVENTION},
    {"__tls_get_addr", WTM_REFUSED_OWN_CONVENTION},
    {"__tls_get_addr_slow", WTM_REFUSED_OWN_CONVENTION},
    {"___tls_get_addr", WTM_REFUSED_OWN_CONVENTION},
    {"__restore_rt", WTM_REFUSED_OWN_CONVENTION},
    {"__fentry__", WTM_REFUSED_OWN_CONVENTION},
    {"mcount", WTM_REFUSED_OWN_CONVENTION},
    {"_mcount", WTM_REFUSED_OWN_CONVENTION},
};

static int matches(const char *pattern, const char *name)
{
    if (*pattern != *name) /* nearly always */
        return 0;
    size_t length = strlen(pattern);
    return pattern[length - 1] == '*' ? !strncmp(pattern, name, length - 1) : !strcmp(pattern, name);
}

/* Go's linker writes import/path.Name and type..methods; what cgo links in is named as C names are. The
 * runtime's assembler routines without a dot that are entered on Go's own terms are the few below. */
static int is_go_name(const char *name)
{
    static const char *const own[] = {
        "crosscall*",    "_rt0_*",    "_cgo_topofstack", "_cgo_panic",
        "gogo",          "callRet",   "setg_gcc",        "gosave_systemstack_switch",
        "aeshashbody",   "memeqbody", "cmpbody",         "indexbody",
        "indexbytebody", "countbody", "debugCall*",      "gcWriteBarrier*"};
    static const char *const clones[] = {".constprop.", ".isra.", ".part.", ".cold", ".lto_priv.", ".llvm."};
    const char *dot = strchr(name + (*name != 0), '.');
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (matches(own[i], name))
            return 1;
    if (!dot)
        return 0;
    for (size_t i = 0; i < sizeof clones / sizeof *clones; i++)
        if (!strncmp(dot, clones[i], strlen(clones[i])))
            return 0;
    return 1;
}

static int is_builtin(const char *mangled)
{
    return !strncmp(mangled, "Builtins_", 9);
}

/* Code that V8 and HotSpot generate calls C++ functions of theirs, and their garbage collectors find the place of the call
 * by the return address in its slot. Which functions these are changes between versions, and a tail call may lead to any
 * other; those with C names (an event loop, a crypto library in the same file) are called by C++ alone. The callbacks of
 * V8's add-ons are known by what they take. */
static int is_of_walker(const char *mangled, const struct wtm_object *object)
{
    static const char *const taken[] = {"2v820FunctionCallbackInfo", "2v820PropertyCallbackInfo", "FastApiCallbackOptions"};
    struct wtm_symbol symbol;
    if (is_builtin(mangled))
        return 1;
    if (mangled[0] != '_' || mangled[1] != 'Z')
        return 0;
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        if (strstr(mangled, taken[i]))
            return 1;
    if (!object)
        return 0;
    return object->is_walker || (object->loaded && (wtm_object_lookup(object, "_ZN2v87Isolate8AllocateEv", &symbol) ||
                                                    wtm_object_lookup(object, "JNI_CreateJavaVM", &symbol)));
}

int wtm_is_walked(const char *mangled, const struct wtm_object *object)
{
    return mangled && *mangled && !is_builtin(mangled) && is_of_walker(mangled, object);
}

enum wtm_refusal wtm_refused_by_name(const char *mangled, const struct wtm_object *object)
{
    if (!mangled || !*mangled)
        return WTM_REFUSED_NONE;
    if (object && object->is_go && is_go_name(mangled))
        return WTM_REFUSED_GO;
    if (is_of_walker(mangled, object))
        return WTM_REFUSED_STACK_WALKER;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        if (!matches(refused[i].name, mangled))
            continue;
        /* "clone" is a common name of functions of programs; the C library's is in a library. */
        if (object && object->is_main && !strcmp(mangled, "clone"))
            return WTM_REFUSED_NONE;
        return refused[i].refusal;
    }
    return WTM_REFUSED_NONE;
}
