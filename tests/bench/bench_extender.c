/*
 * What a request costs inside the extender: reading it by skimming against jansson, and the whole
 * way from body to reply, for 5,000 and 500 names and for 500 whole Node objects. Scores by the
 * busiest candidate (scale: relative) are worked out per request, all six terms of the policy;
 * absolute ones stand in the table.
 *
 *     bench_extender                 measure
 *     bench_extender --write DIR     write the request bodies there, for a peer to be sent the same
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/timestamp.h"
#include "codec/json.h"
#include "extender/answer/reply.h"
#include "extender/answer/request.h"
#include "extender/decisions/decision_take.h"
#include "extender/decisions/decisions.h"
#include "extender/table/node_table.h"
#include "tests/bench/request_body.h"
#include "tests/crane_policy.h"

enum { NODES = 5000, ROUNDS = 15, ROUND_NS = 20000000, BODY_MAX_BYTES = 64 << 20 };

/* ---- The table: random loads, one node in twenty above a limit. */

static struct policy *make_policy(enum policy_scale scale, enum policy_scoring scoring) {
        struct policy *policy = crane_policy();

        policy->scoring = scoring;
        policy->shortlist = SHORTLIST_AUTO_PLACES;
        for (size_t i = 0; i < policy->priority_count; i++)
                policy->priorities[i].scale = scale;
        return policy;
}

static struct node_table *make_table(int64_t now_unix_ms) {
        struct node_table *table = node_table_new(
                &(struct node_table_options){.annotation_prefix = ""},
                make_policy(POLICY_SCALE_ABSOLUTE, POLICY_SCORING_ABSOLUTE), now_unix_ms);
        const struct policy *policy = node_table_policy(table);
        static const char *const zones[] = {"eu-central-1a", "eu-central-1b", "eu-central-1c"};
        char name[64], stamp[TIMESTAMP_MAX], value[64];

        timestamp_format_s(now_unix_ms, stamp, sizeof(stamp));
        for (size_t i = 0; i < NODES; i++) {
                json_auto_t *annotations = json_object();
                bool is_full = request_random() % 20 == 0;
                for (size_t m = 0; m < policy->metric_count; m++) {
                        double usage = is_full ? 0.9 : (double)(request_random() % 6000) / 10000;
                        (void)snprintf(value, sizeof(value), "%.5f,%s", usage, stamp);
                        (void)json_object_set_new(annotations, policy->metrics[m].name,
                                                  json_string(value));
                }
                request_node_name(i, name);
                node_table_put(table, name, annotations, now_unix_ms);
                json_auto_t *labels = json_pack("{s:s}", "topology.kubernetes.io/zone",
                                                zones[i % ARRAY_LEN(zones)]);
                node_table_set_zone(table, name, labels, NULL);
        }
        node_table_publish(table, now_unix_ms);
        return table;
}

/* ---- What is measured; each returns something of its work. */

static struct request request;
static struct answer answer;
static struct reply reply;
static struct node_snapshot *snapshot, *relative_snapshot, *estimate_snapshot;
static struct decisions *decisions;
static int64_t now_unix_ms;

static size_t quotes(const char *body, size_t len) {
        size_t count = 0;

        for (const char *end = body + len; (body = memchr(body, '"', (size_t)(end - body))); body++)
                count++;
        return count;
}

static size_t parse_jansson(const char *body, size_t len) {
        json_auto_t *root = json_loadb(body, len, 0, NULL);

        return json_object_size(root);
}

static size_t parse_skim(const char *body, size_t len) {
        request_reset(&request);
        return request_skim(&request, body, len) ? request.count : 0;
}

static size_t filter(const char *body, size_t len) {
        request_reset(&request);
        if (request_parse(&request, body, len, NULL) < 0)
                return 0;
        answer_filter(&answer, snapshot, &request, NULL, now_unix_ms, 0);
        return reply_filter(&reply, &answer) ? reply.bytes : 0;
}

/* Each time for a pod that comes first. */
static size_t shortlist_from(const struct node_snapshot *from, const char *body, size_t len) {
        static struct shortlist_pods pods;
        static uint64_t pod_id;

        request_reset(&request);
        if (request_parse(&request, body, len, NULL) < 0)
                return 0;
        request.pod.id = ++pod_id;
        answer_filter(&answer, from, &request, &pods, now_unix_ms, 0);
        return reply_filter(&reply, &answer) ? reply.bytes : 0;
}

static size_t filter_shortlist(const char *body, size_t len) {
        return shortlist_from(snapshot, body, len);
}

