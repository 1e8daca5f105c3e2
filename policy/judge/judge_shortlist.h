/*
 * Whether a filter call gets a shortlist (policy/judge/shortlist.h), and which candidates are on it
 * by the policy's scoring.
 */
#pragma once

#include "policy/judge/judge.h"

/* Which of the candidates that pass are in the answer. */
enum judge_list {
        /* All: there is nothing to leave out, or the policy has no shortlist, or no passing
         * candidate has a row, so that none is known to be better than another. */
        JUDGE_LIST_WHOLE,
        JUDGE_LIST_PREFERENCES, /* all, since the pod prefers some nodes */
        JUDGE_LIST_RETRY,       /* all, since the scheduler could not place the pod before */
        JUDGE_LIST_SHORT,
};

/** judge_shortlist_kind() - after judge_filter(): which list the call gets */
enum judge_list judge_shortlist_kind(const struct judge *judge);
/**
 * judge_shortlist() - for JUDGE_LIST_SHORT: set is_told of those that are left out to false
 *
 * With scoring: estimate, reservations count. None is made here; judge_score() does that.
 */
void judge_shortlist(struct judge *judge);
