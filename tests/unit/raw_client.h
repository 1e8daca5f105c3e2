/*
 * An HTTP client for tests of the server, on sockets and without a library, so that it can
 * misbehave.
 */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"

enum { RAW_ANSWER_MAX_BYTES = 4 << 20, RAW_TIMEOUT_S = 20 };

/* Connected to the loopback; whatever it waits for has to come within 20 s. */
static inline int raw_dial(uint16_t port) {
        struct sockaddr_in name = {.sin_family = AF_INET,
                                   .sin_port = htons(port),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        struct timeval limit = {.tv_sec = RAW_TIMEOUT_S};
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        assert_true(fd >= 0);
        assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)), 0);
        assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)), 0);
        assert_int_equal(connect(fd, (struct sockaddr *)&name, sizeof(name)), 0);
        return fd;
}

static inline bool raw_say(int fd, const char *data, size_t len) {
        while (len > 0) {
                ssize_t sent = send(fd, data, len, MSG_NOSIGNAL);
                if (sent <= 0)
                        return false;
                data += sent;
                len -= (size_t)sent;
        }
        return true;
}

/* Reads one answer; its head and body end up in @answer. False: the connection was closed. */
static inline bool raw_hear(int fd, struct buf *answer) {
        size_t need = SIZE_MAX;
        char piece[65536];

        buf_clear(answer);
        while (answer->len < need) {
                size_t want = need == SIZE_MAX ? 1 : size_min(sizeof(piece), need - answer->len);
                ssize_t got = recv(fd, piece, want, 0);
                if (got <= 0)
                        return false;
                assert_true(buf_append(answer, piece, (size_t)got));
                char *end = need == SIZE_MAX ? strstr(answer->data, "\r\n\r\n") : NULL;
                if (end) {
                        const char *length = strstr(answer->data, "Content-Length: ");
                        unsigned long value = 0;
                        assert_non_null(length); /* on every answer */
                        assert_int_equal(sscanf(length, "Content-Length: %lu", &value), 1);
                        need = (size_t)(end + 4 - answer->data) + value;
                }
        }
        return true;
}

static inline const char *raw_body_of(const struct buf *answer) {
        return strstr(answer->data, "\r\n\r\n") + 4;
}

/* Whether the other side ends the connection, before it has said anything more. */
static inline bool raw_is_closed(int fd) {
        char c = 0;

        return recv(fd, &c, 1, 0) == 0;
}
