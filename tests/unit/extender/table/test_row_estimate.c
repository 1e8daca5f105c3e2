/* Of what time an annotation is the mean, alone and through the node table. */
#include "tests/unit/fixture/node_words.h"

#include <math.h>

#include "base/clock.h"
#include "extender/table/row_estimate.h"

enum { WINDOW_MS = 300000 };

#define POD_UID "1f0c9ab2"

TEST(reading) {
        static const struct {
                int64_t mean_at_ms, covered_at_ms; /* from now */
                double covered_s;                  /* negative: not there */
                int64_t begins_ms, ends_ms;
        } rows[] = {
                {0, 0, -1, -300000, 0},
                {-9000, 0, -1, -309000, -9000},
                {9000, 0, -1, -300000, 0}, /* the node's clock is ahead */
                {0, 0, 60, -60000, 0},
                {0, 0, 60.5, -60500, 0},
                {0, 0, 300, -300000, 0},
                {0, 0, 1e9, -300000, 0},
                /* Written with an earlier mean: the window began when it did. */
                {0, -180000, 60, -240000, 0},
                {0, -280000, 60, -300000, 0},
                /* It begins after the mean ends: it is none of this mean. */
                {-90000, 0, 60, -390000, -90000},
                {0, 0, 0, -300000, 0},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                const struct reading mean = {.state = READING_USABLE,
                                             .value = 0.25,
                                             .at_unix_ms = NOW + rows[i].mean_at_ms,
                                             .expires_unix_ms = NOW + 1};
                const struct reading covered = {.state = rows[i].covered_s >= 0 ? READING_USABLE
                                                                                : READING_MISSING,
                                                .value = rows[i].covered_s,
                                                .at_unix_ms = NOW + rows[i].covered_at_ms};
                struct mean_reading read = row_estimate_reading(&mean, WINDOW_MS, &covered, NOW);
                assert_true(read.ratio == 0.25);
                assert_int_equal(read.window_ms, WINDOW_MS);
                if (read.begins_unix_ms != NOW + rows[i].begins_ms ||
                    read.ends_unix_ms != NOW + rows[i].ends_ms)
                        fail_msg("row %zu: %lld to %lld", i, (long long)(read.begins_unix_ms - NOW),
                                 (long long)(read.ends_unix_ms - NOW));
        }
        const struct reading none = {.state = READING_MALFORMED, .expires_unix_ms = READING_NEVER},
                             expired = {
                                     .value = 0.25, .at_unix_ms = NOW - 1, .expires_unix_ms = NOW};
        assert_int_equal(row_estimate_reading(&none, WINDOW_MS, &none, NOW).window_ms, 0);
        assert_int_equal(row_estimate_reading(&expired, WINDOW_MS, &none, NOW).window_ms, 0);
}

#define CPU_5M "cpu_usage_avg_5m="
#define NOTE ",2026-07-23T09:46:40Z"

static struct node_table *table_by_cpu(const char *more) {
        _cleanup_(freep) char *text = xasprintf(
                "  syncPolicy:\n"
                "  - {name: cpu_usage_avg_5m, period: 3m}\n"
                "  priority: [{name: cpu_usage_avg_5m, weight: 1}]\n"
                "  extender: {scoring: estimate}\n%s",
                more);

        return table_of(text);
}

static void bind_pod(struct node_table *table, int64_t runs_unix_ms) {
        estimator_bind(node_table_estimator(table), &(struct pod_facts){
                                                            .id = 1,
                                                            .uid = {"1f0c9ab2", 8},
                                                            .node = {"a", 1},
                                                            .request = {{1, 1}},
                                                            .runs_unix_ms = runs_unix_ms,
                                                    });
}

/* What the first node uses of its CPU. */
static double used_ratio(struct node_table *table, int64_t now_unix_ms, bool with_margin) {
        node_table_publish(table, now_unix_ms);
        struct node_snapshot *snapshot = node_table_acquire(table);
        const struct node_columns *columns = &snapshot->nodes.columns;
        double margin = with_margin ? 0 : columns->margin_ratio[ESTIMATE_CPU][0];
        double used = columns->used[ESTIMATE_CPU][0] - margin;

        node_snapshot_unref(snapshot);
        return used;
}

/* On a node of 10 cores a pod of one core runs since a minute. Return: what the node uses in cores,
 * by these annotations */
static double cores(const char *annotations) {
        _cleanup_(node_table_freep) struct node_table *table = table_by_cpu("");
        struct node_words words = {.name = "a", .capacity = "cpu=10 memory=100Gi"};

        put_node(table, &words, NOW);
        words.annotations = annotations;
        put_node(table, &words, NOW);
        bind_pod(table, NOW - MS_PER_MIN); /* after what was measured of it */
        return 10 * used_ratio(table, NOW, false);
}

