#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

static int open_regular(const char *path, struct error *err) {
        struct stat status = {0};

        /* O_NONBLOCK: opening a FIFO must not wait for a writer. */
        int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        if (fd < 0)
                return error_set(err, errno, "cannot open: %s", strerror(errno));
        (void)fstat(fd, &status);
        if (S_ISREG(status.st_mode))
                return fd;
        (void)close(fd);
        return error_set(err, EINVAL, "not a regular file");
}

/* Reads up to one byte more than allowed, to notice a file that is too large, or grows. */
static int read_descriptor(int fd, char *text, size_t max_bytes, size_t *ret_len,
                           struct error *err) {
        size_t len = 0;

        while (len <= max_bytes) {
                ssize_t n = read(fd, text + len, max_bytes + 1 - len);
                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return error_set(err, errno, "cannot read: %s", strerror(errno));
                if (n == 0) {
                        *ret_len = len;
                        return 0;
                }
                len += (size_t)n;
        }
        return error_set(err, E2BIG, "larger than %zu bytes", max_bytes);
}

/* @fd: consumed */
static int read_whole(int fd, size_t max_bytes, char **ret_text, size_t *ret_len,
                      struct error *err) {
        size_t len = 0;

        char *text = xmalloc(max_bytes + 1);
        int r = read_descriptor(fd, text, max_bytes, &len, err);
        (void)close(fd);
        if (r == 0) {
                *ret_text = xmemdup0(text, len);
                *ret_len = len;
        }
        explicit_bzero(text, r == 0 ? len : max_bytes + 1);
        free(text);
        return r;
}

int file_read(const char *path, size_t max_bytes, char **ret_text, size_t *ret_len,
              struct error *err) {
        int fd = open_regular(path, err);

        return fd < 0 ? fd : read_whole(fd, max_bytes, ret_text, ret_len, err);
}

static bool is_standard_input(const char *path) {
        return strcmp(path, "-") == 0;
}

int file_read_input(const char *path, size_t max_bytes, char **ret_text, size_t *ret_len,
                    struct error *err) {
        int fd = is_standard_input(path) ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                                         : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

        if (fd < 0)
                return error_set(err, errno, "cannot open: %s", strerror(errno));
        return read_whole(fd, max_bytes, ret_text, ret_len, err);
}

const char *file_input_name(const char *path) {
        return is_standard_input(path) ? "standard input" : path;
}
