/*
 * Takes an answer into the decision that is kept. Its figures are the numbers that the judge has
 * used. Pure, and allocates nothing; it reads a few fields of each candidate.
 */
#pragma once

#include <stdbool.h>

#include "base/attributes.h"
#include "extender/answer/answer.h"
#include "extender/decisions/decision.h"

/** decision_take_pod() - the pod of a decision. Return: false if the pod cannot be found again: it
 * has no name or uid, or one that is longer than Kubernetes allows */
_must_check_ bool decision_take_pod(const struct pod_facts *facts, struct decision_pod *ret);
/** decision_take_filter() - a filter call was answered; after answer_filter() */
void decision_take_filter(const struct answer *answer, struct decision *decision);
/** decision_take_ranking() - a prioritize call was answered; after answer_score() */
void decision_take_ranking(const struct answer *answer, struct decision *decision);
