/*
 * The differences between two policies on the same nodes. Pure.
 *
 * A node's rank is 1 plus the number of better nodes that pass. A node is better if its score is
 * higher, or, with equal scores, its score before rounding. Equal nodes have the same rank.
 */
#pragma once

#include <stddef.h>

#include "cli/explanation/explanation.h"

struct difference_side {
        const struct explanation *explanation; /* borrowed */
        size_t *ranks;                         /* [row]; 0: the node is closed or rejected */
        size_t *order;                         /* rows: the best first, rows without a rank last */
        size_t passing;
};

/* A metric with a limit or a priority in the new policy. */
struct difference_metric {
        size_t metric;  /* index into the new policy's metrics */
        size_t usable;  /* nodes with a usable reading */
        size_t unknown; /* nodes without one, although a limit or priority of theirs needs it */
        bool is_new;    /* not in the old policy */
};

struct difference {
        struct difference_side before, after;
        size_t count, closed; /* nodes; those that take no pods */
        size_t newly_rejected, newly_passing, scores_changed, ranks_changed;
        size_t metric_count;
        struct difference_metric metrics[POLICY_MAX_METRICS];
};

/**
 * difference_init() - compare two explanations
 * @before, @after: their tables have the same nodes in the same rows; borrowed until
 *                  difference_done()
 */
void difference_init(struct difference *difference, const struct explanation *before,
                     const struct explanation *after);
void difference_done(struct difference *difference);

enum difference_flip { DIFFERENCE_NONE, DIFFERENCE_REJECTED, DIFFERENCE_PASSES };

/** difference_flip() - how a node's verdict changes */
enum difference_flip difference_flip(const struct difference *difference, size_t row);

/** difference_predicate() - the limit that rejects @row, and the reading; NULL: no limit does */
const struct policy_predicate *difference_predicate(const struct difference_side *side, size_t row,
                                                    double *ret_value_ratio);
