/*
 * Which source delivers which metric. This decides which windows are kept, what is queried, and
 * which source is awaited. Pure.
 *
 * A metric of a resource that the policy declares with `exporter: dcgm` comes from the exporter of
 * that name. Other metrics come from any other source that knows the resource. Prometheus scrapes
 * every exporter, so it has every metric.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "policy/policy.h"

/* Zero-initialised: all metrics without an `exporter`. */
struct source_scope {
        const char *exporter;    /* only metrics of this exporter; NULL: of no exporter */
        bool has_every_exporter; /* metrics with any `exporter`, or without one */
        uint32_t resources; /* only metrics of these, a bit each; 0: of any, and ready-made ones */
};

/** source_scope_has() - does the source deliver @metric? */
bool source_scope_has(const struct source_scope *scope, const struct policy *policy,
                      const struct policy_metric *metric);
/** source_scope_has_any() - does the source deliver any metric of @policy? */
bool source_scope_has_any(const struct source_scope *scope, const struct policy *policy);
