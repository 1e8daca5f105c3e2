/* Nodes in few words, and what a policy makes of them: for tables of who must win. */
#pragma once

#include "tests/unit/fixture/test.h"

#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "codec/json.h"
#include "extender/answer/answer.h"
#include "tests/put_node.h"

#define JUDGED_NOW INT64_C(1784800000000) /* 2026-07-23T09:46:40Z */

/* Each has 10 cores and 100 GiB. */
struct judged_node {
        const char *name;
        /* "cpu=0.5 -disk=0.1 node_hot_value=2": means of 5 minutes, if nothing else is said; what
         * has a '-' is two hours old */
        const char *readings;
        const char *labels; /* "a=b c=d"; NULL: none */
};

struct judged {
        struct node_table *table;
        struct node_snapshot *snapshot;
        struct buf body;
        struct request request; /* of it */
        struct answer answer;
        int64_t mono_ms;
};

/* @policy: owned by it from here on */
static inline void judged_init(struct judged *judged, struct policy *policy) {
        *judged = (struct judged){
                .body = BUF_INIT(1 << 20),
                .table = node_table_new(&(struct node_table_options){.annotation_prefix = ""},
                                        policy, JUDGED_NOW)};
}

static inline void judged_done(struct judged *judged) {
        request_done(&judged->request);
        answer_done(&judged->answer);
        if (judged->snapshot)
                node_snapshot_unref(judged->snapshot);
        node_table_free(judged->table);
        buf_done(&judged->body);
}

static inline json_t *judged_words(const char *text, bool are_readings) {
        _cleanup_(freep) char *words = xmemdup0(text, strlen(text));
        json_t *object = json_object();
        char *rest = words, *word;

        while ((word = strtok_r(rest, " ", &rest))) {
                char *value = strchr(word, '=');
                assert_non_null(value);
                *value++ = '\0';
                bool is_old = *word == '-';
                bool is_metric = strstr(word, "_usage_") || strstr(word, "_value");
                _cleanup_(freep) char *key = xasprintf(
                        are_readings && !is_metric ? "%s_usage_avg_5m" : "%s", word + is_old);
                _cleanup_(freep) char *said = xasprintf(
                        are_readings ? "%s,2026-07-23T0%d:46:40Z" : "%s", value, is_old ? 7 : 9);
                (void)json_object_set_new(object, key, json_string(said));
        }
        return object;
}

static inline void judged_put_with(struct judged *judged, const struct judged_node *node,
                                   const json_t *capacity) {
        json_auto_t *readings = judged_words(node->readings, true);
        json_auto_t *labels = judged_words(node->labels ? node->labels : "", false);

        put_node_parts(judged->table, node->name, readings, labels, capacity, JUDGED_NOW);
}

static inline void judged_put(struct judged *judged, const struct judged_node *node) {
        json_auto_t *capacity = json_pack("{s:s, s:s}", "cpu", "10", "memory", "100Gi");

        judged_put_with(judged, node, capacity);
}

/* A request about @nodes, which end with one without a name, for a pod that requests @cores and
 * 1 GiB. */
static inline void judged_ask(struct judged *judged, const struct judged_node *nodes, double cores,
                              int pod) {
        struct buf *body = &judged->body;

        buf_clear(body);
        (void)buf_printf(body,
                         "{\"Pod\":{\"metadata\":{\"namespace\":\"d\",\"uid\":\"%d\"},\"spec\":{"
                         "\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"%g\","
                         "\"memory\":\"1Gi\"}}}]}},\"NodeNames\":[",
                         pod, cores);
        for (size_t i = 0; nodes[i].name; i++)
                (void)buf_printf(body, "%s\"%s\"", i ? "," : "", nodes[i].name);
        (void)buf_puts(body, "]}");
        if (judged->snapshot)
                node_snapshot_unref(judged->snapshot);
        node_table_publish(judged->table, JUDGED_NOW);
        judged->snapshot = node_table_acquire(judged->table);
        request_reset(&judged->request);
        assert_int_equal(
                request_parse(&judged->request, body->data, body->len, REQUEST_MAX_NODES, NULL), 0);
}

/* Points are the judge's after that. */
static inline void judged_score(struct judged *judged, const struct judged_node *nodes,
                                double cores, int pod) {
        judged_ask(judged, nodes, cores, pod);
        answer_score(&judged->answer, judged->snapshot, &judged->request, JUDGED_NOW,
                     judged->mono_ms);
}
