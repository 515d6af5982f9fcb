/* SPDX-License-Identifier: MIT
 * The subcommands that there are; main.c lists them. */
#ifndef WTM_REPORT_COMMANDS_H
#define WTM_REPORT_COMMANDS_H

#include "report/options.h"

extern const struct wtm_command wtm_command_run;
extern const struct wtm_command wtm_command_report;
extern const struct wtm_command wtm_command_info;
extern const struct wtm_command wtm_command_list;
extern const struct wtm_command wtm_command_top;
extern const struct wtm_command wtm_command_clock;
extern const struct wtm_command wtm_command_arm, wtm_command_reset, wtm_command_disarm, wtm_command_dump;

extern const struct wtm_command wtm_command_time, wtm_command_untime;
extern const struct wtm_command wtm_command_completion;

extern const struct wtm_command *const wtm_commands[];
extern const size_t wtm_command_count;

#endif
