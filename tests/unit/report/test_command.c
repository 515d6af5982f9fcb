/* SPDX-License-Identifier: MIT
 * The command as users meet it: exit codes, messages, and programs of every kind given to `wtm run`. Programs
 * are ELF headers written here; what is executed is the system's /bin/sh. */
#include "profile_builder.h"
#include "report/options.h"
#include "report/target_check.h"
#include "report/to_entry.h"
#include <criterion/criterion.h>
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char directory[64], output[1 << 16];

static void enter_directory(void)
{
    strcpy(directory, "/tmp/wtm-command-XXXXXX");
    cr_assert(mkdtemp(directory));
    cr_assert_eq(chdir(directory), 0);
}

static void leave_directory(void)
{
    char line[128];
    cr_assert_eq(chdir("/"), 0);
    snprintf(line, sizeof line, "rm -rf %s", directory);
    cr_assert_eq(system(line), 0);
}

/* Runs a line of shell in which $wtm is the command; its exit code, and all it said in `output`. */
static int shell(const char *line)
{
    char whole[2048];
    snprintf(whole, sizeof whole, "{ %s\n} 2>&1", line);
    setenv("wtm", WTM_EXE, 1);
    FILE *pipe = popen(whole, "r");
    cr_assert(pipe);
    size_t got = fread(output, 1, sizeof output - 1, pipe);
    output[got] = 0;
    int status = pclose(pipe);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static void save(const char *path, const void *bytes, size_t size, mode_t mode)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0700);
    cr_assert(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
    cr_assert_eq(fchmod(fd, mode), 0);
    close(fd);
}

struct image {
    Elf64_Ehdr header;
    Elf64_Phdr load, interp, dynamic, note;
    char interpreter[64];
    Elf64_Dyn entries[4];
    char strings[64];
    Elf64_Nhdr go;
    char go_name[4];
};

static struct image make_image(void)
{
    struct image image = {
        .header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                   .e_type = ET_DYN,
                   .e_machine = EM_X86_64,
                   .e_phoff = offsetof(struct image, load),
                   .e_phentsize = sizeof(Elf64_Phdr),
                   .e_phnum = 4},
        .load = {.p_type = PT_LOAD, .p_vaddr = 0x1000, .p_filesz = sizeof image},
        .interp = {.p_type = PT_INTERP, .p_offset = offsetof(struct image, interpreter)},
        .dynamic = {.p_type = PT_DYNAMIC,
                    .p_offset = offsetof(struct image, entries),
                    .p_filesz = sizeof image.entries},
        .note = {.p_type = PT_NULL, .p_offset = offsetof(struct image, go)},
        .interpreter = "/lib64/ld-linux-x86-64.so.2",
        .entries = {{DT_NEEDED, {1}},
                    {DT_NEEDED, {11}},
                    {DT_STRTAB, {0x1000 + offsetof(struct image, strings)}}},
        .strings = "\0libc.so.6\0libm.so.6",
        .go = {.n_namesz = 4, .n_type = 4},
        .go_name = "Go",
    };
    return image;
}

static struct wtm_target_check check;

static int check_image(const struct image *image)
{
    save("image", image, sizeof *image, 0755);
    int result = wtm_target_check(&check, "./image");
    cr_assert_eq(result != 0, check.problem[0] != 0);
    return result;
}

