#include "policy/judge/judge_score.h"

#include "base/mem.h"
#include "policy/judge/judge_estimate.h"

/* Duplicates are not scored: the scheduler has each node once. */
static bool score_takes_part(const struct judge *judge, size_t i) {
        return judge->question.rows[i] != JUDGE_DUPLICATE && !judge_is_last(judge, i);
}

static void score_spread(struct judge *judge) {
        _cleanup_(freep) int *scores = xcalloc(judge->question.count, sizeof(*scores));
        int *points = judge->scored.points;
        size_t count = 0;

        for (size_t i = 0; i < judge->question.count; i++)
                if (score_takes_part(judge, i))
                        scores[count++] = points[i];
        verdict_spread10(scores, count);
        count = 0;
        for (size_t i = 0; i < judge->question.count; i++)
                if (score_takes_part(judge, i))
                        points[i] = scores[count++];
}

static void score_by_readings(struct judge *judge) {
        const struct judge_question *question = &judge->question;
        bool is_spread = question->nodes->policy->scoring == POLICY_SCORING_SPREAD;

        judge_find_largest(judge);
        for (size_t i = 0; i < question->count; i++) {
                int score100 = judge_knows(judge, i) ? judge_score100(judge, question->rows[i]) : 0;
                judge->scored.points[i] = is_spread ? score100 : verdict_score10(score100);
        }
        if (is_spread)
                score_spread(judge);
}

/* Only the best candidates keep their points. Among equal ones, scored->best comes first, then the
 * order of the call decides. */
static void score_name_best(struct judge_scored *scored, size_t count) {
        size_t with_points[SCORE_BEST_POINTS + 1] = {0}, named = 0, best = scored->best;
        int lowest = SCORE_BEST_POINTS + 1, *points = scored->points;

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

/* The scheduler chooses among equal nodes at random. While it places a PodGroup, no binding shows
 * its choice, so the reserved node gets one point more than all other nodes. */
static void score_prefer_reserved(struct judge_scored *scored, size_t count) {
        for (size_t i = 0; i < count; i++)
                if (i != scored->best && scored->points[i] == SCORE_BEST_POINTS)
                        scored->points[i]--;
}

static void score_by_estimate(struct judge *judge) {
        const struct judge_question *question = &judge->question;
        struct judge_scored *scored = &judge->scored;
        size_t count = question->count, row_count = question->nodes->count;
        const double *headrooms = scored->headrooms;
        const uint32_t *rows = question->rows;
        bool has_last = scored->has_last;
        int *points = scored->points;

        scored->best = judge_find_headrooms(judge);
        double most = scored->best < count ? headrooms[scored->best] : 0;
        /* A candidate that ranks last may have more headroom than the best candidate that does not.
         */
        for (size_t i = 0; i < count; i++)
                points[i] = rows[i] < row_count && !(has_last && judge_is_last(judge, i))
                                    ? score_points(headrooms[i], most)
                                    : 0;
        if (question->pod && question->pod->group_id != 0)
                score_prefer_reserved(scored, count);
        score_name_best(scored, count);
}

void judge_score(struct judge *judge) {
        struct judge_scored *scored = &judge->scored;

        judge_find_last(judge);
        if (judge->question.nodes->policy->scoring == POLICY_SCORING_ESTIMATE)
                score_by_estimate(judge);
        else
                score_by_readings(judge);
        if (scored->has_last)
                verdict_put_last(scored->places, scored->points, judge->question.count);
}
