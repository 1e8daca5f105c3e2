/*
 * What an extender's estimate knows, in JSON, for people and for estimate_import.h: keys are those
 * of /decisions, numbers without a unit are ratios, "...Load" is in cores or bytes, and what is not
 * known is null. docs/http-api.md has an example.
 */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "extender/table/node_snapshot.h"

/* Some 800 bytes a node, and 200 a workload: 100,000 and 50,000 of them need 90 MB. */
enum { ESTIMATE_JSON_MAX_BYTES = 128 << 20 };

/**
 * estimate_json() - on the loop's thread, whose the estimator is
 * @snapshot: without an estimate in its policy there are no nodes and no workloads
 */
void estimate_json(const struct node_snapshot *snapshot, int64_t now_unix_ms, int64_t now_mono_ms,
                   struct buf *out);
