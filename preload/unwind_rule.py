#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints unwind_rule.h: the DWARF rule that gives unwinders the return address of a timed call.

At the return point the true return address is not on the stack but in an open-call record. DWARF lets a register's rule
be an expression; it starts with the CFA on its stack and must leave the address where the register's value stands. This
one walks all threads' blocks, and in each its records from the top down to the base, and takes the first whose sp equals
the CFA. The first word of a record is the return address less one.

    struct wtm_thread { record *top; thread *next; record *base; ... }       struct wtm_record { ret - 1; sp; ... }

It finds the list's head through an offset stored in the same 256-byte block of code, since an expression can name the
frame's pc (register 16) but no symbol; and the pc is anywhere in that block when a signal interrupted the exit code.
libgcc's DW_OP_pick cannot reach the bottom of its stack, hence the
spare copy of the CFA. If nothing matches, it yields the last record looked at: a wrong address rather than a crash."""
import sys

BLOCK_BYTES = 256
HEAD_AT, RECORD_BYTES, SP_AT, NEXT_AT, BASE_AT = BLOCK_BYTES - 4, 64, 8, 8, 16
OP = dict(deref=0x06, const1u=0x08, const2s=0x0b, dup=0x12, drop=0x13, pick=0x15, **{'and': 0x1a}, minus=0x1c, plus=0x22, plus_uconst=0x23, bra=0x28,
          eq=0x29, ge=0x2a, breg16=0x80, deref_size=0x94)
DW_CFA_EXPRESSION, RETURN_ADDRESS_COLUMN = 0x10, 16


def leb128(value, signed):
    out = []
    while True:
        byte, value = value & 0x7f, value >> 7
        last = (value == 0 and not (signed and byte & 0x40)) or (signed and value == -1 and byte & 0x40)
        out.append(byte if last else byte | 0x80)
        if last:
            return out


code, labels, holes = [], {}, []


def op(name, *operands):
    code.append(OP[name])
    code.extend(operands)


def label(name):
    labels[name] = len(code)


def branch(name):
    op('bra', 0, 0)
    holes.append((len(code), name))


op('dup')                                         # cfa cfa
op('breg16', *leb128(0, True))
op('const2s', *(-BLOCK_BYTES).to_bytes(2, 'little', signed=True))
op('and')
op('plus_uconst', *leb128(HEAD_AT, False))
op('dup')
op('deref_size', 4)
op('plus')                                        # the head's address: the stored offset is relative to itself
op('deref')                                       # cfa cfa thread
label('thread')
op('dup')
op('deref')                                       # cfa cfa thread record
label('record')
op('dup')
op('plus_uconst', SP_AT)
op('deref')
op('pick', 3)
op('eq')
branch('found')
op('const1u', RECORD_BYTES)
op('minus')
op('dup')
op('pick', 2)
op('plus_uconst', BASE_AT)
op('deref')
op('ge')
branch('record')
op('drop')
op('plus_uconst', NEXT_AT)
op('deref')
op('dup')
branch('thread')
label('found')
for at, name in holes:
    distance = (labels[name] - at) & 0xffff
    code[at - 2], code[at - 1] = distance & 0xff, distance >> 8

rule = [DW_CFA_EXPRESSION, RETURN_ADDRESS_COLUMN, *leb128(len(code), False), *code]
sys.stdout.write('/* Made by unwind_rule.py, which explains it. */\n'
                 f'#define WTM_RULE_BLOCK {BLOCK_BYTES}\n#define WTM_HEAD_AT {HEAD_AT}\n'
                 f'#define WTM_RETURN_ADDRESS_RULE .cfi_escape {", ".join(hex(b) for b in rule)}\n')
