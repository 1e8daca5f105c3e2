/* Warnings about policies that are valid, and decide worse than they look. */
#include "tests/unit/fixture/test.h"

#include <stdlib.h>

#include "base/mem.h"
#include "policy/policy.h"

#define MEAN "  priority: [{name: cpu_usage_avg_5m, weight: 1}]\n"
#define LIMIT(name, limit) "  predicate: [{name: " name ", maxLimitPecent: " limit "}]\n"
#define PEAK "cpu_usage_max_avg_1h"
#define PRIORITIES(peak, mean)                                                                     \
        "  priority: [{name: " PEAK ", weight: " peak "}, {name: mem_usage_avg_1h, weight: " mean  \
        "}]\n"
#define RELATIVE(weight)                                                                           \
        "  priority: [{name: cpu_usage_avg_5m, weight: 1}, {name: net_usage_avg_5m, "              \
        "weight: " weight ", scale: relative}]\n"
#define POOL(lists) "  pools: [{nodeSelector: {a: b}}, {nodeSelector: {a: c}, " lists "}]\n"
#define RULE(limits) "  rules: [{match: {labels: {a: b}}, limits: [" limits "]}]\n"
#define HOT_VALUE "  hotValue: [{timeRange: 1m, count: 2}]\n"
#define SPREAD "  extender: {scoring: spread}\n"
#define ESTIMATE "  extender: {scoring: estimate}\n"

