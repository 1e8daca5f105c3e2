/*
 * The answer to one call of the scheduler. It finds the candidates in a snapshot, and policy/judge
 * judges them. With scoring: estimate, the estimator provides the expected load of the pod and the
 * reservations. The memory of an answer is reused for each call.
 *
 * A pod that is held back passes everywhere, and all nodes score 0.
 */
#pragma once

#include "extender/answer/candidates.h"
#include "extender/answer/request.h"
#include "extender/estimator/estimator.h"
#include "extender/table/node_snapshot.h"
#include "policy/judge/judge.h"
#include "policy/judge/judge_shortlist.h"

struct answer {
        const struct node_snapshot *snapshot; /* borrowed until the next call, like the request */
        const struct request *request;
        struct judge judge;
        struct candidates candidates;
        struct estimator_expectation expectation; /* for the pod, with scoring: estimate */
        enum judge_list list;                     /* for a filter call */
};

#define ANSWER_NULL ((struct answer){0})

/* As metrics and pages name a list. */
extern const char *const answer_list_names[JUDGE_LIST_SHORT + 1];

void answer_done(struct answer *answer);

/** answer_filter() - find the candidates that pass. All of them are on the list */
void answer_filter(struct answer *answer, const struct node_snapshot *snapshot,
                   const struct request *request, int64_t now_unix_ms);
/** answer_shortlist() - shorten the list, if the policy wants it; after answer_filter() */
void answer_shortlist(struct answer *answer, int64_t now_mono_ms);
/** answer_score() - score the candidates; with scoring: estimate, reserve the best one for the pod
 */
void answer_score(struct answer *answer, const struct node_snapshot *snapshot,
                  const struct request *request, int64_t now_unix_ms, int64_t now_mono_ms);