Test(target, kinds_of_elf, .init = enter_directory, .fini = leave_directory)
{
    struct image image = make_image();
    cr_assert_eq(check_image(&image), 0);
    cr_assert(!*check.runtime && !*check.warning);
    image.interp.p_type = PT_NULL;
    cr_assert_eq(check_image(&image), WTM_EXIT_CANNOT);
    cr_assert(strstr(check.problem, "statically linked"));
    image.note.p_type = PT_NOTE;
    cr_assert_eq(check_image(&image), WTM_EXIT_CANNOT);
    cr_assert(strstr(check.problem, "Go program"));
    image.interp.p_type = PT_INTERP;
    cr_assert_eq(check_image(&image), 0);
    cr_assert(strstr(check.warning, "Go"));
    image = make_image();
    strcpy(image.interpreter, "/lib/ld-musl-x86_64.so.1");
    cr_assert_eq(check_image(&image), WTM_EXIT_CANNOT);
    cr_assert(strstr(check.problem, "musl"));
    strcpy(image.interpreter, "/nowhere/ld.so");
    cr_assert_eq(check_image(&image), WTM_EXIT_CANNOT);
    cr_assert(strstr(check.problem, "loader"));
    image = make_image();
    image.header.e_ident[EI_CLASS] = ELFCLASS32;
    cr_assert_eq(check_image(&image), WTM_EXIT_CANNOT);
    cr_assert(strstr(check.problem, "32-bit"));
    image = make_image();
    image.header.e_machine = EM_AARCH64;
    cr_assert_eq(check_image(&image), WTM_EXIT_CANNOT);
    cr_assert(strstr(check.problem, "another machine"));
    image = make_image();
    image.header.e_type = ET_CORE;
    cr_assert_eq(check_image(&image), WTM_EXIT_CANNOT);
    image = make_image();
    memcpy(image.strings, "\0libc.so.6\0libasan.so.8", 24);
    cr_assert_eq(check_image(&image), 0);
    cr_assert_str_eq(check.runtime, "libasan.so.8");
    memcpy(image.strings, "\0libclang_rt.tsan-x86_64.so", 28);
    cr_assert_eq(check_image(&image), 0);
    cr_assert_str_eq(check.runtime, "libclang_rt.tsan-x86_64.so");
}

Test(target, damaged_elf, .init = enter_directory, .fini = leave_directory)
{
    struct image good = make_image(), image = good;
    for (size_t cut = 4; cut < sizeof(Elf64_Ehdr) + 4 * sizeof(Elf64_Phdr); cut += 13) {
        save("image", &good, cut, 0755);
        cr_assert_eq(wtm_target_check(&check, "./image"), WTM_EXIT_CANNOT);
    }
    static const uint64_t values[] = {0, 1, UINT64_MAX, 1ull << 63, UINT32_MAX, sizeof image};
    for (size_t at = 16; at < offsetof(struct image, strings); at += 4)
        for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
            image = good;
            memcpy((char *)&image + at, &values[v], at % 8 ? 4 : 8);
            check_image(&image); /* any answer, no crash */
        }
}

Test(target, files_and_scripts, .init = enter_directory, .fini = leave_directory)
{
    struct image image = make_image();
    save("script", "#!/bin/sh -e\n", 13, 0755);
    cr_assert_eq(wtm_target_check(&check, "./script"), 0);
    cr_assert_str_eq(check.subject, "/bin/sh");
    save("script", "#! /usr/bin/env -S LANG=C sh\n", 29, 0755);
    cr_assert_eq(wtm_target_check(&check, "./script"), 0);
    cr_assert(strstr(check.subject, "/sh"));
    save("script", "#!/nowhere\n", 11, 0755);
    cr_assert_eq(wtm_target_check(&check, "./script"), WTM_EXIT_CANNOT);
    save("script", "#!./script\n", 11, 0755); /* of itself */
    cr_assert_eq(wtm_target_check(&check, "./script"), WTM_EXIT_CANNOT);
    image.interp.p_type = PT_NULL;
    save("image", &image, sizeof image, 0755);
    save("script", "#!./image\n", 10, 0755);
    cr_assert_eq(wtm_target_check(&check, "./script"), WTM_EXIT_CANNOT);
    cr_assert_str_eq(check.subject, "./image"); /* not the script is static */
    save("script", "exit 3\n", 7, 0755);
    cr_assert_eq(wtm_target_check(&check, "./script"), 0);
    save("script", "exit 3\n", 7, 0644);
    cr_assert_eq(wtm_target_check(&check, "./script"), WTM_EXIT_CANNOT);
    cr_assert_eq(wtm_target_check(&check, "./none"), WTM_EXIT_NO_PROGRAM);
    cr_assert_eq(wtm_target_check(&check, "no-such-program-anywhere"), WTM_EXIT_NO_PROGRAM);
    cr_assert_eq(wtm_target_check(&check, ""), WTM_EXIT_NO_PROGRAM);
    cr_assert_eq(wtm_target_check(&check, "/"), WTM_EXIT_CANNOT);
    setenv("PATH", ":/usr/bin:/bin", 1); /* an empty place is the current directory */
    save("own-tool", "exit 0\n", 7, 0755);
    cr_assert_eq(wtm_target_check(&check, "own-tool"), 0);
    if (getuid() == 0) { /* else the files could not be given away */
        image = make_image();
        save("image", &image, sizeof image, 0755);
        cr_assert_eq(chown("image", 65534, (gid_t)-1), 0);
        cr_assert_eq(chmod("image", 04755), 0);
        cr_assert_eq(wtm_target_check(&check, "./image"), WTM_EXIT_CANNOT);
        cr_assert(strstr(check.problem, "setuid"));
        cr_assert_eq(chown("image", 0, 65534), 0);
        cr_assert_eq(chmod("image", 02755), 0);
        cr_assert_eq(wtm_target_check(&check, "./image"), WTM_EXIT_CANNOT);
        cr_assert(strstr(check.problem, "setgid"));
        cr_assert_eq(chmod("image", 04755), 0); /* setuid to whom we are: nothing changes */
        cr_assert_eq(wtm_target_check(&check, "./image"), 0);
    }
}

