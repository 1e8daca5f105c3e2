#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *last_words = "level=error msg=\"out of memory\"\n";

void mem_set_last_words(const char *line) {
        last_words = line;
}

_noreturn_ void mem_exhausted(void) {
        /* stdio may allocate memory. A failure of write(2) can only be ignored. */
        ssize_t ignored = write(STDERR_FILENO, last_words, strlen(last_words));
        (void)ignored;
        abort();
}

void *xmalloc(size_t size) {
        void *ptr = malloc(size ? size : 1);
        if (!ptr)
                mem_exhausted();
        return ptr;
}

void *xcalloc(size_t count, size_t size) {
        void *ptr = calloc(count ? count : 1, size ? size : 1);
        if (!ptr)
                mem_exhausted();
        return ptr;
}

void *xrealloc(void *ptr, size_t size) {
        void *moved = realloc(ptr, size ? size : 1);
        if (!moved)
                mem_exhausted();
        return moved;
}

void *xreallocarray(void *ptr, size_t count, size_t size) {
        size_t bytes = 0;

        if (__builtin_mul_overflow(count, size, &bytes))
                mem_exhausted();
        return xrealloc(ptr, bytes);
}

char *xstrdup(const char *text) {
        return xmemdup0(text, strlen(text));
}

char *xmemdup0(const char *data, size_t len) {
        char *copy = xmalloc(len + 1);

        if (len > 0)
                memcpy(copy, data, len);
        copy[len] = '\0';
        return copy;
}

char *xasprintf(const char *fmt, ...) {
        char *text = NULL;
        va_list args;

        va_start(args, fmt);
        int len = vasprintf(&text, fmt, args);
        va_end(args);
        if (len < 0)
                mem_exhausted();
        return text;
}
