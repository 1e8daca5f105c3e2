/*
 * A stand-in for an API server with very many nodes: lists and watches of them, in pages and in
 * JSON, merge patches of their annotations, which come back as events, and empty lists of anything
 * called pods; everything else is 404. tests/integration/standin checks what it is asked, knows the
 * rest of the API, and is too slow for this.
 *
 * Usage: node_api NODES HEARTBEAT_S KUBELET_PORT [PODS]
 *
 * Each node has PODS pods, of 10,000 workloads in all; kubelet_fleet.py knows their names.
 *
 * Node 0 is "node-000000" at 127.1.0.0, which exporter_fleet answers for. Every HEARTBEAT_S seconds
 * (0: never) each node has an event without a change, as of a kubelet that reports its status.
 * Prints "port=N" when it is ready. GET /stats tells how many patches came, how many nodes have
 * annotations, and how old their cpu_usage_avg_5m is.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/timestamp.h"
#include "tests/bench/bench.h"

enum {
        NODES_MAX = 1000000,
        PERIOD_MAX_S = 86400,
        CONNECTIONS_MAX = 1024,
        TEXT_MAX_BYTES = 1 << 30,
        PAGE_LIMIT = 500, /* unless asked for less */
        NAMESPACES = 333, /* 30 pods a node are of 9,990 workloads */
        IMAGES = 10,
};

struct node {
        uint64_t version;
        char *annotations; /* "key":"value",... */
};

struct connection {
        int fd;
        struct buf in, out;
        size_t sent; /* of out */
        bool is_metadata, is_watch;
};

static struct {
        int epoll_fd, listen_fd;
        struct node *nodes;
        size_t node_count;
        uint64_t kubelet_port, pods_per_node, version, patches;
        struct connection *connections[CONNECTIONS_MAX]; /* by descriptor */
        struct buf images, body, object;
} api;

/* Objects */

static void put_node(struct buf *out, size_t index, bool is_metadata) {
        const struct node *node = &api.nodes[index];

        (void)buf_printf(
                out,
                "{\"kind\":\"%s\",\"apiVersion\":\"%s\",\"metadata\":{\"name\":\"node-%06zu"
                "\",\"uid\":\"6f0c7b0e-3a5d-4b1c-9d53-%012zx\",\"resourceVersion\":\"%llu"
                "\",\"labels\":{\"kubernetes.io/hostname\":\"node-%06zu\",\"kubernetes.io/"
                "os\":\"linux\",\"topology.kubernetes.io/zone\":\"zone-%zu\"},"
                "\"annotations\":{%s}}",
                is_metadata ? "PartialObjectMetadata" : "Node",
                is_metadata ? "meta.k8s.io/v1" : "v1", index, index,
                (unsigned long long)node->version, index, index % 3,
                node->annotations ? node->annotations : "");
        if (!is_metadata)
                (void)buf_printf(out,
                                 ",\"spec\":{\"podCIDR\":\"10.244.1.0/24\"},\"status\":{\"capacity"
                                 "\":{\"cpu\":\"8\",\"memory\":\"33554432Ki\",\"pods\":\"110\"},"
                                 "\"allocatable\":{\"cpu\":\"7900m\",\"memory\":\"32Gi\",\"pods\":"
                                 "\"110\"},\"addresses\":[{\"type\":\"InternalIP\",\"address\":"
                                 "\"127.%zu.%zu.%zu\"}],\"daemonEndpoints\":{"
                                 "\"kubeletEndpoint\":{\"Port\":%llu}},\"images\":[%s]}",
                                 1 + index / 65536, index / 256 % 256, index % 256,
                                 (unsigned long long)api.kubelet_port, api.images.data);
        (void)buf_putc(out, '}');
}

static void make_images(void) {
        api.images = BUF_INIT(1 << 20);
        for (int i = 0; i < IMAGES; i++)
                (void)buf_printf(&api.images,
                                 "%s{\"names\":[\"registry.example.com/team/app-%d@sha256:%064d\","
                                 "\"registry.example.com/team/app-%d:v1\"],\"sizeBytes\":52428800}",
                                 i ? "," : "", i, i, i);
}

/* Connections */

static void wish(struct connection *connection, int how) {
        struct epoll_event event = {.data.fd = connection->fd};

        event.events = EPOLLIN | (connection->out.len > 0 ? (uint32_t)EPOLLOUT : 0);
        if (epoll_ctl(api.epoll_fd, how, connection->fd, &event) < 0)
                bench_die("epoll_ctl");
}

static void end_connection(struct connection *connection) {
        api.connections[connection->fd] = NULL;
        close(connection->fd);
        buf_done(&connection->in);
        buf_done(&connection->out);
        free(connection);
}

