/*
 * What the extender would answer about one pod on all nodes of a table, and why: the input of the
 * printers. Judged by the extender's own code (policy/judge).
 */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "extender/explain/explained_pod.h"
#include "policy/judge/judge.h"
#include "program/style.h"

struct explanation {
        const struct node_table *table; /* borrowed; its rows, in the order of the input */
        const struct policy *policy;
        int64_t now_unix_ms;
        const char *pod; /* "namespace/name", borrowed; NULL: any pod without requests */
        struct estimator_expectation expectation; /* of the pod, with scoring: estimate */
        char *workload;   /* that the expectation was learned of; NULL: none */
        const char *only; /* the one node to print, though all are judged; NULL: all */
        size_t first_row; /* is printed before the others; 0: in the order of the input */
        /* With scoring: estimate, set after explanation_init(); borrowed, for people. */
        const char *estimate_from; /* the extender that told what it knows; NULL: none was asked */
        const char *why_unscored;  /* why none has told, so that no row has a score; NULL: they have
                                    */

        struct node_snapshot *snapshot;
        int *rejected_by;   /* [row]: index into the policy's predicates, or JUDGE_PASSES */
        size_t *candidates; /* [row]: of the judge; SIZE_MAX: rejected, so it has no score */
        struct judge judge; /* of judge_rows() */
};

/**
 * explanation_init() - publish @table and judge its rows
 * @pod: the pod that looks for a node
 * @ret: borrows @table and pod->name; released with explanation_done(); not to be moved
 */
void explanation_init(struct explanation *explanation, struct node_table *table,
                      const struct explained_pod *pod, int64_t now_unix_ms);
void explanation_done(struct explanation *explanation);

/** explanation_has_estimate() - nodes are ranked by their headroom, not by score100 */
bool explanation_has_estimate(const struct explanation *explanation);
/** explanation_score() - 0 to 10, as the scheduler would receive it; -1: rejected, or none is known
 */
int explanation_score(const struct explanation *explanation, size_t row);
/** explanation_fine() - what the score of a row that has one was rounded from: the headroom with
 * scoring: estimate, else score100 */
double explanation_fine(const struct explanation *explanation, size_t row);
/** explanation_last_by() - the predicate that puts a passing row last; -1: none does */
int explanation_last_by(const struct explanation *explanation, size_t row);

/** explanation_limits() - the predicates that a row is held to: those of its pool, and of the rule
 * that holds for the pod. Return: how many are in @ret */
size_t explanation_limits(const struct explanation *explanation, size_t row,
                          size_t ret[static POLICY_MAX_TERMS]);

/** explanation_row() - the row that is printed as number @place, from 0 */
size_t explanation_row(const struct explanation *explanation, size_t place);
/** explanation_shows() - whether the printers print this row */
bool explanation_shows(const struct explanation *explanation, size_t row);

/** explanation_source_json() - who told the estimate, or why none did: "from" and "whyNot", which
 * may be null. NULL: the scoring is none. Owned by the caller */
json_t *explanation_source_json(const struct explanation *explanation);
/** explanation_print_source() - the same in a line; nothing where there is nothing to say */
void explanation_print_source(const struct explanation *explanation, FILE *out);

/** explanation_json() - an array with an object per node; owned by the caller */
json_t *explanation_json(const struct explanation *explanation);
/** explanation_print() - for people
 * @nodes: explanation_json(); with "taintLevel" and "taintLevels" where they are known
 * @style: with bars where it has colours */
void explanation_print(const struct explanation *explanation, const json_t *nodes,
                       const struct style *style, FILE *out);
