/* SPDX-License-Identifier: MIT
 * Compares C++ and Rust names as people write them with what demanglers print. Both are brought into one
 * spelling: spaces only where two words (or two <) would run together, std::string for what it stands for, no
 * inline namespaces of the standard libraries, f() for f(void). Memory from the caller; any thread. */
#ifndef WTM_COMMON_SPELLING_H
#define WTM_COMMON_SPELLING_H

#include <stddef.h>

/* Writes the one spelling of `text`, never longer than it, with a NUL behind; its length. `out` may be
 * `text`. */
size_t wtm_spelling_normalise(char *out, const char *text, size_t length);
/* In place; the new length. std::string for the template that it stands for, in what a demangler wrote. */
size_t wtm_spelling_shorten(char *text, size_t length);
/* In place; the new length. Takes out template arguments and Rust's <T as Trait> (T stays), or "(anonymous
 * namespace)::", or what follows the parameter list (const, &). */
size_t wtm_spelling_drop_templates(char *text, size_t length);
size_t wtm_spelling_drop_anonymous(char *text, size_t length);
size_t wtm_spelling_drop_qualifiers(char *text, size_t length);
/* Where the parameter list begins (not operator(), not an anonymous namespace); NULL when there is none. */
const char *wtm_spelling_parameters(const char *text);
/* Text that must occur in the mangled name of whatever the pattern (normalised, without parameters) matches:
 * the longest word of its last component, or the outermost namespace. NULL when there is none for sure. */
const char *wtm_spelling_needle(const char *name, size_t length, size_t *needle_length);

/* The identifier of a mangled C++ function that stands in no named namespace (_Z7computei, _ZL7computei, or
 * in the anonymous one); NULL for any other. Not demangled: two comparisons. */
const char *wtm_spelling_unscoped(const char *mangled, size_t *length);
/* `foo` of foo.constprop.0, foo.isra.0.part.1: the length of the name without the marks of compilers' clones.
 */
size_t wtm_spelling_base_length(const char *name);

#endif
