#include "policy/estimate/tracked_node.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"

/* Standard deviations, as shares of the capacity. */
static const double BASE_SIGMA_RATIO = 0.1, BASE_DRIFT_RATIO = 0.01, NOISE_SIGMA_RATIO = 0.02;
/* As shares of a pod's usage: pods of a workload differ by a third, and their usage changes. */
static const double POD_SIGMA_RATIO = 0.316, POD_DRIFT_RATIO = 0.05;
static const double DRIFT_MS = 180000; /* the time in which base and pods drift by these values */
static const double NOISE_RATE = 0.05, SURPRISE_MAX_SIGMAS = 3;
static const double MARGIN_SIGMAS = 0.674; /* a quarter of a normal distribution is above it */
/* Usage is never below 0, and most pods use less than the mean. So the margin includes at most this
 * much variance of a pod, as a share of its expected usage squared. */
static const double MARGIN_VARIANCE_MAX = 0.5;

double tracked_node_overlap(const struct tracked_pod *pod, int64_t begins_unix_ms,
                            int64_t ends_unix_ms) {
        int64_t from = pod->runs_unix_ms > begins_unix_ms ? pod->runs_unix_ms : begins_unix_ms;
        int64_t to = pod->gone_unix_ms < ends_unix_ms ? pod->gone_unix_ms : ends_unix_ms;

        return to > from ? (double)(to - from) / (double)(ends_unix_ms - begins_unix_ms) : 0;
}

static double overlap_with(const struct tracked_pod *pod, const struct tracked_reading *reading) {
        return reading->window_ms > 0
                       ? tracked_node_overlap(pod, reading->begins_unix_ms, reading->ends_unix_ms)
                       : 0;
}

static bool is_gone(const struct tracked_pod *pod) {
        return pod->gone_unix_ms != TRACKED_NEVER;
}

static double squared(double x) {
        return x * x;
}

/* The part of a pod in the margin of the node. */
static double margin_variance(const struct tracked_pod *pod, int r) {
        return fmin((double)pod->variance[r], MARGIN_VARIANCE_MAX * squared((double)pod->used[r]));
}

static void drop_pod(struct tracked_node *node, struct workload_set *workloads, size_t i) {
        workload_unref(workloads, node->pods[i].workload);
        node->gone_count -= is_gone(&node->pods[i]);
        node->pods[i] = node->pods[--node->pod_count];
}

void tracked_node_done(struct tracked_node *node, struct workload_set *workloads) {
        while (node->pod_count > 0)
                drop_pod(node, workloads, node->pod_count - 1);
        free(node->pods);
        *node = (struct tracked_node){0};
}

/* Ignores ended pods: a pod may reappear if the API server was restored from a backup. */
static struct tracked_pod *find_pod(const struct tracked_node *node, uint64_t id) {
        for (size_t i = node->pod_count; i-- > 0;)
                if (node->pods[i].id == id && !is_gone(&node->pods[i]))
                        return &node->pods[i];
        return NULL;
}

/* @sign: 1: the pod is added; -1: it is removed */
static void add_pod(struct tracked_node *node, const struct tracked_pod *pod,
                    const struct pod_load *request, double sign) {
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                double used = sign * (double)pod->used[r],
                       variance = sign * margin_variance(pod, r);
                node->requested.of[r] = fmax(0, node->requested.of[r] + sign * request->of[r]);
                node->pods_used.of[r] = fmax(0, node->pods_used.of[r] + used);
                node->pods_variance.of[r] = fmax(0, node->pods_variance.of[r] + variance);
        }
        workload_count(pod->workload, (int)sign, request);
}

/* The last readings included a pod that was unknown then, so its usage went into the base. */
static void take_out_of_base(struct tracked_node *node, struct tracked_pod *pod) {
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                double overlap = overlap_with(pod, &node->readings[r]);
                node->base.of[r] = fmax(0, node->base.of[r] - overlap * (double)pod->used[r]);
        }
        pod->overlap = (float)overlap_with(pod, &node->taught);
}

