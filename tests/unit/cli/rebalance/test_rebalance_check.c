/* What speaks against an eviction. */
#include "tests/unit/fixture/test.h"

#include "cli/rebalance/rebalance_check.h"
#include "codec/json.h"
#include "tests/unit/fixture/rows.h"

static void show(const char *text, const char *(*check)(const json_t *object), struct buf *out) {
        json_auto_t *object = json_loads(text, 0, NULL);

        assert_non_null(object);
        const char *why = check(object);
        buf_puts(out, why ? why : "-");
}

static void show_pod(const char *text, size_t len, struct buf *out) {
        show(text, rebalance_check_pod, out);
}

TEST(pods) {
        rows_check("rebalance-pods.tsv", show_pod);
}

static void show_owner(const char *text, size_t len, struct buf *out) {
        show(text, rebalance_check_owner, out);
}

TEST(owners) {
        rows_check("rebalance-owners.tsv", show_owner);
}
