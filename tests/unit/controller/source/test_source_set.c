/* Which metrics are a source's, and the end of a set. */
#include "tests/unit/fixture/policy.h"

#include "tests/unit/fixture/constant_source.h"

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
        const struct source_list list = {.specs = {{.kind = &constant_kind, .name = "constant"}},
                                         .count = 1};
        struct policy policy = {0};
        struct node a = {.slot = 0}, b = {.slot = 1};

        _cleanup_(loop_freep) struct loop *loop = loop_new();
        _cleanup_(metrics_freep) struct metrics *metrics = metrics_new();
        struct source_set *set = source_set_new(&(struct source){.loop = loop, .metrics = metrics},
                                                &list);
        source_set_policy(set, &policy);
        source_set_add_node(set, &a);
        source_set_stop(set);
        source_set_add_node(set, &b);
        source_set_remove_node(set, &a);
        source_set_policy(set, &policy);
        source_set_free(set);
}
