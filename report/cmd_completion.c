/* SPDX-License-Identifier: MIT
 * wtm completion bash: a completion script, made from the tables that parsing and --help use. */
#include "report/commands.h"
#include "report/rows.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

static int run(int argc, char **argv);
const struct wtm_command wtm_command_completion = {
    .name = "completion",
    .summary = "a script that completes wtm's commands and options in a shell",
    .operands = "bash",
    .description = "Writes a completion script for the shell named, for where it is not installed.",
    .examples = "  source <(wtm completion bash)\n"
                "  wtm completion bash >~/.local/share/bash-completion/completions/wtm",
    .run = run,
};

/* What can stand for an option's argument, by the word that --help has for it. NULL: nothing that could be listed. */
static const char *words_for(const char *argument)
{
    static const struct {
        const char *argument, *words;
    } known[] = {{"STATE", "armed disarmed"}, {"KEYS", "process program thread module host"}, {"WHERE", "stderr none"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(known[i].argument, argument))
            return known[i].words;
    return strcmp(argument, "KEY") ? NULL : wtm_rows_sort_keys;
}

/* Blanks between words, no commas. */
static void put_words(const char *words)
{
    for (; *words; words++)
        if (*words != ',')
            putchar(*words);
}

static void put_argument(const struct wtm_command *command, const struct wtm_option *option)
{
    const char *words = option->argument ? words_for(option->argument) : NULL;
    int is_file = option->argument && (!strcmp(option->argument, "FILE") || !strcmp(option->argument, "WHERE"));
    if (!option->argument)
        return;
    printf("    '%s --%s'", command->name, option->name);
    if (option->letter)
        printf(" | '%s -%c'", command->name, option->letter);
    printf(")");
    if (words) {
        printf(" COMPREPLY=($(compgen -W '");
        put_words(words);
        printf("' -- \"$cur\"));");
    }
    if (is_file)
        printf(" COMPREPLY+=($(compgen -f -- \"$cur\"));");
    if (!strcmp(option->argument, "PID"))
        printf(" COMPREPLY=($(compgen -W \"$(_wtm_processes)\" -- \"$cur\"));");
    printf(" return ;;\n");
}

static void put_operands(const struct wtm_command *command)
{
    printf("    %s) options='", command->name);
    for (size_t i = 0; i < command->option_count; i++)
        printf("--%s ", command->options[i].name);
    printf("--help'");
    if (strstr(command->operands, "PROGRAM"))
        printf("; kinds='-c -f'");
    else if (strstr(command->operands, "FILE"))
        printf("; kinds=-f");
    else if (!strcmp(command->name, "help") || islower((unsigned char)command->operands[0]))
        printf("; words='%s'", command->operands);
    if (strstr(command->operands, "PID"))
        printf("; words=$(_wtm_processes)");
    printf(" ;;\n");
}

static void put_bash(void)
{
    printf("# bash completion for wtm; made by `wtm completion bash`\n"
           "_wtm_processes() {\n"
           "    grep -ls libwtmtime /proc/[0-9]*/maps 2>/dev/null | tr -dc '0-9\\n'\n"
           "}\n"
           "_wtm() {\n"
           "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}\n"
           "    local options= kinds= words= kind\n"
           "    COMPREPLY=()\n"
           "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
           "        COMPREPLY=($(compgen -W '");
    for (size_t i = 0; i < wtm_command_count; i++)
        printf("%s ", wtm_commands[i]->name);
    printf("help --help --version' -- \"$cur\"))\n"
           "        return\n"
           "    fi\n"
           "    case \"$command $prev\" in\n");
    for (size_t i = 0; i < wtm_command_count; i++)
        for (size_t j = 0; j < wtm_commands[i]->option_count; j++)
            put_argument(wtm_commands[i], &wtm_commands[i]->options[j]);
    printf("    esac\n"
           "    case $command in\n");
    for (size_t i = 0; i < wtm_command_count; i++)
        put_operands(wtm_commands[i]);
    printf("    help) words='");
    for (size_t i = 0; i < wtm_command_count; i++)
        printf("%s ", wtm_commands[i]->name);
    printf("' ;;\n"
           "    esac\n"
           "    if [[ $cur == -* ]]; then\n"
           "        COMPREPLY=($(compgen -W \"$options\" -- \"$cur\"))\n"
           "        return\n"
           "    fi\n"
           "    for kind in $kinds; do\n"
           "        COMPREPLY+=($(compgen $kind -- \"$cur\"))\n"
           "    done\n"
           "    COMPREPLY+=($(compgen -W \"$words\" -- \"$cur\"))\n"
           "}\n"
           "complete -o filenames -F _wtm wtm\n");
}

static int run(int argc, char **argv)
{
    int operands = wtm_options_parse(&wtm_command_completion, argc, argv, NULL);
    if (operands < 0)
        return wtm_options_exit(operands);
    if (operands != 1 || strcmp(argv[1], "bash"))
        return wtm_usage_error(&wtm_command_completion, "bash is the one shell that there is a script for");
    put_bash();
    return WTM_EXIT_OK;
}