static void expect_of(struct tracked_pod *pod, const struct pod_load *request,
                      const struct cluster_load *cluster) {
        struct pod_load variance;
        struct pod_load load = workload_estimate(pod->workload, request, &cluster->factor,
                                                 &variance);

        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                pod->used[r] = (float)load.of[r];
                pod->variance[r] = (float)(squared(POD_SIGMA_RATIO * load.of[r]) + variance.of[r]);
        }
}

void tracked_node_bind(struct tracked_node *node, uint64_t id, struct workload *workload,
                       const struct pod_load *request, int64_t runs_unix_ms,
                       const struct cluster_load *cluster) {
        mem_grow(&node->pods, node->pod_count, &node->pod_cap);
        struct tracked_pod *pod = &node->pods[node->pod_count++];
        *pod = (struct tracked_pod){
                .id = id,
                .workload = workload_hold(workload),
                .runs_unix_ms = runs_unix_ms,
                .gone_unix_ms = TRACKED_NEVER,
        };
        expect_of(pod, request, cluster);
        take_out_of_base(node, pod);
        add_pod(node, pod, request, 1);
}

bool tracked_node_start(struct tracked_node *node, uint64_t id, int64_t runs_unix_ms) {
        struct tracked_pod *pod = find_pod(node, id);

        if (!pod || pod->runs_unix_ms != TRACKED_NEVER)
                return false;
        pod->runs_unix_ms = runs_unix_ms;
        take_out_of_base(node, pod);
        return true;
}

/* Scale in proportion to the request, but not beyond the expectation for the new request: if a
 * request is set to the actual usage, nothing has changed. */
static void scale(struct tracked_pod *pod, int r, double before, double after) {
        double used = (double)pod->used[r], scaled = used * after / before;
        double moved = after > before ? fmin(scaled, fmax(used, after))
                                      : fmax(scaled, fmin(used, after));

        pod->used[r] = (float)moved;
        pod->variance[r] = (float)fmax((double)pod->variance[r], squared(moved - used));
}

void tracked_node_resize(struct tracked_node *node, uint64_t id, const struct pod_load *from,
                         const struct pod_load *to, const struct cluster_load *cluster) {
        struct tracked_pod *pod = find_pod(node, id);

        if (!pod)
                return;
        const struct pod_load before = workload_estimate(pod->workload, from, &cluster->factor,
                                                         NULL),
                              after = workload_estimate(pod->workload, to, &cluster->factor, NULL);
        add_pod(node, pod, from, -1);
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                scale(pod, r, before.of[r], after.of[r]);
        add_pod(node, pod, to, 1);
}

/* The pod is neither in this window nor in the last one, or it ended long ago without a reading. */
static bool is_past(const struct tracked_node *node, const struct tracked_pod *pod,
                    int64_t now_unix_ms) {
        bool is_in_window = pod->overlap > 0;
        int64_t kept_ms = TRACKED_UNREAD_MS;

        if (!is_gone(pod))
                return false;
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                const struct tracked_reading *reading = &node->readings[r];
                is_in_window |= reading->window_ms == 0 ||
                                pod->gone_unix_ms > reading->begins_unix_ms;
                kept_ms = reading->window_ms > kept_ms ? reading->window_ms : kept_ms;
        }
        return !is_in_window || pod->gone_unix_ms < now_unix_ms - kept_ms;
}

static void drop_past(struct tracked_node *node, struct workload_set *workloads,
                      int64_t now_unix_ms) {
        for (size_t i = node->pod_count; i-- > 0;)
                if (is_past(node, &node->pods[i], now_unix_ms))
                        drop_pod(node, workloads, i);
}

void tracked_node_end(struct tracked_node *node, struct workload_set *workloads, uint64_t id,
                      const struct pod_load *request, int64_t gone_unix_ms) {
        struct tracked_pod *pod = find_pod(node, id);

        if (!pod)
                return;
        add_pod(node, pod, request, -1);
        pod->gone_unix_ms = gone_unix_ms;
        node->gone_count++;
        /* The end is reported late: the last window ended after the pod. */
        if (gone_unix_ms < node->taught.ends_unix_ms)
                pod->overlap = (float)overlap_with(pod, &node->taught);
        if (pod->runs_unix_ms == TRACKED_NEVER || node->gone_count > TRACKED_MAX_GONE)
                drop_pod(node, workloads, (size_t)(pod - node->pods));
        else if (node->gone_count % 64 == 0)
                drop_past(node, workloads, gone_unix_ms);
}

