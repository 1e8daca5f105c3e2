/*
 * Whatever the policy, the pod and the nodes: what is explained is what the extender answers, and
 * so is what is explained of the same nodes in a request. One table is explained; of another, with
 * the same nodes and pods, the extender is asked as the scheduler asks it: filter with all nodes,
 * prioritize with those that pass.
 */
#include "tests/unit/fixture/test.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "codec/json.h"
#include "extender/answer/answer.h"
#include "extender/explain/explanation.h"
#include "extender/table/node_table.h"
#include "tests/unit/fixture/draw.h"
#include "tests/unit/fixture/full_size.h"

#define NOW INT64_C(1784800000000) /* 2026-07-23T09:46:40Z */

enum { NODES_MAX = 24, PODS_MAX = 12, TEXT_MAX_BYTES = 1 << 20 };

static bool chance(unsigned percent) {
        return draw_below(100) < percent;
}

static const char *pick(const char *const *texts, unsigned count) {
        return texts[draw_below(count)];
}

static const char *const metrics[] = {"cpu_usage_avg_5m", "mem_usage_avg_5m", "disk_usage_avg_5m",
                                      "cpu_usage_max_avg_1h"};
static const char *const labels[] = {"\"tier\":\"batch\"", "\"tier\":\"web\"",
                                     "\"disk\":\"ssd\",\"tier\":\"web\"", ""};

/* ---- A policy. */

static void put_predicates(struct buf *out, const char *key, bool may_be_empty) {
        unsigned count = draw_below(4) + !may_be_empty;

        (void)buf_printf(out, "%s: [", key);
        for (unsigned i = 0; i < count && i < ARRAY_LEN(metrics); i++)
                (void)buf_printf(out, "%s{name: %s, maxLimitPecent: 0.%02u%s}", i ? ", " : "",
                                 metrics[i], 30 + draw_below(65),
                                 chance(30) ? ", overLimit: last" : "");
        (void)buf_puts(out, "]\n");
}

static void put_priorities(struct buf *out) {
        unsigned count = 1 + draw_below(ARRAY_LEN(metrics)), from = draw_below(ARRAY_LEN(metrics));

        (void)buf_puts(out, "priority: [");
        for (unsigned i = 0; i < count; i++) {
                (void)buf_printf(out, "%s{name: %s, weight: %u", i ? ", " : "",
                                 metrics[(from + i) % ARRAY_LEN(metrics)],
                                 i == 0 ? 1 + draw_below(3) : draw_below(4));
                if (chance(20))
                        (void)buf_printf(out, ", target: 0.%02u", 20 + draw_below(60));
                else if (chance(15))
                        (void)buf_puts(out, ", scale: relative");
                (void)buf_putc(out, '}');
        }
        (void)buf_puts(out, "]\n");
}

static void put_rules(struct buf *out) {
        static const char *const matches[] = {
                "namespaces: [shop, ops-*]",
                "labels: {tier: batch}",
                "priorityBelow: 100, labels: {tier: web}",
                "priorityClass: soft",
        };
        unsigned count = 1 + draw_below(3);

        (void)buf_puts(out, "  rules:\n");
        for (unsigned i = 0; i < count; i++) {
                (void)buf_printf(out, "  - match: {%s}\n", pick(matches, ARRAY_LEN(matches)));
                if (chance(30)) {
                        (void)buf_puts(out, "    exempt: true\n");
                        continue;
                }
                (void)buf_puts(out, "    ");
                put_predicates(out, "limits", false);
        }
}

