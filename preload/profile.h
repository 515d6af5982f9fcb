/* SPDX-License-Identifier: MIT
 * The profile's space: a shared mapping of a file or memfd that grows in segments (common/profile_format.h is the layout).
 * Grows at need from any thread, also inside a timed call: raw system calls, no libc, general registers only.
 *
 * Growth never touches a file that is not ours: the descriptor's identity is checked first (programs close all
 * descriptors and open their own). Where the file cannot grow (limit, disk full, descriptor gone) segments are anonymous:
 * counts are kept for the table at exit, other readers miss them, and a note says so. */
#ifndef WTM_PRELOAD_PROFILE_H
#define WTM_PRELOAD_PROFILE_H

#include "preload/hot.h"
#include "preload/process.h"
#include "common/summary.h"

/* Creates the profile. `path`: the file, or NULL for a memfd. On failure of the file falls back to a memfd, then to
 * anonymous memory, and gives the negative errno that the file had; the profile exists unless -ENOMEM. */
int wtm_profile_create(const char *path) WTM_HIDDEN;
/* In a child: a new profile with the descriptions and settings of the present one, and no counts. */
int wtm_profile_recreate(const char *path) WTM_HIDDEN;
struct wtm_profile_header *wtm_profile_header(void) WTM_HIDDEN; /* NULL before creation */

/* Zeroed room for a chunk of `bytes` (rounded up), its `chunk.bytes` set. NULL when there is none. Any thread,
 * signal-safe. Fill it, then publish it with its type. */
void *wtm_profile_chunk(size_t bytes) WTM_HIDDEN;
void wtm_profile_publish(void *chunk, enum wtm_chunk_type type) WTM_HIDDEN;
uint64_t wtm_profile_offset(const void *chunk) WTM_HIDDEN;
void *wtm_profile_at(uint64_t offset) WTM_HIDDEN; /* NULL when it is none of ours */

/* 1: all of it is in the file that was asked for. */
int wtm_profile_is_file(void) WTM_HIDDEN;
/* 1: something was called; also when that cannot be told. */
int wtm_profile_counted(void) WTM_HIDDEN;
/* Takes the file's name away; what is mapped stays. At the end of a process that has nothing to tell. */
void wtm_profile_remove(void) WTM_HIDDEN;

/* The thread's chunk. 0 or -ENOMEM. */
int wtm_profile_thread(struct wtm_thread *thread) WTM_HIDDEN;
/* A sentence for the report's reader. */
void wtm_profile_note(const char *text) WTM_HIDDEN;

/* A call passed untimed for want of memory. */
void wtm_profile_lost_call(void) WTM_HIDDEN;
/* A return for which no record exists. Cannot happen as far as we know; noted before the program goes astray. */
void wtm_profile_stranded(void) WTM_HIDDEN;

/* No system call may be made any more: makes room for what is likely to come, and a view of all. 0 or negative errno. */
int wtm_profile_seal(void) WTM_HIDDEN;
/* A child that may make no system call: it has no profile. */
void wtm_profile_none(void) WTM_HIDDEN;

/* All of it as one contiguous read-only view, for the table. 0 or negative errno; wtm_profile_unview() after use. */
int wtm_profile_view(struct wtm_profile *view) WTM_HIDDEN;
void wtm_profile_unview(struct wtm_profile *view) WTM_HIDDEN;

#endif