static size_t filter_shortlist_estimate(const char *body, size_t len) {
        return shortlist_from(estimate_snapshot, body, len);
}

static size_t prioritize_from(const struct node_snapshot *from, const char *body, size_t len,
                              bool is_compact) {
        request_reset(&request);
        if (request_parse(&request, body, len, NULL) < 0)
                return 0;
        answer_score(&answer, from, &request, now_unix_ms, 0);
        return reply_prioritize(&reply, &answer, is_compact) ? reply.bytes : 0;
}

static size_t prioritize_full(const char *body, size_t len) {
        return prioritize_from(snapshot, body, len, false);
}

static size_t prioritize_compact(const char *body, size_t len) {
        return prioritize_from(snapshot, body, len, true);
}

static size_t prioritize_relative(const char *body, size_t len) {
        return prioritize_from(relative_snapshot, body, len, false);
}

static size_t prioritize_estimate(const char *body, size_t len) {
        return prioritize_from(estimate_snapshot, body, len, true);
}

/* And what is kept of the answer, for another pod each time. */
static struct decision_pod *next_pod(void) {
        static struct decision_pod pod = {.full_name = "default/web-0", .uid = "u"};

        pod.id++;
        return &pod;
}

static size_t filter_kept(const char *body, size_t len) {
        size_t bytes = filter(body, len);
        struct decision_filter kept;

        decision_take_filter(&answer, &kept);
        decisions_put_filter(decisions, next_pod(), &kept);
        return bytes;
}

static size_t prioritize_kept(const char *body, size_t len) {
        size_t bytes = prioritize_estimate(body, len);
        struct decision_ranking kept;

        decision_take_ranking(&answer, reply.score_base, &kept);
        decisions_put_ranking(decisions, next_pod(), &kept);
        return bytes;
}

static const struct {
        const char *name;
        size_t (*run)(const char *body, size_t len);
} kinds[] = {
        {"quotes alone (limit)", quotes},
        {"parse: jansson", parse_jansson},
        {"parse: skim", parse_skim},
        {"filter, body to reply", filter},
        {"filter, shortlist", filter_shortlist},
        {"filter, its estimate", filter_shortlist_estimate},
        {"prioritize, every node", prioritize_full},
        {"prioritize, compact", prioritize_compact},
        {"prioritize, relative", prioritize_relative},
        {"prioritize, estimate", prioritize_estimate},
        {"filter, kept", filter_kept},
        {"prioritize, kept", prioritize_kept},
};

enum {
        KIND_JANSSON = 1,
        KIND_FILTER = 3,
        KIND_SHORTLIST,
        KIND_SHORTLIST_ESTIMATE,
        KIND_ABSOLUTE,
        KIND_COMPACT,
        KIND_RELATIVE,
        KIND_ESTIMATE,
        KIND_FILTER_KEPT,
        KIND_ESTIMATE_KEPT
};

static int compare_times(const void *a, const void *b) {
        double x = *(const double *)a, y = *(const double *)b;
        return x < y ? -1 : x > y;
}

