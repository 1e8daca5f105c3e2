#include "extender/explain/nodes_page.h"

#include <math.h>

#include "base/clock.h"
#include "base/json_write.h"
#include "extender/explain/explanation.h"
#include "extender/explain/score_terms.h"
#include "policy/judge/judge_estimate.h"

enum { DIGITS = 6 };

static const char *const resource_names[ESTIMATE_RESOURCE_COUNT] = {"cpu", "mem"};

static void put(struct buf *out, const char *key, double value) {
        json_write_number(out, key, value, DIGITS);
}

/* null unless both are known. */
static void put_load(struct buf *out, const char *key, bool is_known, const struct pod_load *load) {
        json_write_object(out, key);
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                put(out, resource_names[r], is_known ? load->of[r] : NAN);
        json_write_object_end(out);
}

static void put_readings(const struct explanation *explanation, size_t row, struct buf *out) {
        const struct policy *policy = explanation->policy;
        const struct node_columns *columns = &explanation->nodes->columns;

        json_write_object(out, "metrics");
        for (size_t i = 0; i < policy->metric_count; i++) {
                const struct score_terms_reading reading = score_terms_reading(
                        explanation->nodes, row, i, explanation->now_unix_ms);
                json_write_object(out, policy->metrics[i].name);
                score_terms_json_reading(&reading, policy->metrics[i].period_ms,
                                         explanation->now_unix_ms, out);
                if (!policy_pool_uses(policy, columns->readings.pool[row], i))
                        json_write_bool(out, "used", false);
                json_write_object_end(out);
        }
        json_write_object_end(out);
}

/* What its pods are expected to use by now, the margin for what is not known of them, and what is
 * reserved for pods that are on their way. */
static void put_estimate(const struct explanation *explanation, size_t row, struct buf *out) {
        const struct node_columns *columns = &explanation->nodes->columns;
        const struct node_facts *facts = &columns->facts[row];
        const struct pod_load *reserved = judge_reserved(&explanation->judge, (uint32_t)row);

        json_write_object(out, "estimate");
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                json_write_object(out, resource_names[r]);
                put(out, "usage", facts->is_known[r] ? facts->usage_ratio[r] : NAN);
                put(out, "margin", columns->margin_ratio[r][row]);
                put(out, "reserved",
                    reserved && facts->capacity.of[r] > 0 ? reserved->of[r] / facts->capacity.of[r]
                                                          : 0);
                json_write_object_end(out);
        }
        json_write_bool(out, "expired", columns->is_estimate_old[row]);
        json_write_object_end(out);
}

static void put_node(const struct explanation *explanation, size_t row, struct buf *out) {
        const struct node_columns *columns = &explanation->nodes->columns;
        const struct node_facts *facts = &columns->facts[row];
        bool is_hot = explanation->now_unix_ms < columns->readings.hot_expires_unix_ms[row];

        explanation_json_node_begin(explanation, row, out);
        json_write_bool(out, "tainted", facts->is_avoided);
        json_write_int(out, "pool", columns->readings.pool[row]);
        put_readings(explanation, row, out);
        put(out, "hotValue", is_hot ? columns->readings.hot[row] : 0);
        put_load(out, "capacity", true, &facts->capacity);
        put_load(out, "allocatable", true, &facts->allocatable);
        put_load(out, "requested", facts->pods >= 0, &facts->requested);
        put(out, "pods", facts->pods < 0 ? (double)NAN : facts->pods);
        json_write_int(out, "podsMax", facts->pods_max);
        if (explanation->has_estimate)
                put_estimate(explanation, row, out);
        json_write_object_end(out);
}

void nodes_page_write(const struct node_snapshot *snapshot, int64_t now_unix_ms,
                      int64_t now_mono_ms, struct buf *out) {
        struct explanation explanation;

        explanation_init(&explanation, snapshot, NULL, now_unix_ms, now_mono_ms);
        explanation_json_begin(&explanation, out);
        for (size_t row = 0; row < snapshot->nodes.count; row++)
                put_node(&explanation, row, out);
        explanation_json_end(out);
        explanation_done(&explanation);
}

static void write_nodes(void *userdata, struct buf *out) {
        struct node_snapshot *snapshot = node_table_acquire(userdata);

        nodes_page_write(snapshot, clock_wall_unix_ms(), clock_mono_ms(), out);
        node_snapshot_unref(snapshot);
}

struct shared_page *nodes_page_new(struct loop *side, struct node_table *table) {
        return shared_page_new(&(struct shared_page_options){
                .loop = side,
                .is_from_loop = true,
                .max_bytes = NODES_PAGE_MAX_BYTES,
                .content_type = "application/json",
                .write = write_nodes,
                .userdata = table,
        });
}