static int64_t set_back(int64_t at_unix_ms, int64_t by_ms, int64_t now_unix_ms) {
        return at_unix_ms > now_unix_ms && at_unix_ms != TRACKED_NEVER ? at_unix_ms - by_ms
                                                                       : at_unix_ms;
}

void tracked_node_set_back(struct tracked_node *node, int64_t by_ms, int64_t now_unix_ms) {
        for (size_t i = 0; i < node->pod_count; i++) {
                struct tracked_pod *pod = &node->pods[i];
                pod->runs_unix_ms = set_back(pod->runs_unix_ms, by_ms, now_unix_ms);
                pod->gone_unix_ms = set_back(pod->gone_unix_ms, by_ms, now_unix_ms);
        }
}

/* Return: false: too many observations in a row deviate in the same direction to be noise */
static bool count_away(struct tracked_node *node, int r, double surprise, double sigma) {
        int *away = &node->away[r];
        int side = surprise > sigma ? 1 : surprise < -sigma ? -1 : 0;

        *away = *away * side > 0 ? *away + side : side;
        return abs(*away) < TRACKED_AWAY_MAX;
}

/* Reset everything except the expectation, as before the first reading. */
static void doubt_base(struct tracked_node *node, int r) {
        node->base_variance.of[r] = squared(BASE_SIGMA_RATIO * node->capacity.of[r]);
        node->noise.of[r] = squared(NOISE_SIGMA_RATIO * node->capacity.of[r]);
        node->away[r] = 0;
}

/* One observation: the mean over an interval. The expectation before the first observation is a
 * guess from other nodes, so the first one is believed in full, and teaches no noise. */
static void observe(struct tracked_node *node, int r, bool is_first, double measured,
                    int64_t begins_unix_ms, int64_t ends_unix_ms) {
        double expected = node->base.of[r];
        double variance = node->noise.of[r];

        for (size_t i = 0; i < node->pod_count; i++) {
                const struct tracked_pod *pod = &node->pods[i];
                double overlap = tracked_node_overlap(pod, begins_unix_ms, ends_unix_ms);
                expected += overlap * (double)pod->used[r];
                variance += overlap * overlap * (double)pod->variance[r];
        }
        /* A base of 0 cannot shrink, so its share of the difference would be lost. */
        bool has_base = !is_first || node->base.of[r] > 0 || measured >= expected;
        double base_share = has_base ? node->base_variance.of[r] : 0;
        variance += base_share;
        if (!is_first && !count_away(node, r, measured - expected, sqrt(variance))) {
                doubt_base(node, r);
                observe(node, r, true, measured, begins_unix_ms, ends_unix_ms);
                return;
        }
        double limit = is_first ? INFINITY : SURPRISE_MAX_SIGMAS * sqrt(variance);
        double surprise = fmin(fmax(measured - expected, -limit), limit);
        double shared = is_first ? variance - node->noise.of[r] : variance;
        if (!isfinite(surprise) || !(shared > 0))
                return;
        double least = squared(NOISE_SIGMA_RATIO * node->capacity.of[r]);
        double shown = is_first ? node->noise.of[r]
                                : fmax(0, squared(surprise) - (variance - node->noise.of[r]));
        for (size_t i = 0; i < node->pod_count; i++) {
                struct tracked_pod *pod = &node->pods[i];
                double overlap = tracked_node_overlap(pod, begins_unix_ms, ends_unix_ms);
                double share = (double)pod->variance[r] * overlap;
                pod->used[r] = (float)fmax(0, (double)pod->used[r] + share / shared * surprise);
                /* Where one variance is much larger than all others, rounding exceeds 1. */
                pod->variance[r] *= (float)fmax(0, 1 - share * overlap / variance);
        }
        node->base.of[r] = fmax(0, node->base.of[r] + base_share / shared * surprise);
        node->base_variance.of[r] *= 1 - base_share / variance;
        node->noise.of[r] = fmax(least,
                                 node->noise.of[r] + NOISE_RATE * (shown - node->noise.of[r]));
}

