#include "policy/judge/judge_score.h"

#include "base/mem.h"
#include "policy/judge/judge_estimate.h"

/* Duplicates do not: the scheduler has each node once. */
static bool score_takes_part(const struct judge *judge, size_t i) {
        return judge->rows[i] != JUDGE_DUPLICATE && !judge_is_last(judge, i);
}

static void score_spread(struct judge *judge) {
        _cleanup_(freep) int *scores = xcalloc(judge->count, sizeof(*scores));
        size_t count = 0;

        for (size_t i = 0; i < judge->count; i++)
                if (score_takes_part(judge, i))
                        scores[count++] = judge->points[i];
        verdict_spread10(scores, count);
        count = 0;
        for (size_t i = 0; i < judge->count; i++)
                if (score_takes_part(judge, i))
                        judge->points[i] = scores[count++];
}

static void score_by_readings(struct judge *judge) {
        bool is_spread = judge->nodes->policy->scoring == POLICY_SCORING_SPREAD;

        judge_find_largest(judge);
        for (size_t i = 0; i < judge->count; i++) {
                int score100 = judge_knows(judge, i) ? judge_score100(judge, judge->rows[i]) : 0;
                judge->points[i] = is_spread ? score100 : verdict_score10(score100);
        }
        if (is_spread)
                score_spread(judge);
}

/* The best keep their points. Of equal ones the first in the call is better, but judge->best is
 * better than any of them. */
static void score_name_best(struct judge *judge) {
        size_t with_points[SCORE_BEST_POINTS + 1] = {0}, named = 0, best = judge->best;
        int lowest = SCORE_BEST_POINTS + 1, *points = judge->points;
        size_t count = judge->count;

        for (size_t i = 0; i < count; i++)
                with_points[points[i]]++;
        while (lowest > 1 && named + with_points[lowest - 1] <= JUDGE_NAMED_MAX)
                named += with_points[--lowest];
        if (best < count && points[best] == lowest - 1)
                named++;
        for (size_t i = 0; i < count; i++) {
                if (points[i] >= lowest || i == best)
                        continue;
                if (points[i] == lowest - 1 && named < JUDGE_NAMED_MAX)
                        named++;
                else
                        points[i] = 0;
        }
}

/* The scheduler draws lots among equal nodes. While it places a PodGroup no binding shows which one
 * it took, so the reserved one has a point more than all others. */
static void score_prefer_reserved(struct judge *judge) {
        for (size_t i = 0; i < judge->count; i++)
                if (i != judge->best && judge->points[i] == SCORE_BEST_POINTS)
                        judge->points[i]--;
}

static void score_by_estimate(struct judge *judge) {
        judge->best = judge_find_headrooms(judge);
        double most = judge->best < judge->count ? judge->headrooms[judge->best] : 0;
        size_t count = judge->count, row_count = judge->nodes->count;
        const double *headrooms = judge->headrooms;
        const uint32_t *rows = judge->rows;
        int *points = judge->points;
        bool has_last = judge->has_last;

        /* A candidate that ranks last may have more headroom than the best of those that do not. */
        for (size_t i = 0; i < count; i++)
                points[i] = rows[i] < row_count && !(has_last && judge_is_last(judge, i))
                                    ? score_points(headrooms[i], most)
                                    : 0;
        if (judge->pod && judge->pod->group_id != 0)
                score_prefer_reserved(judge);
        score_name_best(judge);
}

void judge_score(struct judge *judge) {
        judge_find_last(judge);
        if (judge->nodes->policy->scoring == POLICY_SCORING_ESTIMATE)
                score_by_estimate(judge);
        else
                score_by_readings(judge);
        if (judge->has_last)
                verdict_put_last(judge->places, judge->points, judge->count);
}
