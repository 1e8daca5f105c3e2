/* The node table: against a model that is worked out again, and under concurrent readers. */
#include "tests/unit/fixture/draw.h"
#include "tests/unit/fixture/node_words.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/timestamp.h"
#include "codec/json.h"
#include "extender/table/node_table.h"

enum { MODEL_NODES = 40, MODEL_ROUNDS = 4000 };

static const char two_metrics[] =
        "  syncPolicy: [{name: cpu_usage_avg_5m, period: 3m}, {name: my_gauge, "
        "period: 1m}]\n"
        "  predicate: [{name: my_gauge, maxLimitPecent: 0.5}]\n"
        "  priority: [{name: cpu_usage_avg_5m, weight: 1}]\n"
        "  hotValue: [{timeRange: 1m, count: 2}]\n";
static const char one_metric[] = "  syncPolicy: [{name: mem_usage_avg_5m, period: 3m}]\n"
                                 "  predicate: [{name: mem_usage_avg_5m, maxLimitPecent: 0.5}]\n"
                                 "  priority: [{name: mem_usage_avg_5m, weight: 1}]\n";

static void put(struct node_table *table, const char *name, int64_t now, const char *annotations) {
        put_node(table, &(struct node_words){name, annotations}, now);
}

static struct node_verdict verdict(struct node_table *table, const char *name, int64_t now) {
        struct node_snapshot *snapshot = node_table_acquire(table);
        uint32_t row = node_names_find(snapshot->names, name, strlen(name));

        assert_true(row < snapshot->nodes.count);
        struct node_verdict ret = judge_nodes_verdict(
                &snapshot->nodes, row, judge_nodes_are_settled(&snapshot->nodes, now), now);
        node_snapshot_unref(snapshot);
        return ret;
}

static int score(struct node_table *table, const char *name, int64_t now) {
        return verdict(table, name, now).score100;
}

/* A reading is used until it expires, whether or not anything is published in between. */
TEST(expiry) {
        struct node_table *table = table_of(two_metrics);
        int64_t expires = NOW + 480000;

        put(table, "a", NOW, "cpu_usage_avg_5m=0.25,2026-07-23T09:46:40Z");
        assert_true(node_table_is_dirty(table));
        assert_int_equal(node_table_next_change_unix_ms(table), expires);
        node_table_publish(table, NOW);
        assert_false(node_table_is_dirty(table));
        assert_int_equal(score(table, "a", NOW), 75);
        assert_int_equal(score(table, "a", expires - 1), 75);
        assert_int_equal(score(table, "a", expires), 0);
        /* published after it: the same, and valid again when the clock is set back */
        node_table_publish(table, expires);
        assert_int_equal(score(table, "a", expires), 0);
        assert_int_equal(score(table, "a", expires - 1), 75);
        assert_int_equal(node_table_next_change_unix_ms(table), INT64_MAX);
        node_table_publish(table, NOW);
        assert_int_equal(score(table, "a", NOW), 75);
        node_table_free(table);
}

/* Events that change nothing of ours make no snapshot. */
TEST(unchanged) {
        struct node_table *table = node_table_new(
                &(struct node_table_options){.annotation_prefix = "example.com/"},
                policy_of(two_metrics), NOW);
        json_auto_t *annotations = json_pack("{s:s,s:s,s:s,s:i}", "example.com/cpu_usage_avg_5m",
                                             "0.25,2026-07-23T09:46:40Z", "cpu_usage_avg_5m",
                                             "0.9,2026-07-23T09:46:40Z", "other/thing", "x",
                                             "example.com/odd", 5);

        put_node_parts(table, "a", annotations, NULL, NULL, NOW);
        node_table_publish(table, NOW);
        assert_int_equal(score(table, "a", NOW), 75); /* the one with the prefix */
        (void)json_object_set_new(annotations, "other/thing", json_string("y"));
        put_node_parts(table, "a", annotations, NULL, NULL, NOW);
        assert_false(node_table_is_dirty(table));
        put_node_parts(table, "a", NULL, NULL, NULL, NOW);
        assert_true(node_table_is_dirty(table));
        node_table_publish(table, NOW);
        assert_int_equal(score(table, "a", NOW), 0);
        /* no node of Kubernetes has such names */
        put_node_parts(table, "", NULL, NULL, NULL, NOW);
        _cleanup_(freep) char *long_name = xasprintf("%0254d", 0);
        put_node_parts(table, long_name, NULL, NULL, NULL, NOW);
        assert_int_equal(node_table_count(table), 1);
        node_table_remove(table, "never there");
        assert_false(node_table_is_dirty(table));
        node_table_free(table);
}

