/* The log of the program under test, read through a pipe while it runs. */
#pragma once

#include "cmocka_wrap.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "base/buf.h"

enum { LOG_PIPE_DEADLINE_MS = 20000 };

struct log_pipe {
        int fd, saved_stderr;
        struct buf text; /* what was read */
};

static inline void log_pipe_begin(struct log_pipe *log) {
        int fds[2];

        assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
        *log = (struct log_pipe){
                .fd = fds[0],
                .saved_stderr = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0),
                .text = BUF_INIT(60000),
        };
        assert_true(dup2(fds[1], STDERR_FILENO) >= 0);
        (void)close(fds[1]);
}

/* How often @message has been logged. */
static inline size_t log_pipe_count(struct log_pipe *log, const char *message) {
        struct pollfd poll_fd = {.fd = log->fd, .events = POLLIN};
        size_t count = 0;
        char piece[512];

        while (poll(&poll_fd, 1, 0) == 1) {
                ssize_t got = read(log->fd, piece, sizeof(piece));
                assert_true(got > 0 && buf_append(&log->text, piece, (size_t)got));
        }
        for (const char *at = log->text.data; at && (at = strstr(at, message)); at++)
                count++;
        return count;
}

static inline void log_pipe_await(struct log_pipe *log, const char *message) {
        struct pollfd poll_fd = {.fd = log->fd, .events = POLLIN};

        while (log_pipe_count(log, message) == 0)
                assert_int_equal(poll(&poll_fd, 1, LOG_PIPE_DEADLINE_MS), 1);
}

static inline void log_pipe_end(struct log_pipe *log) {
        assert_true(dup2(log->saved_stderr, STDERR_FILENO) >= 0);
        (void)close(log->saved_stderr);
        (void)close(log->fd);
        buf_done(&log->text);
}
