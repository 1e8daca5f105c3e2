/*
 * What a pod that runs uses at a time.
 */
#pragma once

#include "arrivals.h"

/** usage_cores_at() - on a node of speed 1; 0 before it starts */
double usage_cores_at(const struct pod *pod, int64_t now_s);
double usage_bytes_at(const struct pod *pod, int64_t now_s);
/** usage_next_change_s() - after @now_s: when its cores are others, if it does not end before */
int64_t usage_next_change_s(const struct pod *pod, int64_t now_s);