static void save_profile(const char *path, unsigned calls)
{
    struct profile_builder b;
    builder_open(&b, 1 << 20);
    uint32_t f = builder_function(&b, "work", "/bin/app", 1), thread = builder_thread(&b);
    struct wtm_cell *cell = builder_cell(&b, f, thread);
    while (calls--)
        cell_call(cell, 2000);
    save(path, b.base, builder_header(&b)->used_bytes + 100000,
         0644); /* larger than used: as a growing file is */
    builder_close(&b);
}

Test(command, report, .init = enter_directory, .fini = leave_directory)
{
    save_profile("a.prof", 3);
    save_profile("b.prof", 4);
    save_profile("none.prof", 0);
    cr_assert_eq(shell("$wtm report a.prof"), 0);
    cr_assert(strstr(output, "\nwork          3  3.00us"), "%s", output);
    cr_assert_eq(shell("$wtm report a.prof b.prof"), 0);
    cr_assert(strstr(output, "\nwork          7  7.00us"), "%s", output);
    cr_assert(strstr(output, "(2 processes)"));
    cr_assert_eq(shell("$wtm report none.prof"), 1);
    cr_assert_str_eq(output, "wtm: sqlite3 (pid 4242) ran 1.284 s; no call of the 1 function timed\n");
    cr_assert_eq(shell("$wtm report --json none.prof"), 1);
    cr_assert_eq(shell("$wtm report --csv a.prof | wc -l"), 0);
    cr_assert_eq(atoi(output), 2);
    cr_assert_eq(shell("$wtm report --wide a.prof"), 0);
    cr_assert(strstr(output, "deviation"));
    cr_assert_eq(shell("$wtm report"), 2);
    cr_assert_eq(shell("$wtm report --sort nothing a.prof"), 2);
    cr_assert(strstr(output, "expected one of total, self"));
    cr_assert_eq(shell("$wtm report --json --csv a.prof"), 2);
    cr_assert_eq(shell("$wtm report a.prof missing.prof ."), 3); /* the one, the others named */
    cr_assert(strstr(output, "missing.prof: No such file") && strstr(output, ".: is a directory"));
    cr_assert(strstr(output, "3.00us") && strstr(output, "the other 1 of 3 profiles"), "%s", output);
    cr_assert_eq(shell("$wtm report missing.prof ."), 3);
    cr_assert(!strstr(output, "calls"));
    cr_assert_eq(shell("echo hello, world > text; $wtm report text"), 3);
    cr_assert(strstr(output, "not a profile"));
    cr_assert_eq(shell("head -c 1000 a.prof > cut; $wtm report cut"), 3);
    cr_assert(strstr(output, "cut off inside its header"));
    cr_assert_eq(shell(": > empty; $wtm report empty"), 3);
    cr_assert_eq(shell("mkfifo fifo; $wtm report fifo"), 3);
    cr_assert_eq(shell("$wtm report a.prof > /dev/full"), 3);
    cr_assert_eq(shell("truncate -s 1T a.prof; $wtm report a.prof"),
                 0); /* sparse: only what is used is read */
    cr_assert_eq(shell("$wtm"), 2);
    cr_assert_eq(shell("$wtm frobnicate"), 2);
    cr_assert_eq(shell("$wtm --help"), 0);
    cr_assert(strstr(output, "Start here"));
    cr_assert_eq(shell("$wtm --version"), 0);
    for (const char *const *name = (const char *const[]){"run", "report", "list", "info", "top", "clock", "arm", "reset", "disarm", "dump", "completion", NULL}; *name; name++) {
        char line[64];
        snprintf(line, sizeof line, "$wtm %s --help", *name);
        cr_assert_eq(shell(line), 0);
        cr_assert(strstr(output, "Examples:"));
        for (char *at = output, *end; (end = strchr(at, '\n')); at = end + 1)
            cr_assert_leq(end - at, 85, "%.*s", (int)(end - at), at);
    }
}

