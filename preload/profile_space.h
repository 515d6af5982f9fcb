/* SPDX-License-Identifier: MIT
 * What the files of the profile's space share: the mapped segments and the descriptor behind them. Nobody else includes this.
 * Same rules as profile.h. */
#ifndef WTM_PRELOAD_PROFILE_SPACE_H
#define WTM_PRELOAD_PROFILE_SPACE_H

#include "common/profile_check.h"
#include "preload/profile.h"

enum {
    WTM_MAX_SEGMENTS = 64,
    WTM_FIRST_SEGMENT_BYTES = 1 << 20,
    WTM_FIRST_SEGMENT_BYTES_OF_MANY = 64 << 10, /* a build has thousands of processes, most of which time little */
    WTM_LARGEST_SEGMENT_BYTES = 64 << 20,
};

struct wtm_segment {
    char *base;
    uint64_t offset, bytes;
};

struct wtm_space {
    struct wtm_profile_header *header;
    struct wtm_segment segments[WTM_MAX_SEGMENTS];
    uint32_t segment_count;
    uint32_t growing;       /* tid of the thread that adds a segment */
    int fd;                 /* -1: none; of a file only while it is grown */
    char path[4096];        /* absolute, of a file; empty for a memfd */
    int is_memfd;
    int passing;            /* descriptors are few: fd is given back once the first segment is mapped */
    uint64_t device, inode; /* of fd when it was opened */
    uint32_t detached;      /* 1: some segments are not in the file */
    uint64_t lost_early;    /* lost calls before there was a header */
    uint32_t thread_count;
    struct wtm_chunk *warning; /* a note that is shown once `detached` is set */
    struct wtm_profile sealed; /* view made in advance */
};
extern struct wtm_space wtm_space WTM_HIDDEN;

/* 1: the descriptor is the one that was opened; programs close descriptors and reuse their numbers. */
int wtm_space_is_ours(void) WTM_HIDDEN;
/* A program may look at its own descriptors, so a file's is not kept: it is opened again to grow, and closed. */
void wtm_space_borrow(void) WTM_HIDDEN;
void wtm_space_give_back(void) WTM_HIDDEN;

/* Grows the file with its blocks allocated, so that touching the mapping cannot fail for a full disk. 0 or -1. */
int wtm_space_grow_file(uint64_t from, uint64_t bytes) WTM_HIDDEN;
/* Maps a segment that begins at `offset`; of anonymous memory where the file cannot grow. 0 or -ENOMEM. */
int wtm_space_add(uint64_t offset, uint64_t bytes) WTM_HIDDEN;
/* Adds a segment with room for `need` bytes, unless there are more than `seen` by then. One thread at a time; others wait for
 * it. A signal handler that interrupted the one who grows must not wait: -EBUSY. */
int wtm_space_grow(uint32_t seen, uint64_t need) WTM_HIDDEN;

#endif
