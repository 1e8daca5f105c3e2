#include "policy/judge/judge_filter.h"

static void filter_reject(struct judge *judge, size_t i, int over) {
        judge->rejected_by[i] = over;
        judge->is_told[i] = false;
        judge->over_count[over]++;
        judge->rejected_count++;
}

static void filter_by_nodes(struct judge *judge) {
        const struct judge_nodes *nodes = judge->nodes;
        size_t count = judge->count, row_count = nodes->count;
        int64_t now_unix_ms = judge->now_unix_ms;
        const uint32_t *rows = judge->rows;
        bool is_settled = judge->is_settled;

        for (size_t i = 0; i < count; i++) {
                if (rows[i] >= row_count)
                        continue;
                int over = judge_nodes_verdict(nodes, rows[i], is_settled, now_unix_ms).rejected_by;
                if (over >= 0)
                        filter_reject(judge, i, over);
        }
}

/* The limits of the pod's rule, for candidates that the limits of their nodes let pass. */
static void filter_by_rule(struct judge *judge) {
        const struct judge_nodes *nodes = judge->nodes;

        for (size_t i = 0; i < judge->count; i++) {
                if (!judge_knows(judge, i) || judge->rejected_by[i] != JUDGE_PASSES)
                        continue;
                int over = verdict_filter_by(nodes->policy, judge->rule->limits, &nodes->readings,
                                             judge->rows[i], judge->now_unix_ms);
                if (over >= 0)
                        filter_reject(judge, i, over);
        }
}

static void filter_pass_all(struct judge *judge) {
        const uint32_t *rows = judge->rows;
        int *rejected_by = judge->rejected_by;
        bool *is_told = judge->is_told;
        size_t count = judge->count;

        for (size_t i = 0; i < count; i++) {
                rejected_by[i] = JUDGE_PASSES;
                is_told[i] = rows[i] != JUDGE_DUPLICATE;
        }
        judge->rejected_count = 0;
}

/* If no candidate is below the limits, these do not say where the pod should go. */
static bool filter_rejects_all(const struct judge *judge) {
        return judge->rejected_count > 0 &&
               judge->rejected_count >= judge->count - judge->duplicate_count;
}

void judge_filter(struct judge *judge) {
        filter_pass_all(judge);
        if (!judge->is_exempt)
                filter_by_nodes(judge);
        if (judge->rule)
                filter_by_rule(judge);
        if (judge->nodes->policy->when_all_over == POLICY_ALL_OVER_PASS &&
            filter_rejects_all(judge)) {
                filter_pass_all(judge);
                judge->is_all_over = true;
        }
        judge->is_filtered = true;
        judge_find_last(judge);
}