TEST(advice) {
        static const char syncs[] = "apiVersion: " POLICY_API_VERSION "\n"
                                    "kind: " POLICY_KIND "\n"
                                    "spec:\n"
                                    "  syncPolicy:\n"
                                    "  - {name: cpu_usage_avg_5m, period: 3m}\n"
                                    "  - {name: mem_usage_avg_1h, period: 3m}\n"
                                    "  - {name: net_usage_avg_5m, period: 3m}\n"
                                    "  - {name: cpu_usage_max_avg_1h, period: 15m}\n"
                                    "  - {name: cpu_usage_max_avg_50m, period: 15m}\n"
                                    "  - {name: gauge, period: 3m}\n"
                                    "  - {name: cpu_usage_max_1h, period: 15m}\n"; /* line 11 */
#define BLOCKS(place, metric)                                                                      \
        place metric                                                                               \
                " blocks a node for 1h after one peak: waiting pods then fill the other nodes, "   \
                "until every node is blocked"
#define SHOWS(place)                                                                               \
        place "cpu_usage_max_avg_1h still includes pods that have ended; scoring: estimate uses "  \
              "means"
#define NOTHING(place)                                                                             \
        place "scoring: estimate has no reading to use: expected a mean of cpu or mem, such as "   \
              "cpu_usage_avg_5m"
        static const char blocks[] = BLOCKS("line 12: spec.predicate[0].name: ",
                                            "cpu_usage_max_avg_1h");
        static const char blocks_too[] = BLOCKS("line 12: spec.predicate[0].name: ",
                                                "cpu_usage_max_1h");
        static const char shows[] = SHOWS("line 12: spec.priority[0].name: ");
        static const char nothing[] = NOTHING("line 12: spec.priority: ");
        static const char hot[] = "line 13: spec.hotValue: not needed with scoring: estimate, "
                                  "which counts recent bindings itself";
        static const char few[] =
                "line 13: spec.extender: shortlist: 7 leaves the scheduler almost "
                "no choice: pods created together are placed on the same nodes";
        static const char pool_blocks[] = BLOCKS("line 13: spec.pools[1].predicate[1].name: ",
                                                 "cpu_usage_max_avg_1h");
        static const char rule_blocks[] = BLOCKS("line 13: spec.rules[0].limits[0].name: ",
                                                 "cpu_usage_max_avg_1h");
        static const char pool_shows[] = SHOWS("line 13: spec.pools[1].priority[0].name: ");
        static const char pool_nothing[] = NOTHING("line 13: spec.pools[1].priority: ");
        static const char scale[] =
                "line 12: spec.priority[1].scale: no effect with scoring: estimate";
        static const char pool_scale[] =
                "line 13: spec.pools[1].priority[0].scale: no effect with scoring: estimate";
        static const struct {
                const char *spec;
                const char *warnings[2];
        } rows[] = {
                /* Crane's arithmetic, also when it is spelt out. */
                {LIMIT(PEAK, "0.75") HOT_VALUE, {NULL}},
                {LIMIT(PEAK, "0.75") "  extender: {scoring: absolute, whenAllOver: reject}\n",
                 {NULL}},
                {LIMIT(PEAK, "0.75") SPREAD, {blocks}},
                {LIMIT(PEAK, "0.75") "  extender: {whenAllOver: pass}\n", {blocks}},
                {LIMIT(PEAK, "0.75") MEAN ESTIMATE, {blocks}},
                {LIMIT("cpu_usage_max_1h", "0.75") MEAN ESTIMATE, {blocks_too}},
                {LIMIT(PEAK, "0") MEAN ESTIMATE, {NULL}},
                {LIMIT("cpu_usage_max_avg_50m", "0.75") MEAN ESTIMATE, {NULL}},
                {LIMIT("mem_usage_avg_1h", "0.75") MEAN ESTIMATE, {NULL}},
                {MEAN HOT_VALUE SPREAD, {NULL}},
                {MEAN HOT_VALUE ESTIMATE, {hot}},
                {PRIORITIES("2", "1") SPREAD, {NULL}},
                {PRIORITIES("2", "1") ESTIMATE, {shows}},
                {PRIORITIES("0", "1") ESTIMATE, {NULL}},
                {PRIORITIES("1", "0") ESTIMATE, {shows, nothing}},
                {"  priority: [{name: net_usage_avg_5m, weight: 1}]\n" ESTIMATE, {nothing}},
                {"  priority: [{name: gauge, weight: 1}]\n" ESTIMATE, {nothing}},
                {"  priority:\n" ESTIMATE, {nothing}},
                {RELATIVE("1") ESTIMATE, {scale}},
                {RELATIVE("0") ESTIMATE, {NULL}},
                {RELATIVE("1") SPREAD, {NULL}},
                {MEAN POOL("priority: [{name: mem_usage_avg_1h, weight: 1, scale: relative}]")
                         ESTIMATE,
                 {pool_scale}},
                /* Of a pool, and of a rule. */
                {MEAN POOL("predicate: [{name: cpu_usage_avg_5m, maxLimitPecent: 1}, {name: " PEAK
                           ", maxLimitPecent: 1}]") ESTIMATE,
                 {pool_blocks}},
                {MEAN POOL("predicate: [{name: cpu_usage_avg_5m, maxLimitPecent: 1}, {name: " PEAK
                           ", maxLimitPecent: 1}]"),
                 {NULL}},
                {MEAN RULE("{name: " PEAK ", maxLimitPecent: 1}") SPREAD, {rule_blocks}},
                {MEAN RULE("{name: " PEAK ", maxLimitPecent: 1, overLimit: last}") SPREAD, {NULL}},
                {MEAN POOL("priority: [{name: " PEAK ", weight: 1}]") SPREAD, {NULL}},
                {MEAN POOL("priority: [{name: " PEAK ", weight: 1}]") ESTIMATE,
                 {pool_shows, pool_nothing}},
                {MEAN POOL("priority: [{name: mem_usage_avg_1h, weight: 1}]") ESTIMATE, {NULL}},
                {MEAN POOL("priority: []") ESTIMATE, {NULL}},
                {MEAN "  extender: {shortlist: 7}\n", {few}},
                {MEAN "  extender: {shortlist: 8}\n", {NULL}},
                {MEAN "  extender: {shortlist: 0}\n", {NULL}},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(freep) char *text = xasprintf("%s%s", syncs, rows[i].spec);
                _cleanup_(policy_freep) struct policy *policy = NULL;
                struct error err = ERROR_NULL;
                /* No advice is an error, strict or not. */
                if (policy_parse(text, strlen(text), true, &policy, &err) < 0)
                        fail_msg("%s\n%s", err.msg, text);
                size_t count = 0;
                while (count < 2 && rows[i].warnings[count])
                        count++;
                if (policy->warning_count != count)
                        fail_msg("%zu warnings:\n%s", policy->warning_count, rows[i].spec);
                for (size_t w = 0; w < count; w++)
                        assert_string_equal(policy->warnings[w], rows[i].warnings[w]);
        }
}
