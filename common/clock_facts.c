/* SPDX-License-Identifier: MIT
 * Facts about the TSC. CPUID 15h: TSC = crystal * ebx / eax (Intel SDM volume 2A); ecx, the crystal's rate, may be 0, and
 * then the rate is not stated, as guessing it by processor model would be. Leaf 16h is nominal, in MHz: never used.
 * 40000010h: TSC rate in kHz, the VMware convention that KVM, Xen and others follow, valid when the hypervisor announces
 * that leaf. 40000001h: KVM's features (Documentation/virt/kvm/x86/cpuid.rst of the kernel). */
#include "common/clock_facts.h"
#include "common/sys.h"
#include <cpuid.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>

#define CLOCKSOURCE "/sys/devices/system/clocksource/clocksource0/"

static void read_small(const char *path, char *to, size_t bytes)
{
    long got = 0, fd = wtm_sys_open(path, O_RDONLY | O_CLOEXEC, 0);
    if (!wtm_sys_failed(fd)) {
        got = wtm_sys_read((int)fd, to, bytes - 1);
        wtm_sys_close((int)fd);
    }
    if (wtm_sys_failed(got))
        got = 0;
    while (got > 0 && (to[got - 1] == '\n' || to[got - 1] == ' '))
        got--;
    to[got] = 0;
}

static void ask_hypervisor(struct wtm_clock_facts *facts)
{
    uint32_t a, b, c, d, most;
    __cpuid(0x40000000, most, b, c, d);
    memcpy(facts->maker, &b, 4);
    memcpy(facts->maker + 4, &c, 4);
    memcpy(facts->maker + 8, &d, 4);
    if (most > 0x400000ff)
        return;
    if (most >= 0x40000001 && !memcmp(facts->maker, "KVMKVMKVM", 9)) {
        __cpuid(0x40000001, a, b, c, d);
        facts->stable_guest = a >> 24 & 1;
    }
    if (most >= 0x40000010 && !facts->stated_hz) {
        __cpuid(0x40000010, a, b, c, d);
        facts->stated_hz = (uint64_t)a * 1000;
        facts->stated_by = WTM_RATE_HYPERVISOR;
    }
}

static void ask_processor(struct wtm_clock_facts *facts)
{
    uint32_t a, b, c, d;
    if (__get_cpuid_max(0, NULL) >= 0x15) {
        __cpuid(0x15, a, b, c, d);
        if (a && b && c) {
            facts->stated_hz = ((uint64_t)c * b + a / 2) / a;
            facts->stated_by = WTM_RATE_CPUID;
        }
    }
    __cpuid(0x80000000, a, b, c, d);
    if (a >= 0x80000007) {
        __cpuid(0x80000007, a, b, c, d);
        facts->invariant = d >> 8 & 1;
    }
    __cpuid(1, a, b, c, d);
    facts->hypervisor = c >> 31 & 1;
    if (facts->hypervisor)
        ask_hypervisor(facts);
}

/* Some kernels tell it (a file of a few vendors' kernels). */
static void ask_kernel(struct wtm_clock_facts *facts)
{
    char text[32];
    uint64_t khz = 0;
    read_small(CLOCKSOURCE "current_clocksource", facts->current, sizeof facts->current);
    if (strcmp(facts->current, "tsc"))
        read_small(CLOCKSOURCE "available_clocksource", facts->available, sizeof facts->available);
    if (facts->stated_hz)
        return;
    read_small("/sys/devices/system/cpu/cpu0/tsc_freq_khz", text, sizeof text);
    for (const char *p = text; *p >= '0' && *p <= '9' && khz < 1000000000; p++)
        khz = khz * 10 + (uint64_t)(*p - '0');
    facts->stated_hz = khz * 1000;
    facts->stated_by = khz ? WTM_RATE_KERNEL : WTM_RATE_MEASURED;
}

void wtm_clock_facts_read(struct wtm_clock_facts *facts)
{
    int mode = PR_TSC_ENABLE;
    memset(facts, 0, sizeof *facts);
    wtm_syscall3(SYS_prctl, PR_GET_TSC, (long)&mode, 0);
    facts->unreadable = mode == PR_TSC_SIGSEGV;
    ask_processor(facts);
    ask_kernel(facts);
}

static int has_word(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *p = list; (p = strstr(p, word)); p += length)
        if ((p == list || p[-1] == ' ') && (!p[length] || p[length] == ' '))
            return 1;
    return 0;
}

int wtm_clock_facts_vdso(const struct wtm_clock_facts *facts)
{
    return !strcmp(facts->current, "tsc") || !strcmp(facts->current, "kvm-clock") ||
           !strcmp(facts->current, "hyperv_clocksource_tsc_page");
}

const char *wtm_clock_facts_against(const struct wtm_clock_facts *facts)
{
    if (facts->unreadable)
        return "reading it is forbidden to this process (PR_SET_TSC)";
    if (facts->unsteady)
        return "a few readings in a row went backwards or stood still";
    if (!strcmp(facts->current, "tsc")) /* it watches it */
        return NULL;
    if (wtm_clock_facts_vdso(facts)) {  /* clocks that a hypervisor makes of the TSC, with corrections where it needs some */
        if (facts->invariant || facts->stable_guest)
            return NULL;
        return "the hypervisor does not promise that it runs at one rate and alike on all CPUs";
    }
    if (*facts->current && !has_word(facts->available, "tsc"))
        return "the kernel found it unstable, or does not know its rate, and does not use it";
    if (!facts->invariant)
        return "the processor does not promise that it runs at one rate";
    return NULL;
}
