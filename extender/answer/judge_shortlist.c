#include "extender/answer/judge_shortlist.h"

#include "extender/answer/judge_estimate.h"

/* 0: no shortlist */
static size_t places_of(const struct policy *policy, const struct request *request) {
        if (policy->shortlist != POLICY_SHORTLIST_AUTO)
                return (size_t)policy->shortlist;
        return request->count >= SHORTLIST_AUTO_MIN_CANDIDATES ? SHORTLIST_AUTO_PLACES : 0;
}

/* And is in the table. */
static bool is_passing(const struct judge *judge, const struct node_snapshot *snapshot, size_t i) {
        return judge->verdicts[i] == JUDGE_PASSES && judge->rows[i] < snapshot->count;
}

/* Whoever is over a limit with overLimit: last is behind all others. */
static void enter(struct judge *judge, const struct node_snapshot *snapshot, size_t i,
                  unsigned level) {
        enum { LAST = SHORTLIST_LEVELS - 1 };

        if (judge_is_last(judge, i))
                level = LAST;
        else if (judge->has_last && level == LAST)
                level = LAST - 1;
        shortlist_enter(&judge->shortlist, i, snapshot->rows.zone[judge->rows[i]], level);
}

/* A level is a quarter of a per cent of headroom; 64 % below the best, no node gets points. */
static void enter_estimated(struct judge *judge, const struct node_snapshot *snapshot,
                            const struct request *request, int64_t now_mono_ms) {
        enum { LEVELS_PER_PERCENT = 4, LAST = SHORTLIST_LEVELS - 1 };
        size_t best = judge_find_headrooms(judge, snapshot, request, now_mono_ms, true);
        double most = best < request->count ? judge->headrooms[best] : 0;

        for (size_t i = 0; i < request->count; i++) {
                if (!is_passing(judge, snapshot, i))
                        continue;
                double level = judge_is_last(judge, i)
                                       ? LAST
                                       : (most - judge->headrooms[i]) * LEVELS_PER_PERCENT;
                enter(judge, snapshot, i, level < LAST ? (unsigned)level : LAST);
        }
}

static void enter_scored(struct judge *judge, const struct node_snapshot *snapshot,
                         const struct request *request, int64_t now_unix_ms) {
        const struct policy *policy = snapshot->table_policy->policy;
        bool is_settled = node_snapshot_is_settled(snapshot, now_unix_ms);
        bool is_relative = policy_is_relative(policy);

        if (is_relative)
                verdict_find_largest(policy, &snapshot->columns, snapshot->count, judge->rows,
                                     request->count, now_unix_ms, &judge->largest);
        for (size_t i = 0; i < request->count; i++) {
                if (!is_passing(judge, snapshot, i))
                        continue;
                int score100 = judge_score100(judge, snapshot, judge->rows[i], is_relative,
                                              is_settled, now_unix_ms);
                enter(judge, snapshot, i, (unsigned)(100 - score100));
        }
}

static void enter_strangers(struct judge *judge, const struct request *request) {
        for (size_t i = 0; i < request->count; i++)
                if (judge->rows[i] == JUDGE_UNKNOWN)
                        shortlist_enter(&judge->shortlist, i, SHORTLIST_STRANGERS, 0);
}

static void leave_out(struct judge *judge, size_t passing, size_t places) {
        const struct shortlist *list = &judge->shortlist;

        judge->left_out_count = passing - shortlist_choose(&judge->shortlist, places);
        for (size_t i = 0; i < list->count; i++)
                if (list->candidates[i].group != SHORTLIST_NO_GROUP && !list->candidates[i].is_in)
                        judge->verdicts[i] = JUDGE_LEFT_OUT;
}

enum judge_list judge_shortlist(struct judge *judge, const struct node_snapshot *snapshot,
                                const struct request *request, struct shortlist_pods *pods,
                                int64_t now_unix_ms, int64_t now_mono_ms) {
        const struct policy *policy = snapshot->table_policy->policy;
        size_t places = places_of(policy, request);
        size_t passing = request->count - judge->duplicate_count - judge->rejected_count;

        bool knows_any = passing > judge->unknown_count;

        if (places == 0 || passing <= places || request->pod.is_daemonset || !knows_any)
                return JUDGE_LIST_WHOLE;
        if (request->pod.has_preferences && policy->shortlist_for != POLICY_SHORTLIST_FOR_ALL)
                return JUDGE_LIST_PREFERENCES;
        if (!shortlist_is_first(pods, request->pod.id))
                return JUDGE_LIST_RETRY;
        shortlist_begin(&judge->shortlist, request->count);
        if (policy->scoring == POLICY_SCORING_ESTIMATE)
                enter_estimated(judge, snapshot, request, now_mono_ms);
        else
                enter_scored(judge, snapshot, request, now_unix_ms);
        enter_strangers(judge, request);
        leave_out(judge, passing, places);
        return JUDGE_LIST_SHORT;
}