static char *any_policy(void) {
        static const char *const scorings[] = {"absolute", "spread", "estimate", "estimate"};
        static const char *const when_all_over[] = {"", ", whenAllOver: pass",
                                                    ", whenAllOver: reject"};
        struct buf out = BUF_INIT(TEXT_MAX_BYTES);

        (void)buf_puts(&out, "apiVersion: " POLICY_API_VERSION "\nkind: DynamicSchedulerPolicy\n"
                             "spec:\n  syncPolicy:\n");
        for (size_t i = 0; i < ARRAY_LEN(metrics); i++)
                (void)buf_printf(&out, "  - {name: %s, period: 3m}\n", metrics[i]);
        (void)buf_puts(&out, "  ");
        put_predicates(&out, "predicate", true);
        (void)buf_puts(&out, "  ");
        put_priorities(&out);
        if (chance(50)) {
                (void)buf_puts(&out, "  pools:\n  - nodeSelector: {disk: ssd}\n    ");
                put_predicates(&out, "predicate", true);
                (void)buf_puts(&out, "    ");
                put_priorities(&out);
        }
        if (chance(60))
                put_rules(&out);
        (void)buf_printf(&out, "  extender: {scoring: %s%s}\n", pick(scorings, ARRAY_LEN(scorings)),
                         pick(when_all_over, ARRAY_LEN(when_all_over)));
        return buf_take(&out);
}

/* ---- A cluster. */

static json_t *any_node(unsigned number) {
        json_t *annotations = json_object();

        for (size_t i = 0; i < ARRAY_LEN(metrics); i++) {
                _cleanup_(freep) char *text = xasprintf("0.%03u,2026-07-23T0%d:46:10Z",
                                                        draw_below(1000), chance(8) ? 8 : 9);
                if (!chance(10))
                        (void)json_object_set_new(annotations, metrics[i], json_string(text));
        }
        _cleanup_(freep) char *hot = xasprintf("%u,2026-07-23T09:46:10Z", draw_below(4));
        if (chance(30))
                (void)json_object_set_new(annotations, "node_hot_value", json_string(hot));
        _cleanup_(freep) char *text = xasprintf(
                "{\"metadata\":{\"name\":\"n%u\",\"labels\":{%s}},\"status\":{\"capacity\":{%s}}}",
                number, pick(labels, ARRAY_LEN(labels)),
                chance(90) ? "\"cpu\":\"16\",\"memory\":\"64Gi\"" : "");
        json_t *node = json_loads(text, 0, NULL);
        (void)json_object_set_new(json_object_get(node, "metadata"), "annotations", annotations);
        return node;
}

/* @node: where it runs; "": it is looking for one */
static json_t *any_pod(const char *name, const char *node) {
        static const char *const namespaces[] = {"shop", "ops-1", "kube-system"};
        static const char *const owners[] = {"ReplicaSet", "StatefulSet", "DaemonSet", "Job"};
        static const char *const specs[] = {"", ",\"priority\":7", ",\"priority\":100",
                                            ",\"priorityClassName\":\"soft\""};
        _cleanup_(freep) char *text = xasprintf(
                "{\"kind\":\"Pod\",\"metadata\":{\"namespace\":\"%s\",\"name\":\"%s\",\"uid\":"
                "\"u-%s\",\"labels\":{%s},\"ownerReferences\":[{\"kind\":\"%s\",\"name\":\"o\","
                "\"controller\":true}]},\"spec\":{\"nodeName\":\"%s\",\"containers\":[{"
                "\"resources\":{\"requests\":{\"cpu\":\"%um\",\"memory\":\"%uMi\"}}}]%s},"
                "\"status\":{\"phase\":\"Running\",\"conditions\":[{\"type\":\"PodScheduled\","
                "\"status\":\"True\",\"lastTransitionTime\":\"2026-07-23T09:%02u:00Z\"}]}}",
                pick(namespaces, ARRAY_LEN(namespaces)), name, name,
                pick(labels, ARRAY_LEN(labels)), pick(owners, ARRAY_LEN(owners)), node,
                draw_below(4000), draw_below(8000), pick(specs, ARRAY_LEN(specs)), draw_below(46));

        return json_loads(text, 0, NULL);
}

struct cluster {
        char *policy;
        json_t *nodes[NODES_MAX], *pods[PODS_MAX], *pod;
        size_t node_count, pod_count;
};

static struct cluster any_cluster(void) {
        struct cluster cluster = {.policy = any_policy(),
                                  .node_count = 1 + draw_below(NODES_MAX - 1),
                                  .pod_count = draw_below(PODS_MAX)};

