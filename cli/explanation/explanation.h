/*
 * What the extender would answer about one pod and all nodes of a table, and why. The extender's
 * own code (policy/judge) judges; printers print it.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "cli/explanation/explain_input.h"
#include "cli/explanation/listed_nodes.h"
#include "policy/judge/judge.h"
#include "program/style.h"

struct explanation {
        const struct node_table *table; /* borrowed; its rows, in the order of the input */
        const struct policy *policy;
        int64_t now_unix_ms;
        const struct listed_nodes *listed; /* borrowed; NULL: only the table is known */
        const char *pod; /* "namespace/name", borrowed; NULL: any pod without requests */
        struct estimator_expectation expectation; /* of the pod, with scoring: estimate */
        char *workload; /* the pod's, from which the expectation was learned; NULL: none */
        /* With scoring: estimate, set after explanation_init(); borrowed, for people. */
        const char *estimate_from; /* the extender whose estimate was imported; NULL: none */
        const char *why_unscored;  /* why no estimate could be had, so that no row has a score */

        struct node_snapshot *snapshot;
        const char **closed_by; /* [row]: why it takes no pods, borrowed; NULL: it does */
        int *rejected_by;       /* [row]: index into the policy's predicates, or JUDGE_PASSES */
        size_t *candidates;     /* [row]: its candidate in the judge; SIZE_MAX: closed or rejected,
                                   so without score */
        struct judge judge;     /* after judge_rows() */
};

/**
 * explanation_init() - publish @table and judge its rows
 * @listed: which nodes are closed, for any pod: one that is known may tolerate what closes them;
 *          and how many taints of load they have; may be NULL
 * @pod:    the pod that looks for a node; NULL: any pod
 * @ret:    borrows @table, @listed and pod->name; released with explanation_done(); not to be moved
 */
void explanation_init(struct explanation *explanation, struct node_table *table,
                      const struct listed_nodes *listed, const struct explained_pod *pod,
                      int64_t now_unix_ms);
void explanation_done(struct explanation *explanation);

/** explanation_has_estimate() - nodes are ranked by their headroom, not by score100 */
bool explanation_has_estimate(const struct explanation *explanation);
/** explanation_score() - 0 to 10, as the scheduler would get it; -1: closed, rejected, or not
 * known */
int explanation_score(const struct explanation *explanation, size_t row);
/** explanation_passes() - neither closed nor rejected */
bool explanation_passes(const struct explanation *explanation, size_t row);
/** explanation_fine() - the score of a row before it was rounded to 0 to 10: the headroom with
 * scoring: estimate, else score100. The row must have a score */
double explanation_fine(const struct explanation *explanation, size_t row);

/** explanation_source_json() - where the estimate is from, or why there is none: "from" and
 * "whyNot", which may be null. NULL: the scoring is not estimate. Owned by the caller */
json_t *explanation_source_json(const struct explanation *explanation);
/** explanation_print_source() - the same as a line, if there is anything to say */
void explanation_print_source(const struct explanation *explanation, FILE *out);

/** explanation_rule() - the number of the policy's rule that holds for the pod, from 1 on; 0: none
 */
size_t explanation_rule(const struct explanation *of);
/** explanation_expected_json() - what the pod is expected to use, as terms_print_expected() prints
 * it; NULL: there is no estimate. Owned by the caller */
json_t *explanation_expected_json(const struct explanation *of);

/** explanation_row() - the row of a node; NODE_ROW_NONE: there is no such node */
uint32_t explanation_row(const struct explanation *explanation, const char *node);

/** explanation_json() - an array with an object per row; owned by the caller */
json_t *explanation_json(const struct explanation *explanation);
/** explanation_node_json() - one of these objects; owned by the caller */
json_t *explanation_node_json(const struct explanation *explanation, size_t row);
/** explanation_print() - for people
 * @nodes: explanation_json(), or some of it
 * @style: with bars if it has colours */
void explanation_print(const struct explanation *explanation, const json_t *nodes,
                       const struct style *style, FILE *out);
