#include "cli/top/top_requests.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/strmap.h"
#include "cli/nodes/node_list.h"
#include "cli/nodes/pod_feed.h"
#include "codec/json.h"
#include "codec/quantity.h"
#include "policy/pods/pod_facts.h"

/* A bound pod. */
struct pod {
        char *node, *space;
        struct pod_load request;
};

struct top_requests {
        struct cluster *cluster;
        struct node_table *table;
        struct pod_feed *feed;
        struct strmap pods, incoming; /* id -> pod; incoming: of the list that is being read */
        bool is_listing;
        struct strmap capacities; /* name -> capacity, of the nodes in the list */
        int64_t now_unix_ms;
        struct top_requests_sum sum;
};

/* Whether the metric is a mean of the resource. */
static bool is_mean_of(const struct policy_metric *metric, unsigned resource) {
        return metric->is_query && metric->query.resource == resource &&
               metric->query.statistic == METRIC_AVG;
}

/* Use the usable mean with the shortest window. */
static void read_usage(const struct top_requests *requests, size_t row, int resource,
                       unsigned metric_of, struct top_requests_row *ret) {
        const struct policy *policy = node_table_policy(requests->table);
        int64_t window_ms = INT64_MAX;

        ret->used.of[resource] = -1;
        for (size_t i = 0; ret->capacity.of[resource] > 0 && i < policy->metric_count; i++) {
                const struct policy_metric *metric = &policy->metrics[i];
                struct reading reading;
                if (!is_mean_of(metric, metric_of) || metric->query.window_ms >= window_ms)
                        continue;
                node_table_reading(requests->table, row, i, requests->now_unix_ms, &reading);
                if (reading.state != READING_USABLE)
                        continue;
                ret->used.of[resource] = reading.value * ret->capacity.of[resource];
                window_ms = metric->query.window_ms;
        }
}

/* ---- Nodes. */

static void forget_values(struct strmap *map) {
        struct strmap_entry *entry;

        STRMAP_FOREACH (entry, map)
                free(entry->value);
        strmap_done(map);
}

static void on_nodes_begin(void *userdata) {
        struct top_requests *requests = userdata;

        node_table_list_begins(requests->table);
        forget_values(&requests->capacities);
}

static void requests_on_node(void *userdata, const char *text, size_t len) {
        struct top_requests *requests = userdata;
        json_auto_t *node = NULL;

        if (json_parse(text, len, &node, NULL) < 0)
                return;
        const char *name = json_string_at(node, "metadata", "name", NULL);
        const json_t *capacity = json_at(node, "status", "capacity", NULL);
        if (!name)
                return;
        node_table_put(requests->table, name, json_at(node, "metadata", "annotations", NULL),
                       requests->now_unix_ms);
        struct pod_load *whole = xmalloc(sizeof(*whole));
        *whole = (struct pod_load){.of = {[ESTIMATE_CPU] = quantity_at(capacity, "cpu"),
                                          [ESTIMATE_MEM] = quantity_at(capacity, "memory")}};
        free(strmap_put(&requests->capacities, name, strlen(name), whole));
}

/* ---- Pods. A list replaces the last one when it has ended. */

static void forget_pod(struct pod *pod) {
        if (!pod)
                return;
        free(pod->node);
        free(pod->space);
        free(pod);
}

static void forget_pods(struct strmap *pods) {
        struct strmap_entry *entry;

        STRMAP_FOREACH (entry, pods)
                forget_pod(entry->value);
        strmap_done(pods);
}

static void requests_on_pods_begin(void *userdata) {
        struct top_requests *requests = userdata;

        requests->is_listing = true;
        forget_pods(&requests->incoming);
}

static void requests_on_pod(void *userdata, const struct pod_facts *facts, bool is_appeared) {
        struct top_requests *requests = userdata;
        struct strmap *pods = requests->is_listing ? &requests->incoming : &requests->pods;
        struct pod *pod = xmalloc(sizeof(*pod));

        (void)is_appeared;
        *pod = (struct pod){
                .node = xmemdup0(facts->node.text, facts->node.len),
                .space = xmemdup0(facts->namespace.text, facts->namespace.len),
                .request = facts->request,
        };
        forget_pod(strmap_put(pods, (const char *)&facts->id, sizeof(facts->id), pod));
}

static void requests_on_pod_gone(void *userdata, uint64_t id) {
        struct top_requests *requests = userdata;

        forget_pod(strmap_remove(&requests->pods, (const char *)&id, sizeof(id)));
}

static void requests_on_pods_ended(void *userdata) {
        struct top_requests *requests = userdata;

        requests->is_listing = false;
        forget_pods(&requests->pods);
        requests->pods = requests->incoming;
        requests->incoming = STRMAP_NULL;
}

/* ---- The sums. */

