/*
 * Which source delivers which metric: for the windows that are kept, for what is queried, and for
 * which source is waited for. Pure.
 *
 * A metric of a resource that the policy declares with `exporter: dcgm` comes from the
 * exporter of that name; every other metric is for any other source, as far as it knows such a
 * resource. A Prometheus has scraped every exporter, and so has every
 * metric.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "policy/policy.h"

/* Zero-initialised: all metrics that are not of an exporter in particular. */
struct source_scope {
        const char *exporter;    /* only those that are of this one; NULL: those of none */
        bool has_every_exporter; /* both */
        uint32_t resources; /* of these, a bit each; 0: of any, and those that are ready-made */
};

/** source_scope_has() - does such a source deliver @metric? */
bool source_scope_has(const struct source_scope *scope, const struct policy *policy,
                      const struct policy_metric *metric);
/** source_scope_has_any() - for any metric of @policy? */
bool source_scope_has_any(const struct source_scope *scope, const struct policy *policy);
