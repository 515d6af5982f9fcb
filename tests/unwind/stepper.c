/* SPDX-License-Identifier: MIT
 * stepper CALLER-START CALLER-END MAIN-START MAIN-END PROGRAM ARGS...
 *
 * Runs PROGRAM to its first breakpoint, then single-steps to the next one, and on to the last. At every instruction it
 * unwinds the stopped program by libunwind's remote interface and looks for a frame in caller() and behind it one in
 * main(). Instructions in libwtmtime.so and in the program must all show both. Those in generated code (stubs and moved
 * first instructions have no unwind tables that a debugger could read) are counted apart and bounded.
 *
 * Prints `stepped N library N generated N lost N`; status 0 when nothing was lost. */
#define _GNU_SOURCE
#include <libunwind-ptrace.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_STEPS = 50000 };
enum place { PROGRAM, LIBRARY, GENERATED, VDSO, OTHER };
struct range { unsigned long start, end; };
struct map { struct range range; enum place place; };

static struct map maps[512];
static int map_count;
static pid_t child;

static void read_maps(const char *program)
{
    char path[64], line[1024];
    snprintf(path, sizeof path, "/proc/%d/maps", (int)child);
    FILE *file = fopen(path, "r");
    map_count = 0;
    while (file && map_count < 512 && fgets(line, sizeof line, file)) {
        struct map *map = &maps[map_count];
        char rights[8], name[800] = "";
        if (sscanf(line, "%lx-%lx %7s %*s %*s %*s %799[^\n]", &map->range.start, &map->range.end, rights, name) < 3 ||
            rights[2] != 'x')
            continue;
        const char *path_in_line = strchr(name, '/');
        map->place = strstr(name, "libwtmtime") ? LIBRARY : path_in_line && !strcmp(path_in_line, program) ? PROGRAM
                   : strstr(name, "[vdso]") ? VDSO : name[0] == '\0' || strstr(name, "memfd") || strstr(name, "anon") ? GENERATED : OTHER;
        map_count++;
    }
    if (file)
        fclose(file);
}

static enum place place_of(unsigned long address, const char *program)
{
    for (int again = 0; again < 2; again++) {
        for (int i = 0; i < map_count; i++)
            if (address >= maps[i].range.start && address < maps[i].range.end)
                return maps[i].place;
        read_maps(program);
    }
    return OTHER;
}

static int in_range(const struct range *range, unsigned long address)
{
    return address >= range->start && address < range->end;
}

/* 1 when a frame in `caller` and, further out, one in `main` are found. */
static int unwinds(unw_addr_space_t space, void *info, const struct range *caller, const struct range *outermost,
                   int show)
{
    unw_cursor_t cursor;
    int seen_caller = 0;
    if (unw_init_remote(&cursor, space, info) != 0)
        return 0;
    for (int depth = 0; depth < 64; depth++) {
        unw_word_t address;
        if (unw_get_reg(&cursor, UNW_REG_IP, &address) != 0)
            return 0;
        if (show)
            fprintf(stderr, "    frame %d at %#lx\n", depth, (unsigned long)address);
        /* the return address lies behind the call: inside the function, since neither ends with the call */
        seen_caller |= in_range(caller, address);
        if (seen_caller && in_range(outermost, address))
            return 1;
        if (unw_step(&cursor) <= 0)
            return 0;
    }
    return 0;
}

static int next_stop(int request)
{
    int status;
    if (ptrace(request, child, NULL, NULL) != 0 || waitpid(child, &status, 0) != child)
        return -1;
    return status;
}

/* A breakpoint of main's own: the byte before the next instruction is its int3. */
static int is_breakpoint(const struct range *outermost, unsigned long rip)
{
    return in_range(outermost, rip - 1) && (ptrace(PTRACE_PEEKTEXT, child, (void *)(rip - 1), NULL) & 0xff) == 0xcc;
}

/* Lets the program run on. A popf under single steps makes the kernel take the trap flag for the program's own and leave it
 * set, so it is taken out by hand. */
