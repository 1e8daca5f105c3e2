#include "extender/explain/nodes_page.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/json_write.h"
#include "extender/explain/explanation.h"
#include "extender/table/node_annotation.h"

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
                enum reading_state state = explanation_reading(explanation, row, i);
                json_write_object(out, policy->metrics[i].name);
                json_write_text(out, "state", node_reading_state_name(state));
                if (state == READING_USABLE || state == READING_EXPIRED) {
                        int64_t at_unix_ms = annotation_at_unix_ms(columns->expires_unix_ms[i][row],
                                                                   policy->metrics[i].period_ms);
                        put(out, "value", columns->usage_ratio[i][row]);
                        json_write_seconds(out, "ageSeconds",
                                           explanation->now_unix_ms - at_unix_ms);
                }
                if (!policy_pool_uses(policy, columns->pool[row], i))
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

        json_write_object(out, "estimate");
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                json_write_object(out, resource_names[r]);
                put(out, "usage", facts->is_known[r] ? facts->usage_ratio[r] : NAN);
                put(out, "margin", columns->margin_ratio[r][row]);
                put(out, "reserved", explanation_reserved(explanation, row, r));
                json_write_object_end(out);
        }
        json_write_bool(out, "expired", columns->is_estimate_old[row]);
        json_write_object_end(out);
}

static void put_node(const struct explanation *explanation, size_t row, struct buf *out) {
        const struct node_columns *columns = &explanation->nodes->columns;
        const struct node_facts *facts = &columns->facts[row];
        const struct node_name *name = node_names_at(explanation->snapshot->names, (uint32_t)row);
        int score = explanation_score(explanation, row);
        bool is_hot = explanation->now_unix_ms < columns->hot_expires_unix_ms[row];

        json_write_line(out);
        json_write_object(out, NULL);
        json_write_text_len(out, "node", name->name, name->name_bytes);
        json_write_text(out, "closedBy", explanation->closed_by[row]);
        json_write_bool(out, "tainted", facts->is_avoided);
        explanation_json_over(explanation, row, out);
        json_write_bool(out, "rejected", explanation->rejected_by[row] >= 0);
        put(out, "score", score < 0 ? (double)NAN : score);
        json_write_int(out, "pool", columns->pool[row]);
        put_readings(explanation, row, out);
        put(out, "hotValue", is_hot ? columns->hot[row] : 0);
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
        explanation_json_pod(&explanation, out);
        json_write_array(out, "nodes");
        for (size_t row = 0; row < snapshot->nodes.count; row++)
                put_node(&explanation, row, out);
        json_write_array_end(out);
        json_write_object_end(out);
        buf_putc(out, '\n');
        explanation_done(&explanation);
}

static void write_nodes(void *userdata, struct buf *out) {
        struct node_snapshot *snapshot = node_table_acquire(userdata);

        nodes_page_write(snapshot, clock_wall_unix_ms(), clock_mono_ms(), out);
        node_snapshot_unref(snapshot);
}

struct shared_page *nodes_page_new(struct loop *loop, struct side_thread *side,
                                   struct node_table *table) {
        return shared_page_new(&(struct shared_page_options){
                .loop = loop,
                .side = side,
                .max_bytes = NODES_PAGE_MAX_BYTES,
                .content_type = "application/json",
                .write = write_nodes,
                .userdata = table,
        });
}

bool nodes_page(struct shared_page *page, struct http_exchange *exchange) {
        if (!page || strcmp(exchange->path, "/nodes") != 0)
                return false;
        if (strcmp(exchange->method, "GET") != 0)
                exchange->status = 405;
        else
                shared_page_answer(page, exchange);
        return true;
}
