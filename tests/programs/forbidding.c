/* SPDX-License-Identifier: MIT
 * Forbids the time-stamp counter to the program that it then becomes. */
#include <sys/prctl.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV))
        return 9;
    execv(argv[1], argv + 1);
    return 8;
}