/* Uncertainty grows with the time since the last reading. */
static void drift(struct tracked_node *node, int r, int64_t for_ms) {
        double share = (double)for_ms / DRIFT_MS;

        node->base_variance.of[r] += share * squared(BASE_DRIFT_RATIO * node->capacity.of[r]);
        for (size_t i = 0; i < node->pod_count; i++) {
                struct tracked_pod *pod = &node->pods[i];
                pod->variance[r] += (float)(share *
                                            squared(POD_DRIFT_RATIO * (double)pod->used[r]));
        }
}

static void sum_up(struct tracked_node *node) {
        node->pods_used = node->pods_variance = (struct pod_load){0};
        for (size_t i = 0; i < node->pod_count; i++)
                for (int r = 0; r < ESTIMATE_RESOURCE_COUNT && !is_gone(&node->pods[i]); r++) {
                        node->pods_used.of[r] += (double)node->pods[i].used[r];
                        node->pods_variance.of[r] += margin_variance(&node->pods[i], r);
                }
}

/* Return: false: there is no room */
static bool add_change(struct workload_change *changes, size_t *count, struct workload *workload,
                       double pods) {
        size_t i = 0;

        while (i < *count && changes[i].workload != workload)
                i++;
        if (i == TRACKED_MAX_CHANGES)
                return false;
        if (i == *count)
                changes[(*count)++] = (struct workload_change){.workload = workload};
        changes[i].pods += pods;
        return true;
}

/* A reading that is older than the last one that taught, or too close to it, teaches nothing.
 * Otherwise a node could teach the same lesson again and again. */
static bool is_too_soon(const struct tracked_node *node, const struct tracked_reading *reading) {
        int64_t since_ms = reading->ends_unix_ms - node->taught.ends_unix_ms;

        return node->taught.window_ms > 0 && since_ms < reading->window_ms / TRACKED_LESSONS &&
               since_ms > -2 * reading->window_ms;
}

/* The difference between the two readings is caused by pods. */
static bool is_comparable(const struct tracked_reading *before,
                          const struct tracked_reading *reading,
                          const struct cluster_load *cluster) {
        int64_t since_ms = reading->ends_unix_ms - before->ends_unix_ms;

        return before->window_ms > 0 && since_ms > 0 && since_ms <= 2 * reading->window_ms &&
               cluster->pods_known_since_unix_ms != INT64_MAX;
}

static void teach(struct tracked_node *node, const struct tracked_reading *reading,
                  const struct cluster_load *cluster) {
        const struct tracked_reading before = node->taught;
        struct workload_change changes[TRACKED_MAX_CHANGES];
        size_t count = 0;
        double capacity = node->capacity.of[ESTIMATE_CPU],
               moved = (reading->ratio - before.ratio) * capacity;

        if (is_too_soon(node, reading))
                return;
        node->taught = *reading;
        for (size_t i = 0; i < node->pod_count; i++) {
                struct tracked_pod *pod = &node->pods[i];
                double overlap = overlap_with(pod, reading);
                double more = overlap - (double)pod->overlap;
                pod->overlap = (float)overlap;
                if (fabs(more) < 1e-6)
                        continue;
                if (!pod->workload || !add_change(changes, &count, pod->workload, more))
                        moved -= more * (double)pod->used[ESTIMATE_CPU];
        }
        if (!is_comparable(&before, reading, cluster))
                return;
        const struct workload_lesson lesson = {
                .teacher = (uint32_t)((uintptr_t)node / sizeof(*node)),
                .cores = moved,
                .capacity = capacity,
                .at_unix_ms = reading->ends_unix_ms,
                .is_doubtful = before.begins_unix_ms < cluster->pods_known_since_unix_ms ||
                               reading->begins_unix_ms < cluster->pods_known_since_unix_ms,
        };
        workload_learn(changes, count, &lesson, &cluster->factor);
}

static void begin(struct tracked_node *node, int r, const struct cluster_load *cluster) {
        node->base.of[r] = cluster->base_ratio[r] * node->capacity.of[r];
        doubt_base(node, r);
}

