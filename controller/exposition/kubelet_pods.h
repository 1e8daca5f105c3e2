/*
 * The CPU usage of some pods, from the kubelet's exposition /metrics/resource. It is subtracted
 * from the usage of the node (kubelet_reading.h). Pure.
 *
 *     pod_cpu_usage_seconds_total{namespace="jobs",pod="resize-7"} 4710.350617 1795294581204
 *
 * The kubelet samples the node and each pod at different times, up to 15 s apart, and repeats a
 * sample until it has the next one. An exposition may have a new sample of the node and an old one
 * of a pod, or the reverse. A step of the node is therefore reduced by a rate between two samples
 * of the pod: the newest one, and the newest one at the previous step. Each second of a pod is in
 * one such interval, even if the pod gets several samples while the node repeats its own. If a pod
 * has no new sample at a step, its last rate applies until the sample is stale. So steady usage is
 * subtracted exactly. Changed usage is subtracted up to one interval later, for about as long as it
 * lasted, and means over windows are right. (Differences of the counters would also add up, but one
 * step would contain all of a pod's usage, and the next would lack twice as much, which may be more
 * than the node has used.)
 *
 * Nothing is subtracted for a pod that is missing in the exposition, has no previous sample, whose
 * counter fell, or whose interval cannot be compared. Its usage counts as the node's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/exposition/kubelet_reading.h"

/* The samples of a pod. Zero-initialised: none. */
struct kubelet_pod {
        struct kubelet_sample counted; /* the newest at the previous step */
        struct kubelet_sample newest;
        int64_t listed_mono_ms; /* time of the last exposition with the pod */
        bool is_known;          /* there are samples */
        bool is_rated;          /* there has been a rate, even 0 */
        double cores;           /* the rate at the previous step */
};

/** kubelet_pods_find_fn: the pod with that name; NULL: its usage is not needed. The texts are
 * borrowed, not terminated, and not trusted */
typedef struct kubelet_pod *kubelet_pods_find_fn(void *userdata, const char *namespace,
                                                 size_t namespace_len, const char *name,
                                                 size_t name_len);

/**
 * kubelet_pods_read() - read the samples of all wanted pods from an exposition
 * @text: any bytes, not kept; linear time, no memory
 * @is_complete: see exposition_begin()
 * The first sample of a repeated pod counts.
 * Return: the number of unusable lines and values
 */
size_t kubelet_pods_read(const char *text, size_t text_bytes, bool is_complete,
                         const struct kubelet_clocks *clocks, kubelet_pods_find_fn *find,
                         void *userdata);

/**
 * kubelet_pods_rate() - the usage of @pod at a step of its node, in cores
 * @clocks: of the last kubelet_pods_read()
 * Return: 0 if nothing is to be subtracted; otherwise finite, but as large as the kubelet says
 */
double kubelet_pods_rate(struct kubelet_pod *pod, const struct kubelet_clocks *clocks);

/**
 * kubelet_pods_leave_out() - subtract @cores, the sum of all rates, from a step with CPU usage
 * @cpu_cores: the node's capacity
 * Return: what was subtracted: never more than the node has used
 */
double kubelet_pods_leave_out(double cores, double cpu_cores, struct window_step *step);
