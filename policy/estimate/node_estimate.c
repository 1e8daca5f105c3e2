#include "policy/estimate/node_estimate.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"

static const double MARGIN_SIGMAS = 0.674; /* a quarter of a normal distribution is above it */
/* Usage is never below 0, and most pods use less than the mean. So the margin includes at most this
 * much variance of a pod, as a share of its expected usage squared. */
static const double MARGIN_VARIANCE_MAX = 0.5;

double node_pod_overlap(const struct node_pod *pod, int64_t begins_unix_ms, int64_t ends_unix_ms) {
        int64_t from = pod->runs_unix_ms > begins_unix_ms ? pod->runs_unix_ms : begins_unix_ms;
        int64_t to = pod->gone_unix_ms < ends_unix_ms ? pod->gone_unix_ms : ends_unix_ms;

        return to > from ? (double)(to - from) / (double)(ends_unix_ms - begins_unix_ms) : 0;
}

static bool is_read(const struct node_estimate *node, int r) {
        return node->readings[r].window_ms > 0;
}

static bool is_gone(const struct node_pod *pod) {
        return pod->gone_unix_ms != NODE_POD_NEVER;
}

static double squared(double x) {
        return x * x;
}

/* ---- Pods. */

void node_estimate_done(struct node_estimate *node) {
        free(node->pods);
        *node = (struct node_estimate){0};
}

/* Ignores ended pods: a pod may reappear if the API server was restored from a backup. */
struct node_pod *node_estimate_find(const struct node_estimate *node, uint64_t id) {
        for (size_t i = node->pod_count; i-- > 0;)
                if (node->pods[i].id == id && !is_gone(&node->pods[i]))
                        return &node->pods[i];
        return NULL;
}

void node_estimate_bind(struct node_estimate *node, const struct node_pod *pod) {
        mem_grow(&node->pods, node->pod_count, &node->pod_cap);
        node->pods[node->pod_count++] = *pod;
}

static void drop_pod(struct node_estimate *node, size_t i) {
        node->gone_count -= is_gone(&node->pods[i]);
        node->pods[i] = node->pods[--node->pod_count];
}

/* The pod is in no window any more, or it ended long ago without a reading. */
static bool is_past(const struct node_estimate *node, const struct node_pod *pod,
                    int64_t now_unix_ms) {
        bool is_in_window = false;
        int64_t kept_ms = NODE_ESTIMATE_UNREAD_MS;

        if (!is_gone(pod))
                return false;
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                const struct mean_reading *reading = &node->readings[r];
                is_in_window |= !is_read(node, r) || pod->gone_unix_ms > reading->begins_unix_ms;
                kept_ms = reading->window_ms > kept_ms ? reading->window_ms : kept_ms;
        }
        return !is_in_window || pod->gone_unix_ms < now_unix_ms - kept_ms;
}

static void drop_past(struct node_estimate *node, int64_t now_unix_ms) {
        for (size_t i = node->pod_count; i-- > 0;)
                if (is_past(node, &node->pods[i], now_unix_ms))
                        drop_pod(node, i);
}

void node_estimate_end(struct node_estimate *node, struct node_pod *pod, int64_t gone_unix_ms) {
        pod->gone_unix_ms = gone_unix_ms;
        node->gone_count++;
        if (pod->runs_unix_ms == NODE_POD_NEVER || node->gone_count > NODE_ESTIMATE_MAX_GONE)
                drop_pod(node, (size_t)(pod - node->pods));
        else if (node->gone_count % 64 == 0)
                drop_past(node, gone_unix_ms);
}

static int64_t set_back(int64_t at_unix_ms, int64_t by_ms, int64_t now_unix_ms) {
        return at_unix_ms > now_unix_ms && at_unix_ms != NODE_POD_NEVER ? at_unix_ms - by_ms
                                                                        : at_unix_ms;
}

void node_estimate_set_back(struct node_estimate *node, int64_t by_ms, int64_t now_unix_ms) {
        for (size_t i = 0; i < node->pod_count; i++) {
                struct node_pod *pod = &node->pods[i];
                pod->runs_unix_ms = set_back(pod->runs_unix_ms, by_ms, now_unix_ms);
                pod->gone_unix_ms = set_back(pod->gone_unix_ms, by_ms, now_unix_ms);
        }
}

void node_estimate_read(struct node_estimate *node, int resource,
                        const struct mean_reading *reading) {
        if (node->capacity.of[resource] <= 0)
                return;
        node->readings[resource] = *reading;
        drop_past(node, reading->ends_unix_ms);
}

void node_estimate_measure(struct node_estimate *node, uint32_t uid, const struct pod_load *own) {
        for (size_t i = 0; i < node->pod_count; i++) {
                struct node_pod *pod = &node->pods[i];
                if (pod->uid != uid || is_gone(pod))
                        continue;
                for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                        pod->own[r] = (float)own->of[r];
        }
}

