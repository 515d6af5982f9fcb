/* SPDX-License-Identifier: MIT
 * Parses lists of patterns. Splitting comes first (patterns_split.c), then each pattern on its own. */
#include "common/patterns.h"
#include "common/patterns_split.h"
#include "common/elf_internal.h"
#include "common/glob.h"
#include "common/spelling.h"
#include "common/sys.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>

enum { MAX_PATTERNS = 65536, MAX_FILE_BYTES = 1 << 20, MESSAGE_BYTES = 512 };

struct parser {
    struct wtm_pattern_set *set;
    size_t capacity;
    const char *setting;
    struct wtm_arena *arena;
    wtm_complain *complain;
    void *context;
    int in_file;
};

/* The library has only few of libc's string functions of its own; these two are not among them. */
static int has_any(const char *text, const char *characters)
{
    while (*text && !strchr(characters, *text))
        text++;
    return *text != 0;
}

static const char *skip_spaces(const char *text)
{
    while (*text == ' ' || *text == '\t')
        text++;
    return text;
}

static void append(char *message, size_t *used, const char *text, size_t length)
{
    size_t room = MESSAGE_BYTES - 1 - *used;
    length = length < room ? length : room;
    memcpy(message + *used, text, length);
    *used += length;
}

/* WTM_TIME: "text": what is wrong. Long patterns are cut so that the reason is always seen. */
static void complain(const struct parser *parser, const char *text, size_t length, const char *reason)
{
    enum { SHOWN = 120 };
    char message[MESSAGE_BYTES];
    size_t used = 0;
    if (!parser->complain)
        return;
    append(message, &used, parser->setting, strlen(parser->setting));
    append(message, &used, ": \"", 3);
    append(message, &used, text, length < SHOWN ? length : SHOWN);
    append(message, &used, length < SHOWN ? "\": " : "...\": ", length < SHOWN ? 3 : 6);
    append(message, &used, reason, strlen(reason));
    message[used] = 0;
    parser->complain(parser->context, message);
}

static struct wtm_pattern *add(struct parser *parser)
{
    struct wtm_pattern_set *set = parser->set;
    if (set->count == parser->capacity) {
        size_t capacity = parser->capacity ? parser->capacity * 2 : 16;
        struct wtm_pattern *patterns = wtm_arena_alloc(parser->arena, capacity * sizeof *patterns);
        if (!patterns)
            return NULL;
        if (set->count)
            memcpy(patterns, set->patterns, set->count * sizeof *patterns);
        set->patterns = patterns;
        parser->capacity = capacity;
    }
    struct wtm_pattern *pattern = &set->patterns[set->count++];
    memset(pattern, 0, sizeof *pattern);
    return pattern;
}

/* 0x... or decimal up to `end`; -1 when it is neither or too large. */
static int parse_number(const char *text, const char *end, uint64_t *value)
{
    int hex = end - text > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    uint64_t base = hex ? 16 : 10;
    *value = 0;
    text += hex ? 2 : 0;
    if (text == end)
        return -1;
    for (; text < end; text++) {
        unsigned digit = *text >= '0' && *text <= '9'   ? (unsigned)(*text - '0')
                         : *text >= 'a' && *text <= 'f' ? (unsigned)(*text - 'a') + 10
                         : *text >= 'A' && *text <= 'F' ? (unsigned)(*text - 'A') + 10
                                                        : 99;
        if (digit >= base || *value > (UINT64_MAX - digit) / base)
            return -1;
        *value = *value * base + digit;
    }
    return 0;
}

/* number[=handle] */
static const char *parse_address(struct wtm_pattern *pattern, const char *body, struct wtm_arena *arena)
{
    const char *equal = strchr(body, '='), *end = equal ? equal : body + strlen(body);
    if (parse_number(body, end, &pattern->address))
        return "an address is a number such as 0x401234, with =HANDLE behind it if it shall have a name";
    pattern->kind = WTM_PATTERN_ADDRESS;
    const char *text_end = strchr(pattern->text, '=');
    size_t length = text_end ? (size_t)(text_end - pattern->text) : strlen(pattern->text);
    pattern->handle = equal && equal[1] ? equal + 1 : wtm_arena_string(arena, pattern->text, length);
    return pattern->handle ? NULL : "there is no memory for it";
}

static const char *parse_regex(struct wtm_pattern *pattern, const char *body, size_t length,
                               struct wtm_arena *arena)
{
    const char *reason = NULL;
    if (length < 2 || body[length - 1] != '/')
        return "a /regular expression/ needs a slash at its end as well";
    if (length == 2)
        return "the regular expression is empty";
    pattern->kind = WTM_PATTERN_REGEX;
    pattern->regex = wtm_regex_compile(body + 1, length - 2, arena, &reason);
    return reason;
}

