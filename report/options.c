/* SPDX-License-Identifier: MIT
 * Parsing and --help of option tables. */
#include "report/options.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HELP_COLUMN = 24 };

int wtm_usage_error(const struct wtm_command *command, const char *format, ...)
{
    va_list list;
    fprintf(stderr, "wtm %s: ", command->name);
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    fprintf(stderr, " (wtm %s --help tells more)\n", command->name);
    return WTM_EXIT_USAGE;
}

int wtm_options_exit(int parsed)
{
    return parsed == -1 ? WTM_EXIT_OK : WTM_EXIT_USAGE;
}

static void print_option(const struct wtm_option *option)
{
    char left[64];
    const char *help = option->help;
    int used = snprintf(left, sizeof left, "  %c%c%c --%s%s%s", option->letter ? '-' : ' ',
                        option->letter ? option->letter : ' ', option->letter ? ',' : ' ', option->name,
                        option->argument ? " " : "", option->argument ? option->argument : "");
    printf("%-*s", HELP_COLUMN, left);
    if (used >= HELP_COLUMN)
        printf("\n%*s", HELP_COLUMN, "");
    for (; *help; help++) {
        putchar(*help);
        if (*help == '\n')
            printf("%*s", HELP_COLUMN, "");
    }
    putchar('\n');
}

void wtm_command_help(const struct wtm_command *command)
{
    printf("Usage: wtm %s %s%s\n\n%s\n\nOptions:\n", command->name, command->option_count ? "[OPTIONS] " : "",
           command->operands, command->description);
    for (size_t i = 0; i < command->option_count; i++)
        print_option(&command->options[i]);
    printf("      --help            this text\n");
    if (command->examples)
        printf("\nExamples:\n%s\n", command->examples);
}

static const struct wtm_option *find_long(const struct wtm_command *command, const char *name, size_t length)
{
    for (size_t i = 0; i < command->option_count; i++)
        if (strlen(command->options[i].name) == length && !strncmp(command->options[i].name, name, length))
            return &command->options[i];
    return NULL;
}

static const struct wtm_option *find_short(const struct wtm_command *command, char letter)
{
    for (size_t i = 0; i < command->option_count; i++)
        if (command->options[i].letter && command->options[i].letter == letter)
            return &command->options[i];
    return NULL;
}

static int set_number(const struct wtm_command *command, const struct wtm_option *option, size_t *to,
                      const char *value)
{
    char *end;
    errno = 0;
    unsigned long long number = strtoull(value, &end, 10);
    if (errno || end == value || *end || strchr(value, '-'))
        return wtm_usage_error(command, "--%s: expected a number, not '%s'", option->name, value);
    *to = number;
    return 0;
}

static int set(const struct wtm_command *command, const struct wtm_option *option, void *values,
               const char *value)
{
    void *field = (char *)values + option->field;
    const char **text = field;
    switch (option->kind) {
    case WTM_OPTION_FLAG:
        ++*(int *)field;
        return 0;
    case WTM_OPTION_NUMBER:
        return set_number(command, option, field, value);
    case WTM_OPTION_LIST:
        if (*text) {
            char *joined = malloc(strlen(*text) + strlen(value) + 2); /* kept until the command ends */
            if (!joined)
                return wtm_usage_error(command, "no memory");
            sprintf(joined, "%s,%s", *text, value);
            *text = joined;
            return 0;
        }
        /* fallthrough */
    case WTM_OPTION_TEXT:
        *text = value;
        return 0;
    }
    return 0;
}

/* --name, --name=value, --name value. Gives how many arguments were used, 0 after an error. */
static int parse_long(const struct wtm_command *command, char **at, void *values)
{
    const char *name = at[0] + 2, *equals = strchr(name, '=');
    size_t length = equals ? (size_t)(equals - name) : strlen(name);
    const struct wtm_option *option = find_long(command, name, length);
    if (!option) {
        wtm_usage_error(command, "no option %s", at[0]);
        return 0;
    }
    if (option->kind == WTM_OPTION_FLAG) {
        if (equals) {
            wtm_usage_error(command, "--%s takes no value", option->name);
            return 0;
        }
        set(command, option, values, NULL);
        return 1;
    }
    const char *value = equals ? equals + 1 : at[1];
    if (!value) {
        wtm_usage_error(command, "--%s needs %s", option->name, option->argument);
        return 0;
    }
    return set(command, option, values, value) ? 0 : equals ? 1 : 2;
}

/* -abc, -tVALUE, -t VALUE. Likewise. */
static int parse_short(const struct wtm_command *command, char **at, void *values)
{
    for (const char *letter = at[0] + 1; *letter; letter++) {
        const struct wtm_option *option = find_short(command, *letter);
        if (!option) {
            wtm_usage_error(command, "no option -%c", *letter);
            return 0;
        }
        if (option->kind == WTM_OPTION_FLAG) {
            set(command, option, values, NULL);
            continue;
        }
        const char *value = letter[1] ? letter + 1 : at[1];
        if (!value) {
            wtm_usage_error(command, "-%c needs %s", *letter, option->argument);
            return 0;
        }
        return set(command, option, values, value) ? 0 : letter[1] ? 1 : 2;
    }
    return 1;
}

int wtm_options_parse(const struct wtm_command *command, int argc, char **argv, void *values)
{
    int operands = 0, only_operands = 0;
    for (int i = 1; i < argc;) {
        if (only_operands || argv[i][0] != '-' || !argv[i][1]) {
            argv[++operands] = argv[i++];
            only_operands |= command->stops;
        } else if (!strcmp(argv[i], "--")) {
            only_operands = 1;
            i++;
        } else if (!strcmp(argv[i], "--help")) {
            wtm_command_help(command);
            return -1;
        } else {
            int used = argv[i][1] == '-' ? parse_long(command, &argv[i], values)
                                         : parse_short(command, &argv[i], values);
            if (!used)
                return -2;
            i += used;
        }
    }
    argv[operands + 1] = NULL;
    return operands;
}