        for (unsigned i = 0; i < cluster.node_count; i++)
                cluster.nodes[i] = any_node(i);
        for (unsigned i = 0; i < cluster.pod_count; i++) {
                _cleanup_(freep) char *name = xasprintf("p%u", i);
                _cleanup_(freep) char *node = xasprintf("n%u",
                                                        draw_below((unsigned)cluster.node_count));
                cluster.pods[i] = any_pod(name, node);
        }
        cluster.pod = any_pod("looking", "");
        return cluster;
}

static void cluster_done(struct cluster *cluster) {
        for (size_t i = 0; i < cluster->node_count; i++)
                json_decref(cluster->nodes[i]);
        for (size_t i = 0; i < cluster->pod_count; i++)
                json_decref(cluster->pods[i]);
        json_decref(cluster->pod);
        free(cluster->policy);
}

static void bind(struct node_table *table, const json_t *pod) {
        struct estimator *estimator = node_table_estimator(table);
        _cleanup_(freep) char *text = json_dumps(pod, JSON_COMPACT);
        struct pod_facts facts;

        assert_true(pod_facts_skim(&facts, text, strlen(text)));
        if (estimator)
                estimator_bind(estimator, &facts);
}

/* @like: has the policy and the pods; NULL: none */
static struct node_table *table_of(const struct cluster *cluster,
                                   const struct node_snapshot *like) {
        struct policy *policy = NULL;
        struct error err = ERROR_NULL;

        if (!like &&
            policy_parse(cluster->policy, strlen(cluster->policy), true, &policy, &err) < 0)
                fail_msg("%s\n%s", err.msg, cluster->policy);
        struct node_table *table = node_table_new(
                &(struct node_table_options){.annotation_prefix = "", .like = like}, policy, NOW);
        for (size_t i = 0; !like && i < cluster->pod_count; i++)
                bind(table, cluster->pods[i]);
        for (size_t i = 0; i < cluster->node_count; i++)
                assert_true(node_table_put(table, cluster->nodes[i], NOW));
        if (!like)
                estimator_list_ended(node_table_estimator(table), NOW, NOW);
        node_table_publish(table, NOW);
        return table;
}

/* ---- */

struct asked {
        struct node_table *table;
        struct node_snapshot *snapshot;
        struct request request;
        struct answer answer;
        char *body;
};

static void asked_init(struct asked *asked, const struct cluster *cluster) {
        *asked = (struct asked){.table = table_of(cluster, NULL)};
        node_table_publish(asked->table, NOW);
        asked->snapshot = node_table_acquire(asked->table);
}

static void asked_done(struct asked *asked) {
        request_done(&asked->request);
        answer_done(&asked->answer);
        node_snapshot_unref(asked->snapshot);
        node_table_free(asked->table);
        free(asked->body);
}

/* @rejected_by: those that it rejects are no candidates; NULL: all are */
static void parse(struct asked *asked, const struct cluster *cluster, const int *rejected_by) {
        _cleanup_(freep) char *pod = json_dumps(cluster->pod, JSON_COMPACT);
        struct buf body = BUF_INIT(TEXT_MAX_BYTES);
        const char *comma = "";

        (void)buf_printf(&body, "{\"Pod\":%s,\"NodeNames\":[", pod);
        for (size_t i = 0; i < cluster->node_count; i++)
                if (!rejected_by || rejected_by[i] < 0) {
                        (void)buf_printf(&body, "%s\"n%zu\"", comma, i);
                        comma = ",";
                }
        (void)buf_puts(&body, "]}");
        free(asked->body);
        asked->body = buf_take(&body);
        request_reset(&asked->request);
        assert_int_equal(request_parse(&asked->request, asked->body, strlen(asked->body),
                                       REQUEST_MAX_NODES, NULL),
                         0);
}

