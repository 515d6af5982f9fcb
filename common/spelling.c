/* SPDX-License-Identifier: MIT
 * One spelling for names of C++ and Rust. */
#include "common/spelling.h"
#include <string.h>

static int is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$' || (unsigned char)c >= 0x80;
}

/* All of `from` become `to`, which is shorter by so much that a space fits in where words would now touch. */
static size_t replace(char *text, size_t length, const char *from, const char *to)
{
    size_t from_length = strlen(from), to_length = strlen(to), kept = 0, i = 0;
    if (!strstr(text, from))
        return length;
    while (i < length) {
        if (length - i >= from_length && !memcmp(text + i, from, from_length)) {
            memmove(text + kept, to, to_length);
            kept += to_length;
            i += from_length;
            if (to_length && i < length && is_word(text[kept - 1]) && is_word(text[i]))
                text[kept++] = ' ';
        } else {
            text[kept++] = text[i++];
        }
    }
    text[kept] = 0;
    return kept;
}

/* The bracket that closes the one at `text`; `length` when none does. */
static size_t closing(const char *text, size_t length)
{
    size_t depth = 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '<')
            depth++;
        else if (text[i] == '>' && !(i && text[i - 1] == '-') && !--depth)
            return i;
    }
    return length;
}

/* Template arguments that nobody writes, since they are the defaults: std::vector<int> for all its
 * allocators. */
static size_t drop_defaults(char *text, size_t length)
{
    static const char *const defaults[] = {",std::allocator<",      ",std::char_traits<", ",std::less<",
                                           ",std::default_delete<", ",std::hash<",        ",std::equal_to<"};
    size_t kept = 0;
    for (size_t i = 0; i < length;) {
        size_t end = length;
        for (size_t d = 0; text[i] == ',' && d < sizeof defaults / sizeof *defaults; d++) {
            size_t start = strlen(defaults[d]);
            if (length - i > start && !memcmp(text + i, defaults[d], start))
                end = i + start - 1 + closing(text + i + start - 1, length - i - start + 1);
        }
        if (end < length)
            i = end + 1;
        else
            text[kept++] = text[i++];
    }
    text[kept] = 0;
    return kept;
}

size_t wtm_spelling_shorten(char *text, size_t length)
{
    return replace(text, length,
                   "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >",
                   "std::string");
}

size_t wtm_spelling_normalise(char *out, const char *text, size_t length)
{
    static const char *const changes[][2] = {
        {"std::__cxx11::", "std::"},
        {"std::__1::", "std::"},
        {"std::basic_string<char>", "std::string"},
        {"(void)", "()"},
        {"::<", "<"}, /* Rust's f::<T> */
    };
    size_t kept = 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] == ' ') {
            size_t next = i + 1;
            while (next < length && text[next] == ' ')
                next++;
            i = next - 1;
            if (!kept || next == length)
                continue;
            int words = is_word(text[next]) && (is_word(out[kept - 1]) || !strncmp(text + next, "as ", 3));
            if (!words && !(out[kept - 1] == '<' && text[next] == '<'))
                continue;
        }
        out[kept++] = text[i];
    }
    out[kept] = 0;
    kept = replace(out, kept, changes[0][0], changes[0][1]);
    kept = replace(out, kept, changes[1][0], changes[1][1]);
    kept = drop_defaults(out, kept);
    for (size_t i = 2; i < sizeof changes / sizeof *changes; i++)
        kept = replace(out, kept, changes[i][0], changes[i][1]);
    return kept;
}

/* "operator" and its sign at `text`: their length; 0 when there is none. The longest sign counts: demanglers
 * write a space where a template's bracket would make another one of it (operator< <int>). */
static size_t operator_length(const char *text, size_t left, int at_word_begin)
{
    static const char signs[][4] = {
        "<=>", "->*", "<<=", ">>=", "()", "[]", "<<", ">>", "<=", ">=", "->", "==", "!=",
        "&&",  "||",  "++",  "--",  "+=", "-=", "*=", "/=", "%=", "^=", "&=", "|=", "<",
        ">",   "=",   "-",   "+",   "*",  "/",  "%",  "^",  "&",  "|",  "~",  "!",  ","};
    if (!at_word_begin || left < 9 || memcmp(text, "operator", 8))
        return 0;
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        size_t length = strlen(signs[i]);
        if (left - 8 >= length && !memcmp(text + 8, signs[i], length))
            return 8 + length;
    }
    return 0;
}

/* <T as Trait>::f is T::f to people who write it without brackets. `text` begins with '<'; writes at `out`.
 */
static size_t copy_receiver(char *out, const char *text, size_t end)
{
    size_t depth = 0, kept = 0;
    for (size_t i = 1; i < end; i++) {
        if (!depth && end - i > 4 && !memcmp(text + i, " as", 3) && !is_word(text[i + 3]))
            break;
        depth += text[i] == '<';
        depth -= text[i] == '>' && depth;
        if (!depth && text[i] != '>')
            out[kept++] = text[i];
    }
    return kept;
}

