#include "extender/estimate_page/estimate_json.h"

#include <math.h>

#include "base/clock.h"
#include "base/json_write.h"

/* The importer computes scores from these numbers, so they are written to the last bit. */
enum { EXACT_DIGITS = 17, SHOWN_DIGITS = 7 };

static const char *const resource_names[ESTIMATE_RESOURCE_COUNT] = {"cpu", "mem"};

struct estimate_writing {
        const struct node_snapshot *snapshot;
        struct reservation reservations[RESERVATIONS_MAX];
        size_t reservation_count;
        struct buf *out;
};

static void put_exactly(struct buf *out, const char *key, double value) {
        json_write_number(out, key, value, EXACT_DIGITS);
}

static void put_shown(struct buf *out, const char *key, double value) {
        json_write_number(out, key, value, SHOWN_DIGITS);
}

/* ---- Nodes. */

static double reserved_load(const struct estimate_writing *writing, uint32_t node_number,
                            int resource) {
        double load = 0;

        for (size_t i = 0; i < writing->reservation_count; i++)
                if (writing->reservations[i].node_number == node_number)
                        load += writing->reservations[i].load.of[resource];
        return load;
}

static void put_reading(struct buf *out, const struct mean_reading *reading) {
        if (reading->window_ms > 0) {
                put_shown(out, "reading", reading->ratio);
                json_write_time(out, "at", reading->ends_unix_ms);
                json_write_seconds(out, "windowSeconds", reading->window_ms);
        } else {
                json_write_null(out, "reading");
                json_write_null(out, "at");
                json_write_null(out, "windowSeconds");
        }
}

static void put_resource(const struct estimate_writing *writing, size_t row, int resource,
                         const struct node_estimate *node, const struct estimator_usage *usage) {
        const struct judge_nodes *nodes = &writing->snapshot->nodes;
        int metric = nodes->terms[nodes->columns.pool[row]].metric[resource];
        const struct mean_reading *reading = &node->readings[resource];
        double ratio = usage->ratio[resource];
        struct buf *out = writing->out;

        json_write_object(out, resource_names[resource]);
        put_shown(out, "capacity", node->capacity.of[resource]);
        put_shown(out, "requested",
                  usage->per_capacity[resource] > 0
                          ? node_estimate_requested(node, resource) * usage->per_capacity[resource]
                          : NAN);
        json_write_text(out, "metric", metric < 0 ? NULL : nodes->policy->metrics[metric].name);
        put_reading(out, reading);
        put_shown(out, "inFlight", reading->window_ms > 0 ? ratio - reading->ratio : NAN);
        put_exactly(out, "usage", ratio);
        put_exactly(out, "margin", usage->margin_ratio[resource]);
        put_exactly(out, "reserved",
                    reserved_load(writing, nodes->columns.estimate_number[row], resource) *
                            usage->per_capacity[resource]);
        json_write_object_end(out);
}

/* The headroom with reservations, before any pod is added. */
static double headroom_of(const struct estimate_writing *writing, size_t row) {
        const struct node_columns *columns = &writing->snapshot->nodes.columns;
        struct score_node node = node_columns_estimate(columns, row);

        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                node.used[r] += score_reserved(node.own[r]) *
                                reserved_load(writing, columns->estimate_number[row], r);
        return estimate_terms_headroom(&writing->snapshot->nodes.terms[columns->pool[row]], &node,
                                       &(struct pod_load){0});
}

static void put_estimated_node(const struct estimate_writing *writing, size_t row) {
        const struct node_snapshot *snapshot = writing->snapshot;
        const struct node_columns *columns = &snapshot->nodes.columns;
        const struct estimator_node *node = estimator_node_at(snapshot->estimator,
                                                              columns->estimate_number[row]);
        const struct node_name *name = node_names_at(snapshot->names, (uint32_t)row);
        struct buf *out = writing->out;
        struct estimator_usage usage;

        if (!node)
                return;
        const struct node_estimate *estimate = estimator_node_estimate(node);
        estimator_usage(snapshot->estimator, node, &usage);
        json_write_line(out);
        json_write_object(out, NULL);
        json_write_text_len(out, "node", name->name, name->name_bytes);
        json_write_int(out, "pods", (int64_t)(estimate->pod_count - estimate->gone_count));
        put_shown(out, "headroom", headroom_of(writing, row));
        put_shown(out, "other", columns->other[row]);
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                put_resource(writing, row, r, estimate, &usage);
        json_write_object_end(out);
}

/* ---- The cluster. */

static void put_workload(void *userdata, const char *name, size_t name_len,
                         const struct workload_measure *measure) {
        struct buf *out = userdata;

        json_write_line(out);
        json_write_object(out, NULL);
        json_write_text_len(out, "workload", name, name_len);
        json_write_int(out, "pods", (int64_t)measure->pods);
        put_shown(out, "requestCores", measure->request.of[ESTIMATE_CPU]);
        put_shown(out, "requestBytes", measure->request.of[ESTIMATE_MEM]);
        put_exactly(out, "usedCores", measure->mean.of[ESTIMATE_CPU]);
        put_exactly(out, "usedBytes", measure->mean.of[ESTIMATE_MEM]);
        json_write_object_end(out);
}

static void put_cluster(const struct cluster_load *cluster, struct buf *out) {
        json_write_object(out, "cluster");
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                json_write_object(out, resource_names[r]);
                put_exactly(out, "usageToRequest", cluster->factor.ratio[r]);
                put_exactly(out, "base", cluster->base_ratio[r]);
                json_write_object_end(out);
        }
        json_write_object_end(out);
}

void estimate_json(const struct node_snapshot *snapshot, int64_t now_unix_ms, int64_t now_mono_ms,
                   struct buf *out) {
        const struct policy *policy = snapshot->nodes.policy;
        struct estimator *estimator = policy->scoring == POLICY_SCORING_ESTIMATE
                                              ? snapshot->estimator
                                              : NULL;
        const struct reservation_pod nobody = {0};
        struct estimate_writing writing = {.snapshot = snapshot, .out = out};

        json_write_object(out, NULL);
        json_write_time(out, "at", now_unix_ms);
        json_write_int(out, "policyGeneration", (int64_t)snapshot->table_policy->generation);
        json_write_text(out, "scoring", policy_scoring_names[policy->scoring]);
        if (estimator) {
                put_cluster(estimator_cluster(estimator), out);
                writing.reservation_count = estimator_reservations(
                        estimator, &nobody, UINT64_MAX, now_mono_ms, writing.reservations);
        }
        json_write_array(out, "nodes");
        for (size_t row = 0; estimator && row < snapshot->nodes.count; row++)
                put_estimated_node(&writing, row);
        json_write_array_end(out);
        json_write_array(out, "workloads");
        if (estimator)
                workload_set_each(estimator_workloads(estimator), put_workload, out);
        json_write_array_end(out);
        json_write_object_end(out);
        buf_putc(out, '\n');
}