static int is_spelled(const char *body)
{
    if (strstr(body, "::") || has_any(body, "(<> ~"))
        return 1;
    char next = body[8];
    return !strncmp(body, "operator", 8) && next && !strchr("_.", next) && !(next >= '0' && next <= '9') &&
           !(next >= 'a' && next <= 'z') && !(next >= 'A' && next <= 'Z');
}

/* In a parameter list * is a pointer, unless it stands for a whole parameter; behind "operator" it is the
 * operator. */
static int is_wild_at(const char *body, size_t i, size_t depth)
{
    if (body[i] != '*' && body[i] != '?')
        return 0;
    if (i >= 8 && !memcmp(body + i - 8, "operator", 8))
        return 0;
    if (!depth)
        return 1;
    return depth == 1 && body[i] == '*' && (body[i - 1] == '(' || body[i - 1] == ',') &&
           (body[i + 1] == ')' || body[i + 1] == ',');
}

/* The wildcards of a spelled pattern stay, every other character that a glob takes specially gets a
 * backslash. */
static char *make_glob(struct wtm_pattern *pattern, const char *body, size_t length, struct wtm_arena *arena)
{
    char *glob = wtm_arena_alloc(arena, 2 * length + 1);
    size_t used = 0, depth = 0;
    for (size_t i = 0; glob && i < length; i++) {
        int wild = is_wild_at(body, i, depth);
        depth += body[i] == '(';
        depth -= body[i] == ')' && depth;
        if (!wild && strchr("*?[\\", body[i]))
            glob[used++] = '\\';
        glob[used++] = body[i];
        pattern->wild |= (uint8_t)wild;
    }
    return glob;
}

static const char *parse_spelled(struct wtm_pattern *pattern, const char *body, size_t length,
                                 struct wtm_arena *arena)
{
    static const char no_memory[] = "there is no memory for it";
    char *text = wtm_arena_alloc(arena, length + 1), *bare = wtm_arena_alloc(arena, length + 1);
    if (!text || !bare)
        return no_memory;
    pattern->kind = WTM_PATTERN_SPELLED;
    length = wtm_spelling_normalise(text, body, length);
    const char *parameters = wtm_spelling_parameters(text);
    pattern->parameters = parameters != NULL;
    pattern->qualified = parameters && text[length - 1] != ')';
    pattern->anonymous = strstr(text, "(anonymous namespace)") != NULL;
    size_t name_length = parameters ? (size_t)(parameters - text) : length;
    memcpy(bare, text, length + 1);
    pattern->templates = wtm_spelling_drop_templates(bare, length) != length;
    memcpy(bare, text, name_length);
    bare[name_length] = 0;
    name_length = wtm_spelling_drop_templates(bare, name_length);
    size_t needle_length;
    const char *needle = wtm_spelling_needle(bare, name_length, &needle_length);
    if (needle)
        pattern->needle = wtm_arena_string(arena, needle, needle_length);
    char *glob = make_glob(pattern, text, length, arena);
    pattern->body = pattern->wild ? glob : text;
    pattern->body_length = strlen(text);
    return glob ? NULL : no_memory;
}

/* lib.so+0x1234: the plus, or NULL. */
static const char *module_plus(const char *text)
{
    const char *plus = strstr(text, "+0x");
    if (!plus || plus == text || has_any(text, "(<> "))
        return NULL;
    const char *equal = strchr(text, '=');
    return equal && equal < plus ? NULL : plus;
}

static const char *parse_body(struct wtm_pattern *pattern, const char *body, size_t length,
                              struct wtm_arena *arena)
{
    const char *plus = *body == '/' ? NULL : module_plus(body);
    if (!length)
        return "there is nothing to look for";
    if (plus && !pattern->module) {
        pattern->module = wtm_arena_string(arena, body, (size_t)(plus - body));
        return pattern->module ? parse_address(pattern, plus + 1, arena) : "there is no memory for it";
    }
    if (*body >= '0' && *body <= '9')
        return parse_address(pattern, body, arena);
    if (*body == '/')
        return parse_regex(pattern, body, length, arena);
    if (!strncmp(body, "::", 2))
        body += 2, length -= 2; /* C++'s way to say: not in a namespace */
    if (!length)
        return "there is nothing to look for";
    if (is_spelled(body))
        return parse_spelled(pattern, body, length, arena);
    pattern->kind = wtm_glob_is_glob(body) ? WTM_PATTERN_GLOB : WTM_PATTERN_NAME;
    pattern->body = body;
    pattern->body_length = length;
    return NULL;
}

