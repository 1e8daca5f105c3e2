#include "cli/top/top_requests.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/nodes/node_list.h"
#include "cli/nodes/pod_list.h"
#include "codec/json.h"
#include "codec/quantity.h"
#include "kube/kube_proto.h"
#include "policy/pods/pod_facts.h"

enum { MILLI = 1000 };

/* A bound pod. */
struct pod {
        char *node, *space;
        struct pod_load request;
        double idle_cores;
};

struct top_requests {
        struct cluster *cluster;
        struct node_table *table;
        struct pod_watch *watch; /* NULL: not begun */
        const char *selector;
        bool is_watching;
        struct strmap pods, incoming; /* id -> pod; incoming: the unfinished list */
        bool is_listing;
        int64_t now_unix_ms;
        struct top_requests_sum sum;
};

/* Is the metric a mean of the resource? */
static bool is_mean_of(const struct policy_metric *metric, unsigned resource) {
        return metric->is_query && metric->query.resource == resource &&
               metric->query.statistic == METRIC_AVG;
}

/* Use the usable mean with the shortest window. */
static void read_usage(const struct top_requests *requests, size_t row, int resource,
                       unsigned metric_of, struct top_requests_row *to) {
        const struct policy *policy = node_table_policy(requests->table);
        int64_t window_ms = INT64_MAX;

        for (size_t i = 0; to->capacity.of[resource] > 0 && i < policy->metric_count; i++) {
                const struct policy_metric *metric = &policy->metrics[i];
                struct reading reading;
                if (!is_mean_of(metric, metric_of) || metric->query.window_ms >= window_ms)
                        continue;
                node_table_reading(requests->table, row, i, requests->now_unix_ms, &reading);
                if (reading.state != READING_USABLE)
                        continue;
                to->used.of[resource] = reading.value * to->capacity.of[resource];
                window_ms = metric->query.window_ms;
        }
}

/* ---- Rows. */

static void rows_done(struct top_requests_rows *rows) {
        for (size_t i = 0; i < rows->count; i++)
                free(rows->items[i].name);
        free(rows->items);
        strmap_done(&rows->index);
        *rows = (struct top_requests_rows){0};
}

/* NULL: none. */
static struct top_requests_row *find_row(const struct top_requests_rows *rows, const char *name) {
        size_t at = (size_t)(uintptr_t)strmap_get(&rows->index, name, strlen(name));

        return at > 0 ? &rows->items[at - 1] : NULL;
}

static struct top_requests_row *row_of(struct top_requests_rows *rows, const char *name) {
        if (!find_row(rows, name)) {
                mem_grow(&rows->items, rows->count, &rows->cap);
                rows->items[rows->count++] = (struct top_requests_row){
                        .name = xstrdup(name), .used.of = {-1, -1}, .unused.of = {-1, -1}};
                (void)strmap_put(&rows->index, name, strlen(name), (void *)(uintptr_t)rows->count);
        }
        return find_row(rows, name);
}

/* ---- Nodes. */

static void on_nodes_begin(void *userdata) {
        struct top_requests *requests = userdata;

        node_table_list_begins(requests->table);
        rows_done(&requests->sum.nodes);
}

static void requests_on_node(void *userdata, const char *text, size_t len) {
        struct top_requests *requests = userdata;
        json_auto_t *node = NULL;

        if (json_parse(text, len, &node, NULL) < 0)
                return;
        const char *name = json_string_at(node, "metadata", "name", NULL);
        const json_t *capacity = json_at(node, "status", "capacity", NULL);
        if (!node_table_put_object(requests->table, node, requests->now_unix_ms))
                return;
        struct top_requests_row *row = row_of(&requests->sum.nodes, name);
        row->capacity = (struct pod_load){.of = {[ESTIMATE_CPU] = quantity_at(capacity, "cpu"),
                                                 [ESTIMATE_MEM] = quantity_at(capacity, "memory")}};
        row->idle_offered_cores = quantity_at(json_at(node, "status", "allocatable", NULL),
                                              KUBE_IDLE_RESOURCE) /
                                  MILLI;
}

/* ---- Pods. A complete list replaces the last one. */

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
                .idle_cores = facts->idle_cores,
        };
        forget_pod(strmap_put(pods, (const char *)&facts->id, sizeof(facts->id), pod));
}

static void requests_on_pod_gone(void *userdata, const struct pod_facts *facts) {
        struct top_requests *requests = userdata;

        forget_pod(strmap_remove(&requests->pods, (const char *)&facts->id, sizeof(facts->id)));
}

static void requests_on_pods_ended(void *userdata) {
        struct top_requests *requests = userdata;

        requests->is_listing = false;
        forget_pods(&requests->pods);
        requests->pods = requests->incoming;
        requests->incoming = STRMAP_NULL;
}

/* ---- Totals. */

