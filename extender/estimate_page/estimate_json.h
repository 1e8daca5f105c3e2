/*
 * The state of an extender's estimate as JSON, for people and for estimate_import.h. Keys are the
 * same as on /decisions, numbers without a unit are ratios, "...Load" is in cores or bytes, and
 * unknown values are null. docs/http-api.md has an example.
 */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "extender/table/node_snapshot.h"

/* 800 bytes per node and 200 per workload: 100,000 nodes and 50,000 workloads need 90 MB. */
enum { ESTIMATE_JSON_MAX_BYTES = 128 << 20 };

/**
 * estimate_json() - write the page; only on the loop's thread, which owns the estimator
 * @snapshot: if its policy has no estimate, the page has no nodes and no workloads
 */
void estimate_json(const struct node_snapshot *snapshot, int64_t now_unix_ms, int64_t now_mono_ms,
                   struct buf *out);