static void flush(struct connection *connection) {
        struct buf *out = &connection->out;

        while (connection->sent < out->len) {
                ssize_t n = send(connection->fd, out->data + connection->sent,
                                 out->len - connection->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
                if (n <= 0)
                        break; /* it is slow, or gone: then its end is an event */
                connection->sent += (size_t)n;
        }
        if (connection->sent == out->len) {
                buf_clear(out);
                connection->sent = 0;
        }
        wish(connection, EPOLL_CTL_MOD);
}

static void reply(struct connection *connection, int status, const struct buf *body) {
        (void)buf_printf(&connection->out,
                         "HTTP/1.1 %d X\r\nContent-Type: application/json\r\nContent-Length: %zu"
                         "\r\n\r\n",
                         status, body->len);
        (void)buf_append(&connection->out, body->data, body->len);
        flush(connection);
}

static void reply_text(struct connection *connection, int status, const char *text) {
        buf_clear(&api.body);
        (void)buf_puts(&api.body, text);
        reply(connection, status, &api.body);
}

/* Watches */

static void put_event(struct connection *watcher, size_t index) {
        buf_clear(&api.object);
        (void)buf_puts(&api.object, "{\"type\":\"MODIFIED\",\"object\":");
        put_node(&api.object, index, watcher->is_metadata);
        (void)buf_puts(&api.object, "}\n");
        (void)buf_printf(&watcher->out, "%zx\r\n", api.object.len);
        (void)buf_append(&watcher->out, api.object.data, api.object.len);
        (void)buf_puts(&watcher->out, "\r\n");
}

static void node_changed(size_t index) {
        api.nodes[index].version = ++api.version;
        for (size_t fd = 0; fd < CONNECTIONS_MAX; fd++)
                if (api.connections[fd] && api.connections[fd]->is_watch)
                        put_event(api.connections[fd], index);
}

static void flush_watches(void) {
        for (size_t fd = 0; fd < CONNECTIONS_MAX; fd++)
                if (api.connections[fd] && api.connections[fd]->is_watch)
                        flush(api.connections[fd]);
}

static void beat(double per_s) {
        static int64_t last_ns;
        static double due;
        static size_t next;
        int64_t now_ns = clock_mono_ns();

        due += last_ns ? (double)(now_ns - last_ns) / 1e9 * per_s : 0;
        last_ns = now_ns;
        while (due >= 1) {
                node_changed(next++ % api.node_count);
                due -= 1;
        }
}

/* Requests */

static uint64_t query_number(const char *target, const char *name, uint64_t fallback) {
        const char *at = strstr(target, name);
        uint64_t value = fallback;

        if (at && number_parse_u64(at + strlen(name), strcspn(at + strlen(name), "& "), &value))
                return value;
        return fallback;
}

static void start_watch(struct connection *connection, uint64_t version, bool has_nodes) {
        connection->is_watch = has_nodes;
        (void)buf_puts(&connection->out, "HTTP/1.1 200 X\r\nContent-Type: application/json\r\n"
                                         "Transfer-Encoding: chunked\r\n\r\n");
        for (size_t i = 0; has_nodes && i < api.node_count; i++)
                if (api.nodes[i].version > version)
                        put_event(connection, i);
        flush(connection);
}

static void reply_list(struct connection *connection, const char *target) {
        size_t from = query_number(target, "continue=", 0);
        size_t end = from + query_number(target, "limit=", PAGE_LIMIT);

        end = end < api.node_count ? end : api.node_count;
        buf_clear(&api.body);
        (void)buf_printf(&api.body,
                         "{\"kind\":\"NodeList\",\"apiVersion\":\"v1\",\"metadata\":{"
                         "\"resourceVersion\":\"%llu\"",
                         (unsigned long long)api.version);
        if (end < api.node_count)
                (void)buf_printf(&api.body, ",\"continue\":\"%zu\"", end);
        (void)buf_puts(&api.body, "},\"items\":[");
        for (size_t i = from; i < end; i++) {
                (void)buf_puts(&api.body, i > from ? "," : "");
                put_node(&api.body, i, connection->is_metadata);
        }
        (void)buf_puts(&api.body, "]}");
        reply(connection, 200, &api.body);
}

static void put_pod(struct buf *out, size_t index) {
        size_t node = index / api.pods_per_node, number = index % api.pods_per_node;

        (void)buf_printf(
                out,
                "{\"metadata\":{\"name\":\"pod-%zu-%zu\",\"namespace\":\"n%03zu\",\"uid\":"
                "\"%08zx-3a5d-4b1c-9d53-000000000000\",\"resourceVersion\":\"1\","
                "\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"StatefulSet\","
                "\"name\":\"w%zu\",\"controller\":true}]},\"spec\":{\"nodeName\":\"node-%06zu\","
                "\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"100m\","
                "\"memory\":\"128Mi\"}}}]},\"status\":{\"phase\":\"Running\"}}",
                node, number, node % NAMESPACES, index, number, node);
}

static void reply_pods(struct connection *connection, const char *target) {
        size_t count = api.node_count * api.pods_per_node;
        size_t from = query_number(target, "continue=", 0);
        size_t end = from + query_number(target, "limit=", PAGE_LIMIT);

        end = end < count ? end : count;
        buf_clear(&api.body);
        (void)buf_puts(&api.body, "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{"
                                  "\"resourceVersion\":\"1\"");
        if (end < count)
                (void)buf_printf(&api.body, ",\"continue\":\"%zu\"", end);
        (void)buf_puts(&api.body, "},\"items\":[");
        for (size_t i = from; i < end; i++) {
                (void)buf_puts(&api.body, i > from ? "," : "");
                put_pod(&api.body, i);
        }
        (void)buf_puts(&api.body, "]}");
        reply(connection, 200, &api.body);
}

/* Keys and values have no quotes or escapes in them. */
static void merge(struct node *node, const char *patch, size_t len) {
        struct buf text = BUF_INIT(TEXT_MAX_BYTES);
        char *old = node->annotations;

        (void)buf_append(&text, patch, len);
        for (char *at = old; at && *at;) {
                size_t key_len = (size_t)(strchr(at + 1, '"') + 2 - at); /* "key": */
                size_t pair_len = strcspn(at + key_len + 1, "\"") + key_len + 2;
                if (!memmem(patch, len, at, key_len))
                        (void)buf_printf(&text, "%s%.*s", text.len ? "," : "", (int)pair_len, at);
                at += pair_len + (at[pair_len] == ',');
        }
        free(old);
        node->annotations = buf_take(&text);
}

static void take_patch(struct connection *connection, size_t index, const char *body, size_t len) {
        static const char before[] = "\"annotations\":{";
        const char *at = memmem(body, len, before, strlen(before));
        const char *end = at ? memchr(at, '}', len - (size_t)(at - body)) : NULL;

        if (!end || index >= api.node_count) {
                reply_text(connection, 422, "{}");
                return;
        }
        at += strlen(before);
        merge(&api.nodes[index], at, (size_t)(end - at));
        api.patches++;
        node_changed(index);
        buf_clear(&api.body);
        put_node(&api.body, index, true);
        reply(connection, 200, &api.body);
}

static int compare_ages(const void *a, const void *b) {
        int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

        return x < y ? -1 : x > y;
}

static void reply_stats(struct connection *connection) {
        static const char key[] = "\"cpu_usage_avg_5m\":\"";
        _cleanup_(freep) int64_t *ages_ms = xcalloc(api.node_count, sizeof(*ages_ms));
        int64_t now_unix_ms = clock_wall_unix_ms(), at_unix_ms;
        size_t count = 0;

        for (size_t i = 0; i < api.node_count; i++) {
                const char *text = api.nodes[i].annotations;
                const char *value = text ? strstr(text, key) : NULL;
                const char *stamp = value ? strchr(value + strlen(key), ',') : NULL;
                if (stamp && timestamp_parse(stamp + 1, strcspn(stamp + 1, "\""), &at_unix_ms))
                        ages_ms[count++] = now_unix_ms - at_unix_ms;
        }
        qsort(ages_ms, count, sizeof(*ages_ms), compare_ages);
        buf_clear(&api.body);
        (void)buf_printf(
                &api.body, "{\"patches\":%llu,\"nodes\":%zu,\"p50_ms\":%lld,\"p99_ms\":%lld}",
                (unsigned long long)api.patches, count, (long long)(count ? ages_ms[count / 2] : 0),
                (long long)(count ? ages_ms[count * 99 / 100] : 0));
        reply(connection, 200, &api.body);
}

static void answer(struct connection *connection, const char *head, const char *body, size_t len) {
        static const char nodes[] = "/api/v1/nodes", pods[] = "/api/v1/pods";
        const char *target = strchr(head, ' ') + 1;
        bool is_nodes = strncmp(target, nodes, strlen(nodes)) == 0;
        uint64_t index = 0;

        connection->is_metadata = strstr(head, "PartialObjectMetadata") != NULL;
        if (strncmp(head, "PATCH ", 6) == 0) {
                const char *number = strstr(target, "/node-");
                if (!number || !number_parse_u64(number + 6, strcspn(number + 6, "? "), &index))
                        index = api.node_count;
                take_patch(connection, index, body, len);
        } else if (strncmp(target, "/stats ", 7) == 0) {
                reply_stats(connection);
        } else if (!is_nodes && strncmp(target, pods, strlen(pods)) != 0) {
                reply_text(connection, 404,
                           "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\","
                           "\"reason\":\"NotFound\",\"code\":404}");
        } else if (strstr(target, "watch=1")) {
                start_watch(connection, query_number(target, "resourceVersion=", 0), is_nodes);
        } else if (is_nodes) {
                reply_list(connection, target);
        } else {
                reply_pods(connection, target);
        }
}

static void take_requests(struct connection *connection) {
        struct buf *in = &connection->in;
        char *end;

        while (in->len > 0 && (end = memmem(in->data, in->len, "\r\n\r\n", 4)) != NULL) {
                size_t head_len = (size_t)(end + 4 - in->data);
                end[2] = '\0';
                const char *length = strcasestr(in->data, "\r\nContent-Length: ");
                size_t body_len = length ? strtoul(length + 18, NULL, 10) : 0;
                end[2] = '\r';
                if (in->len < head_len + body_len)
                        return;
                char *head = xmemdup0(in->data, head_len);
                answer(connection, head, in->data + head_len, body_len);
                free(head);
                size_t left = in->len - head_len - body_len;
                memmove(in->data, in->data + head_len + body_len, left);
                in->len = left;
        }
}

static void receive(struct connection *connection) {
        char piece[16384];
        ssize_t got = recv(connection->fd, piece, sizeof(piece), 0);

        if (got <= 0 || !buf_append(&connection->in, piece, (size_t)got))
                end_connection(connection);
        else
                take_requests(connection);
}

static void take_connection(void) {
        int fd = accept4(api.listen_fd, NULL, NULL, SOCK_CLOEXEC);

        if (fd < 0 || fd >= CONNECTIONS_MAX)
                bench_die("accept");
        struct connection *connection = xcalloc(1, sizeof(*connection));
        connection->fd = fd;
        connection->in = connection->out = BUF_INIT(TEXT_MAX_BYTES);
        api.connections[fd] = connection;
        wish(connection, EPOLL_CTL_ADD);
}

static unsigned start_listening(void) {
        struct epoll_event event = {.events = EPOLLIN};
        unsigned port = 0;

        api.listen_fd = event.data.fd = bench_listen(false, &port);
        api.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
        if (api.epoll_fd < 0 || epoll_ctl(api.epoll_fd, EPOLL_CTL_ADD, api.listen_fd, &event) < 0)
                bench_die("epoll");
        return port;
}

static void handle_event(const struct epoll_event *event) {
        int fd = event->data.fd;

        if (fd == api.listen_fd) {
                take_connection();
                return;
        }
        struct connection *connection = api.connections[fd];
        if (connection && (event->events & EPOLLOUT))
                flush(connection);
        if (connection && (event->events & ~(uint32_t)EPOLLOUT))
                receive(connection);
}

int main(int argc, char **argv) {
        struct epoll_event events[256];
        uint64_t nodes = 0, heartbeat_s = 0;

        if (argc < 4 || argc > 5 || !number_parse_u64(argv[1], strlen(argv[1]), &nodes) ||
            nodes == 0 || nodes > NODES_MAX ||
            !number_parse_u64(argv[2], strlen(argv[2]), &heartbeat_s) ||
            heartbeat_s > PERIOD_MAX_S ||
            !number_parse_u64(argv[3], strlen(argv[3]), &api.kubelet_port) ||
            (argc == 5 && !number_parse_u64(argv[4], strlen(argv[4]), &api.pods_per_node))) {
                (void)fputs("usage: node_api NODES HEARTBEAT_S KUBELET_PORT [PODS]\n", stderr);
                return 2;
        }
        (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
        api.nodes = xcalloc(nodes, sizeof(*api.nodes));
        api.node_count = nodes;
        api.version = 1;
        api.body = api.object = BUF_INIT(TEXT_MAX_BYTES);
        make_images();
        (void)printf("port=%u\n", start_listening());
        (void)fflush(stdout);
        double beats_per_s = heartbeat_s > 0 ? (double)nodes / (double)heartbeat_s : 0;
        for (;;) {
                int count = epoll_wait(api.epoll_fd, events, ARRAY_LEN(events), 100);
                for (int i = 0; i < count; i++)
                        handle_event(&events[i]);
                beat(beats_per_s);
                flush_watches();
        }
}
