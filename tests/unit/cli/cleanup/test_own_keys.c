/* Which annotations `cleanup` takes off, and which it must not touch. */
#include "tests/unit/fixture/test.h"

#include <stdlib.h>

#include "base/mem.h"
#include "cli/cleanup/own_keys.h"
#include "codec/json.h"

#define OWNED(manager, fields)                                                                     \
        "\"managedFields\": [{\"manager\": \"kubelet\", \"fieldsV1\": {\"f:metadata\": "           \
        "{\"f:annotations\": {\"f:theirs\": {}}}}}, {\"manager\": \"" manager                      \
        "\", \"operation\": \"Update\", \"fieldsV1\": " fields "}]"

TEST(find) {
        static const struct {
                const char *prefix, *metadata, *nulls;
        } rows[] = {
                {"", "{}", "{}"},
                {"", "{\"annotations\": null}", "{}"},
                {"", "{\"annotations\": [1]}", "{}"},
                /* the built-in policy's, whatever stands in them */
                {"",
                 "{\"annotations\": {\"cpu_usage_avg_5m\": \"?\", \"node_hot_value\": \"\", "
                 "\"node_covered_seconds\": \"90\", "
                 "\"volumes.kubernetes.io/controller-managed-attach-detach\": \"true\"}}",
                 "{\"cpu_usage_avg_5m\":null,\"node_hot_value\":null,"
                 "\"node_covered_seconds\":null}"},
                /* of an earlier policy: the name of a metric and the value of a reading */
                {"",
                 "{\"annotations\": {\"cpu_usage_max_avg_1h_peak\": "
                 "\"0.5,2026-07-23T11:25:54Z\", \"cpu_usage_max_avg_1d_peak\": \"Everest\"}}",
                 "{\"cpu_usage_max_avg_1h_peak\":null}"},
                {"",
                 "{\"annotations\": {\"psi_io_usage_p95_1h\": \"0.5,2026-07-23T11:25:54Z\", "
                 "\"psi_io_usage_p99_1h\": \"yes\", \"replicas\": \"0.5,2026-07-23T11:25:54Z\"}}",
                 "{\"psi_io_usage_p95_1h\":null}"},
                {"",
                 "{\"annotations\": {\"psi_io_usage_p95_1h\": 0.5, \"psi_io_usage_p99_1h\": "
                 "null}, \"managedFields\": [{}, {\"manager\": 7}]}",
                 "{}"},
                /* of a gauge with a name of its own: the API server knows it is ours */
                {"",
                 "{\"annotations\": {\"gpu_temp\": \"0.5,2026-07-23T11:25:54Z\", \"theirs\": "
                 "\"x\"}, " OWNED("plimsoll-controller", "{\"f:metadata\": {\"f:annotations\": "
                                                         "{\".\": {}, \"f:gpu_temp\": {}}}}") "}",
                 "{\"gpu_temp\":null}"},
                {"",
                 "{\"annotations\": {\"gpu_temp\": \"1\"}, " OWNED(
                         "plimsoll-controller-2",
                         "{\"f:metadata\": {\"f:annotations\": {\"f:gpu_temp\": {}}}}") "}",
                 "{}"},
                /* owned, but no annotation */
                {"",
                 "{\"annotations\": {\"a\": \"1\"}, \"labels\": {\"b\": \"1\"}, " OWNED(
                         "plimsoll-controller",
                         "{\"f:metadata\": {\"f:labels\": {\"f:b\": {}}}}") "}",
                 "{}"},
                {"", "{\"annotations\": {\"a\": \"1\"}, " OWNED("plimsoll-controller", "7") "}",
                 "{}"},
                /* with a prefix, those without or with another are another controller's */
                {"load.example.com/",
                 "{\"annotations\": {\"cpu_usage_avg_5m\": \"1\", \"node_hot_value\": \"1\", "
                 "\"load.example.com/cpu_usage_avg_5m\": \"1\", \"load.example.com/x\": \"1\", "
                 "\"load.example.com/node_hot_value\": \"1\", \"other.com/cpu_usage_avg_5m\": "
                 "\"1\"}}",
                 "{\"load.example.com/cpu_usage_avg_5m\":null,"
                 "\"load.example.com/node_hot_value\":null}"},
                {"load.example.com/",
                 "{\"annotations\": {\"load.example.com/gpu_temp\": \"1\", "
                 "\"other.com/gpu_temp\": \"1\", \"gpu_temp\": \"1\"}, " OWNED(
                         "plimsoll-controller", "{\"f:metadata\": {\"f:annotations\": "
                                                "{\"f:load.example.com/gpu_temp\": {}, "
                                                "\"f:other.com/gpu_temp\": {}, "
                                                "\"f:gpu_temp\": {}}}}") "}",
                 "{\"load.example.com/gpu_temp\":null}"},
                /* without one, all that is owned is ours, under whatever prefix */
                {"",
                 "{\"annotations\": {\"other.com/gpu_temp\": \"1\"}, " OWNED(
                         "plimsoll-controller", "{\"f:metadata\": {\"f:annotations\": "
                                                "{\"f:other.com/gpu_temp\": {}}}}") "}",
                 "{\"other.com/gpu_temp\":null}"},
        };
        _cleanup_(policy_freep) struct policy *policy = policy_default();

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(freep) char *text = xasprintf("{\"metadata\": %s}", rows[i].metadata);
                json_auto_t *node = NULL;
                assert_int_equal(json_parse(text, strlen(text), &node, NULL), 0);
                json_auto_t *nulls = own_keys_find(node, policy, rows[i].prefix);
                _cleanup_(freep) char *found = json_dumps(nulls, JSON_COMPACT);
                if (strcmp(found, rows[i].nulls) != 0)
                        fail_msg("row %zu: %s", i, found);
        }
}
