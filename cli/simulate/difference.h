/*
 * The differences between two policies on the same nodes: two answers of an extender's /explain.
 * They are not trusted: what is missing or has another type counts as unknown. Pure.
 *
 * A node's rank is 1 plus the number of better nodes that pass. A node is better if its score is
 * higher, or, with equal scores, its score before rounding. Equal nodes have the same rank.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum { DIFFERENCE_METRICS_MAX = 64 };

struct difference_side {
        const json_t *answer; /* borrowed */
        const json_t *nodes;  /* of it */
        size_t *ranks;        /* [row]; 0: the node is closed or rejected */
        size_t *order;        /* rows: the best first, rows without a rank last */
        size_t passing;
        size_t over; /* open nodes above a limit, even if they pass */
};

/* A metric with a limit or a priority in the new policy. */
struct difference_metric {
        const json_t *metric; /* of the new answer's policy */
        const char *name;
        size_t usable;  /* nodes with a usable reading */
        size_t unknown; /* nodes without one, although a limit or priority of theirs needs it */
        bool is_new;    /* not in the old policy */
};

struct difference {
        struct difference_side before, after;
        size_t count, closed; /* nodes; those that take no pods */
        size_t newly_rejected, newly_passing, scores_changed, ranks_changed;
        size_t metric_count;
        struct difference_metric metrics[DIFFERENCE_METRICS_MAX];
};

/**
 * difference_init() - compare two answers
 * @before, @after: about the same nodes in the same order; borrowed until difference_done()
 */
void difference_init(struct difference *difference, const json_t *before, const json_t *after);
void difference_done(struct difference *difference);

enum difference_flip { DIFFERENCE_NONE, DIFFERENCE_REJECTED, DIFFERENCE_PASSES };

/** difference_flip() - how a node's verdict changes */
enum difference_flip difference_flip(const struct difference *difference, size_t row);

/** difference_name() - the name of a node; borrowed */
const char *difference_name(const struct difference *difference, size_t row);
/** difference_score() - 0 to 10; -1: closed or rejected */
int difference_score(const struct difference_side *side, size_t row);
/** difference_limit() - the limit that rejects @row, with its reading: an object of the answer's
 * predicates; NULL: no limit does */
const json_t *difference_limit(const struct difference_side *side, size_t row);
