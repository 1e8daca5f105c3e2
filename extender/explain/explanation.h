/*
 * What the extender would answer about one pod and all nodes of a snapshot, and why: the judge is
 * asked as it is for a scheduler. Its reservations for other pods count. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "extender/table/node_annotation.h"
#include "extender/table/node_snapshot.h"
#include "policy/annotation.h"
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
        struct reservation reservations[RESERVATIONS_MAX];
        size_t reservation_count;

        const char **closed_by; /* [row]: why the node takes no pods, borrowed; NULL: it does */
        int *rejected_by;       /* [row]: index into the policy's predicates, or JUDGE_PASSES */
        size_t *candidates;     /* [row]: the candidate in the judge; SIZE_MAX: closed or rejected,
                                   and without a score */
        struct judge judge;     /* after judge_rows() */
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
/** explanation_reading() - the state of a reading */
enum reading_state explanation_reading(const struct explanation *explanation, size_t row,
                                       size_t metric);
/** explanation_reserved() - what is reserved on a node, as a share of its capacity */
double explanation_reserved(const struct explanation *explanation, size_t row, int resource);

/* ---- JSON. extender/README.md has examples. */

/** explanation_json_begin() - open the document, with its time, version and policy */
void explanation_json_begin(const struct explanation *explanation, struct buf *out);
/** explanation_json_pod() - what is known of the pod: its rule, and what it is expected to use */
void explanation_json_pod(const struct explanation *explanation, struct buf *out);
/** explanation_json_node() - a line with the verdict and the score; and with every term of them, if
 * @has_terms */
void explanation_json_node(const struct explanation *explanation, size_t row, bool has_terms,
                           struct buf *out);
/** explanation_json_over() - the first limit of the node that is exceeded, even if it passes */
void explanation_json_over(const struct explanation *explanation, size_t row, struct buf *out);
