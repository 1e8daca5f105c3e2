/* The status of a policy object: what is written, and when nothing is. */
#include "tests/unit/fixture/test.h"

#include "base/attributes.h"
#include "codec/json.h"
#include "policy/live/policy_status.h"

static const int64_t NOW_UNIX_MS = INT64_C(1784805954000); /* 2026-07-23T11:25:54Z */

static json_t *parse(const char *text) {
        json_t *json = NULL;

        assert_int_equal(json_parse(text, strlen(text), &json, NULL), 0);
        return json;
}

/* Of the object that was read, and so of the one that may be patched. */
static void add_version(json_t *json) {
        assert_int_equal(json_object_set_new(json, "metadata",
                                             json_pack("{s:s}", "resourceVersion", "4711")),
                         0);
}

TEST(patch) {
        static const struct {
                const char *object;
                struct policy_status status;
                const char *patch; /* NULL: nothing to write */
        } rows[] = {
                /* the first status of a good policy */
                {"{}",
                 {.generation = 1, .metric_count = 6},
                 "{\"status\":{\"observedGeneration\":1,\"metrics\":6,\"conditions\":[{\"type\":"
                 "\"InForce\",\"status\":\"True\",\"reason\":\"Loaded\",\"message\":\"policy is "
                 "valid\",\"lastTransitionTime\":\"2026-07-23T11:25:54Z\","
                 "\"observedGeneration\":1}]}}"},
                /* in force, and yet odd: it says that too, and again when that changes */
                {"{\"status\":{\"observedGeneration\":1,\"conditions\":[{\"type\":\"InForce\","
                 "\"status\":\"True\",\"reason\":\"Loaded\",\"message\":\"policy is valid\"}]}}",
                 {.generation = 1, .metric_count = 6, .warning = "1 warning: x"},
                 "{\"status\":{\"observedGeneration\":1,\"metrics\":6,\"conditions\":[{\"type\":"
                 "\"InForce\",\"status\":\"True\",\"reason\":\"Loaded\",\"message\":\"policy is "
                 "valid, 1 warning: x\",\"lastTransitionTime\":\"2026-07-23T11:25:54Z\","
                 "\"observedGeneration\":1}]}}"},
                /* it says so already, also after our own writing came back as an event */
                {"{\"status\":{\"observedGeneration\":1,\"conditions\":[{\"type\":\"InForce\","
                 "\"status\":\"True\",\"reason\":\"Loaded\",\"message\":\"policy is valid\"}]}}",
                 {.generation = 1, .metric_count = 6},
                 NULL},
                /* still good under a newer generation: the transition keeps its time */
                {"{\"status\":{\"observedGeneration\":1,\"conditions\":[{\"type\":\"InForce\","
                 "\"status\":\"True\",\"reason\":\"Loaded\",\"message\":\"policy is "
                 "valid\",\"lastTransitionTime\":\"2020-01-01T00:00:00Z\"}]}}",
                 {.generation = 2, .metric_count = 1},
                 "{\"status\":{\"observedGeneration\":2,\"metrics\":1,\"conditions\":[{\"type\":"
                 "\"InForce\",\"status\":\"True\",\"reason\":\"Loaded\",\"message\":\"policy is "
                 "valid\",\"lastTransitionTime\":\"2020-01-01T00:00:00Z\","
                 "\"observedGeneration\":2}]}}"},
                /* refused: a new transition; the conditions of others stay */
                {"{\"status\":{\"observedGeneration\":2,\"conditions\":[{\"type\":\"Other\"},"
                 "{\"type\":\"InForce\",\"status\":\"True\",\"lastTransitionTime\":"
                 "\"2020-01-01T00:00:00Z\"}]}}",
                 {.generation = 3, .problem = "spec.priority[0].weight: no"},
                 "{\"status\":{\"observedGeneration\":3,\"conditions\":[{\"type\":\"Other\"},"
                 "{\"type\":\"InForce\",\"status\":\"False\",\"reason\":\"Refused\",\"message\":"
                 "\"spec.priority[0].weight: no\",\"lastTransitionTime\":\"2026-07-23T11:25:54Z\","
                 "\"observedGeneration\":3}]}}"},
                /* an older version said it in other words */
                {"{\"status\":{\"observedGeneration\":1,\"conditions\":[{\"type\":\"InForce\","
                 "\"status\":\"True\",\"reason\":\"Loaded\",\"message\":\"it "
                 "is\",\"lastTransitionTime\":\"2020-01-01T00:00:00Z\"}]}}",
                 {.generation = 1, .metric_count = 6},
                 "{\"status\":{\"observedGeneration\":1,\"metrics\":6,\"conditions\":[{\"type\":"
                 "\"InForce\",\"status\":\"True\",\"reason\":\"Loaded\",\"message\":\"policy is "
                 "valid\",\"lastTransitionTime\":\"2020-01-01T00:00:00Z\",\"observedGeneration\":1}"
                 "]}}"},
                /* and gave another reason; nobody knows since when */
                {"{\"status\":{\"observedGeneration\":1,\"conditions\":[{\"type\":\"InForce\","
                 "\"status\":\"True\",\"reason\":\"Fine\",\"message\":\"policy is valid\"}]}}",
                 {.generation = 1, .metric_count = 6},
                 "{\"status\":{\"observedGeneration\":1,\"metrics\":6,\"conditions\":[{\"type\":"
                 "\"InForce\",\"status\":\"True\",\"reason\":\"Loaded\",\"message\":\"policy is "
                 "valid\",\"lastTransitionTime\":\"2026-07-23T11:25:54Z\",\"observedGeneration\":1}"
                 "]}}"},
                /* a status of any other shape is written over */
                {"{\"status\":{\"conditions\":\"none\"}}",
                 {.generation = 0, .metric_count = 1},
                 "{\"status\":{\"observedGeneration\":0,\"metrics\":1,\"conditions\":[{\"type\":"
                 "\"InForce\",\"status\":\"True\",\"reason\":\"Loaded\",\"message\":\"policy is "
                 "valid\",\"lastTransitionTime\":\"2026-07-23T11:25:54Z\","
                 "\"observedGeneration\":0}]}}"},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                json_t *object = parse(rows[i].object);
                add_version(object);
                json_t *patch = policy_status_patch(object, &rows[i].status, NOW_UNIX_MS);
                json_t *expected = rows[i].patch ? parse(rows[i].patch) : NULL;
                if (expected)
                        add_version(expected);
                if (!expected != !patch || (patch && json_equal(patch, expected) != 1))
                        fail_msg("row %zu gave %s", i, patch ? json_dumps(patch, 0) : "nothing");
                json_decref(expected);
                json_decref(patch);
                json_decref(object);
        }
}
