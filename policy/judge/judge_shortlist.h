/*
 * Decides whether a filter call gets a shortlist (policy/judge/shortlist.h), and fills it by the
 * policy's scoring.
 */
#pragma once

#include "policy/judge/judge.h"

/* The passing candidates that are in the answer. */
enum judge_list {
        /* All: there is nothing to leave out, the policy has no shortlist, or no passing candidate
         * has a row, so none is known to be better. */
        JUDGE_LIST_WHOLE,
        JUDGE_LIST_PREFERENCES, /* all: the pod prefers some nodes */
        JUDGE_LIST_RETRY,       /* all: the scheduler could not place the pod before */
        JUDGE_LIST_SHORT,
};

/** judge_shortlist_kind() - the kind of list for the call; after judge_filter() */
enum judge_list judge_shortlist_kind(const struct judge *judge);
/**
 * judge_shortlist() - for JUDGE_LIST_SHORT: clear is_listed of the candidates that are left out
 *
 * With scoring: estimate, this counts reservations, but makes none.
 */
void judge_shortlist(struct judge *judge);
