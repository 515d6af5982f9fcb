/* SPDX-License-Identifier: MIT
 * One client at a time: the mailbox is taken by compare and swap. The header page is mapped shared, as the process has it. */
#include "report/request.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { WAIT_MS = 10000, STEP_MS = 2, AGAIN_MS = 20 };

static void pause_ms(long ms)
{
    const struct timespec pause = {0, ms * 1000000};
    nanosleep(&pause, NULL);
}

static void *map_header(const struct wtm_process_view *view)
{
    char path[48];
    snprintf(path, sizeof path, "/proc/self/fd/%d", view->profile);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    void *header = mmap(NULL, WTM_PROFILE_HEADER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return header == MAP_FAILED ? NULL : header;
}

static int swap_state(struct wtm_mailbox *box, uint32_t from, uint32_t to)
{
    return __atomic_compare_exchange_n(&box->state, &from, to, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

static uint32_t state_of(const struct wtm_mailbox *box)
{
    return __atomic_load_n(&box->state, __ATOMIC_SEQ_CST);
}

/* What a client that was killed left behind is taken over. */
static int take(struct wtm_mailbox *box)
{
    for (int waited = 0; waited < WAIT_MS; waited += AGAIN_MS) {
        uint32_t state = state_of(box);
        int abandoned = state != WTM_MAILBOX_IDLE && state != WTM_MAILBOX_WORKING && kill((pid_t)box->client, 0) && errno == ESRCH;
        if ((state == WTM_MAILBOX_IDLE || abandoned) && swap_state(box, state, WTM_MAILBOX_TAKEN)) {
            box->client = (uint32_t)getpid();
            return 1;
        }
        pause_ms(AGAIN_MS);
    }
    return 0;
}

static const char *unanswered(const struct wtm_process_view *view, int signal)
{
    struct wtm_process_state state;
    wtm_process_state(view, &state);
    if (!state.state || state.state == 'Z')
        return "it has ended meanwhile";
    if (state.state == 'T' || state.state == 't')
        return "it is stopped; nothing was changed";
    if (state.blocked >> (signal - 1) & 1)
        return "its main thread blocks the control signal, and no other took it within 10 s; nothing was changed";
    return "it has not answered within 10 s; it may handle the signal itself";
}

/* Sends the signal, waits for an answer. Gives 1 when there is one. */
static int ask(const struct wtm_process_view *view, struct wtm_mailbox *box, int signal, int *waited)
{
    if (wtm_process_queue(view, signal, WTM_REQUEST_SIGNAL))
        return 0;
    while (*waited < WAIT_MS || state_of(box) == WTM_MAILBOX_WORKING) {
        if (state_of(box) == WTM_MAILBOX_ANSWERED)
            return 1;
        if (!wtm_process_alive(view))
            return 0;
        pause_ms(STEP_MS);
        *waited += STEP_MS;
    }
    return swap_state(box, WTM_MAILBOX_ASKED, WTM_MAILBOX_IDLE) ? 0 : state_of(box) == WTM_MAILBOX_ANSWERED;
}

static const char *talk(const struct wtm_process_view *view, struct wtm_mailbox *box, int signal, enum wtm_request request,
                        const char *text, struct wtm_answer *answer)
{
    int waited = 0;
    if (!take(box))
        return "another wtm is talking to it";
    do {
        box->request = request;
        snprintf(box->text, sizeof box->text, "%s", text);
        __atomic_store_n(&box->state, WTM_MAILBOX_ASKED, __ATOMIC_SEQ_CST);
        if (!ask(view, box, signal, &waited))
            return unanswered(view, signal);
        answer->result = box->result;
        memcpy(answer->text, box->answer, sizeof answer->text);
        answer->text[sizeof answer->text - 1] = 0;
        if (answer->result == -EAGAIN)
            pause_ms(AGAIN_MS);
        waited += AGAIN_MS;
    } while (answer->result == -EAGAIN && waited < WAIT_MS);
    __atomic_store_n(&box->state, WTM_MAILBOX_IDLE, __ATOMIC_SEQ_CST);
    return answer->result == -EAGAIN ? "it was busy at each attempt for 10 s (loading libraries, or in a thread that blocks signals)"
                                     : NULL;
}

const char *wtm_request(const struct wtm_process_view *view, int signal, enum wtm_request request, const char *text,
                        struct wtm_answer *answer)
{
    char *header = map_header(view);
    *answer = (struct wtm_answer){0, ""};
    if (!header)
        return "its profile cannot be written";
    const char *why = talk(view, (struct wtm_mailbox *)(header + WTM_MAILBOX_AT), signal, request, text, answer);
    munmap(header, WTM_PROFILE_HEADER_BYTES);
    return why;
}
