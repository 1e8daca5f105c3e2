/*
 * An HTTP peer for tests of the client, on a socket of its own and without a library, so that it
 * can misbehave: it hangs, drips, resets, cuts and talks nonsense, by the path that it is asked
 * for. One thread a connection.
 */
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/number.h"

enum { RAW_CONNECTIONS_MAX = 512, RAW_REQUEST_MAX = 64 * 1024 };

struct raw_peer {
        char origin[64]; /* "http://127.0.0.2:40123" */
        int listen_fd;
        int end_fds[2]; /* readable once all is to end */
        pthread_t accepting;
        pthread_t threads[RAW_CONNECTIONS_MAX];
        atomic_size_t connections;
        atomic_size_t requests;
        atomic_size_t open, most_open; /* requests that are being answered at the same time */
        struct buf bomb;               /* gzip of 64 MiB of zeros */
};

struct raw_connection {
        struct raw_peer *peer;
        int fd;
};

/* Waits for @fd (-1: for nothing); false when the peer ends or the time is over. */
static inline bool raw_wait(struct raw_peer *peer, int fd, int timeout_ms) {
        struct pollfd fds[2] = {{.fd = peer->end_fds[0], .events = POLLIN},
                                {.fd = fd, .events = POLLIN}};

        (void)poll(fds, 2, timeout_ms);
        return fds[0].revents == 0 && (fds[1].revents != 0 || fd < 0);
}

static inline bool raw_send(struct raw_connection *connection, const void *data, size_t len) {
        const char *at = data;

        while (len > 0) {
                ssize_t sent = send(connection->fd, at, len, MSG_NOSIGNAL);
                if (sent <= 0)
                        return false;
                at += sent;
                len -= (size_t)sent;
        }
        return true;
}

static inline bool raw_puts(struct raw_connection *connection, const char *text) {
        return raw_send(connection, text, strlen(text));
}

static inline bool raw_reply(struct raw_connection *connection, const char *status,
                             const char *headers, const char *body, size_t len) {
        _cleanup_(freep) char *head = xasprintf("HTTP/1.1 %s\r\n%sContent-Length: %zu\r\n\r\n",
                                                status, headers, len);
        struct buf out = BUF_INIT(1 << 26);

        (void)buf_puts(&out, head);
        (void)buf_append(&out, body, len);
        bool ok = raw_send(connection, out.data, out.len);
        buf_done(&out);
        return ok;
}

/* Sends @text a byte every 20 ms, for as long as somebody takes it. */
static inline bool raw_drip(struct raw_connection *connection, const char *text) {
        for (; *text; text++)
                if (!raw_send(connection, text, 1) || !raw_wait(connection->peer, -1, 20))
                        return false;
        return true;
}

static inline bool raw_flood(struct raw_connection *connection, const char *head,
                             const char *piece) {
        bool ok = raw_puts(connection, head);

        for (size_t i = 0; ok && i < 1000000; i++)
                ok = raw_puts(connection, piece);
        return false;
}

