/* SPDX-License-Identifier: MIT
 * Command lines from tables: one table per command, from which both the parsing and --help come. */
#ifndef WTM_REPORT_OPTIONS_H
#define WTM_REPORT_OPTIONS_H

#include <stddef.h>

/* Documented in wtm(1); tests rely on them. */
enum wtm_exit {
    WTM_EXIT_OK = 0,
    WTM_EXIT_FINDING = 1,     /* it worked, and the answer is no: nothing was called, nothing can be timed */
    WTM_EXIT_USAGE = 2,       /* the command line was wrong */
    WTM_EXIT_INPUT = 3,       /* a file could not be read or is no profile; output could not be written */
    WTM_EXIT_CANNOT = 126,    /* the program cannot be executed or cannot be timed */
    WTM_EXIT_NO_PROGRAM = 127 /* there is no such program */
};

enum wtm_option_kind {
    WTM_OPTION_FLAG,   /* int: counts */
    WTM_OPTION_TEXT,   /* const char *: the last one counts */
    WTM_OPTION_LIST,   /* const char *: several are joined by commas */
    WTM_OPTION_NUMBER, /* size_t */
};

struct wtm_option {
    char letter; /* 0: none */
    const char *name;
    enum wtm_option_kind kind;
    size_t field;         /* offset in the command's values */
    const char *argument; /* what it is called in --help; NULL for flags */
    const char *help;     /* lines separated by newlines */
};

struct wtm_command {
    const char *name;
    const char *summary; /* one line, for `wtm --help` */
    const char *operands;
    const char *description, *examples; /* for `wtm COMMAND --help` */
    const struct wtm_option *options;
    size_t option_count;
    int stops; /* 1: the first operand ends the options (what follows belongs to another program) */
    int (*run)(int argc, char **argv);
};

/* Fills `values` and moves the operands to argv[1] .. ; gives their number, or -1 after --help, or -2 after
 * an error (both were printed). */
int wtm_options_parse(const struct wtm_command *command, int argc, char **argv, void *values);
/* Prints "wtm NAME: ..." with a hint at --help on stderr; gives WTM_EXIT_USAGE. */
int wtm_usage_error(const struct wtm_command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void wtm_command_help(const struct wtm_command *command);
/* What a command returns when parsing gave a negative number. */
int wtm_options_exit(int parsed);

#endif
