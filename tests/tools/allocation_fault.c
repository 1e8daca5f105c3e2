/*
 * Preloaded into a program: the n-th allocation from now on fails. How many there were, and which
 * is to fail, stands in a file that the test maps as well ($ALLOCATIONS), so that it can
 * be said while the program runs.
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct control {
        int64_t seen;      /* allocations since the start */
        int64_t countdown; /* this one fails; 0: none */
};

static struct control *control;

/* glibc's own, under the names that it exports for wrappers such as this one. */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

__attribute__((constructor)) static void map_control(void) {
        const char *path = getenv("ALLOCATIONS");
        int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;

        if (fd < 0)
                _exit(99);
        void *mapped = mmap(NULL, sizeof(*control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (mapped == MAP_FAILED)
                _exit(99);
        (void)close(fd);
        control = mapped;
}

static int is_refused(void) {
        if (!control)
                return 0;
        (void)__atomic_add_fetch(&control->seen, 1, __ATOMIC_RELAXED);
        if (__atomic_load_n(&control->countdown, __ATOMIC_RELAXED) <= 0 ||
            __atomic_sub_fetch(&control->countdown, 1, __ATOMIC_RELAXED) != 0)
                return 0;
        errno = ENOMEM;
        return 1;
}

void *malloc(size_t bytes) {
        return is_refused() ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes) {
        return is_refused() ? NULL : __libc_calloc(count, bytes);
}

void *realloc(void *old, size_t bytes) {
        return is_refused() ? NULL : __libc_realloc(old, bytes);
}

void *reallocarray(void *old, size_t count, size_t bytes) {
        size_t all;

        if (__builtin_mul_overflow(count, bytes, &all)) {
                errno = ENOMEM;
                return NULL;
        }
        return realloc(old, all);
}

void *aligned_alloc(size_t alignment, size_t bytes) {
        return is_refused() ? NULL : __libc_memalign(alignment, bytes);
}

int posix_memalign(void **ret, size_t alignment, size_t bytes) {
        void *memory = is_refused() ? NULL : __libc_memalign(alignment, bytes);

        if (!memory)
                return ENOMEM;
        *ret = memory;
        return 0;
}
