/*
 * Attributes and small macros for every file.
 *
 * Two of them make ownership visible. A local variable that owns something is declared as
 * `_cleanup_(thing_freep) struct thing *t = NULL;`. `*ret_t = TAKE_PTR(t);` hands it over.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define _cleanup_(fn) __attribute__((cleanup(fn)))
#define _must_check_ __attribute__((warn_unused_result))
#define _noreturn_ __attribute__((noreturn))
#define _printf_(fmt, first) __attribute__((format(printf, fmt, first)))
#define _unused_ __attribute__((unused))

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* Returns the pointer and sets the variable to NULL: hands over ownership. */
#define TAKE_PTR(ptr)                                                                              \
        __extension__({                                                                            \
                __auto_type take_ptr_place_ = &(ptr);                                              \
                __auto_type take_ptr_value_ = *take_ptr_place_;                                    \
                *take_ptr_place_ = NULL;                                                           \
                take_ptr_value_;                                                                   \
        })

/* The struct of which *ptr is the member; @type is const if *ptr is. */
#define CONTAINER_OF(ptr, type, member)                                                            \
        ((type *)(void *)((char *)(uintptr_t)(1 ? (ptr) : &((type *)NULL)->member) -               \
                          offsetof(type, member)))

/* Defines thing_freep(), for _cleanup_, from thing_free(). thing_free() must accept NULL if the
 * variable can be NULL. */
#define DEFINE_FREEP(type, fn)                                                                     \
        static inline void fn##p(type **ptr) {                                                     \
                fn(*ptr);                                                                          \
        }                                                                                          \
        struct attributes_swallow_semicolon_

static inline size_t size_min(size_t a, size_t b) {
        return a < b ? a : b;
}

static inline size_t size_max(size_t a, size_t b) {
        return a > b ? a : b;
}
