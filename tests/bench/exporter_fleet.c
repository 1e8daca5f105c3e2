/*
 * Synthetic node_exporters for load: every address of 127.0.0.0/8 is a node of its own, in one
 * process and on one port, at a few microseconds a page. tests/integration/exporters has more
 * kinds of pages and of trouble, and is too slow for thousands of nodes.
 *
 * Usage: exporter_fleet PAGE [REPLY_MS]
 *
 * PAGE is a page of node_exporter; its user and idle counters of CPUs are replaced, so that every
 * node has a load of its own which moves slowly. A reply takes 1 to REPLY_MS milliseconds, or no
 * time when that is 0 (the default), for each connection its own. Prints "port=N" when it is ready.
 */
#include <arpa/inet.h>
#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/number.h"
#include "tests/bench/bench.h"

enum {
        PAGE_MAX_BYTES = 4 << 20,
        REQUEST_MAX_BYTES = 4096,
        COUNTERS_MAX = 1024,
        COUNTER_DIGITS = 12, /* 100000000.00 and up: the width of a counter never changes */
        REPLY_MAX_MS = 1000,
};

static const double COUNTER_BASE_S = 1e8;

struct node {
        int fd; /* -1: no connection of this number */
        uint32_t address;
        unsigned reply_ms;
        int64_t due_mono_ms; /* of the reply; 0: none */
};

/* Where a counter stands in the page. */
struct counter {
        size_t offset;
        bool is_idle;
};

struct fleet {
        int epoll_fd, listen_fd;
        unsigned reply_ms;
        struct buf page; /* with its headers */
        struct counter counters[COUNTERS_MAX];
        size_t counter_count;
        struct node *nodes; /* by descriptor */
        size_t node_cap;
        int *waiting; /* descriptors that a reply is due to */
        size_t waiting_len, waiting_cap;
};

/* The page */

static bool ends_with(const char *text, size_t len, const char *tail) {
        size_t tail_len = strlen(tail);
        return len >= tail_len && memcmp(text + len - tail_len, tail, tail_len) == 0;
}

static void take_line(struct fleet *fleet, struct buf *body, const char *line, size_t len) {
        static const char name[] = "node_cpu_seconds_total{";
        const char *space = memchr(line, ' ', len);
        size_t labels_len = space ? (size_t)(space - line) : 0;
        bool is_idle = ends_with(line, labels_len, "mode=\"idle\"}");
        bool is_ok = true;

        if (labels_len > strlen(name) && memcmp(line, name, strlen(name)) == 0 &&
            (is_idle || ends_with(line, labels_len, "mode=\"user\"}")) &&
            fleet->counter_count < COUNTERS_MAX) {
                is_ok = buf_append(body, line, labels_len + 1);
                fleet->counters[fleet->counter_count++] = (struct counter){body->len, is_idle};
                is_ok = is_ok && buf_puts(body, "100000000.00\n");
        } else {
                is_ok = buf_append(body, line, len) && buf_puts(body, "\n");
        }
        if (!is_ok)
                bench_die("page");
}

static void read_page(struct fleet *fleet, const char *path) {
        struct buf body = BUF_INIT(PAGE_MAX_BYTES);
        _cleanup_(freep) char *text = NULL;
        size_t text_len = 0;
        char head[256];

        bench_read(path, &text, &text_len);
        for (size_t at = 0; at < text_len;) {
                const char *end = memchr(text + at, '\n', text_len - at);
                size_t len = end ? (size_t)(end - text) - at : text_len - at;
                take_line(fleet, &body, text + at, len);
                at += len + 1;
        }
        int head_len = snprintf(head, sizeof(head),
                                "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4; "
                                "charset=utf-8\r\nContent-Length: %zu\r\n\r\n",
                                body.len);
        fleet->page = BUF_INIT(PAGE_MAX_BYTES + sizeof(head));
        if (!buf_append(&fleet->page, head, (size_t)head_len) ||
            !buf_append(&fleet->page, body.data, body.len))
                bench_die("page");
        for (size_t i = 0; i < fleet->counter_count; i++)
                fleet->counters[i].offset += (size_t)head_len;
        buf_done(&body);
}

/* A share of 0.1 to 0.8 for each node, which moves by 0.1 up and down in half an hour. */
static double busy_s(uint32_t address, double now_s) {
        static const double period_s = 1800, swing = 0.1;
        double place = (double)(hash_fnv1a(HASH_FNV1A_INIT, (const char *)&address,
                                           sizeof(address)) %
                                1000) /
                       1000;
        double turn = 2 * M_PI / period_s;

        return (0.2 + 0.5 * place) * now_s - swing / turn * cos(turn * now_s + 2 * M_PI * place);
}