static int run_on(struct user_regs_struct *registers)
{
    registers->eflags &= ~0x100ULL;
    ptrace(PTRACE_SETREGS, child, NULL, registers);
    return next_stop(PTRACE_CONT);
}

/* The kernel's own code reads the time again whenever that changed meanwhile: in single steps it would never end. So it
 * runs to its return, at whose address a breakpoint stands for so long. */
static int leave_vdso(struct user_regs_struct *registers)
{
    unsigned long back = (unsigned long)ptrace(PTRACE_PEEKDATA, child, (void *)registers->rsp, NULL);
    long word = ptrace(PTRACE_PEEKTEXT, child, (void *)back, NULL);
    ptrace(PTRACE_POKETEXT, child, (void *)back, (void *)((word & ~0xffL) | 0xcc));
    int status = run_on(registers);
    ptrace(PTRACE_POKETEXT, child, (void *)back, (void *)word);
    ptrace(PTRACE_GETREGS, child, NULL, registers);
    registers->rip = back;
    ptrace(PTRACE_SETREGS, child, NULL, registers);
    return status;
}

int main(int argc, char **argv)
{
    long stepped = 0, counts[5] = {0}, lost = 0;
    struct user_regs_struct registers;
    int status, inside = 0;
    if (argc < 6)
        return 2;
    struct range caller = {strtoul(argv[1], NULL, 16), strtoul(argv[2], NULL, 16)};
    struct range outermost = {strtoul(argv[3], NULL, 16), strtoul(argv[4], NULL, 16)};

    child = fork();
    if (child == 0) {
        const char *library = getenv("STEPPED_PRELOAD");
        if (library)
            setenv("LD_PRELOAD", library, 1);
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        execv(argv[5], argv + 5);
        _exit(127);
    }
    if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
        return 2;
    unw_addr_space_t space = unw_create_addr_space(&_UPT_accessors, 0);
    void *info = _UPT_create(child);
    unw_set_caching_policy(space, UNW_CACHE_GLOBAL); /* nothing is unloaded while it steps */
    if (!space || !info)
        return 2;

    ptrace(PTRACE_GETREGS, child, NULL, &registers);
    while (!WIFEXITED(status) && !WIFSIGNALED(status)) {
        status = inside ? next_stop(PTRACE_SINGLESTEP) : run_on(&registers);
        if (status < 0)
            break;
        if (!WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP)
            continue;
        ptrace(PTRACE_GETREGS, child, NULL, &registers);
        if (is_breakpoint(&outermost, registers.rip)) {
            inside = !inside;
            continue;
        }
        if (!inside) {
            fprintf(stderr, "a breakpoint at %#llx that is none of main's\n", registers.rip);
            continue;
        }
        if (stepped >= MOST_STEPS) {
            fprintf(stderr, "more than %d steps\n", MOST_STEPS);
            kill(child, SIGKILL);
            waitpid(child, &status, 0);
            break;
        }
        enum place place = place_of(registers.rip, argv[5]);
        if (place == VDSO) {
            status = leave_vdso(&registers);
            place = LIBRARY;
            if (!WIFSTOPPED(status))
                break;
        }
        stepped++;
        counts[place]++;
        if (place == GENERATED || in_range(&outermost, registers.rip))
            continue; /* in main itself: before or after the call */
        if (!unwinds(space, info, &caller, &outermost, 0) && lost++ < 5) {
            fprintf(stderr, "lost at %#llx (%s), step %ld:\n", registers.rip,
                    place == LIBRARY ? "library" : place == PROGRAM ? "program" : "elsewhere", stepped);
            unwinds(space, info, &caller, &outermost, 1);
        }
    }
    printf("stepped %ld library %ld generated %ld lost %ld\n", stepped, counts[LIBRARY], counts[GENERATED], lost);
    _UPT_destroy(info);
    unw_destroy_addr_space(space);
    return lost != 0 || stepped == 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}
