/* Nodes from list and watch into the table, against a server that answers from a script. */
#include "tests/unit/fixture/policy.h"

#include "extender/table/table_watch.h"
#include "tests/unit/fixture/scripted_fixture.h"

static const char policy_text[] = "  syncPolicy: [{name: cpu_usage_avg_5m, period: 3m}]\n"
                                  "  priority: [{name: cpu_usage_avg_5m, weight: 1}]\n";

#define NODE(name, version, cpu)                                                                   \
        "{\"metadata\":{" name "\"resourceVersion\":\"" version                                    \
        "\",\"annotations\":{\"cpu_usage_avg_5m\":\"" cpu "\"}}}"
#define A "\"name\":\"a\","

static double nodes_of(void *table) {
        return (double)node_table_count(table);
}

static double skewed_of(void *table) {
        struct node_table_stats stats;

        node_table_stats(table, standing_ms, &stats);
        return (double)stats.skewed;
}

static double sees_nodes(void *watch) {
        return table_watch_sees_nodes(watch);
}

static double skewed_shown(const struct fixture *f) {
        return metrics_value(
                metrics_gauge(f->rig.metrics, "plimsoll_extender_skewed_readings", "", NULL));
}

/* Timestamps of the future are counted as long as there are some; an object without a name is no
 * node. */
TEST(skew) {
        struct fixture f = {0};

        expect(&f, 200, "GET /api/v1/nodes?limit=", NULL,
               "{\"kind\":\"NodeList\",\"metadata\":{\"resourceVersion\":\"10\"},\"items\":[" NODE(
                       A, "5", "0.5,2026-07-23T12:25:54Z") "," NODE("", "6", "0.5") "]}");
        scripted_add(&f.rig.server,
                     (struct scripted_reply){
                             .expect = {"watch=1&resourceVersion=10&"},
                             .response = scripted_stream("{\"type\":\"MODIFIED\",\"object\":" NODE(
                                     A, "11", "0.5,2026-07-23T11:25:54Z") "}\n"),
                             .before = wait_for_test,
                             .holds = true,
                     });
        start(&f);
        struct health *health = health_new();
        struct node_table *table = node_table_new(
                &(struct node_table_options){.annotation_prefix = "", .metrics = f.rig.metrics},
                policy_of(policy_text), standing_ms);
        struct table_watch *watch = table_watch_new(&(struct table_watch_options){
                .loop = f.rig.loop,
                .api = f.rig.api,
                .table = table,
                .metrics = f.rig.metrics,
                .health = health,
        });
        assert_false(table_watch_sees_nodes(watch));
        run_until(&f, nodes_of, table, 1);
        run_until(&f, sees_nodes, watch, 1);
        assert_true(skewed_shown(&f) == 0); /* as of the last look */
        pass(&f, MS_PER_S);
        assert_true(skewed_shown(&f) == 1);
        assert_int_equal(sem_post(&f.go_on), 0);
        run_until(&f, skewed_of, table, 0);
        assert_true(skewed_shown(&f) == 1);
        pass(&f, MS_PER_S);
        assert_true(skewed_shown(&f) == 0);
        assert_int_equal(node_table_count(table), 1);
        table_watch_free(watch);
        node_table_free(table);
        health_free(health);
        stop(&f);
}