/* Another policy asks for other annotations of the nodes that are there already. */
TEST(policy_change) {
        struct node_table *table = table_of(two_metrics);
        struct node_table_stats stats;

        put(table, "a", NOW,
            "cpu_usage_avg_5m=0.25,2026-07-23T09:46:40Z "
            "mem_usage_avg_5m=0.6,2026-07-23T09:46:40Z my_gauge=broken");
        put(table, "b", NOW, NULL);
        node_table_stats(table, NOW, &stats);
        assert_int_equal(stats.readings[READING_USABLE], 1);
        assert_int_equal(stats.readings[READING_MALFORMED], 1);
        assert_int_equal(stats.readings[READING_MISSING], 2);
        node_table_publish(table, NOW);
        struct node_snapshot *old = node_table_acquire(table);

        node_table_set_policy(table, policy_of(one_metric), NOW);
        node_table_publish(table, NOW);
        assert_int_equal(verdict(table, "a", NOW).limits.rejected_by, 0);
        assert_int_equal(score(table, "a", NOW), 40);
        node_table_stats(table, NOW + 480000, &stats);
        assert_int_equal(stats.readings[READING_EXPIRED], 1);
        assert_int_equal(stats.readings[READING_MISSING], 1);
        assert_int_equal(stats.readings[READING_USABLE], 0);

        /* a request under way goes on with what it has */
        assert_int_equal(old->table_policy->generation, 1);
        assert_string_equal(old->table_policy->reason_json[0], "\"my_gauge above 0.5\"");
        assert_int_equal(judge_nodes_verdict_slow(&old->nodes, 0, NOW).score100, 75);
        node_table_free(table);
        assert_int_equal(judge_nodes_verdict_slow(&old->nodes, 0, NOW).score100, 75);
        node_snapshot_unref(old);
}

static void put_in_pool(struct node_table *table, const char *name, const char *labels) {
        put_node(table,
                 &(struct node_words){name, "cpu_usage_avg_5m=0.6,2026-07-23T09:46:40Z", labels},
                 NOW);
        node_table_publish(table, NOW);
}

/* Nodes of a pool have its limits and weights; so do those of another policy's. */
static int pool_of(struct node_table *table, size_t row) {
        node_table_publish(table, NOW);
        struct node_snapshot *snapshot = node_table_acquire(table);
        int pool = snapshot->nodes.columns.readings.pool[row];

        node_snapshot_unref(snapshot);
        return pool;
}

TEST(pools) {
        static const char policy[] =
                "  syncPolicy: [{name: cpu_usage_avg_5m, period: 3m}, {name: x, period: 3m}]\n"
                "  predicate: [{name: cpu_usage_avg_5m, maxLimitPecent: 0.5}]\n"
                "  priority: [{name: cpu_usage_avg_5m, weight: 1}]\n"
                "  pools:\n"
                "  - {nodeSelector: {pool: high}, predicate: [{name: cpu_usage_avg_5m, "
                "maxLimitPecent: 0.9}]}\n"
                "  - {nodeSelector: {pool: x}, predicate: [{name: cpu_usage_avg_5m, "
                "maxLimitPecent: "
                "0.55}], priority: [{name: x, weight: 1}, {name: cpu_usage_avg_5m, weight: 1}]}\n";
        static const struct {
                const char *labels;
                int number, rejected_by, score100;
                size_t missing; /* where x is used */
        } rows[] = {
                {"pool=high", 1, -1, 40, 0},
                {"pool=x", 2, 2, 20, 1},
                {"pool=", 0, 0, 40, 0},
                {"pool=x", 2, 2, 20, 1},
        };
        struct node_table *table = table_of(policy);
        struct node_table_stats stats;

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                put_in_pool(table, "a", rows[i].labels);
                assert_int_equal(pool_of(table, 0), rows[i].number);
                assert_int_equal(verdict(table, "a", NOW).limits.rejected_by, rows[i].rejected_by);
                assert_int_equal(verdict(table, "a", NOW).score100, rows[i].score100);
                node_table_stats(table, NOW, &stats);
                assert_int_equal(stats.readings[READING_MISSING], rows[i].missing);
                assert_int_equal(stats.readings[READING_USABLE], 1);
        }
        put_in_pool(table, "b", "pool=high");
        assert_int_equal(pool_of(table, 1), 1);
        node_table_set_policy(table, policy_of(one_metric), NOW);
        assert_int_equal(pool_of(table, 0), 0);
        assert_int_equal(pool_of(table, 1), 0);
        node_table_set_policy(table, policy_of(policy), NOW);
        assert_int_equal(pool_of(table, 0), 2);
        assert_int_equal(pool_of(table, 1), 1);
        node_table_free(table);
}

