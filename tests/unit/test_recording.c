/* What of a node is recorded. */
#include "cmocka_wrap.h"

#include <string.h>

#include "base/mem.h"
#include "cli/simulate/recording.h"
#include "codec/json.h"

#define AT "2026-07-23T12:00:00Z"

static const struct {
        const char *prefix, *node, *recorded; /* NULL: nothing */
} cases[] = {
        {"", "{}", NULL},
        {"", "{\"metadata\": {\"name\": 1}}", NULL},
        {"", "{\"metadata\": {\"name\": \"a\", \"annotations\": 1}, \"status\": {\"capacity\": 1}}",
         "{\"name\": \"a\", \"annotations\": {}, \"capacity\": {}}"},
        /* What is or should be a reading, of any policy, and labels; of the rest nothing. */
        {"",
         "{\"metadata\": {\"name\": \"a\", \"labels\": {\"team\": \"x\"}, \"annotations\": {"
         "\"cpu_usage_avg_5m\": \"much\", \"gpus\": \"0.5," AT "\", \"node_hot_value\": \"1\","
         "\"cpu_usage_max_avg_1h_peak\": \"0.5," AT "\", \"token\": \"hunter2\","
         "\"mem_usage_avg_5m\": 3, \"other.io/x\": \"0.5," AT "\"}},"
         " \"status\": {\"capacity\": {\"cpu\": \"8\", \"memory\": \"1Gi\", \"pods\": \"9\"}}}",
         "{\"name\": \"a\", \"annotations\": {\"cpu_usage_avg_5m\": \"much\", \"gpus\": \"0.5," AT
         "\", \"node_hot_value\": \"1\"}, \"labels\": {\"team\": \"x\"}, \"capacity\": {\"cpu\": "
         "\"8\", \"memory\": \"1Gi\"}}"},
        {"x.io/",
         "{\"metadata\": {\"name\": \"a\", \"annotations\": {\"cpu_usage_avg_5m\": \"1," AT
         "\", \"x.io/cpu_usage_avg_5m\": \"2," AT "\"}}}",
         "{\"name\": \"a\", \"annotations\": {\"x.io/cpu_usage_avg_5m\": \"2," AT
         "\"}, \"capacity\": {}}"},
};

static void test_node(void **state) {
        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                const struct node_table_options options = {.annotation_prefix = cases[i].prefix};
                json_auto_t *node = json_loads(cases[i].node, 0, NULL);
                json_auto_t *found = recording_node(node, &options);
                assert_non_null(node);
                if (!cases[i].recorded) {
                        assert_null(found);
                        continue;
                }
                json_auto_t *wanted = json_loads(cases[i].recorded, 0, NULL);
                assert_true(json_equal(found, wanted));
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_node)};

        return cmocka_run_group_tests(tests, NULL, NULL);
}