size_t wtm_spelling_drop_templates(char *text, size_t length)
{
    size_t kept = 0;
    for (size_t i = 0; i < length;) {
        size_t symbol = operator_length(text + i, length - i, !kept || !is_word(text[kept - 1]));
        if (symbol) {
            memmove(text + kept, text + i, symbol);
            kept += symbol;
            i += symbol;
            continue;
        }
        if (text[i] != '<') {
            text[kept++] = text[i++];
            continue;
        }
        size_t end = closing(text + i, length - i);
        if (end == length - i) { /* no template: leave it all */
            memmove(text + kept, text + i, length - i);
            kept += length - i;
            break;
        }
        if (!i)
            kept = copy_receiver(text, text, end);
        else if (text[kept - 1] == ' ')
            kept--; /* operator< <T> */
        i += end + 1;
    }
    text[kept] = 0;
    return kept;
}

size_t wtm_spelling_drop_anonymous(char *text, size_t length)
{
    /* Normalised: the space between two words stays. */
    return replace(text, length, "(anonymous namespace)::", "");
}

size_t wtm_spelling_drop_qualifiers(char *text, size_t length)
{
    const char *last = strrchr(text, ')');
    if (!last)
        return length;
    length = (size_t)(last - text) + 1;
    text[length] = 0;
    return length;
}

const char *wtm_spelling_parameters(const char *text)
{
    static const char anonymous[] = "(anonymous namespace)", call[] = "operator()";
    for (const char *at = strchr(text, '('); at; at = strchr(at + 1, '(')) {
        if (!strncmp(at, anonymous, sizeof anonymous - 1))
            continue;
        if (at - text >= 8 && !memcmp(at - 8, call, sizeof call - 1))
            continue;
        return at;
    }
    return NULL;
}

/* Begin of the component that ends at `end`: behind the last :: outside brackets. */
static size_t component(const char *name, size_t end)
{
    size_t depth = 0;
    for (size_t i = end; i > 0; i--) {
        char c = name[i - 1];
        if (c == '>' || c == ')' || c == '}')
            depth++;
        else if ((c == '<' || c == '(' || c == '{') && depth)
            depth--;
        else if (c == ':' && !depth)
            return i;
    }
    return 0;
}

static const char *longest_word(const char *name, size_t from, size_t length, size_t *word_length)
{
    size_t best = 0, best_at = 0;
    for (size_t i = from; i < length;) {
        size_t end = i;
        int ascii = 1;
        for (; end < length && is_word(name[end]); end++)
            ascii &= (unsigned char)name[end] < 0x80; /* others are encoded in mangled names */
        if (ascii && end - i > best)
            best = end - i, best_at = i;
        if (end < length && (name[end] == '<' || name[end] == '{' || name[end] == '['))
            break;
        i = end + 1;
    }
    *word_length = best;
    return best >= 2 ? name + best_at : NULL;
}

const char *wtm_spelling_needle(const char *name, size_t length, size_t *needle_length)
{
    size_t from = component(name, length), before = from >= 2 ? component(name, from - 2) : 0;
    /* Operators, destructors and closures have words that are not in the mangled name, and a constructor's
     * class may be one of the standard substitutions. */
    int is_special = !strncmp(name + from, "operator", 8) || strchr("~{<(", name[from]) || from == length;
    if (!is_special) {
        const char *word = longest_word(name, from, length, needle_length);
        int constructor = word && from >= 2 && *needle_length == from - 2 - before &&
                          !memcmp(name + before, word, *needle_length);
        if (word && !constructor)
            return word;
    }
    /* The outermost namespace or crate stands there literally, save for std. */
    const char *colons = strstr(name, "::");
    if (!colons || !is_word(*name) || !strncmp(name, "std::", 5))
        return NULL;
    const char *word = longest_word(name, 0, (size_t)(colons - name), needle_length);
    return word && *needle_length == (size_t)(colons - name) ? word : NULL;
}

const char *wtm_spelling_unscoped(const char *mangled, size_t *length)
{
    static const char anonymous[] = "_ZN12_GLOBAL__N_1";
    const char *at = mangled + 2;
    int nested = 0;
    if (mangled[0] != '_' || mangled[1] != 'Z')
        return NULL;
    if (!strncmp(mangled, anonymous, sizeof anonymous - 1)) {
        at = mangled + sizeof anonymous - 1;
        nested = 1;
    }
    at += *at == 'L';
    size_t count = 0;
    for (; *at >= '0' && *at <= '9' && count < 10000; at++)
        count = count * 10 + (size_t)(*at - '0');
    if (!count || memchr(at, 0, count))
        return NULL;
    /* Within the anonymous namespace another component may follow: then this one was a class. */
    if (nested && at[count] != 'E' && at[count] != 'I')
        return NULL;
    *length = count;
    return at;
}

/* One mark at `text`: its length, or 0. Numbers follow, save for localalias and its like. */
static size_t clone_mark(const char *text)
{
    static const char *const marks[] = {".constprop", ".isra",       ".part", ".lto_priv",
                                        ".llvm",      ".localalias", ".clone"};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        size_t length = strlen(marks[i]);
        if (strncmp(text, marks[i], length))
            continue;
        if (text[length] == '.' && text[length + 1] >= '0' && text[length + 1] <= '9')
            for (length++; text[length] >= '0' && text[length] <= '9'; length++)
                ;
        return !text[length] || text[length] == '.' ? length : 0;
    }
    return 0;
}

size_t wtm_spelling_base_length(const char *name)
{
    for (const char *dot = *name ? strchr(name + 1, '.') : NULL; dot; dot = strchr(dot + 1, '.')) {
        const char *at = dot;
        for (size_t mark = clone_mark(at); mark; mark = clone_mark(at))
            at += mark;
        if (!*at)
            return (size_t)(dot - name);
    }
    return strlen(name);
}
