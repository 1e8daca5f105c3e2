#include "cli/top/top_requests.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "codec/json.h"
#include "codec/quantity.h"
#include "extender/pods/pod_facts.h"

#define NODES_PATH "/api/v1/nodes"
#define PODS_PATH                                                                                  \
        "/api/v1/pods?fieldSelector=spec.nodeName!%3D%2Cstatus.phase!%3DSucceeded%2C"              \
        "status.phase!%3DFailed"

struct loading {
        struct top_requests *requests;
        int64_t now_unix_ms;
};

/* The metric that says what is used now: the mean of the shortest window. -1: the policy has none
 */
static int usage_metric(const struct policy *policy, unsigned resource) {
        int best = -1;

        for (size_t i = 0; i < policy->sync_count; i++) {
                const struct policy_sync *sync = &policy->sync[i];
                if (sync->is_query && sync->query.resource == resource &&
                    sync->query.statistic == METRIC_AVG &&
                    (best < 0 || sync->query.window_ms < policy->sync[best].query.window_ms))
                        best = (int)i;
        }
        return best;
}

static double quantity_at(const json_t *capacity, const char *name) {
        const char *text = json_string_at(capacity, name, NULL);
        double amount = 0;

        return text && quantity_parse(text, strlen(text), &amount) && amount > 0 ? amount : 0;
}

static void read_usage(const struct loading *loading, size_t row, int resource, unsigned metric_of,
                       struct top_requests_row *ret) {
        struct node_table *table = loading->requests->table;
        int metric = usage_metric(node_table_policy(table), metric_of);
        struct reading reading;

        ret->used.of[resource] = -1;
        if (metric < 0 || ret->capacity.of[resource] <= 0)
                return;
        node_table_reading(table, row, (size_t)metric, loading->now_unix_ms, &reading);
        if (reading.state == READING_USABLE)
                ret->used.of[resource] = reading.value * ret->capacity.of[resource];
}

static void on_node(void *userdata, const char *text, size_t len) {
        const struct loading *loading = userdata;
        struct top_requests *requests = loading->requests;
        json_auto_t *node = NULL;

        if (json_parse(text, len, &node, NULL) < 0)
                return;
        const char *name = json_string_at(node, "metadata", "name", NULL);
        const json_t *capacity = json_at(node, "status", "capacity", NULL);
        if (!name)
                return;
        node_table_put(requests->table, name, json_at(node, "metadata", "annotations", NULL),
                       loading->now_unix_ms);
        if (node_table_count(requests->table) != requests->node_count + 1)
                return; /* no node can be called so, or it came twice */
        mem_grow(&requests->nodes, requests->node_count, &requests->node_cap);
        struct top_requests_row *row = &requests->nodes[requests->node_count++];
        *row = (struct top_requests_row){
                .name = xstrdup(name),
                .capacity.of = {[ESTIMATE_CPU] = quantity_at(capacity, "cpu"),
                                [ESTIMATE_MEM] = quantity_at(capacity, "memory")},
        };
        read_usage(loading, requests->node_count - 1, ESTIMATE_CPU, METRIC_CPU, row);
        read_usage(loading, requests->node_count - 1, ESTIMATE_MEM, METRIC_MEM, row);
        (void)strmap_put(&requests->node_index, name, strlen(name),
                         (void *)(uintptr_t)requests->node_count);
}

static struct top_requests_row *space_of(struct top_requests *requests,
                                         const struct skim_string *name) {
        size_t index = (size_t)(uintptr_t)strmap_get(&requests->space_index, name->text, name->len);

        if (index == 0) {
                mem_grow(&requests->spaces, requests->space_count, &requests->space_cap);
                index = ++requests->space_count;
                requests->spaces[index - 1] = (struct top_requests_row){
                        .name = xmemdup0(name->text, name->len),
                        .used.of = {-1, -1},
                        .unused.of = {-1, -1},
                };
                (void)strmap_put(&requests->space_index, name->text, name->len,
                                 (void *)(uintptr_t)index);
        }
        return &requests->spaces[index - 1];
}

static void add(struct top_requests_row *row, const struct pod_load *request) {
        row->pods++;
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                row->requested.of[r] += request->of[r];
}

static void on_pod(void *userdata, const char *text, size_t len) {
        const struct loading *loading = userdata;
        struct top_requests *requests = loading->requests;
        struct pod_facts facts;

        if (!pod_facts_skim(&facts, text, len) || facts.node.len == 0 || facts.is_finished)
                return;
        size_t index = (size_t)(uintptr_t)strmap_get(&requests->node_index, facts.node.text,
                                                     facts.node.len);
        if (index == 0)
                return;
        add(&requests->nodes[index - 1], &facts.request);
        add(space_of(requests, &facts.name_space), &facts.request);
}

/* Nodes without a reading are missing in the sums of what is used and unused. */
static void sum_up(struct top_requests *requests) {
        struct top_requests_row *total = &requests->total;

        for (size_t i = 0; i < requests->node_count; i++) {
                struct top_requests_row *row = &requests->nodes[i];
                total->pods += row->pods;
                for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                        double left = row->requested.of[r] - row->used.of[r];
                        row->unused.of[r] = row->used.of[r] < 0 ? -1 : left > 0 ? left : 0;
                        total->capacity.of[r] += row->capacity.of[r];
                        total->requested.of[r] += row->requested.of[r];
                        if (row->used.of[r] < 0)
                                continue;
                        total->used.of[r] += row->used.of[r];
                        total->unused.of[r] += row->unused.of[r];
                }
        }
}

int top_requests_load(struct cluster *cluster, const struct node_table_options *options,
                      struct policy *policy, int64_t now_unix_ms, struct top_requests *ret,
                      struct error *err) {
        struct loading loading = {ret, now_unix_ms};

        *ret = (struct top_requests){.table = node_table_new(options, policy, now_unix_ms)};
        if (cluster_list(cluster, NODES_PATH, NULL, on_node, &loading, err) != KUBE_OK ||
            cluster_list(cluster, PODS_PATH, NULL, on_pod, &loading, err) != KUBE_OK)
                return err->code;
        sum_up(ret);
        return 0;
}

void top_requests_done(struct top_requests *requests) {
        for (size_t i = 0; i < requests->node_count; i++)
                free(requests->nodes[i].name);
        for (size_t i = 0; i < requests->space_count; i++)
                free(requests->spaces[i].name);
        free(requests->nodes);
        free(requests->spaces);
        strmap_done(&requests->node_index);
        strmap_done(&requests->space_index);
        node_table_free(requests->table);
        *requests = (struct top_requests){0};
}

static int by_name(const void *a, const void *b) {
        const struct top_requests_row *left = a, *right = b;

        return strcmp(left->name, right->name);
}

static int by_request(const void *a, const void *b, void *userdata) {
        const struct top_requests_row *left = a, *right = b;
        int resource = *(const int *)userdata;

        if (left->requested.of[resource] != right->requested.of[resource])
                return left->requested.of[resource] > right->requested.of[resource] ? -1 : 1;
        return by_name(a, b);
}

static void sort_rows(struct top_requests_row *rows, size_t count, int resource) {
        if (count < 2)
                return;
        if (resource < 0)
                qsort(rows, count, sizeof(*rows), by_name);
        else
                qsort_r(rows, count, sizeof(*rows), by_request, &resource);
}

void top_requests_sort(struct top_requests *requests, int resource) {
        sort_rows(requests->nodes, requests->node_count, resource);
        sort_rows(requests->spaces, requests->space_count, resource);
}
