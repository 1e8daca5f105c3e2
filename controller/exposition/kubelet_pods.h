/*
 * What pods use, from the kubelet's exposition /metrics/resource. Pure.
 *
 *     pod_cpu_usage_seconds_total{namespace="jobs",pod="resize-7"} 4710.350617 1795294581204
 *     pod_memory_working_set_bytes{namespace="jobs",pod="resize-7"} 2.0971e+07 1795294581204
 *
 * The kubelet samples each pod at its own time and repeats a sample until it has the next one. The
 * CPU of a pod is the rate between two samples. A counter that fell begins again, and an interval
 * that cannot be compared (kubelet_reading.h) is ignored.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/exposition/kubelet_reading.h"

/* The samples of a pod. Zero-initialised: none. */
struct kubelet_pod {
        struct kubelet_sample cpu; /* the newest: CPU seconds */
        int64_t listed_mono_ms;    /* the last exposition with the pod */
        float cores;               /* the rate before the newest sample */
        float memory_bytes;        /* 0: not known */
        float step_s;  /* the time of the rate, if the last exposition had a new one; else 0 */
        bool is_known; /* there is a sample */
        bool is_rated; /* there is a rate */
};

/** kubelet_pods_take() - a sample of the CPU seconds of @pod, from the exposition of the time at
 * which it was seen */
void kubelet_pods_take(struct kubelet_pod *pod, const struct kubelet_sample *taken);

/** kubelet_pods_find_fn: the pod with that name; NULL: it is not wanted. The texts are borrowed,
 * not terminated, and not trusted */
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
 * kubelet_pods_rate() - the CPU usage of @pod now, in cores
 * @clocks: of the last kubelet_pods_read()
 * Return: 0 if it was not in the last exposition, or repeats a stale sample; otherwise finite, but
 * as large as the kubelet says
 */
double kubelet_pods_rate(const struct kubelet_pod *pod, const struct kubelet_clocks *clocks);

/**
 * kubelet_pods_leave_out() - subtract @cores, the sum of all rates, from a step with CPU usage
 * @cpu_cores: the node's capacity
 * Return: what was subtracted: never more than the node has used
 */
double kubelet_pods_leave_out(double cores, double cpu_cores, struct window_step *step);