static void check(const struct cluster *cluster, const struct explanation *explanation,
                  struct asked *asked) {
        const struct judge *judge = &asked->answer.judge;
        int rejected_by[NODES_MAX];

        parse(asked, cluster, NULL);
        answer_filter(&asked->answer, asked->snapshot, &asked->request, NOW);
        for (size_t i = 0; i < cluster->node_count; i++) {
                rejected_by[i] = judge->filtered.rejected_by[i];
                if (explanation->rejected_by[i] != rejected_by[i])
                        fail_msg("n%zu: explained as %d, answered %d\n%s", i,
                                 explanation->rejected_by[i], rejected_by[i], cluster->policy);
        }
        parse(asked, cluster, rejected_by);
        answer_score(&asked->answer, asked->snapshot, &asked->request, NOW, 0);
        for (size_t i = 0, asked_about = 0; i < cluster->node_count; i++) {
                int points = rejected_by[i] < 0 ? judge->scored.points[asked_about++] : -1;
                if (explanation_score(explanation, i) != points)
                        fail_msg("n%zu: explained as %d, scored %d\n%s", i,
                                 explanation_score(explanation, i), points, cluster->policy);
        }
}

/* A node that is rejected has a limit that rejects it, and no other node has one: also where the
 * limit is the rule's, where none applies to the pod, and where all nodes are over one. */
static void check_limits(const struct cluster *cluster, const struct explanation *explanation) {
        for (size_t i = 0; i < cluster->node_count; i++) {
                struct buf text = BUF_INIT(TEXT_MAX_BYTES);
                explanation_json_node(explanation, i, true, &text);
                json_auto_t *node = json_loadb(text.data, text.len, 0, NULL);
                const char *by = json_string_at(node, "rejectedBy", NULL);
                const json_t *limits = json_at(node, "predicates", NULL);
                bool has_its = false, has_any = false;
                for (size_t k = 0; k < json_array_size(limits); k++) {
                        const json_t *limit = json_array_get(limits, k);
                        bool rejects = json_is_true(json_at(limit, "rejects", NULL));
                        has_any |= rejects;
                        has_its |= rejects && by && json_is_at(by, limit, "metric", NULL);
                }
                if (has_any != (explanation->rejected_by[i] >= 0) || has_its != has_any)
                        fail_msg("n%zu: rejected by %d\n%s", i, explanation->rejected_by[i],
                                 cluster->policy);
                buf_done(&text);
        }
}

/* The same nodes as they come with a request. */
static void check_copy(const struct cluster *cluster, const struct explanation *explanation) {
        struct node_table *table = table_of(cluster, explanation->snapshot);
        struct node_snapshot *snapshot = node_table_acquire(table);
        struct explanation copy;

        explanation_init(&copy, snapshot, explanation->pod, NOW, 0);
        for (size_t i = 0; i < cluster->node_count; i++)
                if (copy.rejected_by[i] != explanation->rejected_by[i] ||
                    explanation_score(&copy, i) != explanation_score(explanation, i))
                        fail_msg("n%zu: %d is not %d\n%s", i, explanation_score(&copy, i),
                                 explanation_score(explanation, i), cluster->policy);
        explanation_done(&copy);
        node_snapshot_unref(snapshot);
        node_table_free(table);
}

TEST(as_answered) {
        int count = full_size(20000, 400);
        size_t rejected = 0, last = 0, ruled = 0;

        for (int i = 0; i < count; i++) {
                draw_seed = (uint64_t)i + 1;
                struct cluster cluster = any_cluster();
                _cleanup_(freep) char *text = json_dumps(cluster.pod, JSON_COMPACT);
                struct explanation explanation;
                struct pod_facts pod;
                struct asked asked;
                struct node_table *table = table_of(&cluster, NULL);
                struct node_snapshot *snapshot = node_table_acquire(table);
                assert_true(pod_facts_skim(&pod, text, strlen(text)));
                explanation_init(&explanation, snapshot, &pod, NOW, 0);
                asked_init(&asked, &cluster);
                check(&cluster, &explanation, &asked);
                check_limits(&cluster, &explanation);
                check_copy(&cluster, &explanation);
                rejected += explanation.rejected_by[0] >= 0;
                last += explanation.judge.scored.has_last;
                ruled += explanation.judge.question.rule != NULL;
                asked_done(&asked);
                explanation_done(&explanation);
                node_snapshot_unref(snapshot);
                node_table_free(table);
                cluster_done(&cluster);
        }
        /* The cases that are to agree do occur. */
        assert_true(rejected > (size_t)count / 20);
        assert_true(last > (size_t)count / 20);
        assert_true(ruled > (size_t)count / 20);
}
