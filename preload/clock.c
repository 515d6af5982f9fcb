/* SPDX-License-Identifier: MIT
 * The TSC and its rate. General registers only: CPU-time renewals come here from inside timed calls. */
#include "preload/clock.h"
#include "common/sys.h"
#include <cpuid.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

static uint64_t rate_hz, ticks_per_ns_32; /* 32.32 */

uint64_t wtm_clock_ns(int clock_id)
{
    struct timespec t = {0, 0};
    wtm_syscall3(SYS_clock_gettime, clock_id, (long)&t, 0);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

struct wtm_clock_pair wtm_clock_pair(void)
{
    struct wtm_clock_pair best = {0, 0, UINT64_MAX};
    for (int i = 0; i < 8; i++) {
        uint64_t before = wtm_clock_ticks();
        uint64_t ns = wtm_clock_ns(CLOCK_MONOTONIC_RAW);
        uint64_t took = wtm_clock_ticks() - before;
        if (took < best.error_ticks)
            best = (struct wtm_clock_pair){before + took / 2, ns, took};
    }
    return best;
}

void wtm_clock_rate_set(uint64_t hz)
{
    rate_hz = hz;
    ticks_per_ns_32 = (uint64_t)(((unsigned __int128)hz << 32) / 1000000000u);
}

uint64_t wtm_clock_rate(void)
{
    return rate_hz;
}

uint64_t wtm_clock_ns_to_ticks(uint64_t ns)
{
    return (uint64_t)((unsigned __int128)ns * ticks_per_ns_32 >> 32);
}

/* CPUID 15h: TSC = crystal * ebx / eax (Intel SDM). 40000010h: TSC rate in kHz, the VMware convention that KVM, Xen and
 * others follow, valid when the hypervisor announces that leaf. */
uint64_t wtm_clock_stated_hz(void)
{
    uint32_t a, b, c, d;
    if (__get_cpuid_max(0, NULL) >= 0x15) {
        __cpuid(0x15, a, b, c, d);
        if (a && b && c)
            return (uint64_t)c * b / a;
    }
    __cpuid(1, a, b, c, d);
    if (!(c >> 31))
        return 0;
    __cpuid(0x40000000, a, b, c, d);
    if (a < 0x40000010 || a > 0x400000ff)
        return 0;
    __cpuid(0x40000010, a, b, c, d);
    return (uint64_t)a * 1000;
}

static size_t read_small(const char *path, char *to, size_t bytes)
{
    long fd = wtm_sys_open(path, O_RDONLY | O_CLOEXEC, 0), got = 0;
    if (wtm_sys_failed(fd))
        return 0;
    got = wtm_sys_read((int)fd, to, bytes - 1);
    wtm_sys_close((int)fd);
    if (wtm_sys_failed(got))
        got = 0;
    while (got > 0 && to[got - 1] == '\n')
        got--;
    to[got] = 0;
    return (size_t)got;
}

static void say(char *note, size_t bytes, const char *text)
{
    size_t n = strnlen(text, bytes - 1);
    memcpy(note, text, n);
    note[n] = 0;
}

int wtm_clock_readable(void)
{
    int mode = PR_TSC_ENABLE;
    wtm_syscall3(SYS_prctl, PR_GET_TSC, (long)&mode, 0);
    return mode != PR_TSC_SIGSEGV;
}

int wtm_clock_trust(char *note, size_t bytes)
{
    uint32_t a, b, c, d = 0;
    __cpuid(0x80000000, a, b, c, d);
    int invariant = 0;
    if (a >= 0x80000007) {
        __cpuid(0x80000007, a, b, c, d);
        invariant = d >> 8 & 1;
    }
    char source[64];
    size_t known = read_small("/sys/devices/system/clocksource/clocksource0/current_clocksource", source, sizeof source);
    int kernel_uses_it = known && (!strcmp(source, "tsc") || !strcmp(source, "kvm-clock") || !strcmp(source, "hyperv_clocksource_tsc_page"));
    if (!invariant && !kernel_uses_it) {
        say(note, bytes, "the processor does not promise a constant TSC rate, and the kernel's clock is another");
        return 0;
    }
    if (known && !kernel_uses_it) {
        char available[128];
        read_small("/sys/devices/system/clocksource/clocksource0/available_clocksource", available, sizeof available);
        if (!strstr(available, "tsc")) {
            say(note, bytes, "the kernel found the TSC unstable");
            return 0;
        }
    }
    note[0] = 0;
    return 1;
}