/* The pod uses 4 cores since a minute, and nothing else does. */
TEST(annotations) {
        const double old = cores(CPU_5M "0.08" NOTE),
                     measured = cores(CPU_5M "0.08" NOTE " pod_usage=" POD_UID "=4/100");
        const double young = cores(CPU_5M "0.40" NOTE " node_covered_seconds=60" NOTE);

        assert_true(fabs(young - 4) < 0.1);
        /* Of the window it ran for a fifth: the rest is expected, by itself if it was measured. */
        assert_true(fabs(old - (0.8 + 0.8)) < 1e-6);
        assert_true(fabs(measured - (0.8 + 3.2)) < 1e-6);
        assert_true(cores(CPU_5M "0.08" NOTE " pod_usage=" POD_UID "=x") == old);
}

/* What is no ratio, such as bytes, is no reading; the next one is believed whole, as a first one
 * is.
 */
TEST(no_ratio) {
        static const char *const absurd[] = {CPU_5M "2.00001" NOTE, CPU_5M "34.2" NOTE,
                                             CPU_5M "1e9" NOTE};

        for (size_t i = 0; i < ARRAY_LEN(absurd); i++) {
                _cleanup_(node_table_freep) struct node_table *table = table_by_cpu("");
                const char *const written[] = {absurd[i], CPU_5M "0.3" NOTE};

                for (size_t step = 0; step < ARRAY_LEN(written); step++)
                        put_node(table, &(struct node_words){"a", written[step], NULL, "cpu=10"},
                                 NOW);
                assert_true(fabs(used_ratio(table, NOW, true) - 0.3) < 1e-9);
        }
}

/* An estimate goes on from a reading that it took in time. One that begins after the reading has
 * expired does not know which of its pods the reading held, so it does not use it. */
TEST(expired) {
        const int64_t later = NOW + 2 * 3600 * MS_PER_S;
        const struct {
                int64_t begins_unix_ms;
                const char *capacity;
                double used;
        } rows[] = {{NOW, "cpu=10", 0.5 + 0.1},
                    {later, "cpu=10", 0.1},
                    {NOW, "cpu=", 0},
                    {later, "cpu=", 0}};

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(node_table_freep) struct node_table *table = table_by_cpu("");
                put_node(table,
                         &(struct node_words){"a", CPU_5M "0.5" NOTE, NULL, rows[i].capacity},
                         rows[i].begins_unix_ms);
                bind_pod(table, later);
                double used = used_ratio(table, later, false);
                if (fabs(used - rows[i].used) > 1e-6)
                        fail_msg("row %zu: %g", i, used);
                struct node_snapshot *snapshot = node_table_acquire(table);
                assert_int_equal(snapshot->nodes.columns.missing[0],
                                 rows[i].used > 0.2 ? 0 : 1 << ESTIMATE_CPU);
                node_snapshot_unref(snapshot);
        }
}

/* A node that is not read has the base of those that are, from the first list of pods on. */
TEST(unread) {
        _cleanup_(node_table_freep) struct node_table *table = table_by_cpu("");

        put_node(table, &(struct node_words){"a", CPU_5M "0.3" NOTE, NULL, "cpu=10"}, NOW);
        put_node(table, &(struct node_words){.name = "b", .capacity = "cpu=10"}, NOW);
        estimator_list_ended(node_table_estimator(table), NOW, NOW);
        node_table_publish(table, NOW);
        struct node_snapshot *snapshot = node_table_acquire(table);
        const double *used = snapshot->nodes.columns.used[ESTIMATE_CPU];
        assert_true(used[0] > 0.25);
        assert_true(fabs(used[1] - used[0]) < 1e-9);
        node_snapshot_unref(snapshot);
}

/* Without a capacity the reading alone counts; a pool that does not rank by it forgets it. */
TEST(reading_alone) {
        _cleanup_(node_table_freep) struct node_table *table = table_by_cpu(
                "  pools: [{nodeSelector: {idle: yes}, priority: []}]\n");
        static const double used[] = {0.5, 0.5, 0};

        estimator_list_ended(node_table_estimator(table), NOW, NOW);
        for (size_t step = 0; step < ARRAY_LEN(used); step++) {
                put_node(table,
                         &(struct node_words){"a", CPU_5M "0.5" NOTE, step >= 2 ? "idle=yes" : NULL,
                                              step >= 1 ? "cpu=10 memory=100Gi" : NULL},
                         NOW);
                assert_true(fabs(used_ratio(table, NOW, true) - used[step]) < 1e-9);
                struct node_snapshot *snapshot = node_table_acquire(table);
                assert_int_equal(snapshot->nodes.columns.missing[0] & 1, 0);
                node_snapshot_unref(snapshot);
        }
}