/* Nodes that are there already are estimated, once a policy asks for it. */
TEST(estimate_from_now_on) {
        static const char estimated[] = "  syncPolicy: [{name: cpu_usage_avg_5m, period: 3m}]\n"
                                        "  priority: [{name: cpu_usage_avg_5m, weight: 1}]\n"
                                        "  extender: {scoring: estimate}\n";
        struct node_table *table = table_of(one_metric);

        put(table, "a", NOW, "cpu_usage_avg_5m=0.25,2026-07-23T09:46:40Z");
        node_table_set_policy(table, policy_of(estimated), NOW);
        node_table_publish(table, NOW);
        assert_int_equal(score(table, "a", NOW), 75);
        put_node(table, &(struct node_words){.name = "a", .capacity = "cpu=8 memory=32Gi"}, NOW);
        node_table_publish(table, NOW);
        struct node_snapshot *snapshot = node_table_acquire(table);
        /* What a core of a pod is of its 8. */
        assert_true(snapshot->nodes.columns.own[ESTIMATE_CPU][0] > 0);
        node_snapshot_unref(snapshot);

        /* Once no policy asks for it, pods change nothing. */
        node_table_set_policy(table, policy_of(one_metric), NOW);
        node_table_publish(table, NOW);
        estimator_bind(node_table_estimator(table), &(struct pod_facts){.id = 1, .node = {"a", 1}});
        assert_false(node_table_is_dirty(table));
        node_table_free(table);
}

/* An update is all of a node: labels, capacity and annotations that are not in it are gone. */
TEST(update_is_all_of_a_node) {
        struct node_table *table = table_of("  syncPolicy: [{name: cpu_usage_avg_5m, period: 3m}]\n"
                                            "  priority: [{name: cpu_usage_avg_5m, weight: 1}]\n"
                                            "  extender: {scoring: estimate}\n"
                                            "  pools: [{nodeSelector: {pool: x}, priority: []}]\n");
        static const struct node_words all = {"n", "cpu_usage_avg_5m=0.25,2026-07-23T09:46:40Z",
                                              "pool=x topology.kubernetes.io/zone=a",
                                              "cpu=8 memory=32Gi"},
                                       bare = {.name = "n"}, *const updates[] = {&all, &bare, &all};

        for (size_t i = 0; i < ARRAY_LEN(updates); i++) {
                bool is_all = updates[i] == &all;
                put_node(table, updates[i], NOW);
                node_table_publish(table, NOW);
                struct node_snapshot *snapshot = node_table_acquire(table);
                const struct node_columns *columns = &snapshot->nodes.columns;
                assert_int_equal(columns->readings.pool[0], is_all ? 1 : 0);
                assert_int_equal(columns->zone[0] != 0, is_all);
                assert_int_equal(columns->own[ESTIMATE_CPU][0] > 0, is_all);
                assert_int_equal(columns->readings.expires_unix_ms[0][0] != READING_NEVER, is_all);
                node_snapshot_unref(snapshot);
                put_node(table, updates[i], NOW);
                assert_false(node_table_is_dirty(table));
        }
        node_table_free(table);
}

TEST(percent) {
        struct node_table *table = node_table_new(
                &(struct node_table_options){.annotation_prefix = "", .is_percent = true},
                policy_of(two_metrics), NOW);

        put(table, "a", NOW,
            "cpu_usage_avg_5m=25,2026-07-23T09:46:40Z node_hot_value=2,2026-07-23T09:46:40Z");
        node_table_publish(table, NOW);
        assert_int_equal(score(table, "a", NOW), 55); /* the hot value is no percentage */
        put(table, "b", NOW, "my_gauge=50,2026-07-23T09:46:40Z");
        put(table, "c", NOW, "my_gauge=50.25,2026-07-23T09:46:40Z");
        node_table_publish(table, NOW);
        assert_int_equal(verdict(table, "b", NOW).limits.rejected_by, -1);
        assert_int_equal(verdict(table, "c", NOW).limits.rejected_by, 0);
        node_table_free(table);
}

