/*
 * What the extender would answer about one pod and all nodes of a table, and why. The extender's
 * own code (policy/judge) decides.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "cli/explanation/explain_input.h"
#include "cli/explanation/listed_nodes.h"
#include "policy/judge/judge.h"
#include "program/style.h"

struct explanation {
        const struct node_table *table; /* borrowed; rows are in the order of the input */
        const struct policy *policy;
        int64_t now_unix_ms;
        const struct listed_nodes *listed; /* borrowed; NULL: only the table is known */
        const char *pod; /* "namespace/name", borrowed; NULL: any pod without requests */
        struct estimator_expectation expectation; /* of the pod, with scoring: estimate */
        char *workload;                           /* the pod's, if it is measured; NULL: none */
        /* With scoring: estimate, set after explanation_init(); borrowed, for people. */
        const char *estimate_from; /* the extender that provided the estimate; NULL: none */
        const char *why_unscored;  /* why there is no estimate, so that no row has a score */

        struct node_snapshot *snapshot;
        const char **closed_by; /* [row]: why the node takes no pods, borrowed; NULL: it does */
        int *rejected_by;       /* [row]: index into the policy's predicates, or JUDGE_PASSES */
        size_t *candidates;     /* [row]: the candidate in the judge; SIZE_MAX: closed or rejected,
                                   and without a score */
        struct judge judge;     /* after judge_rows() */
};

/**
 * explanation_init() - publish @table and judge its rows
 * @listed: which nodes are closed, and how many load taints they have; may be NULL. A known pod may
 *          tolerate what closes a node, so nodes are closed only for "any pod"
 * @pod:    the pod to place; NULL: any pod
 * @explanation: borrows @table, @listed and pod->name; released with explanation_done(); must not
 *          be moved
 */
void explanation_init(struct explanation *explanation, struct node_table *table,
                      const struct listed_nodes *listed, const struct explained_pod *pod,
                      int64_t now_unix_ms);
void explanation_done(struct explanation *explanation);

/** explanation_has_estimate() - are nodes ranked by headroom instead of score100? */
bool explanation_has_estimate(const struct explanation *explanation);
/** explanation_score() - 0 to 10, the scheduler's score; -1: closed, rejected or unknown */
int explanation_score(const struct explanation *explanation, size_t row);
/** explanation_passes() - neither closed nor rejected */
bool explanation_passes(const struct explanation *explanation, size_t row);
/** explanation_fine() - the score before rounding: the headroom with scoring: estimate, otherwise
 * score100. The row must have a score */
double explanation_fine(const struct explanation *explanation, size_t row);

/** explanation_source_json() - the origin of the estimate, or why there is none: "from" and
 * "whyNot", which may be null. NULL: the scoring is not estimate. Owned by the caller */
json_t *explanation_source_json(const struct explanation *explanation);
/** explanation_print_source() - print it as a line, if there is an origin or a reason */
void explanation_print_source(const struct explanation *explanation, FILE *out);

/** explanation_rule() - the number of the policy's rule that applies to the pod, from 1; 0: none */
size_t explanation_rule(const struct explanation *explanation);
/** explanation_expected_json() - the expected usage of the pod, for terms_print_expected(); NULL:
 * there is no estimate. Owned by the caller */
json_t *explanation_expected_json(const struct explanation *explanation);

/** explanation_row() - the row of a node; NODE_ROW_NONE: there is no such node */
uint32_t explanation_row(const struct explanation *explanation, const char *node);

/** explanation_json() - an array with an object per row; owned by the caller */
json_t *explanation_json(const struct explanation *explanation);
/** explanation_node_json() - one of these objects; owned by the caller */
json_t *explanation_node_json(const struct explanation *explanation, size_t row);
/** explanation_print() - for people
 * @nodes: explanation_json(), or a part of it
 * @style: with colours, bars are printed */
void explanation_print(const struct explanation *explanation, const json_t *nodes,
                       const struct style *style, FILE *out);
