#include "controller/pods/workload_meter.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"

enum {
        MEAN_S = 600,     /* the time constant of a workload's mean */
        MAX_STEP_S = 120, /* a pod whose page was away for an hour is not 60 samples */
        FADE_MS = 600000, /* histograms fade in such steps */
        WEEK_MS = 7 * 86400000,
};

void workload_meter_done(struct workload_meter *meter) {
        strmap_done_values(&meter->workloads);
}

/* NULL: there are too many, or its name cannot be in a line. */
static struct metered_workload *get_workload(struct workload_meter *meter, const char *name,
                                             size_t name_len) {
        struct metered_workload *workload = strmap_get(&meter->workloads, name, name_len);

        if (workload || meter->workloads.len >= WORKLOADS_METERED_MAX ||
            !workload_usage_is_name(name, name_len))
                return workload;
        workload = xcalloc(1, sizeof(*workload) + name_len + 1);
        workload->name_len = name_len;
        memcpy(workload->name, name, name_len);
        (void)strmap_put(&meter->workloads, name, name_len, workload);
        return workload;
}

static void count_pods(struct metered_workload *workload, int pods,
                       const struct pod_load *request) {
        struct workload_usage *usage = &workload->usage;

        usage->pods += (size_t)pods;
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                workload->requested[r] += pods * request->of[r];
                /* The last pod's request stays. */
                if (usage->pods > 0)
                        usage->request.of[r] = fmax(workload->requested[r], 0) /
                                               (double)usage->pods;
                else
                        workload->requested[r] = 0;
        }
}

struct metered_workload *workload_meter_join(struct workload_meter *meter, const char *name,
                                             size_t name_len, const struct pod_load *request,
                                             bool is_guaranteed) {
        struct metered_workload *workload = get_workload(meter, name, name_len);

        if (!workload)
                return NULL;
        workload->usage.is_guaranteed = is_guaranteed;
        count_pods(workload, 1, request);
        return workload;
}

void workload_meter_leave(struct metered_workload *workload, const struct pod_load *request) {
        if (workload)
                count_pods(workload, -1, request);
}

static void add_to_pod(struct pod_meter *pod, const struct pod_load *load, double step_s) {
        double share = 1 - exp(-step_s * (double)MS_PER_S / POD_METER_MS);

        pod->weight += (float)(share * (1 - (double)pod->weight));
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                pod->mean[r] += (float)(share / (double)pod->weight *
                                        (load->of[r] - (double)pod->mean[r]));
        pod->measured_s += (float)step_s;
        if (pod->samples < POD_METER_SAMPLES)
                pod->samples++;
}

static int64_t week_of(int64_t at_unix_ms) {
        return at_unix_ms / WEEK_MS;
}

/* Forget maxima of the week before the last one. */
static void begin_week(struct workload_usage *usage, int64_t now_unix_ms) {
        int64_t weeks = week_of(now_unix_ms) - week_of(usage->seen_unix_ms);

        if (weeks <= 0)
                return;
        usage->max = weeks == 1 ? usage->week_max : (struct pod_load){{0, 0}};
        usage->week_max = (struct pod_load){{0, 0}};
}

static void fade(struct metered_workload *workload, int64_t now_unix_ms) {
        double rest = usage_histogram_fade(now_unix_ms - workload->faded_unix_ms);

        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                usage_histogram_scale(&workload->usage.histograms[r], rest);
        workload->usage.weight *= rest;
        workload->faded_unix_ms = now_unix_ms;
}

static void add_to_workload(struct metered_workload *workload, const struct pod_load *load,
                            double step_s, int64_t now_unix_ms) {
        struct workload_usage *usage = &workload->usage;
        double minutes = step_s / 60;
        /* Each minute of all pods lets the past fade by one minute. */
        double pods = (double)size_max(usage->pods, 1);

        begin_week(usage, now_unix_ms);
        if (usage->since_unix_ms == 0)
                usage->since_unix_ms = workload->faded_unix_ms = now_unix_ms;
        if (now_unix_ms - workload->faded_unix_ms >= FADE_MS)
                fade(workload, now_unix_ms);
        usage->seen_unix_ms = now_unix_ms;
        usage->weight += minutes;
        workload->minutes = workload->minutes * exp(-step_s / pods / MEAN_S) + minutes;
        double share = minutes / workload->minutes;
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                double bound = (double)workload->bound[r];
                double value = bound > 0 ? fmin(load->of[r], bound) : load->of[r];
                double distance = value - usage->mean.of[r];
                usage->mean.of[r] += share * distance;
                workload->variance[r] = (1 - share) *
                                        (workload->variance[r] + share * distance * distance);
                usage->spread.of[r] = sqrt(workload->variance[r]);
                usage->histograms[r].weights[usage_histogram_bucket(r, value)] += (float)minutes;
                usage->week_max.of[r] = fmax(usage->week_max.of[r], value);
                usage->max.of[r] = fmax(usage->max.of[r], value);
        }
}

