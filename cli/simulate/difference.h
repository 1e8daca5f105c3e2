/*
 * The same nodes judged under two policies: what differs. Pure.
 *
 * A node's rank is 1 plus the number of nodes that pass and are better: by the score that the
 * scheduler would receive, and among equals by what that was rounded from. Nodes that are alike
 * share a rank.
 */
#pragma once

#include <stddef.h>

#include "extender/explain/explanation.h"

struct difference_side {
        const struct explanation *explanation; /* borrowed */
        size_t *ranks;                         /* [row]; 0: the node is rejected */
        size_t *order; /* [place]: rows, the best first, rejected ones last */
        size_t passing;
};

/* A metric that limits or scores of the new policy use. */
struct difference_metric {
        size_t metric; /* index into the new policy's metrics */
        size_t usable; /* nodes with a usable reading */
        bool is_new;   /* the old policy does not have it written */
};

struct difference {
        struct difference_side before, after;
        size_t count; /* nodes */
        size_t newly_rejected, newly_passing, scores_changed, ranks_changed;
        size_t metric_count;
        struct difference_metric metrics[POLICY_MAX_METRICS];
};

/**
 * difference_init() - compare
 * @before, @after: of tables with the same nodes in the same rows; borrowed until difference_done()
 */
void difference_init(struct difference *difference, const struct explanation *before,
                     const struct explanation *after);
void difference_done(struct difference *difference);

enum difference_flip { DIFFERENCE_NONE, DIFFERENCE_REJECTED, DIFFERENCE_PASSES };

/** difference_flip() - whether a node's verdict changes, and to what */
enum difference_flip difference_flip(const struct difference *difference, size_t row);

/** difference_predicate() - the limit that rejects @row; @ret_value: the reading. NULL: it passes
 */
const struct policy_predicate *difference_predicate(const struct difference_side *side, size_t row,
                                                    double *ret_value_ratio);