/* What --help tells, the manual tells too, and has no option beyond. */
Test(command, manual)
{
    setenv("manual", WTM_MANUAL, 1);
    cr_assert_eq(
        shell("$wtm run --help | grep -o -- '--[a-z]\\+' | sort -u > /tmp/wtm-helped.$$; "
              "for c in report list info completion clock time untime top arm reset disarm dump; do $wtm $c --help; done | grep -o -- '--[a-z]\\+' | sort -u >> "
              "/tmp/wtm-helped.$$; "
              "{ sort -u /tmp/wtm-helped.$$; echo --version; } | grep -v fast | sort > /tmp/wtm-help.$$; "
              "sed 's/\\\\-/-/g' \"$manual\" | grep -o -- '--[a-z]\\+' | grep -v fast | sort -u | "
              "diff /tmp/wtm-help.$$ -; echo $?; rm /tmp/wtm-help*.$$"),
        0);
    cr_assert_str_eq(output, "0\n");
}

/* What is executed is /bin/sh, which tells its environment; the library preloaded is one that everybody has.
 */
Test(command, run, .init = enter_directory, .fini = leave_directory)
{
    unsetenv("LD_PRELOAD");
    unsetenv("WTM_OUT");
    unsetenv("WTM_TIME");
    cr_assert_eq(shell("cp $(ldd /bin/sh | grep -o '/[^ ]*libc.so[^ ]*') own.so; echo $?"), 0);
    setenv("WTM_LIB", "./own.so", 1);
    cr_assert_eq(shell("$wtm run -t a,b -t 'c*' -- sh -c 'echo \"$WTM_TIME $WTM_OUT $LD_PRELOAD\"; exit 7'"),
                 7);
    char expected[256];
    snprintf(expected, sizeof expected, "a,b,c* %s/wtm.%%p.prof %s/own.so\n", directory, directory);
    cr_assert_str_eq(output, expected);
    cr_assert_eq(shell("LD_PRELOAD=libm.so.6 $wtm run -t a sh -c 'echo $LD_PRELOAD'"), 0);
    snprintf(expected, sizeof expected, "%s/own.so:libm.so.6\n", directory);
    cr_assert_str_eq(output, expected);
    cr_assert_eq(shell("$wtm run -t a sh -c 'kill -9 $$'; echo $?"), 0);
    cr_assert(strstr(output, "137")); /* its own death, not that of a child */
    cr_assert_eq(shell("sh -c 'echo $$; exec $wtm run --exec -t a sh -c \"echo \\$\\$\"' | uniq | wc -l"), 0);
    cr_assert_eq(atoi(output), 1); /* and its own pid */
    cr_assert_eq(shell("WTM_OUT=x WTM_TIME=y $wtm run --exec sh -c 'echo $WTM_OUT $WTM_TIME'"), 0);
    cr_assert_str_eq(output, "x y\n");
    cr_assert_eq(shell("WTM_OUT=/x%% WTM_TIME=y $wtm run sh -c 'echo $WTM_OUT $WTM_TIME'"), 0);
    cr_assert_str_eq(output, "/x%% y\n");
    cr_assert_eq(shell("$wtm run --exec -t a -o none sh -c 'echo ${WTM_OUT-unset}'"), 0);
    cr_assert_str_eq(output, "unset\n");
    cr_assert_eq(
        shell("$wtm run --exec -t a -v -o o --table t --start disarmed --signals none --recursion nest --clock tsc "
              "--order exit --cpu off env | grep ^WTM_ | sort"),
        0);
    cr_assert(strstr(output,
                     "WTM_CLOCK=tsc\nWTM_CPU=off\nWTM_LIB=./own.so\nWTM_ORDER=exit\nWTM_OUT=o\n"
                     "WTM_RECURSION=nest\nWTM_SIGNALS=none\nWTM_START=disarmed\nWTM_TABLE=t\nWTM_TIME=a\n"
                     "WTM_VERBOSE=1\n"),
              "%s", output);
    cr_assert_eq(shell("$wtm run sh -c true"), 2);
    cr_assert(strstr(output, "-t 'foo,bar*'"));
    cr_assert_eq(shell("$wtm run -t a"), 2);
    cr_assert_eq(shell("$wtm run -t a ./missing"), 127);
    cr_assert_eq(shell("WTM_LIB=/missing $wtm run -t a sh"), 126);
    cr_assert_eq(shell("cp own.so 'a b.so'; WTM_LIB='a b.so' $wtm run -t a sh"), 126);
    cr_assert(strstr(output, "blanks or colons"));
}