void workload_meter_add(struct metered_workload *workload, struct pod_meter *pod,
                        const struct pod_load *load, double step_s, int64_t now_unix_ms) {
        double counted_s = fmin(step_s, MAX_STEP_S);

        add_to_pod(pod, load, step_s);
        if (workload)
                add_to_workload(workload, load, counted_s, now_unix_ms);
}

bool workload_meter_pod_mean(const struct pod_meter *pod, struct pod_load *ret) {
        if (pod->samples < POD_METER_SAMPLES &&
            pod->measured_s < (float)POD_METER_MS / (float)MS_PER_S)
                return false;
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                ret->of[r] = (double)pod->mean[r];
        return true;
}

bool workload_meter_mean(const struct metered_workload *workload, struct pod_load *ret) {
        if (!workload || workload->usage.since_unix_ms == 0)
                return false;
        *ret = workload->usage.mean;
        return true;
}

/* Bounds */

static int compare_metered_pods(const void *a, const void *b) {
        const struct metered_pod *left = a, *right = b;

        if (left->workload != right->workload)
                return left->workload < right->workload ? -1 : 1;
        return left->node < right->node ? -1 : left->node > right->node;
}

static int compare_floats(const void *a, const void *b) {
        float left = *(const float *)a, right = *(const float *)b;

        return left < right ? -1 : left > right;
}

/* @pods: of one workload, by node. */
static void set_bound(const struct metered_pod *pods, size_t count, int resource, float *means) {
        struct metered_workload *workload = pods[0].workload;
        size_t nodes = 0;

        for (size_t i = 0, first; i < count; nodes++) {
                float sum = 0;
                for (first = i; i < count && pods[i].node == pods[first].node; i++)
                        sum += pods[i].mean[resource];
                means[nodes] = sum / (float)(i - first);
        }
        if (nodes < WORKLOAD_METER_BOUND_NODES)
                return;
        qsort(means, nodes, sizeof(*means), compare_floats);
        struct pod_load request = pod_load_counted(&workload->usage.request);
        workload->bound[resource] = WORKLOAD_METER_BOUND *
                                    fmaxf(means[nodes / 2], (float)request.of[resource]);
}

void workload_meter_bound(struct workload_meter *meter, struct metered_pod *pods, size_t count) {
        _cleanup_(freep) float *means = xcalloc(count + 1, sizeof(*means));
        struct strmap_entry *entry;

        STRMAP_FOREACH (entry, &meter->workloads) {
                struct metered_workload *workload = entry->value;
                memset(workload->bound, 0, sizeof(workload->bound));
        }
        qsort(pods, count, sizeof(*pods), compare_metered_pods);
        for (size_t i = 0, first; i < count;) {
                for (first = i; i < count && pods[i].workload == pods[first].workload; i++)
                        ;
                for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                        set_bound(&pods[first], i - first, r, means);
        }
}

/* Other replicas */

const struct workload_usage *workload_meter_show(struct metered_workload *workload,
                                                 int64_t now_unix_ms) {
        struct workload_usage *usage = &workload->usage;

        if (usage->since_unix_ms == 0)
                return NULL;
        fade(workload, now_unix_ms);
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                usage->p95.of[r] = fmin(usage_histogram_quantile(&usage->histograms[r], r, 0.95),
                                        usage->max.of[r]);
        return usage;
}

void workload_meter_import(struct workload_meter *meter, const struct workload_usage_name *name,
                           const struct workload_usage *usage) {
        struct metered_workload *workload = get_workload(meter, name->text, name->len);

        if (!workload || usage->since_unix_ms == 0)
                return;
        size_t pods = workload->usage.pods;
        struct pod_load request = workload->usage.request;
        bool is_guaranteed = workload->usage.is_guaranteed;
        workload->usage = *usage;
        workload->usage.pods = pods;
        if (pods > 0) {
                workload->usage.request = request;
                workload->usage.is_guaranteed = is_guaranteed;
        }
        workload->faded_unix_ms = usage->seen_unix_ms;
        workload->told_mean = usage->mean;
        /* As much as ten minutes of its pods, if it was measured for so long. */
        double known_s = (double)(usage->seen_unix_ms - usage->since_unix_ms) / (double)MS_PER_S;
        workload->minutes = fmax(fmin(known_s, MEAN_S) / 60, 1) * (double)size_max(usage->pods, 1);
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                workload->variance[r] = usage->spread.of[r] * usage->spread.of[r];
}

void workload_meter_prune(struct workload_meter *meter, int64_t now_unix_ms) {
        struct strmap_entry *entry;

        STRMAP_FOREACH (entry, &meter->workloads) {
                struct metered_workload *workload = entry->value;
                if (workload->usage.pods > 0 ||
                    now_unix_ms - workload->usage.seen_unix_ms < WORKLOAD_METER_KEPT_MS)
                        continue;
                (void)strmap_remove(&meter->workloads, workload->name, workload->name_len);
                free(workload);
        }
}
