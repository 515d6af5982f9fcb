# SPDX-License-Identifier: MIT
# gcc builds files of the project at $1. The objects must be identical; diagnostics and disassembly too.
for f in preload/hot preload/slow common/glob; do gcc -O2 -g -I"$1" -c "$1/$f.c" -o "$(basename $f).o"; done
gcc -shared -O2 -fPIC -flto -o x.so -x c - <<<'int square(int x) { return x * x; }'
g++ -O1 -c -x c++ -o m.o - <<<'#include <map>
#include <string>
int f(const std::string &s) { std::map<std::string, int> m; try { m.at(s); } catch (...) { m[s] = 1; } return m.size(); }'
ar rcD l.a ./*.o && nm l.a | sha256sum
objdump -d slow.o | sha256sum
ld -r hot.o glob.o -o r.o
strip m.o
echo 'int f() { return x; }' | gcc -xc -c - 2>&1