/* CPU time, since the machine may be busy with other things. */
static int64_t cpu_ns(void) {
        struct timespec ts = {0};

        (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
        return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static double time_once(size_t kind, const struct buf *body, size_t repetitions) {
        static volatile size_t sink;
        int64_t begin_ns = cpu_ns();

        for (size_t i = 0; i < repetitions; i++)
                sink = sink + kinds[kind].run(body->data, body->len);
        return (double)(cpu_ns() - begin_ns) / 1e3 / (double)repetitions;
}

static void measure(const char *name, const struct buf *body, size_t count) {
        double us[ARRAY_LEN(kinds)][ROUNDS];

        for (size_t round = 0; round < ROUNDS; round++)
                for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
                        double once = time_once(k, body, 1);
                        us[k][round] = time_once(k, body, 1 + (size_t)(ROUND_NS / 1e3 / once / 4));
                }
        for (size_t k = 0; k < ARRAY_LEN(kinds); k++)
                qsort(us[k], ROUNDS, sizeof(us[k][0]), compare_times);
        (void)printf("%s, %.1f kB, CPU time, median of %d\n", name, (double)body->len / 1e3,
                     ROUNDS);
        for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
                double median = us[k][ROUNDS / 2];
                (void)printf("  %-24s %9.1f us %8.0f MB/s %8.1f ns/node  %7.1f times as fast as "
                             "jansson's parse\n",
                             kinds[k].name, median, (double)body->len / median,
                             median * 1e3 / (double)count, us[KIND_JANSSON][ROUNDS / 2] / median);
        }
        (void)printf("  scale: relative takes %.2f times what scale: absolute takes\n",
                     us[KIND_RELATIVE][ROUNDS / 2] / us[KIND_ABSOLUTE][ROUNDS / 2]);
        (void)printf("  keeping the answer for /decisions: filter takes %.2f times what it takes "
                     "without, prioritize %.2f\n",
                     us[KIND_FILTER_KEPT][ROUNDS / 2] / us[KIND_FILTER][ROUNDS / 2],
                     us[KIND_ESTIMATE_KEPT][ROUNDS / 2] / us[KIND_ESTIMATE][ROUNDS / 2]);
        (void)printf("  a shortlist of %d takes %.2f times what the whole list takes, %.2f by "
                     "estimate; prioritize by estimate %.2f times what compact scores take\n"
                     "  the whole list's reply has %zu bytes, the shortlist's %zu\n",
                     SHORTLIST_AUTO_PLACES,
                     us[KIND_SHORTLIST][ROUNDS / 2] / us[KIND_FILTER][ROUNDS / 2],
                     us[KIND_SHORTLIST_ESTIMATE][ROUNDS / 2] / us[KIND_FILTER][ROUNDS / 2],
                     us[KIND_ESTIMATE][ROUNDS / 2] / us[KIND_COMPACT][ROUNDS / 2],
                     filter(body->data, body->len), filter_shortlist(body->data, body->len));
}

static void write_body(const char *directory, const char *name, const struct buf *body) {
        _cleanup_(freep) char *path = xasprintf("%s/%s", directory, name);
        FILE *file = fopen(path, "we");

        if (!file || fwrite(body->data, 1, body->len, file) != body->len || fclose(file) != 0) {
                perror(path);
                exit(1);
        }
}

int main(int argc, char **argv) {
        static size_t order[NODES], shuffled[NODES];
        static const struct {
                const char *name;
                const size_t *order;
                size_t count;
                bool has_nodes;
                bool is_for_peers; /* too large for jansson's patience: only written */
        } shapes[] = {
                {"names-5000", order, NODES, false, false},
                {"names-5000-shuffled", shuffled, NODES, false, false},
                {"names-500", order, 500, false, false},
                {"nodes-500", order, 500, true, false},
                {"nodes-5000", order, NODES, true, true},
        };

        for (size_t i = 0; i < NODES; i++)
                order[i] = shuffled[i] = i;
        now_unix_ms = clock_wall_unix_ms();
        decisions = decisions_new();
        struct node_table *table = make_table(now_unix_ms);
        snapshot = node_table_acquire(table);
        node_table_set_policy(table, make_policy(POLICY_SCALE_RELATIVE, POLICY_SCORING_ABSOLUTE),
                              now_unix_ms);
        node_table_publish(table, now_unix_ms);
        relative_snapshot = node_table_acquire(table);
        node_table_set_policy(table, make_policy(POLICY_SCALE_ABSOLUTE, POLICY_SCORING_ESTIMATE),
                              now_unix_ms);
        for (size_t i = 0; i < NODES; i++) {
                char name[64];
                request_node_name(i, name);
                json_auto_t *capacity = json_pack("{s:s, s:s}", "cpu", "16", "memory", "64Gi");
                node_table_set_capacity(table, name, capacity, now_unix_ms);
        }
        node_table_publish(table, now_unix_ms);
        estimate_snapshot = node_table_acquire(table);
        reply_init(&reply);
        for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
                struct buf body = BUF_INIT(BODY_MAX_BYTES);
                for (size_t k = NODES; k > 1; k--) {
                        size_t other = request_random() % k, keep = shuffled[k - 1];
                        shuffled[k - 1] = shuffled[other];
                        shuffled[other] = keep;
                }
                request_put(&body, shapes[i].order, shapes[i].count, shapes[i].has_nodes);
                if (argc == 3 && strcmp(argv[1], "--write") == 0)
                        write_body(argv[2], shapes[i].name, &body);
                else if (!shapes[i].is_for_peers)
                        measure(shapes[i].name, &body, shapes[i].count);
                buf_done(&body);
        }
        node_snapshot_unref(snapshot);
        node_snapshot_unref(relative_snapshot);
        node_snapshot_unref(estimate_snapshot);
        node_table_free(table);
        request_done(&request);
        answer_done(&answer);
        reply_done(&reply);
        decisions_free(decisions);
        return 0;
}