static const char *parse_pattern(struct wtm_pattern *pattern, const char *text, size_t length,
                                 struct wtm_arena *arena)
{
    const char *body = text;
    pattern->text = text;
    if (*body == '!') {
        pattern->exclude = 1;
        body = skip_spaces(body + 1);
    }
    /* /usr/lib/libx.so+0x10 begins with a slash as well. */
    const char *plus = *body == '/' && body[strlen(body) - 1] != '/' ? module_plus(body) : NULL;
    if (plus) {
        pattern->module = wtm_arena_string(arena, body, (size_t)(plus - body));
        return pattern->module ? parse_address(pattern, plus + 1, arena) : "there is no memory for it";
    }
    size_t module = wtm_split_module(body, length - (size_t)(body - text));
    if (module) {
        pattern->module = wtm_arena_string(arena, body, module);
        if (!pattern->module)
            return "there is no memory for it";
        body = skip_spaces(body + module + 1);
    }
    return parse_body(pattern, body, strlen(body), arena);
}

static int parse_list(struct parser *parser, const char *text);

static int parse_file(struct parser *parser, const char *name, size_t length);

static int parse_one(struct parser *parser, const char *text, size_t length)
{
    if (!length)
        return 0;
    if (text[0] == '@')
        return parse_file(parser, text + 1, length - 1);
    if (parser->set->count == MAX_PATTERNS) {
        complain(parser, text, length, "there are more than 65536 patterns");
        return -E2BIG;
    }
    char *copy = wtm_arena_string(parser->arena, text, length);
    struct wtm_pattern *pattern = copy ? add(parser) : NULL;
    if (!pattern)
        return -ENOMEM;
    const char *reason = parse_pattern(pattern, copy, length, parser->arena);
    if (reason) {
        complain(parser, text, length, reason);
        parser->set->count--;
    }
    return 0;
}

/* One pattern a line; # begins a comment at the begin of a line and behind a space. */
static int parse_lines(struct parser *parser, char *text)
{
    int error = 0;
    for (char *line = text; line && *line && !error;) {
        char *end = strchr(line, '\n'), *next = end ? end + 1 : NULL;
        if (end)
            *end = 0;
        for (char *hash = strchr(line, '#'); hash; hash = strchr(hash + 1, '#'))
            if (hash == line || hash[-1] == ' ' || hash[-1] == '\t') {
                *hash = 0;
                break;
            }
        error = parse_list(parser, line);
        line = next;
    }
    return error;
}

static int read_all(int fd, char *text, size_t room, size_t *bytes)
{
    *bytes = 0;
    while (*bytes < room) {
        long got = wtm_sys_read(fd, text + *bytes, room - *bytes);
        if (got == -EINTR)
            continue;
        if (got <= 0)
            return (int)got;
        *bytes += (size_t)got;
    }
    return -EFBIG;
}

static int parse_file(struct parser *parser, const char *name, size_t length)
{
    char *path = wtm_arena_string(parser->arena, name, length);
    char *text = wtm_arena_alloc(parser->arena, MAX_FILE_BYTES + 1);
    size_t bytes = 0;
    if (!path || !text)
        return -ENOMEM;
    if (parser->in_file) {
        complain(parser, name - 1, length + 1, "a file of patterns cannot name another one");
        return 0;
    }
    long fd = wtm_sys_open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);
    int error = wtm_sys_failed(fd) ? (int)fd : read_all((int)fd, text, MAX_FILE_BYTES, &bytes);
    if (!wtm_sys_failed(fd))
        wtm_sys_close((int)fd);
    if (error) {
        complain(parser, name - 1, length + 1,
                 error == -ENOENT   ? "there is no such file"
                 : error == -EACCES ? "the file may not be read"
                 : error == -EFBIG  ? "the file is larger than 1 MiB"
                                    : "the file cannot be read");
        return 0;
    }
    text[bytes] = 0;
    parser->in_file = 1;
    error = parse_lines(parser, text);
    parser->in_file = 0;
    return error;
}

static int parse_list(struct parser *parser, const char *text)
{
    int error = 0;
    for (const char *at = text; *at && !error;) {
        size_t begin, length, next;
        wtm_split_next(at, &begin, &length, &next);
        error = parse_one(parser, at + begin, length);
        at += next;
    }
    return error == -E2BIG ? 0 : error;
}

int wtm_patterns_parse(struct wtm_pattern_set *set, const char *text, const char *setting,
                       struct wtm_arena *arena, wtm_complain *complain_, void *context)
{
    struct parser parser = {
        .set = set, .setting = setting, .arena = arena, .complain = complain_, .context = context};
    *set = (struct wtm_pattern_set){NULL, 0};
    return text ? parse_list(&parser, text) : 0;
}