static void requests_add(struct top_requests_row *row, const struct pod *pod) {
        row->pods++;
        row->idle_taken_cores += pod->idle_cores;
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                row->requested.of[r] += pod->request.of[r];
}

/* The totals of usage leave out nodes without a reading. They are unknown if no node has one. */
static void requests_sum_up(struct top_requests_sum *sum) {
        struct top_requests_row *total = &sum->total;

        *total = (struct top_requests_row){.used.of = {-1, -1}, .unused.of = {-1, -1}};
        for (size_t i = 0; i < sum->nodes.count; i++) {
                struct top_requests_row *row = &sum->nodes.items[i];
                total->pods += row->pods;
                total->idle_offered_cores += row->idle_offered_cores;
                total->idle_taken_cores += row->idle_taken_cores;
                for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                        double left = row->requested.of[r] - row->used.of[r];
                        total->capacity.of[r] += row->capacity.of[r];
                        total->requested.of[r] += row->requested.of[r];
                        if (row->used.of[r] < 0)
                                continue;
                        row->unused.of[r] = left > 0 ? left : 0;
                        total->used.of[r] = fmax(total->used.of[r], 0) + row->used.of[r];
                        total->unused.of[r] = fmax(total->unused.of[r], 0) + row->unused.of[r];
                }
        }
}

static void sum_all(struct top_requests *requests) {
        struct top_requests_sum *sum = &requests->sum;
        const struct strmap_entry *entry;

        rows_done(&sum->spaces);
        sum->has_idle = node_table_policy(requests->table)->idle_line_ratio > 0;
        for (size_t i = 0; i < node_table_count(requests->table); i++) {
                struct top_requests_row *row = row_of(&sum->nodes,
                                                      node_table_name(requests->table, i));
                read_usage(requests, i, ESTIMATE_CPU, METRIC_CPU, row);
                read_usage(requests, i, ESTIMATE_MEM, METRIC_MEM, row);
        }
        STRMAP_FOREACH (entry, &requests->pods) {
                const struct pod *pod = entry->value;
                struct top_requests_row *node = find_row(&sum->nodes, pod->node);
                if (!node)
                        continue;
                requests_add(node, pod);
                requests_add(row_of(&sum->spaces, pod->space), pod);
        }
        requests_sum_up(sum);
}

struct top_requests *top_requests_new(struct cluster *cluster,
                                      const struct node_table_options *options,
                                      struct policy *policy, const char *selector, bool is_watching,
                                      int64_t now_unix_ms) {
        struct top_requests *requests = xcalloc(1, sizeof(*requests));

        requests->cluster = cluster;
        requests->table = node_table_new(options, policy, now_unix_ms);
        requests->selector = selector;
        requests->is_watching = is_watching;
        return requests;
}

void top_requests_free(struct top_requests *requests) {
        if (!requests)
                return;
        pod_watch_free(requests->watch);
        forget_pods(&requests->pods);
        forget_pods(&requests->incoming);
        rows_done(&requests->sum.nodes);
        rows_done(&requests->sum.spaces);
        node_table_free(requests->table);
        free(requests);
}

struct node_table *top_requests_table(const struct top_requests *requests) {
        return requests->table;
}

static int compare_rows(const void *a, const void *b, void *userdata) {
        const struct top_requests_row *left = a, *right = b;
        int r = *(const int *)userdata;

        if (r >= 0 && left->requested.of[r] != right->requested.of[r])
                return left->requested.of[r] > right->requested.of[r] ? -1 : 1;
        return strcmp(left->name, right->name);
}

static void sort_rows(struct top_requests_rows *rows, int resource) {
        if (rows->count > 1)
                qsort_r(rows->items, rows->count, sizeof(*rows->items), compare_rows, &resource);
}

int top_requests_update(struct top_requests *requests, int64_t now_unix_ms, int sort_by,
                        const struct top_requests_sum **ret, struct error *err) {
        static const struct pod_watch_events events = {
                .list_begins = requests_on_pods_begin,
                .pod = requests_on_pod,
                .gone = requests_on_pod_gone,
                .list_ended = requests_on_pods_ended,
        };

        requests->now_unix_ms = now_unix_ms;
        if (node_list_each(requests->cluster, requests->selector, on_nodes_begin, requests_on_node,
                           requests, err) != KUBE_OK)
                return err->code;
        node_table_list_ended(requests->table);
        int r = requests->is_watching ? pod_list_watched(requests->cluster, &requests->watch,
                                                         &events, requests, err)
                                      : pod_list(requests->cluster, &events, requests, err);
        if (r < 0)
                return r;
        sum_all(requests);
        sort_rows(&requests->sum.nodes, sort_by);
        sort_rows(&requests->sum.spaces, sort_by);
        *ret = &requests->sum;
        return 0;
}