TEST(skew) {
        struct node_table *table = table_of(two_metrics);
        struct node_table_stats stats;

        put(table, "a", NOW, "cpu_usage_avg_5m=0.25,2026-07-23T09:47:40Z");
        node_table_stats(table, NOW, &stats);
        assert_int_equal(stats.skewed, 0);
        put(table, "a", NOW, "cpu_usage_avg_5m=0.25,2026-07-23T09:47:41Z");
        node_table_stats(table, NOW, &stats);
        assert_int_equal(stats.skewed, 1);
        node_table_publish(table, NOW);
        assert_int_equal(score(table, "a", NOW), 75); /* used all the same */
        node_table_remove(table, "a");
        node_table_stats(table, NOW, &stats);
        assert_int_equal(stats.skewed, 0);
        node_table_free(table);
}

/* Our own count of bindings against the controller's annotation: the newer one counts. */
TEST(hot_value) {
        struct node_table *table = table_of(two_metrics);
        int64_t now = NOW;

        put(table, "a", now,
            "cpu_usage_avg_5m=0,2026-07-23T09:46:40Z node_hot_value=5,2026-07-23T09:46:40Z");
        node_table_bind(table, "a", now - 1000, now);
        node_table_bind(table, "unknown", now, now);
        node_table_publish(table, now);
        assert_int_equal(score(table, "a", now), 50); /* no watch yet: the annotation */

        node_table_set_live(table, true, now);
        node_table_publish(table, now);
        assert_int_equal(score(table, "a", now), 100); /* one binding is none: 2 are one point */
        node_table_bind(table, "a", now, now);
        node_table_publish(table, now);
        assert_int_equal(score(table, "a", now), 90);

        /* it falls by itself when the first binding is a minute old */
        int64_t falls = node_table_next_change_unix_ms(table);
        assert_int_equal(falls, now - 1000 + 60000);
        node_table_publish(table, falls);
        assert_int_equal(score(table, "a", falls), 100);

        /* the watch is lost: what was counted goes on, until the controller says something newer */
        now = falls;
        node_table_bind(table, "a", now, now);
        node_table_set_live(table, false, now);
        node_table_publish(table, now);
        assert_int_equal(score(table, "a", now), 90);
        char stamp[TIMESTAMP_MAX];
        timestamp_format_s(now + 2000, stamp, sizeof(stamp));
        _cleanup_(freep) char *newer = xasprintf(
                "cpu_usage_avg_5m=0,2026-07-23T09:46:40Z mem_usage_avg_5m=0,2026-07-23T09:46:40Z "
                "node_hot_value=3,%s",
                stamp);
        put(table, "a", now + 2000, newer);
        node_table_publish(table, now + 2000);
        assert_int_equal(score(table, "a", now + 2000), 70);
        node_table_set_live(table, true, now + 3000);
        node_table_publish(table, now + 3000);
        assert_int_equal(score(table, "a", now + 3000), 100); /* one is a minute old */

        node_table_forget_bindings(table, now + 3000); /* so the annotation counts again */
        node_table_publish(table, now + 3000);
        assert_int_equal(score(table, "a", now + 3000), 70);

        /* a policy without hotValue still heeds the annotation, as crane's plugin does */
        node_table_set_policy(table, policy_of(one_metric), now + 3000);
        put(table, "b", now, "mem_usage_avg_5m=0,2026-07-23T09:46:40Z");
        put(table, "a", now + 3000, newer);
        node_table_publish(table, now + 3000);
        assert_int_equal(score(table, "a", now + 3000), 70);
        assert_int_equal(score(table, "b", now + 3000), 100);
        node_table_free(table);
}

/* A clock that was an hour ahead is set right: nodes do not stay hot for that hour. */
TEST(clock_set_back) {
        struct node_table *table = table_of(two_metrics);
        int64_t ahead = NOW + MS_PER_HOUR;

        put(table, "a", ahead, "cpu_usage_avg_5m=0,2026-07-23T10:46:40Z");
        node_table_set_live(table, true, ahead);
        for (int i = 0; i < 4; i++)
                node_table_bind(table, "a", ahead, ahead);
        node_table_publish(table, ahead);
        assert_int_equal(score(table, "a", ahead), 80);
        node_table_publish(table, NOW);
        assert_int_equal(score(table, "a", NOW), 80);
        node_table_publish(table, NOW + MS_PER_MIN);
        assert_int_equal(score(table, "a", NOW + MS_PER_MIN), 100);
        /* What is bound then counts as well. */
        node_table_publish(table, ahead);
        for (int i = 0; i < 2; i++)
                node_table_bind(table, "a", ahead, ahead);
        node_table_bind(table, "a", NOW, NOW);
        node_table_publish(table, NOW);
        assert_int_equal(score(table, "a", NOW), 90);
        node_table_free(table);
}

