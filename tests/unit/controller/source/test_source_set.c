/* --metrics-source, and what a set asks its kinds. */
#include "tests/unit/fixture/policy.h"

#include <errno.h>

#include "tests/unit/fixture/constant_source.h"

static size_t ten_at_a_time(size_t nodes) {
        return nodes / 10;
}

static const struct source_ops per_node = {.in_flight = ten_at_a_time}, at_once = {0};

/* As of the last call of configure_exporter(). */
static bool is_named;

static int configure_exporter(struct source_set_options *set, const struct source_setup *setup,
                              struct error *err);

static const struct source_kind exporter_kind = {.name = "node-exporter",
                                                 .takes_targets = true,
                                                 .ops = &per_node,
                                                 .configure = configure_exporter},
                                agent_kind = {.name = "node-metrics",
                                              .takes_targets = true,
                                              .ops = &per_node},
                                server_kind = {.name = "server", .ops = &at_once};
static const struct source_kind *const kinds[] = {&exporter_kind, &agent_kind, &server_kind, NULL};

static int configure_exporter(struct source_set_options *set, const struct source_setup *setup,
                              struct error *err) {
        is_named = source_set_item(set, &exporter_kind) != NULL;
        return setup->is_once ? error_set(err, EINVAL, "not once") : 0;
}

static void order(struct source_set_options *set, const char *text) {
        struct error err = ERROR_NULL;

        assert_int_equal(source_set_order(text, kinds, set, &err), 0);
}

TEST(order) {
        struct source_set_options set;

        order(&set, "node-metrics,node-exporter");
        assert_int_equal(set.count, 2);
        assert_ptr_equal(set.items[0].kind, &agent_kind);
        assert_ptr_equal(set.items[1].kind, &exporter_kind);
        assert_ptr_equal(source_set_item(&set, &exporter_kind), &set.items[1]);
        assert_null(source_set_item(&set, &server_kind));
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
                struct source_set_options options = {.count = 7};
                struct error err = ERROR_NULL;
                if (source_set_order(rows[i], kinds, &options, &err) != -EINVAL || !err.msg[0])
                        fail_msg("\"%s\" was taken", rows[i]);
                assert_int_equal(options.count, 7);
        }
}

TEST(configure) {
        struct source_set_options set;
        struct error err = ERROR_NULL;

        order(&set, "node-exporter");
        assert_int_equal(source_set_configure(&set, &(struct source_setup){0}, &err), 0);
        assert_true(is_named);
        order(&set, "server");
        assert_int_equal(source_set_configure(&set, &(struct source_setup){0}, &err), 0);
        assert_false(is_named);
        assert_int_equal(source_set_configure(&set, &(struct source_setup){.is_once = true}, &err),
                         -EINVAL);
}

TEST(needs) {
        struct source_set_options set;

        order(&set, "node-exporter,node-metrics");
        assert_true(source_set_takes_targets(&set));
        assert_int_equal(source_set_in_flight(&set, 5000), 2 * 500 + 16);
        assert_int_equal(source_set_hosts(&set, 5000), 10001);
        order(&set, "server,node-exporter");
        assert_false(source_set_takes_targets(&set));
        assert_int_equal(source_set_in_flight(&set, 5000), 500 + 16);
        assert_int_equal(source_set_hosts(&set, 5000), 5001);
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
                {{.has_every_exporter = true}, "cdgst"},
                {{.resources = UINT32_C(1) << METRIC_CPU | UINT32_C(1) << METRIC_MEM}, "c    "},
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

/* Nodes come and go, and policies change, until the program has ended. */
TEST(after_the_end) {
        static const struct source_kind *const constant[] = {&constant_kind, NULL};
        struct source_set_options options;
        struct error err = ERROR_NULL;
        struct policy policy = {0};
        struct node a = {.slot = 0}, b = {.slot = 1};

        assert_int_equal(source_set_order("constant", constant, &options, &err), 0);
        _cleanup_(loop_freep) struct loop *loop = loop_new();
        struct source_set *set = source_set_new(&(struct source_parts){.loop = loop}, &options,
                                                &(struct source_sink){0});
        source_set_policy(set, &policy);
        source_set_add_node(set, &a);
        source_set_stop(set);
        source_set_add_node(set, &b);
        source_set_remove_node(set, &a);
        source_set_policy(set, &policy);
        source_set_free(set);
}
