#include "policy/judge/judge_shortlist.h"

#include "policy/judge/judge_estimate.h"

static size_t passing_count(const struct judge *judge) {
        return judge->question.count - judge->question.duplicate_count -
               judge->filtered.rejected_count;
}

/* 0: no shortlist */
static size_t places_of(const struct judge *judge) {
        const struct policy *policy = judge->question.nodes->policy;

        if (policy->shortlist != POLICY_SHORTLIST_AUTO)
                return (size_t)policy->shortlist;
        return judge->question.count >= SHORTLIST_AUTO_MIN_CANDIDATES ? SHORTLIST_AUTO_PLACES : 0;
}

/* A candidate over a limit with overLimit: last comes after all other candidates. */
static void enter_candidate(struct judge *judge, size_t i, unsigned level) {
        enum { LAST = SHORTLIST_LEVELS - 1 };

        if (judge_is_last(judge, i))
                level = LAST;
        else if (judge->scored.has_last && level == LAST)
                level = LAST - 1;
        shortlist_enter(&judge->scratch.shortlist, i,
                        judge->question.nodes->columns.zone[judge->question.rows[i]], level);
}

/* A level is a quarter of a percent of headroom. The last level is 64% below the best candidate,
 * where no candidate gets points any more. */
static void enter_estimated(struct judge *judge) {
        enum { LEVELS_PER_PERCENT = 4, LAST = SHORTLIST_LEVELS - 1 };
        size_t best = judge_find_headrooms(judge);
        double most = best < judge->question.count ? judge->scored.headrooms[best] : 0;

        for (size_t i = 0; i < judge->question.count; i++) {
                if (!judge->filtered.is_listed[i] || !judge_knows(judge, i))
                        continue;
                double level = judge_is_last(judge, i)
                                       ? LAST
                                       : (most - judge->scored.headrooms[i]) * LEVELS_PER_PERCENT;
                enter_candidate(judge, i, level < LAST ? (unsigned)level : LAST);
        }
}

static void enter_scored(struct judge *judge) {
        judge_find_largest(judge);
        for (size_t i = 0; i < judge->question.count; i++)
                if (judge->filtered.is_listed[i] && judge_knows(judge, i))
                        enter_candidate(
                                judge, i,
                                (unsigned)(100 - judge_score100(judge, judge->question.rows[i])));
}

static void enter_strangers(struct judge *judge) {
        for (size_t i = 0; i < judge->question.count; i++)
                if (judge->question.rows[i] == JUDGE_UNKNOWN)
                        shortlist_enter(&judge->scratch.shortlist, i, SHORTLIST_STRANGERS, 0);
}

static void leave_out(struct judge *judge) {
        struct shortlist *list = &judge->scratch.shortlist;

        judge->filtered.left_out_count = passing_count(judge) -
                                         shortlist_choose(list, places_of(judge));
        for (size_t i = 0; i < list->count; i++)
                if (list->candidates[i].group != SHORTLIST_NO_GROUP && !list->candidates[i].is_in)
                        judge->filtered.is_listed[i] = false;
}

enum judge_list judge_shortlist_kind(const struct judge *judge) {
        size_t places = places_of(judge), passing = passing_count(judge);
        bool knows_any = passing > judge->question.unknown_count;

        if (places == 0 || passing <= places || judge->question.pod->is_daemonset || !knows_any)
                return JUDGE_LIST_WHOLE;
        if (judge->question.pod->has_preferences &&
            judge->question.nodes->policy->shortlist_for != POLICY_SHORTLIST_FOR_ALL)
                return JUDGE_LIST_PREFERENCES;
        return judge->question.pod->is_retry ? JUDGE_LIST_RETRY : JUDGE_LIST_SHORT;
}

void judge_shortlist(struct judge *judge) {
        judge_find_last(judge);
        shortlist_begin(&judge->scratch.shortlist, judge->question.count);
        if (judge->question.nodes->policy->scoring == POLICY_SCORING_ESTIMATE)
                enter_estimated(judge);
        else
                enter_scored(judge);
        enter_strangers(judge);
        leave_out(judge);
}
