/*
 * The answer to one of the scheduler's calls: the candidates are found in a snapshot and judged by
 * policy/judge. With scoring: estimate, the estimator knows what the pod will use and what is
 * reserved. The memory of an answer is used for one call after the other.
 */
#pragma once

#include "extender/answer/candidates.h"
#include "extender/answer/request.h"
#include "extender/estimator/estimator.h"
#include "extender/table/node_snapshot.h"
#include "policy/judge/judge.h"
#include "policy/judge/judge_shortlist.h"

struct answer {
        const struct node_snapshot *snapshot; /* borrowed until the next call, as is the request */
        const struct request *request;
        struct judge judge;
        struct candidates candidates;
        struct estimator_expectation expectation; /* of the pod, with scoring: estimate */
        enum judge_list list;                     /* of a filter call */
};

#define ANSWER_NULL ((struct answer){0})

void answer_done(struct answer *answer);

/** answer_filter() - which of the request's nodes pass. All of them are on the list */
void answer_filter(struct answer *answer, const struct node_snapshot *snapshot,
                   const struct request *request, int64_t now_unix_ms);
/** answer_shortlist() - after answer_filter(): which of the nodes that pass are on the list */
void answer_shortlist(struct answer *answer, int64_t now_mono_ms);
/** answer_score() - points for all; with scoring: estimate the best node is reserved for the pod */
void answer_score(struct answer *answer, const struct node_snapshot *snapshot,
                  const struct request *request, int64_t now_unix_ms, int64_t now_mono_ms);