static inline bool raw_end_with_reset(struct raw_connection *connection) {
        struct linger linger = {.l_onoff = 1, .l_linger = 0};

        (void)setsockopt(connection->fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
        return false;
}

/* False: close the connection. */
static inline bool raw_answer(struct raw_connection *connection, const char *path,
                              const char *request, const char *body, size_t body_len) {
        static const char chunked[] = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        struct raw_peer *peer = connection->peer;
        const struct {
                const char *path;
                const char *text; /* sent as it is, then the connection is closed */
        } texts[] = {
                {"/cut", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nfifty"},
                {"/cut-headers", "HTTP/1.1 200 OK\r\nContent-Le"},
                {"/cut-chunk",
                 "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"},
                {"/bad-chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello"},
                {"/garbage", "\x01\x02\xff no HTTP at all\r\n\r\n\r\n"},
                {"/bad-gzip", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n"
                              "Content-Length: 9\r\n\r\nnot gzip!"},
                {"/eof", ""},
        };

        for (size_t i = 0; i < ARRAY_LEN(texts); i++)
                if (strcmp(path, texts[i].path) == 0)
                        return raw_puts(connection, texts[i].text) && false;
        if (strcmp(path, "/ok") == 0)
                return raw_reply(connection, "200 OK", "Content-Type: text/plain\r\n", "hello", 5);
        if (strcmp(path, "/slow") == 0) {
                (void)raw_wait(peer, -1, 30);
                return raw_reply(connection, "200 OK", "", "slow", 4);
        }
        if (strcmp(path, "/echo") == 0) {
                struct buf out = BUF_INIT(RAW_REQUEST_MAX);
                (void)buf_puts(&out, request);
                (void)buf_append(&out, body, body_len);
                bool ok = raw_reply(connection, "200 OK", "", out.data, out.len);
                buf_done(&out);
                return ok;
        }
        if (strcmp(path, "/redirect") == 0)
                return raw_reply(connection, "302 Found", "Location: /ok\r\n", "", 0);
        if (strcmp(path, "/hang") == 0)
                return raw_wait(peer, connection->fd, -1) && false;
        if (strcmp(path, "/drip") == 0)
                return raw_puts(connection, "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n") &&
                       raw_drip(connection, "one byte after the other, for a very, very long time, "
                                            "so that nobody can say that nothing comes");
        if (strcmp(path, "/drip-headers") == 0)
                return raw_drip(connection, "HTTP/1.1 200 OK\r\nX-Long: xxxxxxxxxxxxxxxxxxxxxxxxxx"
                                            "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
        if (strcmp(path, "/stall") == 0)
                return raw_puts(connection, chunked) && raw_puts(connection, "5\r\nhello\r\n") &&
                       raw_wait(peer, connection->fd, -1) && false;
        if (strcmp(path, "/pieces") == 0) {
                bool ok = raw_puts(connection, chunked);
                for (int i = 0; ok && i < 5; i++)
                        ok = raw_puts(connection, "5\r\nhello\r\n") && raw_wait(peer, -1, 5);
                return ok && raw_puts(connection, "0\r\n\r\n");
        }
        if (strcmp(path, "/large") == 0)
                return raw_puts(connection, "HTTP/1.1 200 OK\r\nContent-Length: 5000000\r\n\r\n") &&
                       raw_wait(peer, connection->fd, -1) && false;
        if (strcmp(path, "/large-chunked") == 0)
                return raw_flood(connection, chunked, "10\r\n0123456789abcdef\r\n");
        if (strcmp(path, "/large-headers") == 0)
                return raw_flood(connection, "HTTP/1.1 200 OK\r\n", "X-More: and more\r\n");
        if (strcmp(path, "/bomb") == 0)
                return raw_reply(connection, "200 OK", "Content-Encoding: gzip\r\n",
                                 peer->bomb.data, peer->bomb.len);
        if (strcmp(path, "/reset") == 0)
                return raw_end_with_reset(connection);
        return raw_reply(connection, "404 Not Found", "", "nothing here", 12);
}

static inline bool raw_serve_one(struct raw_connection *connection, struct buf *in) {
        struct raw_peer *peer = connection->peer;
        char piece[4096], path[128] = "";
        char *end = NULL;
        size_t body_len = 0;

        while (!in->data || !(end = strstr(in->data, "\r\n\r\n")) ||
               in->len < (size_t)(end + 4 - in->data) + body_len) {
                if (!raw_wait(peer, connection->fd, -1))
                        return false;
                ssize_t got = recv(connection->fd, piece, sizeof(piece), 0);
                if (got <= 0 || !buf_append(in, piece, (size_t)got))
                        return false;
                const char *length = strstr(in->data, "Content-Length: ");
                uint64_t value = 0;
                if (length && number_parse_u64(length + 16, strcspn(length + 16, "\r"), &value))
                        body_len = (size_t)value;
        }
        end[2] = '\0';
        (void)sscanf(in->data, "%*s %127[^ ?]", path);
        atomic_fetch_add(&peer->requests, 1);
        size_t open = atomic_fetch_add(&peer->open, 1) + 1;
        size_t most = atomic_load(&peer->most_open);
        while (open > most && !atomic_compare_exchange_weak(&peer->most_open, &most, open))
                ;
        bool goes_on = raw_answer(connection, path, in->data, end + 4, body_len);
        atomic_fetch_sub(&peer->open, 1);
        buf_clear(in);
        return goes_on;
}

static inline void *raw_serve(void *userdata) {
        struct raw_connection *connection = userdata;
        struct buf in = BUF_INIT(RAW_REQUEST_MAX);

        while (raw_serve_one(connection, &in))
                ;
        buf_done(&in);
        close(connection->fd);
        free(connection);
        return NULL;
}

static inline void *raw_accept(void *userdata) {
        struct raw_peer *peer = userdata;

        while (raw_wait(peer, peer->listen_fd, -1)) {
                int fd = accept4(peer->listen_fd, NULL, NULL, SOCK_CLOEXEC);
                size_t index = atomic_load(&peer->connections);
                if (fd < 0 || index == RAW_CONNECTIONS_MAX)
                        abort();
                struct raw_connection *connection = xcalloc(1, sizeof(*connection));
                connection->peer = peer;
                connection->fd = fd;
                atomic_store(&peer->connections, index + 1); /* before anything is answered */
                if (pthread_create(&peer->threads[index], NULL, raw_serve, connection) != 0)
                        abort();
        }
        return NULL;
}

static inline struct raw_peer *raw_peer_new(const char *address) {
        struct raw_peer *peer = xcalloc(1, sizeof(*peer));
        struct sockaddr_in name = {.sin_family = AF_INET};
        socklen_t name_len = sizeof(name);

        peer->bomb = BUF_INIT(1 << 20);
        peer->listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (inet_pton(AF_INET, address, &name.sin_addr) != 1 || pipe(peer->end_fds) < 0 ||
            bind(peer->listen_fd, (struct sockaddr *)&name, name_len) < 0 ||
            listen(peer->listen_fd, 511) < 0 ||
            getsockname(peer->listen_fd, (struct sockaddr *)&name, &name_len) < 0 ||
            pthread_create(&peer->accepting, NULL, raw_accept, peer) != 0)
                abort();
        (void)snprintf(peer->origin, sizeof(peer->origin), "http://%s:%u", address,
                       ntohs(name.sin_port));
        return peer;
}

static inline void raw_peer_free(struct raw_peer *peer) {
        if (!peer)
                return;
        close(peer->end_fds[1]);
        pthread_join(peer->accepting, NULL);
        for (size_t i = 0; i < atomic_load(&peer->connections); i++)
                pthread_join(peer->threads[i], NULL);
        close(peer->listen_fd);
        close(peer->end_fds[0]);
        buf_done(&peer->bomb);
        free(peer);
}