void node_estimate_forget_measured(struct node_estimate *node) {
        for (size_t i = 0; i < node->pod_count; i++)
                if (!is_gone(&node->pods[i]))
                        node->pods[i].own[ESTIMATE_CPU] = -1;
}

/* ---- The estimate. */

/* One resource of the node's pods, in cores or bytes. */
struct pod_sum {
        double came;      /* what the reading lacks of live pods: the sum of m * (1 - ov) */
        double went;      /* what it has of ended pods: the sum of m * ov */
        double in_window; /* what it has of all pods: the sum of m * ov */
        double variance;  /* of what the reading lacks of live pods */
};

/* What a pod is expected to use, and how certain that is. */
struct pod_expectation {
        struct pod_load used, spread;
        bool is_measured;
};

static struct pod_expectation usage_of(const struct node_pod *pod,
                                       const struct workload_set *workloads,
                                       const struct cluster_load *cluster) {
        const struct pod_load request = {
                {(double)pod->request[ESTIMATE_CPU], (double)pod->request[ESTIMATE_MEM]}};
        const struct workload_measure *of = workload_set_find(workloads, pod->workload);
        struct pod_expectation usage = {.is_measured = of || pod->own[ESTIMATE_CPU] >= 0};

        usage.used = workload_expect(of, &request, &cluster->factor, &usage.spread);
        for (int r = 0; pod->own[ESTIMATE_CPU] >= 0 && r < ESTIMATE_RESOURCE_COUNT; r++)
                usage.used.of[r] = (double)pod->own[r];
        return usage;
}

static double overlap_of(const struct node_estimate *node, const struct node_pod *pod, int r) {
        return is_read(node, r) ? node_pod_overlap(pod, node->readings[r].begins_unix_ms,
                                                   node->readings[r].ends_unix_ms)
                                : 0;
}

static double variance_of(const struct pod_expectation *usage, double overlap, int r) {
        return squared(1 - overlap) *
               fmin(squared(usage->spread.of[r]), MARGIN_VARIANCE_MAX * squared(usage->used.of[r]));
}

static void add_pod(struct pod_sum *sum, const struct node_pod *pod,
                    const struct pod_expectation *usage, double overlap, int r) {
        double used = usage->used.of[r];

        sum->in_window += used * overlap;
        if (is_gone(pod)) {
                sum->went += used * overlap;
                return;
        }
        sum->came += used * (1 - overlap);
        sum->variance += variance_of(usage, overlap, r);
}

bool node_estimate_pod(const struct node_estimate *node, uint64_t id,
                       const struct workload_set *workloads, const struct cluster_load *cluster,
                       struct node_pod_load *ret) {
        const struct node_pod *pod = node_estimate_find(node, id);

        if (!pod)
                return false;
        const struct pod_expectation usage = usage_of(pod, workloads, cluster);
        ret->used = usage.used;
        ret->runs_unix_ms = pod->runs_unix_ms;
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                ret->variance.of[r] = squared(MARGIN_SIGMAS) *
                                      variance_of(&usage, overlap_of(node, pod, r), r);
        return true;
}

double node_estimate_requested(const struct node_estimate *node, int resource) {
        double sum = 0;

        for (size_t i = 0; i < node->pod_count; i++)
                if (!is_gone(&node->pods[i]))
                        sum += (double)node->pods[i].request[resource];
        return sum;
}

size_t node_estimate_usage(const struct node_estimate *node, const struct workload_set *workloads,
                           const struct cluster_load *cluster,
                           struct node_usage ret[static ESTIMATE_RESOURCE_COUNT]) {
        struct pod_sum sums[ESTIMATE_RESOURCE_COUNT] = {0};
        size_t measured = 0;

        for (size_t i = 0; i < node->pod_count; i++) {
                const struct node_pod *pod = &node->pods[i];
                const struct pod_expectation usage = usage_of(pod, workloads, cluster);
                measured += usage.is_measured && !is_gone(pod);
                for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                        add_pod(&sums[r], pod, &usage, overlap_of(node, pod, r), r);
        }
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                double capacity = node->capacity.of[r],
                       known = is_read(node, r) ? node->readings[r].ratio : cluster->base_ratio[r];
                ret[r] = (struct node_usage){0};
                if (capacity <= 0)
                        continue;
                double used = known * capacity, in_window = sums[r].in_window;
                double share = in_window > used ? used / in_window : 1;
                ret[r].ratio = fmax(0, known + (sums[r].came - share * sums[r].went) / capacity);
                ret[r].margin_ratio = MARGIN_SIGMAS * sqrt(sums[r].variance) / capacity;
                ret[r].base_ratio = known - sums[r].in_window / capacity;
        }
        return measured;
}