static void sum_done(struct top_requests_sum *sum) {
        for (size_t i = 0; i < sum->space_count; i++)
                free(sum->spaces[i].name);
        for (size_t i = 0; i < sum->node_count; i++)
                free(sum->nodes[i].name);
        free(sum->nodes);
        free(sum->spaces);
        *sum = (struct top_requests_sum){0};
}

static struct top_requests_row *space_of(struct top_requests_sum *sum, struct strmap *index,
                                         const char *name) {
        size_t at = (size_t)(uintptr_t)strmap_get(index, name, strlen(name));

        if (at == 0) {
                mem_grow(&sum->spaces, sum->space_count, &sum->space_cap);
                at = ++sum->space_count;
                sum->spaces[at - 1] = (struct top_requests_row){
                        .name = xstrdup(name),
                        .used.of = {-1, -1},
                        .unused.of = {-1, -1},
                };
                (void)strmap_put(index, name, strlen(name), (void *)(uintptr_t)at);
        }
        return &sum->spaces[at - 1];
}

static void requests_add(struct top_requests_row *row, const struct pod_load *request) {
        row->pods++;
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                row->requested.of[r] += request->of[r];
}

/* @ret_index: name -> index + 1 */
static void sum_nodes(const struct top_requests *requests, struct top_requests_sum *sum,
                      struct strmap *ret_index) {
        sum->node_count = node_table_count(requests->table);
        sum->nodes = xcalloc(sum->node_count + 1, sizeof(*sum->nodes));
        for (size_t i = 0; i < sum->node_count; i++) {
                struct top_requests_row *row = &sum->nodes[i];
                row->name = xstrdup(node_table_name(requests->table, i));
                row->capacity = *(const struct pod_load *)strmap_get(&requests->capacities,
                                                                     row->name, strlen(row->name));
                read_usage(requests, i, ESTIMATE_CPU, METRIC_CPU, row);
                read_usage(requests, i, ESTIMATE_MEM, METRIC_MEM, row);
                (void)strmap_put(ret_index, row->name, strlen(row->name),
                                 (void *)(uintptr_t)(i + 1));
        }
}

/* Nodes without a reading are left out of the sums of what is used and unused. */
static void requests_sum_up(struct top_requests_sum *sum) {
        struct top_requests_row *total = &sum->total;

        for (size_t i = 0; i < sum->node_count; i++) {
                struct top_requests_row *row = &sum->nodes[i];
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

static void sum_all(struct top_requests *requests) {
        _cleanup_(strmap_done) struct strmap nodes = STRMAP_NULL, spaces = STRMAP_NULL;
        struct top_requests_sum *sum = &requests->sum;
        const struct strmap_entry *entry;

        sum_done(sum);
        sum_nodes(requests, sum, &nodes);
        STRMAP_FOREACH (entry, &requests->pods) {
                const struct pod *pod = entry->value;
                size_t at = (size_t)(uintptr_t)strmap_get(&nodes, pod->node, strlen(pod->node));
                if (at == 0)
                        continue;
                requests_add(&sum->nodes[at - 1], &pod->request);
                requests_add(space_of(sum, &spaces, pod->space), &pod->request);
        }
        requests_sum_up(sum);
}

struct top_requests *top_requests_new(struct cluster *cluster,
                                      const struct node_table_options *options,
                                      struct policy *policy, bool is_watching,
                                      int64_t now_unix_ms) {
        static const struct pod_watch_events events = {
                .list_begins = requests_on_pods_begin,
                .pod = requests_on_pod,
                .gone = requests_on_pod_gone,
                .list_ended = requests_on_pods_ended,
        };
        struct top_requests *requests = xcalloc(1, sizeof(*requests));

        requests->cluster = cluster;
        requests->table = node_table_new(options, policy, now_unix_ms);
        requests->feed = pod_feed_new(cluster, is_watching, &events, requests);
        return requests;
}

void top_requests_free(struct top_requests *requests) {
        if (!requests)
                return;
        pod_feed_free(requests->feed);
        forget_pods(&requests->pods);
        forget_pods(&requests->incoming);
        forget_values(&requests->capacities);
        sum_done(&requests->sum);
        node_table_free(requests->table);
        free(requests);
}

struct node_table *top_requests_table(const struct top_requests *requests) {
        return requests->table;
}

int top_requests_update(struct top_requests *requests, int64_t now_unix_ms,
                        struct top_requests_sum **ret, struct error *err) {
        requests->now_unix_ms = now_unix_ms;
        if (node_list_each(requests->cluster, true, on_nodes_begin, requests_on_node, requests,
                           err) != KUBE_OK)
                return err->code;
        node_table_list_ended(requests->table);
        int r = pod_feed_update(requests->feed, err);
        if (r < 0)
                return r;
        sum_all(requests);
        *ret = &requests->sum;
        return 0;
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

void top_requests_sort(struct top_requests_sum *sum, int resource) {
        sort_rows(sum->nodes, sum->node_count, resource);
        sort_rows(sum->spaces, sum->space_count, resource);
}
