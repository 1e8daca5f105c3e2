/*
 * What a request costs inside the extender: reading it by skimming against jansson, and the whole
 * way of a filter call from body to reply, with and without a shortlist, for 5,000 and 500 names
 * and for 500 whole Node objects.
 *
 *     bench_extender                 measure
 *     bench_extender --write DIR     write the request bodies there, for a peer to be sent the same
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/timestamp.h"
#include "codec/json.h"
#include "extender/answer/reply.h"
#include "extender/answer/request.h"
#include "extender/table/node_table.h"
#include "tests/bench/request_body.h"
#include "tests/crane_policy.h"

enum { NODES = 5000, ROUNDS = 15, ROUND_NS = 20000000, BODY_MAX_BYTES = 64 << 20 };

/* ---- The table: random loads, one node in twenty above a limit. */

static struct node_table *make_table(int64_t now_unix_ms) {
        static const char *const zones[] = {"eu-central-1a", "eu-central-1b", "eu-central-1c"};
        struct policy *policy = crane_policy();
        char name[64], stamp[TIMESTAMP_MAX], value[64];

        policy->shortlist = SHORTLIST_AUTO_PLACES;
        struct node_table *table = node_table_new(
                &(struct node_table_options){.annotation_prefix = ""}, policy, now_unix_ms);
        timestamp_format_s(now_unix_ms, stamp, sizeof(stamp));
        for (size_t i = 0; i < NODES; i++) {
                json_auto_t *annotations = json_object();
                bool is_full = bench_random() % 20 == 0;
                for (size_t m = 0; m < policy->metric_count; m++) {
                        double usage = is_full ? 0.9 : (double)(bench_random() % 6000) / 10000;
                        (void)snprintf(value, sizeof(value), "%.5f,%s", usage, stamp);
                        (void)json_object_set_new(annotations, policy->metrics[m].name,
                                                  json_string(value));
                }
                request_node_name(i, name);
                json_auto_t *labels = json_pack("{s:s}", "topology.kubernetes.io/zone",
                                                zones[i % ARRAY_LEN(zones)]);
                node_table_put(table,
                               &(struct node_update){
                                       .name = name, .annotations = annotations, .labels = labels},
                               now_unix_ms);
        }
        node_table_publish(table, now_unix_ms);
        return table;
}

/* ---- What is measured; each returns something of its work. */

static struct request request;
static struct answer answer;
static struct reply reply;
static struct node_snapshot *snapshot;
static int64_t now_unix_ms;

static size_t parse_jansson(const char *body, size_t len) {
        json_auto_t *root = json_loadb(body, len, 0, NULL);

        return json_object_size(root);
}

static size_t parse_skim(const char *body, size_t len) {
        request_reset(&request);
        return request_parse(&request, body, len, NULL) == 0 ? request.count : 0;
}

static size_t filter(const char *body, size_t len) {
        request_reset(&request);
        if (request_parse(&request, body, len, NULL) < 0)
                return 0;
        answer_filter(&answer, snapshot, &request, now_unix_ms);
        return reply_filter(&reply, &answer) ? reply.bytes : 0;
}

static size_t filter_shortlist(const char *body, size_t len) {
        request_reset(&request);
        if (request_parse(&request, body, len, NULL) < 0)
                return 0;
        answer_filter(&answer, snapshot, &request, now_unix_ms);
        answer_shortlist(&answer, 0);
        return reply_filter(&reply, &answer) ? reply.bytes : 0;
}

static const struct {
        const char *name;
        size_t (*run)(const char *body, size_t len);
} kinds[] = {
        {"parse: jansson", parse_jansson},
        {"parse: skim", parse_skim},
        {"filter, body to reply", filter},
        {"filter, shortlist", filter_shortlist},
};

enum { KIND_JANSSON };

static double time_once(size_t kind, const struct buf *body, size_t repetitions) {
        static volatile size_t sink;
        double begin_us = bench_cpu_us();

        for (size_t i = 0; i < repetitions; i++)
                sink = sink + kinds[kind].run(body->data, body->len);
        return (bench_cpu_us() - begin_us) / (double)repetitions;
}

static void measure(const char *name, const struct buf *body, size_t count) {
        double us[ARRAY_LEN(kinds)][ROUNDS];

        for (size_t round = 0; round < ROUNDS; round++)
                for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
                        double once = time_once(k, body, 1);
                        us[k][round] = time_once(k, body, 1 + (size_t)(ROUND_NS / 1e3 / once / 4));
                }
        for (size_t k = 0; k < ARRAY_LEN(kinds); k++)
                qsort(us[k], ROUNDS, sizeof(us[k][0]), bench_compare);
        (void)printf("%s, %.1f kB, CPU time, median of %d\n", name, (double)body->len / 1e3,
                     ROUNDS);
        for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
                double median = us[k][ROUNDS / 2];
                (void)printf("  %-24s %9.1f us %8.0f MB/s %8.1f ns/node  %7.1f times as fast as "
                             "jansson's parse\n",
                             kinds[k].name, median, (double)body->len / median,
                             median * 1e3 / (double)count, us[KIND_JANSSON][ROUNDS / 2] / median);
        }
        (void)printf("  the whole list's reply has %zu bytes, the shortlist's %zu\n",
                     filter(body->data, body->len), filter_shortlist(body->data, body->len));
}

int main(int argc, char **argv) {
        static const struct {
                const char *name;
                size_t count;
                bool has_nodes;
                bool is_for_peers; /* too large for jansson's patience: only written */
        } shapes[] = {
                {"names-5000", NODES, false, false},
                {"names-500", 500, false, false},
                {"nodes-500", 500, true, false},
                {"nodes-5000", NODES, true, true},
        };

        now_unix_ms = clock_wall_unix_ms();
        struct node_table *table = make_table(now_unix_ms);
        snapshot = node_table_acquire(table);
        reply_init(&reply);
        for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
                struct buf body = BUF_INIT(BODY_MAX_BYTES);
                request_put(&body, shapes[i].count, shapes[i].has_nodes);
                if (argc == 3 && strcmp(argv[1], "--write") == 0)
                        bench_write(argv[2], shapes[i].name, body.data, body.len);
                else if (!shapes[i].is_for_peers)
                        measure(shapes[i].name, &body, shapes[i].count);
                buf_done(&body);
        }
        node_snapshot_unref(snapshot);
        node_table_free(table);
        request_done(&request);
        answer_done(&answer);
        reply_done(&reply);
        return 0;
}
