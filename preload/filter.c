/* SPDX-License-Identifier: MIT
 * Classic BPF as seccomp uses it (Documentation/userspace-api/seccomp_filter.rst, kernel/seccomp.c: which instructions
 * are accepted): answers what a filter would say to a system call, without making it. */
#include "preload/sandbox.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>

struct machine {
    uint32_t a, x, memory[BPF_MEMWORDS];
};

static uint32_t word_at(const struct seccomp_data *data, uint32_t at)
{
    uint32_t word = 0;
    if (at <= sizeof *data - sizeof word)
        memcpy(&word, (const char *)data + at, sizeof word);
    return word;
}

static uint32_t alu(unsigned operation, uint32_t a, uint32_t b)
{
    switch (operation) {
    case BPF_ADD: return a + b;
    case BPF_SUB: return a - b;
    case BPF_MUL: return a * b;
    case BPF_DIV: return b ? a / b : 0;
    case BPF_OR: return a | b;
    case BPF_AND: return a & b;
    case BPF_LSH: return b < 32 ? a << b : 0;
    case BPF_RSH: return b < 32 ? a >> b : 0;
    case BPF_NEG: return -a;
    case BPF_XOR: return a ^ b;
    default: return 0;
    }
}

static int jumps(unsigned operation, uint32_t a, uint32_t b)
{
    switch (operation) {
    case BPF_JEQ: return a == b;
    case BPF_JGT: return a > b;
    case BPF_JGE: return a >= b;
    case BPF_JSET: return (a & b) != 0;
    default: return 0;
    }
}

static uint32_t load(const struct machine *m, const struct sock_filter *f, const struct seccomp_data *data)
{
    switch (BPF_MODE(f->code)) {
    case BPF_ABS: return word_at(data, f->k);
    case BPF_IMM: return f->k;
    case BPF_MEM: return f->k < BPF_MEMWORDS ? m->memory[f->k] : 0;
    case BPF_LEN: return sizeof *data;
    default: return 0;
    }
}

uint32_t wtm_filter_run(const struct sock_filter *filter, unsigned count, const struct seccomp_data *data)
{
    struct machine m = {0};
    for (unsigned at = 0; at < count; at++) {
        const struct sock_filter *f = &filter[at];
        uint32_t operand = BPF_SRC(f->code) == BPF_X ? m.x : f->k;
        switch (BPF_CLASS(f->code)) {
        case BPF_LD:
            m.a = load(&m, f, data);
            break;
        case BPF_LDX:
            m.x = load(&m, f, data);
            break;
        case BPF_ST:
            m.memory[f->k % BPF_MEMWORDS] = m.a;
            break;
        case BPF_STX:
            m.memory[f->k % BPF_MEMWORDS] = m.x;
            break;
        case BPF_ALU:
            m.a = alu(BPF_OP(f->code), m.a, operand);
            break;
        case BPF_JMP:
            if (BPF_OP(f->code) == BPF_JA)
                at += f->k < count ? f->k : count;
            else
                at += jumps(BPF_OP(f->code), m.a, operand) ? f->jt : f->jf;
            break;
        case BPF_RET:
            return BPF_RVAL(f->code) == BPF_A ? m.a : f->k;
        case BPF_MISC:
            if (BPF_MISCOP(f->code) == BPF_TAX)
                m.x = m.a;
            else
                m.a = m.x;
            break;
        }
    }
    return SECCOMP_RET_KILL_PROCESS;
}
