# SPDX-License-Identifier: MIT
# gdb, and its Python, at work on a program of its own (which is not preloaded into).
gcc -g -O0 -o prog -x c - <<'END'
#include <stdio.h>
int f(int n) { return n < 2 ? n : f(n - 1) + f(n - 2); }
int main(void) { printf("%d\n", f(10)); return 0; }
END
gdb -q -nx -batch -ex 'set startup-with-shell off' -ex 'set debuginfod enabled off' -ex 'unset environment' \
    -ex 'break f if n==3' -ex run -ex bt -ex 'python print(6*7)' -ex 'info frame' -ex 'x/5i $pc' -ex 'print f(5)' -ex finish \
    -ex 'ptype f' -ex delete -ex continue ./prog 2>&1 | sed 's/process [0-9]*/process N/'
rm prog
