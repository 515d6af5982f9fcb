/* SPDX-License-Identifier: MIT
 * wtm: finds the command and runs it. */
#include "report/commands.h"
#include <signal.h>
#include <stdio.h>
#include <string.h>

const struct wtm_command *const wtm_commands[] = {
    &wtm_command_run,  &wtm_command_report, &wtm_command_list,   &wtm_command_info, &wtm_command_top,
    &wtm_command_time, &wtm_command_untime, &wtm_command_arm,    &wtm_command_reset, &wtm_command_disarm,
    &wtm_command_dump, &wtm_command_clock,  &wtm_command_completion};
enum { COMMANDS = sizeof wtm_commands / sizeof *wtm_commands };
const size_t wtm_command_count = COMMANDS;

static void help(void)
{
    printf("wtm times functions that you name in a program that you need not change or rebuild:\n"
           "how often each was called, how much wall and CPU time it took, and how these spread.\n"
           "\n"
           "Start here:\n"
           "  wtm run -t 'foo,bar*' -- ./app        run ./app, time foo and all that begins with bar;\n"
           "                                        the table comes when it ends\n"
           "  wtm report wtm.PID.prof               the table again, from the profile that was saved\n"
           "  wtm list ./app                        what can be timed in ./app, what not and why\n"
           "  wtm top $(pidof app)                  the table of a running ./app, refreshed\n"
           "  wtm reset $(pidof app)                counts from zero; also arm, disarm, dump\n"
           "  wtm time $(pidof app) 'bar*'          times more functions of it; also untime\n"
           "\n"
           "Commands:\n");
    for (size_t i = 0; i < COMMANDS; i++)
        printf("  %-10s %s\n", wtm_commands[i]->name, wtm_commands[i]->summary);
    printf("\n"
           "wtm COMMAND --help tells the options of each, libwtmtime(7) all settings. What can stand\n"
           "for a function: name, glob*, /regex/, lib.so:name, main:name (the program itself), C++ and\n"
           "Rust names as people write them, 0x401234=handle; !pattern takes out again.\n"
           "\n"
           "Exit status: 0 done; 1 done, and the answer is no (nothing was called, nothing can be\n"
           "timed); 2 wrong usage; 3 a file could not be read or written. wtm run: that of the\n"
           "program, or 126 when it cannot be run or timed, 127 when there is no such program.\n");
}

static int unknown(const char *name)
{
    fprintf(stderr, "wtm: no command '%s'; there are:", name);
    for (size_t i = 0; i < COMMANDS; i++)
        fprintf(stderr, " %s", wtm_commands[i]->name);
    fprintf(stderr, " (wtm --help tells more)\n");
    return WTM_EXIT_USAGE;
}

static const struct wtm_command *find(const char *name)
{
    for (size_t i = 0; i < COMMANDS; i++)
        if (!strcmp(wtm_commands[i]->name, name))
            return wtm_commands[i];
    return NULL;
}

static int dispatch(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : NULL;
    if (!name || !strcmp(name, "--help") || !strcmp(name, "-h") || (!strcmp(name, "help") && argc == 2)) {
        help();
        return name ? WTM_EXIT_OK : WTM_EXIT_USAGE;
    }
    if (!strcmp(name, "--version")) {
        printf("wtm %s\n", WTM_VERSION);
        return WTM_EXIT_OK;
    }
    const struct wtm_command *command = find(!strcmp(name, "help") ? argv[2] : name);
    if (!command)
        return unknown(!strcmp(name, "help") ? argv[2] : name);
    if (!strcmp(name, "help")) {
        wtm_command_help(command);
        return WTM_EXIT_OK;
    }
    return command->run(argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
    int result = dispatch(argc, argv);
    if (fflush(stdout) || ferror(stdout))
        return WTM_EXIT_INPUT;
    return result;
}