/* ---- A model: names with a cpu reading and a list of bindings, judged from scratch. */

struct model_node {
        bool exists;
        double usage;
        int64_t at;
        int64_t bound[64];
        size_t bound_count;
};

/* Readings expire by the time of the request, hot values are as of the snapshot. */
static int model_score(const struct model_node *node, int64_t published, int64_t now) {
        size_t recent = 0;

        for (size_t i = 0; i < node->bound_count; i++)
                recent += node->bound[i] > published - 60000;
        int base = node->at > 0 && now < node->at + 480000 ? (int)((1 - node->usage) * 1 * 100) : 0;
        int points = base - 10 * (int)(recent / 2);
        return points < 0 ? 0 : points;
}

TEST(model) {
        struct node_table *table = table_of(two_metrics);
        static struct model_node model[MODEL_NODES];
        int64_t now = NOW;

        node_table_set_live(table, true, now);
        for (int round = 0; round < MODEL_ROUNDS; round++) {
                unsigned i = draw_below(MODEL_NODES);
                struct model_node *node = &model[i];
                char name[16], text[128], stamp[TIMESTAMP_MAX];
                (void)snprintf(name, sizeof(name), "node-%u", i);
                now += draw_below(3) * 1000;
                switch (draw_below(4)) {
                case 0:
                        node_table_remove(table, name);
                        *node = (struct model_node){0};
                        break;
                case 1:
                        if (!node->exists || node->bound_count == ARRAY_LEN(node->bound))
                                break;
                        node->bound[node->bound_count++] = now;
                        node_table_bind(table, name, now, now);
                        break;
                default:
                        node->exists = true;
                        node->usage = draw_below(1000) / 1000.0;
                        node->at = now - draw_below(600) * 1000;
                        node->at -= node->at % 1000;
                        timestamp_format_s(node->at, stamp, sizeof(stamp));
                        (void)snprintf(text, sizeof(text), "cpu_usage_avg_5m=%.5f,%s", node->usage,
                                       stamp);
                        put(table, name, now, text);
                }
                if (draw_below(3) > 0)
                        continue;
                node_table_publish(table, now);
                struct node_snapshot *snapshot = node_table_acquire(table);
                /* sometimes the request comes a while after the snapshot */
                int64_t then = now + (draw_below(4) ? 0 : draw_below(100) * 100);
                size_t count = 0;
                for (unsigned n = 0; n < MODEL_NODES; n++) {
                        (void)snprintf(name, sizeof(name), "node-%u", n);
                        uint32_t row = node_names_find(snapshot->names, name, strlen(name));
                        assert_int_equal(row != NODE_ROW_NONE, model[n].exists);
                        if (!model[n].exists)
                                continue;
                        count++;
                        struct node_verdict v = judge_nodes_verdict(
                                &snapshot->nodes, row,
                                judge_nodes_are_settled(&snapshot->nodes, then), then);
                        if (v.score100 != model_score(&model[n], now, then))
                                fail_msg("round %d, %s: %d, not %d", round, name, v.score100,
                                         model_score(&model[n], now, then));
                }
                assert_int_equal(snapshot->nodes.count, count);
                node_snapshot_unref(snapshot);
        }
        node_table_free(table);
}

/* ---- Memory of old snapshots. */

