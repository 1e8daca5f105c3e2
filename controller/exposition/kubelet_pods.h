/*
 * What some pods use of a node's CPU, by its kubelet's exposition /metrics/resource, so that it can
 * be left out of what the node uses (kubelet_reading.h). Pure.
 *
 *     pod_cpu_usage_seconds_total{namespace="jobs",pod="resize-7"} 4710.350617 1795294581204
 *
 * The kubelet takes the samples of the node and of each pod at times of their own, up to 15 s
 * apart, and repeats each until it has the next. So an exposition may have a new sample of the node
 * and an old one of a pod, or the other way round. What is left out of a step of the node is
 * therefore a rate, by the pod's own two samples: the newest, and the one that was the newest at
 * the step before. Each second of a pod is in one such interval, also when several of its samples
 * come while the node repeats its own. If the pod has no new sample at a step, its last rate holds
 * on, until the sample is stale. So a steady use is left out exactly. One that changes is left out
 * up to an interval later, for about as long as it lasted, and means over windows are right.
 * (Differences of the counters would add up as exactly, but one step would have all of a pod's use,
 * and the next would lack twice of it, which may be more than the node has used.)
 *
 * A pod leaves nothing out, and so counts as part of what the node uses, if it is not in the
 * exposition, has no sample before, its counter fell, or the interval cannot be compared.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/exposition/kubelet_reading.h"

/* What is known of a pod, kept by its owner. Zero-initialised is nothing. */
struct kubelet_pod {
        struct kubelet_sample counted; /* the newest at the step before */
        struct kubelet_sample newest;
        int64_t listed_mono_ms; /* of the exposition that had it last */
        bool is_known;          /* there are samples */
        bool is_rated;          /* there has been a rate, be it 0 */
        double cores;           /* at the step before: seconds of CPU in a second */
};

/** kubelet_pods_find_fn: the pod, whose use is wanted; NULL: it is not. The texts are borrowed, not
 * terminated, and may be anything */
typedef struct kubelet_pod *kubelet_pods_find_fn(void *userdata, const char *namespace,
                                                 size_t namespace_len, const char *name,
                                                 size_t name_len);

/**
 * kubelet_pods_read() - take the samples of all wanted pods from an exposition
 * @text: any bytes, not kept; linear time, no memory
 * @is_complete: as for exposition_begin()
 * Of a repeated pod the first sample counts.
 * Return: lines and values that could not be used
 */
size_t kubelet_pods_read(const char *text, size_t text_bytes, bool is_complete,
                         const struct kubelet_clocks *clocks, kubelet_pods_find_fn *find,
                         void *userdata);

/**
 * kubelet_pods_rate() - what @pod uses at a step of its node, in cores
 * @clocks: those of the kubelet_pods_read() before
 * Return: 0 if nothing is to be left out; else finite, but however much the kubelet says
 */
double kubelet_pods_rate(struct kubelet_pod *pod, const struct kubelet_clocks *clocks);

/**
 * kubelet_pods_leave_out() - take @cores, the sum of all rates, out of a step that has CPU
 * @cpu_cores: the node's, as for the step
 * Return: how much of it the step had: never more than the node has used
 */
double kubelet_pods_leave_out(double cores, double cpu_cores, struct window_step *step);
