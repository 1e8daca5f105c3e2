/*
 * What the extender would answer about one pod and all nodes of a snapshot, and why: the judge is
 * asked as it is for a scheduler. Its reservations for other pods count. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "extender/table/node_snapshot.h"
#include "policy/judge/judge.h"

/* The version of the two pages below; another one has other keys. */
enum { EXPLANATION_VERSION = 1 };

struct explanation {
        const struct node_snapshot *snapshot; /* borrowed, like the next two */
        const struct judge_nodes *nodes;
        const struct policy *policy;
        const struct pod_facts *pod; /* NULL: any pod without requests */
        int64_t now_unix_ms;
        bool has_estimate;                        /* nodes are ranked by headroom */
        struct estimator_expectation expectation; /* of the pod, with has_estimate */

        const char **closed_by; /* [row]: why the node takes no pods, borrowed; NULL: it does */
        int *rejected_by;       /* [row]: index into the policy's predicates, or JUDGE_PASSES */
        size_t *candidates;     /* [row]: the candidate in the judge; SIZE_MAX: closed or rejected,
                                   and without a score */
        struct judge judge;     /* after judge_score() */
};

/**
 * explanation_init() - judge all rows
 * @pod: the pod to place, borrowed; NULL: any pod. A known pod may tolerate what closes a node, so
 *       nodes are closed only for "any pod"
 * @explanation: must not be moved
 */
void explanation_init(struct explanation *explanation, const struct node_snapshot *snapshot,
                      const struct pod_facts *pod, int64_t now_unix_ms, int64_t now_mono_ms);
void explanation_done(struct explanation *explanation);

/** explanation_score() - 0 to 10, the scheduler's score; -1: closed or rejected */
int explanation_score(const struct explanation *explanation, size_t row);
/** explanation_last_by() - the predicate that makes a passing row rank last; -1: none */
int explanation_last_by(const struct explanation *explanation, size_t row);

/* ---- JSON. extender/README.md has examples. */

/** explanation_json_begin() - open the document, with what is the same for all nodes: the policy,
 * and what the pod is expected to use. The array of nodes is open afterwards */
void explanation_json_begin(const struct explanation *explanation, struct buf *out);
void explanation_json_end(struct buf *out);
/** explanation_json_node_begin() - open the line of a node, with its verdict and score */
void explanation_json_node_begin(const struct explanation *explanation, size_t row,
                                 struct buf *out);
/** explanation_json_node() - the line of a node
 * @has_terms: with every term of its verdict and score */
void explanation_json_node(const struct explanation *explanation, size_t row, bool has_terms,
                           struct buf *out);
