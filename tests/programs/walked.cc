// SPDX-License-Identifier: MIT
// A runtime like HotSpot's or, with -DV8, like V8's: code that it generates calls its C++ functions, and what walks the stack
// finds the place of the call in that call's return slot. `walked ROUNDS` ends with 1 when the slot was not as left there.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include "target.h"

extern "C" {
uint64_t *exit_sp;      // of the generated code, before its call
uint64_t return_address; // what its call pushes
}
static long wrong, walks, sum;

REAL static void walk()
{
    walks++;
    wrong += exit_sp[-1] != return_address;
}

REAL int inner(int value)
{
    IMPURE;
    walk();
    return value + 1;
}

REAL int by_call(int value)
{
    int result = inner(value);
    IMPURE;
    return result * 2;
}

REAL int by_jump(int value)
{
    IMPURE;
    return inner(value);
}

REAL int compare(const void *a, const void *b)
{
    IMPURE;
    return *static_cast<const int *>(a) - *static_cast<const int *>(b);
}

typedef int generated(int (*function)(int), int value);

#ifdef V8
namespace v8
{
struct Isolate {
    static void Allocate();
};
void Isolate::Allocate() {}
} // namespace v8
extern "C" generated Builtins_Call;
__asm__(".text\n"
        ".globl Builtins_InterpreterEntryTrampoline\n.type Builtins_InterpreterEntryTrampoline, @function\n"
        "Builtins_InterpreterEntryTrampoline: ret\n"
        ".size Builtins_InterpreterEntryTrampoline, .-Builtins_InterpreterEntryTrampoline\n"
        ".globl Builtins_Call\n.type Builtins_Call, @function\n"
        "Builtins_Call:\n"
        "push %rbx\n mov %rdi, %rax\n mov %esi, %edi\n lea exit_sp(%rip), %rcx\n mov %rsp, (%rcx)\n lea 1f(%rip), %rdx\n"
        "lea return_address(%rip), %rcx\n mov %rdx, (%rcx)\n call *%rax\n 1: pop %rbx\n ret\n"
        ".size Builtins_Call, .-Builtins_Call\n");
#else
extern "C" int JNI_CreateJavaVM() { return 0; }
#endif

// The same as Builtins_Call in memory of its own.
static generated *generate()
{
    static const unsigned char code[] = {
        0x53, 0x48, 0x89, 0xf8, 0x89, 0xf7,                     // push %rbx; mov %rdi,%rax; mov %esi,%edi
        0x48, 0xb9, 0, 0, 0, 0, 0, 0, 0, 0, 0x48, 0x89, 0x21,   // movabs $exit_sp,%rcx; mov %rsp,(%rcx)
        0x48, 0x8d, 0x15, 0x0f, 0, 0, 0,                        // lea 15(%rip),%rdx: behind the call
        0x48, 0xb9, 0, 0, 0, 0, 0, 0, 0, 0, 0x48, 0x89, 0x11,   // movabs $return_address,%rcx; mov %rdx,(%rcx)
        0xff, 0xd0, 0x5b, 0xc3};                                // call *%rax; pop %rbx; ret
    char *at = static_cast<char *>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    uint64_t *first = reinterpret_cast<uint64_t *>(&exit_sp), *second = &return_address;
    memcpy(at, code, sizeof code);
    memcpy(at + 8, &first, sizeof first);
    memcpy(at + 28, &second, sizeof second);
    return reinterpret_cast<generated *>(at);
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 1000, numbers[16];
    generated *call = generate();
    uint64_t here[2] = {0, 0};
    for (int i = 0; i < rounds; i++) {
        sum += call(by_call, i) + call(by_jump, i) + call(inner, i);
#ifdef V8
        sum += Builtins_Call(by_call, i) + Builtins_Call(by_jump, i) + Builtins_Call(inner, i);
#endif
    }
    exit_sp = here + 1;
    return_address = 0;
    for (int i = 0; i < rounds; i++)
        sum += by_call(i) + by_jump(i);
    for (int i = 0; i < 16; i++)
        numbers[i] = 16 - i;
    qsort(numbers, 16, sizeof *numbers, compare); // called by libc, which is compiled
    printf("%ld walks, %ld wrong, sum %ld, first %d\n", walks, wrong, sum, numbers[0]);
    return wrong != 0;
}
