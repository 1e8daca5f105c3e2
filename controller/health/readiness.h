/*
 * The state of all nodes together, as gauges and as checks of /readyz: how many nodes are watched
 * and measured, how old the samples are, and which flags to check when there are none.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kube/reflector.h"
#include "metrics/metrics.h"
#include "net/health.h"

struct readiness {
        struct metrics_series *nodes, *stale, *windows, *oldest;
        struct health_check *node_watch, *binding_watch, *scrapes, *writes;
};

/* One count over all nodes. */
struct readiness_tally {
        bool is_idle; /* the policy has no metrics, so nothing is scraped */
        size_t nodes;
        size_t stale;      /* no recent sample, or none ever */
        size_t windows;    /* that have a value now */
        int64_t oldest_ms; /* largest age of a node's newest sample, stale nodes excluded */
        const char *failed_node, *failed_reason; /* a failing node, borrowed; NULL: none */
        const char *failed_hint;                 /* flags to check */
        const struct reflector *node_watch, *binding_watch; /* NULL: not watched */
        bool is_listed;                                     /* all nodes have been, once */
        size_t bound_nodes;                                 /* with recent bindings */
        const char *write_trouble;                          /* "": none; NULL: dry run */
        size_t budget_nodes;                                /* that the patch budget carries */
};

/** readiness_init() - register; @metrics and @health outlive @readiness */
void readiness_init(struct readiness *readiness, struct metrics *metrics, struct health *health);
void readiness_publish(const struct readiness *readiness, const struct readiness_tally *tally);
