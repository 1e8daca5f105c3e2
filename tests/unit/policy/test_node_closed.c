/* Why a node takes no pods, whatever its object holds. */
#include "tests/unit/fixture/test.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "policy/node_closed.h"

TEST(reasons) {
        static const struct {
                const char *spec, *reason;
        } rows[] = {
                {"{}", NULL},
                {"null", NULL},
                {"{\"unschedulable\": false, \"taints\": null}", NULL},
                {"{\"unschedulable\": \"true\"}", NULL},
                {"{\"unschedulable\": true}", "cordoned"},
                {"{\"unschedulable\": true, \"taints\": [{\"key\": "
                 "\"node.kubernetes.io/unschedulable\", \"effect\": \"NoSchedule\"}]}",
                 "cordoned"},
                {"{\"taints\": [{\"key\": \"a/b\", \"effect\": \"PreferNoSchedule\"}]}", NULL},
                {"{\"taints\": [1, {}, {\"key\": \"a\"}, {\"effect\": \"NoExecute\"}]}", NULL},
                {"{\"taints\": [{\"key\": \"a\", \"effect\": \"PreferNoSchedule\"}, {\"key\": "
                 "\"a/b\", \"effect\": \"NoSchedule\"}]}",
                 "taint a/b"},
                {"{\"taints\": [{\"key\": \"gone\", \"effect\": \"NoExecute\"}]}", "taint gone"},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                json_auto_t *node = json_pack("{s:o}", "spec",
                                              json_loads(rows[i].spec, JSON_DECODE_ANY, NULL));
                _cleanup_(freep) char *reason = node_closed_by(node);
                if (!reason || !rows[i].reason)
                        assert_ptr_equal(reason, rows[i].reason);
                else
                        assert_string_equal(reason, rows[i].reason);
        }
}

TEST(long_key) {
        char key[2000] = "";

        memset(key, 'k', sizeof(key) - 1);
        json_auto_t *node = json_pack("{s:{s:[{s:s, s:s}]}}", "spec", "taints", "key", key,
                                      "effect", "NoSchedule");
        _cleanup_(freep) char *reason = node_closed_by(node);
        assert_int_equal(strlen(reason), strlen("taint ") + 253 + 1 + 63);
}
