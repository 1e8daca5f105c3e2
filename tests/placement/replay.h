/*
 * Pods that use what was recorded, and nothing else. Each takes a series; what it uses at a time is
 * the series' value then. Pods with a life of the stream's are all at the same hour of the day, so
 * that what went up and down together still does; pods that come and go as recorded begin with
 * their series.
 */
#pragma once

#include "arrivals.h"

/** replay_mean_request() - CPU cores that a pod of @stream requests, over its trace's series */
double replay_mean_request(const struct stream *stream);
/** replay_first_s() - of a recording with arrivals, when a run of @run_s seconds begins */
int64_t replay_first_s(const struct stream *stream, uint64_t seed, int64_t run_s);
/** replay_moment_s() - of @series, when the run with @seed begins: an hour of the run's on a day of
 * the pod's */
int64_t replay_moment_s(const struct trace_series *series, uint64_t seed, uint64_t pod_seed);
/** replay_give() - @pod requests and uses what @series has; @moment_s after its first value began,
 * when the run begins or, with @is_from_start, when the pod starts */
void replay_give(struct pod *pod, const struct stream *stream, const struct trace_series *series,
                 int64_t moment_s, bool is_from_start);
/** replay_cores_at() - of a pod that has started */
double replay_cores_at(const struct pod *pod, int64_t now_s);
/** replay_bytes_at() - likewise */
double replay_bytes_at(const struct pod *pod, int64_t now_s);
/** replay_next_change_s() - when its next value begins */
int64_t replay_next_change_s(const struct pod *pod, int64_t now_s);
