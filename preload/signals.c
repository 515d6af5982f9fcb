/* SPDX-License-Identifier: MIT
 * Control signals. The handler runs on any thread between any two instructions, ours included: it uses raw system calls,
 * atomic stores and control.c only, and errno is never touched. */
#include "preload/signals.h"
#include "common/sys.h"
#include "common/text.h"
#include "preload/config.h"
#include "preload/control.h"
#include "preload/kernel_signal.h"
#include "preload/log.h"
#include "preload/mailbox.h"
#include "preload/profile.h"
#include <string.h>

enum {
    LAST_SIGNAL = 64,
    FIRST_REALTIME = 34, /* glibc's SIGRTMIN; it keeps 32 and 33 for itself */
};

static const char *const roles[WTM_CONTROLS] = {"arm", "reset", "disarm", "dump"};

static const struct {
    const char *name;
    int number;
} names[] = {
    {"HUP", 1}, {"INT", 2}, {"QUIT", 3}, {"ILL", 4}, {"TRAP", 5}, {"ABRT", 6}, {"IOT", 6}, {"BUS", 7}, {"FPE", 8},
    {"USR1", 10}, {"SEGV", 11}, {"USR2", 12}, {"PIPE", 13}, {"ALRM", 14}, {"TERM", 15}, {"STKFLT", 16}, {"CHLD", 17},
    {"CLD", 17}, {"CONT", 18}, {"TSTP", 20}, {"TTIN", 21}, {"TTOU", 22}, {"URG", 23}, {"XCPU", 24}, {"XFSZ", 25},
    {"VTALRM", 26}, {"PROF", 27}, {"WINCH", 28}, {"IO", 29}, {"POLL", 29}, {"PWR", 30}, {"SYS", 31},
};

/* A plain number below 1000 that fills the text, or -1. */
static int number_of(const char *text, size_t length)
{
    int number = 0;
    if (!length || length > 3)
        return -1;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9')
            return -1;
        number = number * 10 + (text[i] - '0');
    }
    return number;
}

static int starts_with(const char *text, size_t length, const char *prefix)
{
    size_t n = strlen(prefix);
    return length >= n && !memcmp(text, prefix, n);
}

/* USR1, SIGUSR1, RTMIN, RTMIN+3, RTMAX-2, 44; 0 for none. -1: no signal, or one that cannot be caught. */
static int signal_of(const char *text, size_t length)
{
    int number = number_of(text, length);
    if (length == 4 && !memcmp(text, "none", 4))
        return 0;
    if (starts_with(text, length, "SIG")) {
        text += 3;
        length -= 3;
    }
    int from_low = starts_with(text, length, "RTMIN"), from_high = starts_with(text, length, "RTMAX");
    if (from_low || from_high) {
        int step = length == 5 ? 0 : text[5] == (from_low ? '+' : '-') ? number_of(text + 6, length - 6) : -1;
        number = step < 0 || step > LAST_SIGNAL - FIRST_REALTIME ? -1 : from_low ? FIRST_REALTIME + step : LAST_SIGNAL - step;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i].name) == length && !memcmp(names[i].name, text, length))
            number = names[i].number;
    int possible = number > 0 && number <= LAST_SIGNAL && number != SIGKILL && number != SIGSTOP && number != 32 && number != 33;
    return possible ? number : -1;
}

static int role_of(const char *text, size_t length)
{
    for (int i = 0; i < WTM_CONTROLS; i++)
        if (strlen(roles[i]) == length && !memcmp(roles[i], text, length))
            return i;
    return -1;
}

/* One "role=signal". Each role and each signal once. */
static int parse_one(const char *text, size_t length, int given[WTM_CONTROLS])
{
    const char *equals = memchr(text, '=', length);
    int role = equals ? role_of(text, (size_t)(equals - text)) : -1;
    if (role < 0 || given[role] >= 0)
        return -22;
    int number = signal_of(equals + 1, length - (size_t)(equals + 1 - text));
    for (int i = 0; i < WTM_CONTROLS; i++)
        if (number < 0 || (number && given[i] == number))
            return -22;
    given[role] = number;
    return 0;
}

int wtm_signals_parse(const char *text, int numbers[WTM_CONTROLS])
{
    int given[WTM_CONTROLS] = {-1, -1, -1, -1};
    if (!strcmp(text, "none")) {
        memset(numbers, 0, WTM_CONTROLS * sizeof *numbers);
        return 0;
    }
    for (const char *at = text, *comma; *at; at = comma + (*comma == ',')) {
        comma = strchr(at, ',');
        if (!comma)
            comma = at + strlen(at);
        if (parse_one(at, (size_t)(comma - at), given))
            return -22;
    }
    for (int i = 0; i < WTM_CONTROLS; i++)
        for (int j = 0; j < WTM_CONTROLS; j++)
            if (given[j] > 0 && given[j] == numbers[i])
                numbers[i] = 0;
    for (int i = 0; i < WTM_CONTROLS; i++)
        if (given[i] >= 0)
            numbers[i] = given[i];
    return 0;
}

static int effective[WTM_CONTROLS];

static void on_signal(int number, siginfo_t *info, void *context)
{
    if (info->si_code == SI_QUEUE && info->si_value.sival_int == WTM_REQUEST_SIGNAL) {
        wtm_mailbox_work(context);
        return;
    }
    for (int i = 0; i < WTM_CONTROLS; i++)
        if (effective[i] == number)
            wtm_control(i);
}

static void tell_taken(int role, int number)
{
    char buffer[32];
    struct wtm_text text;
    if (!wtm_settings.verbose && !wtm_settings.signals_given)
        return;
    wtm_text_init(&text, buffer, sizeof buffer - 1, NULL, NULL);
    wtm_text_unsigned(&text, (uint64_t)number);
    buffer[text.used < sizeof buffer ? text.used : 0] = 0;
    wtm_log("signal ", buffer, " (", roles[role], ") is handled or ignored by the program and is left to it: WTM_SIGNALS can name another");
}

void wtm_signals_install(void)
{
    struct wtm_kernel_sigaction action = {on_signal, SA_SIGINFO | SA_RESTART | SA_ONSTACK | WTM_SA_RESTORER,
                                      wtm_signal_return, 0};
    struct wtm_profile_header *header = wtm_profile_header();
    for (int i = 0; i < WTM_CONTROLS; i++) {
        struct wtm_kernel_sigaction old = {0};
        int number = wtm_settings.signals[i];
        effective[i] = 0;
        if (!number || wtm_sys_failed(wtm_sigaction(number, NULL, &old)))
            continue;
        if (old.handler)
            tell_taken(i, number);
        else
            effective[i] = number;
    }
    for (int i = 0; i < WTM_CONTROLS; i++) /* two of them never nest in one thread */
        action.mask |= effective[i] ? (uint64_t)1 << (effective[i] - 1) : 0;
    for (int i = 0; i < WTM_CONTROLS; i++)
        if (effective[i] && wtm_sys_failed(wtm_sigaction(effective[i], &action, NULL)))
            effective[i] = 0;
    for (int i = 0; header && i < WTM_CONTROLS; i++)
        header->control_signals[i] = (uint32_t)effective[i];
}
