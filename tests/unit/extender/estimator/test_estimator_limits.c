/* How much an estimator holds, and how far a node may disturb what is known of others. */
#include "tests/unit/fixture/test.h"

#include "base/mem.h"
#include "extender/estimator/estimator.h"
#include "extender/estimator/pod_table.h"

#define NOW INT64_C(1784800000000) /* 2026-07-23T09:46:40Z */

static void on_change(void *userdata, void *owner) {
}

static void bind(struct estimator *estimator, uint64_t id, const char *node) {
        const struct estimator_pod pod = {
                .id = id,
                .node = node,
                .node_len = strlen(node),
                .request = {{1, 1e9}},
                .runs_unix_ms = NOW,
        };

        estimator_bind(estimator, &pod);
}

/* A pod that there is no room for leaves nothing behind: its node's name would otherwise take the
 * place of a real node. */
TEST(too_many_pods) {
        enum { FULL, OTHER };
        _cleanup_(estimator_freep) struct estimator *estimator = estimator_new(on_change, NULL);

        for (uint64_t id = 1; id <= POD_TABLE_MAX; id++)
                bind(estimator, id, "full");
        bind(estimator, POD_TABLE_MAX + 1, "other");
        assert_non_null(estimator_tracked(estimator, FULL));
        assert_null(estimator_tracked(estimator, OTHER));
        bind(estimator, POD_TABLE_MAX + 1, "full");
        estimator_end(estimator, POD_TABLE_MAX, NOW);
        bind(estimator, POD_TABLE_MAX + 1, "other");
        assert_int_equal(estimator_tracked(estimator, OTHER)->pod_count, 1);
}
