/* What is written to stderr, as log lines are, through a pipe. */
#pragma once

#include "cmocka_wrap.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/mem.h"

enum { CAPTURE_MAX = 60000 }; /* below a pipe's 64 KiB, so that writers never wait */

static int saved_stderr = -1, capture_fd = -1;

static inline void capture_begin(void) {
        int fds[2];

        assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
        saved_stderr = dup(STDERR_FILENO);
        assert_true(saved_stderr >= 0);
        assert_true(dup2(fds[1], STDERR_FILENO) >= 0);
        (void)close(fds[1]);
        capture_fd = fds[0];
}

/* Everything since capture_begin(); owned by the caller. */
static inline char *capture_end(void) {
        char *text = xmalloc(CAPTURE_MAX + 1);
        size_t len = 0;

        (void)dup2(saved_stderr, STDERR_FILENO); /* closes the pipe's last writer */
        (void)close(saved_stderr);
        for (ssize_t n = 1; n > 0 && len < CAPTURE_MAX; len += (size_t)n) {
                n = read(capture_fd, text + len, CAPTURE_MAX - len);
                if (n < 0)
                        n = 0;
        }
        (void)close(capture_fd);
        text[len] = '\0';
        return text;
}
