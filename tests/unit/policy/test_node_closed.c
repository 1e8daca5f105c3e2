/* Why a node takes no pods, whatever its object holds. */
#include "tests/unit/fixture/test.h"

#include <jansson.h>
#include <string.h>

#include "base/mem.h"
#include "policy/node_closed.h"
#include "tests/unit/fixture/rows.h"

static void show(const char *text, size_t len, struct buf *out) {
        json_auto_t *node = json_pack("{s:o}", "spec", json_loads(text, JSON_DECODE_ANY, NULL));
        _cleanup_(freep) char *reason = node_closed_by(node);

        buf_puts(out, reason ? reason : "-");
}

TEST(reasons) {
        rows_check("closed-nodes.tsv", show);
}

TEST(long_key) {
        char key[2000] = "";

        memset(key, 'k', sizeof(key) - 1);
        json_auto_t *node = json_pack("{s:{s:[{s:s, s:s}]}}", "spec", "taints", "key", key,
                                      "effect", "NoSchedule");
        _cleanup_(freep) char *reason = node_closed_by(node);
        assert_int_equal(strlen(reason), strlen("taint ") + 253 + 1 + 63);
}
