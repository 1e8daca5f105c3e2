/*
 * A server for unit tests that answers connection by connection from a script, byte for byte: what
 * no well-behaved HTTP server can be made to say. One request a connection. Its thread ends with
 * scripted_server_stop().
 */
#pragma once

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"

enum { SCRIPT_MAX = 32, SCRIPT_REQUEST_MAX = 16 << 10 };

struct scripted_reply {
        const char *expect[4]; /* texts that the request must hold */
        char *response;        /* owned by the server; NULL: the connection is closed at once */
        size_t response_bytes; /* 0: it is a text */
        bool drips;            /* one byte a segment */
        bool holds;            /* leave the connection open afterwards */
        void (*before)(void *userdata); /* called when the request is there */
};

struct scripted_server {
        int listen_fd, stop_fd;
        uint16_t port;
        pthread_t thread;
        struct scripted_reply script[SCRIPT_MAX];
        size_t count;
        struct scripted_reply usual[4]; /* to requests that are not the next of the script */
        size_t usual_count;
        void *userdata;
        atomic_size_t served, answered; /* @answered: what there was to send has been sent */
        atomic_size_t surprises;        /* requests past the script's end, or not as expected */
        char surprise[SCRIPT_REQUEST_MAX];
        int held[SCRIPT_MAX];
        size_t held_count;
};

/* An answer with a length. */
static inline char *scripted_http(int status, const char *headers, const char *body) {
        return xasprintf("HTTP/1.1 %d X\r\nConnection: close\r\nContent-Length: %zu\r\n%s\r\n%s",
                         status, strlen(body), headers, body);
}

/* An answer that ends with the connection, as a watch. */
static inline char *scripted_stream(const char *body) {
        return xasprintf("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n%s", body);
}

/* The same in chunks; without the last one the connection counts as broken. */
static inline char *scripted_chunk(const char *body, bool is_whole) {
        return xasprintf(
                "HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
                "%zx\r\n%s\r\n%s",
                strlen(body), body, is_whole ? "0\r\n\r\n" : "");
}

static inline void scripted_read_request(int fd, char request[static SCRIPT_REQUEST_MAX]) {
        size_t len = 0, want = SIZE_MAX;

        while (len < SCRIPT_REQUEST_MAX - 1 && len < want) {
                ssize_t n = recv(fd, request + len, SCRIPT_REQUEST_MAX - 1 - len, 0);
                if (n <= 0)
                        break;
                len += (size_t)n;
                request[len] = '\0';
                const char *end = strstr(request, "\r\n\r\n");
                const char *length = strstr(request, "Content-Length: ");
                if (end && want == SIZE_MAX)
                        want = (size_t)(end + 4 - request) +
                               (length ? strtoul(length + 16, NULL, 10) : 0);
        }
        request[len] = '\0';
}

static inline bool scripted_is_for(const struct scripted_reply *reply, const char *request) {
        for (size_t i = 0; i < ARRAY_LEN(reply->expect) && reply->expect[i]; i++)
                if (!strstr(request, reply->expect[i]))
                        return false;
        return true;
}

static inline const struct scripted_reply *scripted_usual(const struct scripted_server *server,
                                                          const char *request) {
        for (size_t i = 0; i < server->usual_count; i++)
                if (scripted_is_for(&server->usual[i], request))
                        return &server->usual[i];
        return NULL;
}

static inline void scripted_serve(struct scripted_server *server, int fd) {
        char request[SCRIPT_REQUEST_MAX];
        size_t index = atomic_load(&server->served);
        int on = 1;

        scripted_read_request(fd, request);
        if (!request[0]) { /* cancelled before anything was asked */
                (void)close(fd);
                return;
        }
        bool is_expected = index < server->count &&
                           scripted_is_for(&server->script[index], request);
        const struct scripted_reply *usual = is_expected ? NULL : scripted_usual(server, request);
        if (!is_expected && !usual) {
                (void)snprintf(server->surprise, sizeof(server->surprise), "%s", request);
                atomic_fetch_add(&server->surprises, 1);
        }
        if (index >= server->count && !usual) {
                (void)close(fd);
                return;
        }
        const struct scripted_reply *reply = usual ? usual : &server->script[index];
        if (reply->before)
                reply->before(server->userdata);
        /* Before the client can have the answer and look. */
        if (!usual)
                atomic_store(&server->served, index + 1);
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        size_t len = reply->response_bytes ? reply->response_bytes
                     : reply->response     ? strlen(reply->response)
                                           : 0;
        for (size_t sent = 0; sent < len;) {
                ssize_t n = send(fd, reply->response + sent, reply->drips ? 1 : len - sent,
                                 MSG_NOSIGNAL);
                if (n <= 0)
                        break; /* the client has heard enough */
                sent += (size_t)n;
        }
        if (reply->holds)
                server->held[server->held_count++] = fd;
        else
                (void)close(fd);
        atomic_fetch_add(&server->answered, 1);
}

static inline void *scripted_run(void *userdata) {
        struct scripted_server *server = userdata;
        struct pollfd fds[2] = {{.fd = server->listen_fd, .events = POLLIN},
                                {.fd = server->stop_fd, .events = POLLIN}};

        while (poll(fds, 2, -1) >= 0 && !fds[1].revents) {
                if (!(fds[0].revents & POLLIN))
                        continue;
                int fd = accept4(server->listen_fd, NULL, NULL, SOCK_CLOEXEC);
                if (fd >= 0)
                        scripted_serve(server, fd);
        }
        return NULL;
}

/* Adds a step; before scripted_server_start(). */
static inline void scripted_add(struct scripted_server *server, struct scripted_reply reply) {
        if (server->count == SCRIPT_MAX)
                abort();
        server->script[server->count++] = reply;
}

/* The same for a reply that is given as often as it is asked for. */
static inline void scripted_add_usual(struct scripted_server *server, struct scripted_reply reply) {
        if (server->usual_count == ARRAY_LEN(server->usual))
                abort();
        server->usual[server->usual_count++] = reply;
}

static inline void scripted_server_start(struct scripted_server *server) {
        struct sockaddr_in address = {.sin_family = AF_INET,
                                      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        socklen_t len = sizeof(address);

        server->listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        server->stop_fd = eventfd(0, EFD_CLOEXEC);
        if (bind(server->listen_fd, (struct sockaddr *)&address, len) < 0 ||
            listen(server->listen_fd, 64) < 0 ||
            getsockname(server->listen_fd, (struct sockaddr *)&address, &len) < 0)
                abort();
        server->port = ntohs(address.sin_port);
        if (pthread_create(&server->thread, NULL, scripted_run, server) != 0)
                abort();
}

static inline void scripted_server_stop(struct scripted_server *server) {
        if (eventfd_write(server->stop_fd, 1) < 0)
                abort();
        (void)pthread_join(server->thread, NULL);
        for (size_t i = 0; i < server->held_count; i++)
                (void)close(server->held[i]);
        for (size_t i = 0; i < server->count; i++)
                free(server->script[i].response);
        for (size_t i = 0; i < server->usual_count; i++)
                free(server->usual[i].response);
        (void)close(server->listen_fd);
        (void)close(server->stop_fd);
}