static void reply(struct fleet *fleet, struct node *node) {
        double now_s = (double)clock_mono_ms() / 1000;
        double busy = busy_s(node->address, now_s);
        char values[2][32];

        (void)snprintf(values[false], sizeof(*values), "%.2f", COUNTER_BASE_S + busy);
        (void)snprintf(values[true], sizeof(*values), "%.2f", COUNTER_BASE_S + now_s - busy);
        for (size_t i = 0; i < fleet->counter_count; i++)
                memcpy(fleet->page.data + fleet->counters[i].offset,
                       values[fleet->counters[i].is_idle], COUNTER_DIGITS);
        for (size_t sent = 0; sent < fleet->page.len;) {
                ssize_t r = send(node->fd, fleet->page.data + sent, fleet->page.len - sent,
                                 MSG_NOSIGNAL);
                if (r <= 0)
                        return; /* it has gone; its end is an event, too */
                sent += (size_t)r;
        }
}

/* Connections */

static void take_connection(struct fleet *fleet) {
        int fd = accept4(fleet->listen_fd, NULL, NULL, SOCK_CLOEXEC);
        struct sockaddr_in name = {0};
        socklen_t len = sizeof(name);
        struct epoll_event wish = {.events = EPOLLIN, .data.fd = fd};

        if (fd < 0 || getsockname(fd, (struct sockaddr *)&name, &len) < 0 ||
            epoll_ctl(fleet->epoll_fd, EPOLL_CTL_ADD, fd, &wish) < 0)
                bench_die("accept");
        if ((size_t)fd >= fleet->node_cap) {
                fleet->node_cap = ((size_t)fd + 1) * 2;
                fleet->nodes = xreallocarray(fleet->nodes, fleet->node_cap, sizeof(struct node));
        }
        uint32_t address = ntohl(name.sin_addr.s_addr);
        fleet->nodes[fd] = (struct node){
                .fd = fd,
                .address = address,
                .reply_ms = fleet->reply_ms ? 1 + address % fleet->reply_ms : 0,
        };
}

static void forget_reply(struct fleet *fleet, size_t index) {
        fleet->nodes[fleet->waiting[index]].due_mono_ms = 0;
        fleet->waiting[index] = fleet->waiting[--fleet->waiting_len];
}

static void end_connection(struct fleet *fleet, struct node *node) {
        for (size_t i = 0; node->due_mono_ms && i < fleet->waiting_len; i++)
                if (fleet->waiting[i] == node->fd)
                        forget_reply(fleet, i);
        close(node->fd);
        node->fd = -1;
}

static void take_request(struct fleet *fleet, struct node *node) {
        char in[REQUEST_MAX_BYTES];
        ssize_t got = recv(node->fd, in, sizeof(in), 0);

        if (got <= 0) {
                end_connection(fleet, node);
        } else if (!ends_with(in, (size_t)got, "\r\n\r\n") || node->due_mono_ms) {
                (void)fprintf(stderr, "a request in pieces, or before the last one's reply\n");
                exit(1);
        } else if (node->reply_ms == 0) {
                reply(fleet, node);
        } else {
                node->due_mono_ms = clock_mono_ms() + node->reply_ms;
                mem_grow(&fleet->waiting, fleet->waiting_len, &fleet->waiting_cap);
                fleet->waiting[fleet->waiting_len++] = node->fd;
        }
}

static void reply_to_waiting(struct fleet *fleet) {
        int64_t now_mono_ms = clock_mono_ms();

        for (size_t i = 0; i < fleet->waiting_len;) {
                struct node *node = &fleet->nodes[fleet->waiting[i]];
                if (node->due_mono_ms > now_mono_ms) {
                        i++;
                        continue;
                }
                forget_reply(fleet, i);
                reply(fleet, node);
        }
}

static unsigned start_listening(struct fleet *fleet) {
        struct epoll_event wish = {.events = EPOLLIN};
        unsigned port = 0;

        fleet->listen_fd = wish.data.fd = bench_listen(true, &port);
        fleet->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
        if (fleet->epoll_fd < 0 ||
            epoll_ctl(fleet->epoll_fd, EPOLL_CTL_ADD, fleet->listen_fd, &wish) < 0)
                bench_die("epoll");
        return port;
}

int main(int argc, char **argv) {
        static struct fleet fleet;
        struct epoll_event events[256];
        struct rlimit limit = {0};
        uint64_t reply_ms = 0;

        if (argc < 2 || argc > 3 ||
            (argc == 3 &&
             (!number_parse_u64(argv[2], strlen(argv[2]), &reply_ms) || reply_ms > REPLY_MAX_MS))) {
                (void)fprintf(stderr, "usage: exporter_fleet PAGE [REPLY_MS]\n");
                return 2;
        }
        (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
        (void)getrlimit(RLIMIT_NOFILE, &limit);
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
        fleet.reply_ms = (unsigned)reply_ms;
        read_page(&fleet, argv[1]);
        (void)printf("port=%u page_bytes=%zu\n", start_listening(&fleet), fleet.page.len);
        (void)fflush(stdout);
        for (;;) {
                int count = epoll_wait(fleet.epoll_fd, events, ARRAY_LEN(events),
                                       fleet.waiting_len > 0 ? 1 : -1);
                for (int i = 0; i < count; i++) {
                        int fd = events[i].data.fd;
                        if (fd == fleet.listen_fd)
                                take_connection(&fleet);
                        else
                                take_request(&fleet, &fleet.nodes[fd]);
                }
                reply_to_waiting(&fleet);
        }
}