/* For a mean and a shorter one with the same end, first compute the mean over the part that only
 * the longer one covers. */
static void observe_both(struct tracked_node *node, int r, bool is_first,
                         const struct tracked_reading *reading,
                         const struct tracked_reading *shorter) {
        double capacity = node->capacity.of[r];
        int64_t ends_unix_ms = reading->ends_unix_ms,
                rest_ms = shorter->begins_unix_ms - reading->begins_unix_ms;
        double whole = reading->ratio * (double)(ends_unix_ms - reading->begins_unix_ms),
               last = shorter->ratio * (double)(ends_unix_ms - shorter->begins_unix_ms);

        observe(node, r, is_first, fmax(0, whole - last) / (double)rest_ms * capacity,
                reading->begins_unix_ms, shorter->begins_unix_ms);
        observe(node, r, false, shorter->ratio * capacity, shorter->begins_unix_ms, ends_unix_ms);
}

void tracked_node_read(struct tracked_node *node, struct workload_set *workloads, int resource,
                       const struct tracked_reading *reading, const struct tracked_reading *shorter,
                       const struct cluster_load *cluster) {
        struct tracked_reading before = node->readings[resource];
        double capacity = node->capacity.of[resource];
        int64_t since_ms = reading->ends_unix_ms - before.ends_unix_ms;
        bool is_first = before.window_ms != reading->window_ms;

        if (capacity <= 0)
                return;
        node->readings[resource] = *reading;
        if (is_first && resource == ESTIMATE_CPU)
                node->taught.window_ms = 0;
        if (is_first)
                begin(node, resource, cluster);
        else if (since_ms > 0)
                drift(node, resource, since_ms);
        if (shorter && shorter->window_ms > 0 &&
            shorter->begins_unix_ms > reading->begins_unix_ms &&
            shorter->ends_unix_ms == reading->ends_unix_ms)
                observe_both(node, resource, is_first, reading, shorter);
        else
                observe(node, resource, is_first, reading->ratio * capacity,
                        reading->begins_unix_ms, reading->ends_unix_ms);
        if (resource == ESTIMATE_CPU)
                teach(node, reading, cluster);
        drop_past(node, workloads, reading->ends_unix_ms);
        sum_up(node);
}

void tracked_node_expect_again(struct tracked_node *node, uint64_t id,
                               const struct pod_load *request, const struct cluster_load *cluster) {
        struct tracked_pod *pod = find_pod(node, id);

        if (pod)
                expect_of(pod, request, cluster);
}

void tracked_node_begin_again(struct tracked_node *node, const struct cluster_load *cluster) {
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                const struct tracked_reading *reading = &node->readings[r];
                if (reading->window_ms == 0)
                        continue;
                begin(node, r, cluster);
                observe(node, r, true, reading->ratio * node->capacity.of[r],
                        reading->begins_unix_ms, reading->ends_unix_ms);
        }
        sum_up(node);
}

double tracked_node_part(const struct tracked_node *node, uint64_t id, int resource) {
        const struct tracked_pod *pod = find_pod(node, id);

        return pod ? overlap_with(pod, &node->readings[resource]) : 0;
}

double tracked_node_base(const struct tracked_node *node, int resource,
                         const struct cluster_load *cluster) {
        return node->readings[resource].window_ms > 0
                       ? node->base.of[resource]
                       : cluster->base_ratio[resource] * node->capacity.of[resource];
}

double tracked_node_usage_ratio(const struct tracked_node *node, int resource,
                                const struct cluster_load *cluster) {
        double capacity = node->capacity.of[resource];

        if (capacity <= 0)
                return 0;
        return (tracked_node_base(node, resource, cluster) + node->pods_used.of[resource]) /
               capacity;
}

double tracked_node_margin_ratio(const struct tracked_node *node, int resource) {
        double capacity = node->capacity.of[resource];

        return capacity > 0 ? MARGIN_SIGMAS * sqrt(node->pods_variance.of[resource]) / capacity : 0;
}

double tracked_node_noise_ratio(const struct tracked_node *node, int resource) {
        double capacity = node->capacity.of[resource];

        return capacity > 0 ? sqrt(node->noise.of[resource]) / capacity : 0;
}