Test(command, list, .init = enter_directory, .fini = leave_directory)
{
    char reason[128], marker[128];
    snprintf(marker, sizeof marker, "touch %s/ran", directory);
    char *argv[] = {(char[]){"sh"}, (char[]){"-c"}, marker, NULL};
    cr_assert_eq(wtm_run_to_entry("/bin/sh", argv, reason, sizeof reason), 0, "%s", reason);
    usleep(100000);
    cr_assert(access("ran", F_OK)); /* its code never ran */
    cr_assert_lt(wtm_run_to_entry("./nothing", argv, reason, sizeof reason), 0);
    cr_assert(strstr(reason, "cannot be executed"));
    setenv("LD_PRELOAD", "", 1);
    save("text", "#!/bin/sh\nexit 1\n", 17, 0755);
    cr_assert_eq(wtm_run_to_entry("./text", argv, reason, sizeof reason), 0);

    unsetenv("WTM_LIB"); /* the library of this build */
    cr_assert_eq(shell("$wtm list /bin/sh libc.so.6:malloc vfork no_such_thing_at_all"), 0);
    cr_assert(strstr(output, "wtm: /bin/sh: 1 function can be timed, 1 cannot, 1 not found\n"), "%s", output);
    cr_assert(strstr(output, "\nmalloc  ") && strstr(output, "  libc.so.6+0x"), "%s", output);
    cr_assert(strstr(output, "\ncannot be timed\n  vfork: pops its own return address\n"));
    cr_assert(strstr(output, "\nnot found\n  no_such_thing_at_all:"));
    cr_assert_eq(shell("$wtm list /bin/sh no_such_thing_at_all"), 1);
    cr_assert_eq(shell("$wtm list --json /bin/sh libc.so.6:malloc vfork | tr -d '\\n '"), 0);
    cr_assert(
        strstr(output,
               "{\"schema\":\"wtm-list/1\",\"program\":\"/bin/sh\",\"functions\":[{\"name\":\"malloc\","),
        "%s", output);
    cr_assert(strstr(output, "\"code\":\"POPS_RETURN\"}],\"not_found\":[]}"));
    cr_assert_eq(shell("$wtm list"), 2);
    cr_assert_eq(shell("$wtm list ./nothing"), 127);
    cr_assert_eq(
        shell("before=$(ls -d /tmp/wtm-list-* | wc -l); $wtm list /bin/sh 'libc.so.6:*' | head -n 1; "
              "test $(ls -d /tmp/wtm-list-* | wc -l) = $before"),
        0); /* leaves nothing, also with no reader */
}
