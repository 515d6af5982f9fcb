/* SPDX-License-Identifier: MIT
 * Names and sentences of refusals. */
#include "common/status.h"

static const struct {
    const char *name, *text;
} refusals[] = {
#define X(id, number, text) [number] = {#id, text},
    WTM_REFUSALS(X)
#undef X
};

const char *wtm_refusal_name(unsigned refusal)
{
    return refusal < sizeof refusals / sizeof *refusals && refusals[refusal].name ? refusals[refusal].name : "unknown";
}

const char *wtm_refusal_text(unsigned refusal)
{
    return refusal < sizeof refusals / sizeof *refusals && refusals[refusal].text ? refusals[refusal].text : "unknown";
}
