/* --metrics-source and the names of --exporter. */
#include "tests/unit/fixture/policy.h"

#include <errno.h>

#include "controller/source_set.h"

TEST(order) {
        struct source_set_options options = {0};
        struct error err = ERROR_NULL;

        assert_int_equal(source_set_order("node-metrics,node-exporter", &options, &err), 0);
        assert_int_equal(options.kind_count, 2);
        assert_int_equal(options.kinds[0], SOURCE_NODE_METRICS);
        assert_int_equal(options.kinds[1], SOURCE_NODE_EXPORTER);
        assert_true(source_set_has(&options, SOURCE_NODE_METRICS));
        assert_int_equal(source_set_order("node-exporter", &options, &err), 0);
        assert_int_equal(options.kind_count, 1);
        assert_false(source_set_has(&options, SOURCE_NODE_METRICS));
}

TEST(bad_order) {
        static const char *const rows[] = {
                "",
                ",",
                "node-exporter,",
                ",node-exporter",
                "node-exporter, node-metrics", /* no blanks */
                "node-exporter,node-exporter",
                "node-exporte",
                "node-exporters",
                "Node-Exporter",
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct source_set_options options = {.kind_count = 7};
                struct error err = ERROR_NULL;
                if (source_set_order(rows[i], &options, &err) != -EINVAL || !err.msg[0])
                        fail_msg("\"%s\" was taken", rows[i]);
                assert_int_equal(options.kind_count, 7);
        }
}

TEST(exporter_names) {
        static const struct {
                const char *name;
                int expected;
        } rows[] = {
                {"gpu", 0},
                {"gpu-2", 0},
                {"dcgn", 0},
                {"abcdefghijklmnopqrstuvwxyz012345", 0},
                {"abcdefghijklmnopqrstuvwxyz0123456", -EINVAL}, /* 33 characters */
                {"dcgm", -EINVAL},                              /* is there already */
                {"node-exporter", -EINVAL},                     /* has a meaning */
                {"node-metrics", -EINVAL},
                {"", -EINVAL},
                {"GPU", -EINVAL},
                {"a b", -EINVAL},
        };
        const struct source_set_options options = {.exporters = {{.exporter = "dcgm"}},
                                                   .exporter_count = 1};

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                char name[POLICY_RESOURCE_NAME_MAX + 1];
                struct error err = ERROR_NULL;
                int r = source_set_exporter_name(&options, rows[i].name, strlen(rows[i].name), name,
                                                 &err);
                if (r != rows[i].expected)
                        fail_msg("\"%s\": %d", rows[i].name, r);
                if (r == 0)
                        assert_string_equal(name, rows[i].name);
        }
}

TEST(rules) {
        const struct source_set_options options = {
                .kinds = {SOURCE_NODE_METRICS, SOURCE_NODE_EXPORTER},
                .kind_count = 2,
                .node_exporter = {.profile = &scrape_node_exporter, .interval_ms = 15000},
                .node_metrics = {.profile = &scrape_agent, .interval_ms = 15000},
                .exporters = {{.profile = &scrape_exporter,
                               .exporter = "dcgm",
                               .interval_ms = 15000}},
                .exporter_count = 1,
        };
        struct source_traits compiled[SOURCE_MAX];

        assert_int_equal(source_set_traits(&options, compiled), 3);
        assert_true(compiled[0].is_ready_made);
        assert_false(compiled[1].is_ready_made);
        assert_null(compiled[1].scope.exporter);
        assert_string_equal(compiled[2].scope.exporter, "dcgm");
        assert_true(source_set_takes_targets(&options));
        assert_int_equal(source_set_in_flight(&options, 5000), 3 * (256 + 32) + 16);
        assert_int_equal(source_set_in_flight(&options, 100000), 3 * (1562 + 195) + 16);
        assert_int_equal(source_set_hosts(&options, 5000), 15001);
}

/* Which metrics a source speaks for. */
TEST(scope) {
        static const char text[] = "  metrics:\n"
                                   "  - {name: gpu, exporter: dcgm, series: G, kind: gauge, "
                                   "capacity: 100}\n"
                                   "  - {name: ssd, series: S, kind: gauge, capacity: 100}\n"
                                   "  syncPolicy:\n"
                                   "  - {name: cpu_usage_avg_5m, period: 3m}\n"
                                   "  - {name: disk_usage_avg_5m, period: 3m}\n"
                                   "  - {name: gpu_usage_avg_5m, period: 3m}\n"
                                   "  - {name: ssd_usage_avg_5m, period: 3m}\n"
                                   "  - {name: temperature, period: 3m}\n";
        static const struct {
                struct source_scope scope;
                const char *has; /* of the metrics in their order */
        } rows[] = {
                {{0}, "cd st"},
                {{.exporter = "dcgm"}, "  g  "},
                {{.exporter = "coral"}, "     "},
                {{.has_every_page = true}, "cdgst"},
                {{.resources = METRICS_SERVER_RESOURCES}, "c    "},
        };
        _cleanup_(policy_freep) struct policy *policy = policy_of(text);

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                bool has_any = false;
                for (size_t m = 0; m < policy->metric_count; m++) {
                        bool has = source_scope_has(&rows[i].scope, policy, &policy->metrics[m]);
                        if (has != (rows[i].has[m] != ' '))
                                fail_msg("row %zu: %s", i, policy->metrics[m].name);
                        has_any = has_any || has;
                }
                assert_true(source_scope_has_any(&rows[i].scope, policy) == has_any);
        }
}
