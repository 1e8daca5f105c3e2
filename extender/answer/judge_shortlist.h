/*
 * From a filter call's verdicts to a shortlist (extender/answer/shortlist.h): whether there is to
 * be one, and which candidates are on it by the policy's scoring, as of now.
 */
#pragma once

#include <stdint.h>

#include "extender/answer/judge.h"

/* What is told of the candidates that pass. */
enum judge_list {
        /* There is nothing to leave out, or the policy has no shortlist, or no passing candidate is
         * in the table: the first ones of the request would be no better than the others. */
        JUDGE_LIST_WHOLE,
        JUDGE_LIST_PREFERENCES, /* the whole list, since the pod prefers some nodes */
        JUDGE_LIST_RETRY,       /* the whole list, since it had a shortlist before */
        JUDGE_LIST_SHORT,
};

/**
 * judge_shortlist() - after judge_filter() with the same arguments; verdicts of passing candidates
 * may become JUDGE_LEFT_OUT
 * @pods: shared by all judges
 *
 * With scoring: estimate, reservations count, and none is made: that is for judge_score().
 */
enum judge_list judge_shortlist(struct judge *judge, const struct node_snapshot *snapshot,
                                const struct request *request, struct shortlist_pods *pods,
                                int64_t now_unix_ms, int64_t now_mono_ms);