TEST(used_again) {
        struct node_table *table = table_of(two_metrics);
        struct node_snapshot *seen[5], *held;

        put(table, "a", NOW, "cpu_usage_avg_5m=0.10,2026-07-23T09:46:40Z");
        put(table, "b", NOW, "cpu_usage_avg_5m=0.20,2026-07-23T09:46:40Z");
        for (int i = 0; i < 5; i++) {
                char text[128];
                (void)snprintf(text, sizeof(text), "cpu_usage_avg_5m=0.%d0,2026-07-23T09:46:40Z",
                               3 + i);
                put(table, i % 2 ? "a" : "b", NOW, text);
                node_table_publish(table, NOW);
                seen[i] = node_table_acquire(table);
                node_snapshot_unref(seen[i]);
                assert_int_equal(score(table, i % 2 ? "a" : "b", NOW), 70 - 10 * i);
                if (i > 0)
                        assert_int_equal(score(table, i % 2 ? "b" : "a", NOW), 80 - 10 * i);
        }
        assert_ptr_equal(seen[4], seen[2]);
        assert_ptr_equal(seen[3], seen[1]);

        held = node_table_acquire(table); /* a worker reads this one for long */
        for (int i = 0; i < 3; i++) {
                put(table, "b", NOW,
                    i % 2 ? "cpu_usage_avg_5m=0.75,2026-07-23T09:46:40Z"
                          : "cpu_usage_avg_5m=0.50,2026-07-23T09:46:40Z");
                node_table_publish(table, NOW);
                assert_int_equal(score(table, "b", NOW), i % 2 ? 25 : 50);
        }
        uint32_t row = node_names_find(held->names, "b", 1);
        assert_int_equal(judge_nodes_verdict(&held->nodes, row, true, NOW).score100, 30);
        node_snapshot_unref(held);

        /* One that lacks a policy, or a node, is not brought up to date. */
        node_table_set_policy(table, policy_of(one_metric), NOW);
        node_table_publish(table, NOW);
        put(table, "a", NOW, "mem_usage_avg_5m=0.40,2026-07-23T09:46:40Z");
        node_table_publish(table, NOW);
        node_table_remove(table, "b");
        put(table, "c", NOW, "mem_usage_avg_5m=0.30,2026-07-23T09:46:40Z");
        node_table_publish(table, NOW);
        assert_int_equal(score(table, "a", NOW), 60);
        assert_int_equal(score(table, "c", NOW), 70);
        node_table_free(table);
}

/* ---- Readers while the table changes: meant for a run under TSan. */

enum { READERS = 3, READ_NODES = 200, WRITES = 300, READS = 100 };

struct reading_thread {
        struct node_table *table;
        atomic_bool *is_over;
        atomic_uint reads;
};

/* Every snapshot is whole: all its nodes carry one and the same usage, 0.00 to 0.99. */
static void *read_on(void *userdata) {
        struct reading_thread *thread = userdata;

        while (!atomic_load(thread->is_over)) {
                struct node_snapshot *snapshot = node_table_acquire(thread->table);
                bool is_settled = judge_nodes_are_settled(&snapshot->nodes, NOW);
                int first = -1;
                for (size_t row = 0; row < snapshot->nodes.count; row++) {
                        const struct node_name *name = node_names_at(snapshot->names,
                                                                     (uint32_t)row);
                        if (node_names_find(snapshot->names, name->name, name->name_bytes) != row)
                                abort();
                        int got = judge_nodes_verdict(&snapshot->nodes, row, is_settled, NOW)
                                          .score100;
                        if (first >= 0 && got != first)
                                abort();
                        first = got;
                }
                atomic_fetch_add(&thread->reads, 1);
                node_snapshot_unref(snapshot);
        }
        return NULL;
}

static bool have_all_read(struct reading_thread *readers) {
        for (size_t i = 0; i < READERS; i++)
                if (atomic_load(&readers[i].reads) < READS)
                        return false;
        return true;
}

TEST(concurrent_readers) {
        struct node_table *table = table_of(two_metrics);
        struct reading_thread readers[READERS];
        pthread_t threads[READERS];
        atomic_bool is_over = false;

        for (size_t i = 0; i < READERS; i++) {
                readers[i].table = table;
                readers[i].is_over = &is_over;
                atomic_init(&readers[i].reads, 0);
                assert_int_equal(pthread_create(&threads[i], NULL, read_on, &readers[i]), 0);
        }
        for (int write = 0; write < WRITES || !have_all_read(readers); write++) {
                char name[16], text[128];
                (void)snprintf(text, sizeof(text), "cpu_usage_avg_5m=0.%02d,2026-07-23T09:46:40Z",
                               write % 100);
                for (int i = 0; i < READ_NODES; i++) {
                        (void)snprintf(name, sizeof(name), "node-%d", i);
                        if ((write + i) % 17 == 0)
                                node_table_remove(table, name);
                        else
                                put(table, name, NOW, text);
                }
                if (write % 50 == 25)
                        node_table_set_policy(table, policy_of(two_metrics), NOW);
                node_table_publish(table, NOW);
        }
        atomic_store(&is_over, true);
        for (size_t i = 0; i < READERS; i++)
                assert_int_equal(pthread_join(threads[i], NULL), 0);
        node_table_free(table);
}
