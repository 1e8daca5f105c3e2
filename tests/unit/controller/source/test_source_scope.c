/* Which metrics are a source's. */
#include "tests/unit/fixture/policy.h"

#include "controller/source/source_scope.h"

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
