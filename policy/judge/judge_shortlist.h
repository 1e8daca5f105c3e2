/*
 * From a filter call's verdicts to a shortlist (policy/judge/shortlist.h): whether there is to be
 * one, and which candidates are on it by the policy's scoring, as of now.
 */
#pragma once

#include "policy/judge/judge.h"

/* Which of the candidates that pass are named. */
enum judge_list {
        /* There is nothing to leave out, or the policy has no shortlist, or no passing candidate is
         * in the table: the first ones of the request would be no better than the others. */
        JUDGE_LIST_WHOLE,
        JUDGE_LIST_PREFERENCES, /* the whole list, since the pod prefers some nodes */
        JUDGE_LIST_RETRY,       /* the whole list, since it had a shortlist before */
        JUDGE_LIST_SHORT,
};

/**
 * judge_shortlist_kind() - after judge_filter(): which list the call gets; it is remembered that
 * the pod had it
 * @pods: shared by all judges
 */
enum judge_list judge_shortlist_kind(const struct judge *judge, struct shortlist_pods *pods);
/**
 * judge_shortlist() - the list is JUDGE_LIST_SHORT: is_told becomes false for some that pass
 *
 * With scoring: estimate, reservations count, and none is made: that is for judge_score().
 */
void judge_shortlist(struct judge *judge);
