/* SPDX-License-Identifier: MIT
 * A thread of the program is in the middle of something: no waiting for locks (it may hold them), no libc. What cannot be
 * done at this moment is answered by -EAGAIN, and the client asks again. */
#include "preload/mailbox.h"
#include "common/profile_format.h"
#include "common/status.h"
#include "common/text.h"
#include "preload/change.h"
#include "preload/control.h"
#include "preload/process.h"
#include "preload/profile.h"
#include "preload/wtmtime.h"
#include <signal.h>
#include <string.h>
#include <sys/ucontext.h>

enum { STACK_BYTES = 256 << 10 };

static struct wtm_mailbox *mailbox(void)
{
    struct wtm_profile_header *header = wtm_profile_header();
    return header ? (struct wtm_mailbox *)((char *)header + WTM_MAILBOX_AT) : NULL;
}

static void answer(struct wtm_mailbox *box, const struct wtm_change *change, int result)
{
    struct wtm_text text;
    wtm_text_init(&text, box->answer, sizeof box->answer - 1, NULL, NULL);
    if (change->refused.reason) {
        wtm_text_string(&text, change->refused.target->name);
        wtm_text_string(&text, ": ");
        wtm_text_string(&text, wtm_refusal_text(change->refused.reason));
    } else if (result == -ENOENT && change->near) {
        wtm_text_string(&text, "not found; did you mean ");
        wtm_text_string(&text, change->near);
        wtm_text_string(&text, "?");
    }
    box->answer[text.used < sizeof box->answer ? text.used : sizeof box->answer - 1] = 0;
}

static int work(int request)
{
    struct wtm_mailbox *box = mailbox();
    struct wtm_change change;
    int result = wtm_change_begin(&change, 1);
    if (!result)
        result = request == WTM_REQUEST_TIME     ? wtm_change_time(&change, box->text)
                 : request == WTM_REQUEST_UNTIME ? wtm_change_untime(&change, box->text)
                                                 : -EINVAL;
    answer(box, &change, result);
    return wtm_change_end(&change, result);
}

/* A function that this thread was about to run on in: its bytes may become a trap, which must not be blocked there. */
static int would_block_traps(const ucontext_t *context)
{
    uint64_t mask;
    memcpy(&mask, &context->uc_sigmask, sizeof mask); /* as the kernel has it: 64 bits */
    return (mask >> (SIGTRAP - 1) & 1) != 0;
}

void wtm_mailbox_work(void *context)
{
    uint32_t asked = WTM_MAILBOX_ASKED;
    if (!wtm_control_ready())
        return;
    struct wtm_mailbox *box = mailbox();
    if (!box || !__atomic_compare_exchange_n(&box->state, &asked, WTM_MAILBOX_WORKING, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
        return;
    box->text[sizeof box->text - 1] = 0;
    box->answer[0] = 0;
    box->result = wtm_process.sandboxed         ? -EPERM
                  : would_block_traps(context)  ? -EAGAIN
                                                : wtm_control_aside(work, (int)box->request, STACK_BYTES);
    __atomic_store_n(&box->state, WTM_MAILBOX_ANSWERED, __ATOMIC_SEQ_CST);
}
