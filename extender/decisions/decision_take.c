#include "extender/decisions/decision_take.h"

#include <assert.h>
#include <float.h>
#include <string.h>

bool decision_take_pod(const struct pod_facts *facts, struct decision_pod *ret) {
        const struct skim_string *namespace = &facts->namespace, *name = &facts->name;
        const struct skim_string *uid = &facts->uid;

        if (namespace->len == 0 || namespace->len > POD_FACTS_NAMESPACE_MAX || name->len == 0 ||
            name->len > POD_FACTS_NAME_MAX || uid->len == 0 || uid->len > DECISION_UID_MAX)
                return false;
        ret->id = facts->id;
        ret->namespace_len = (uint8_t) namespace->len;
        memcpy(ret->full_name, namespace->text, namespace->len);
        ret->full_name[namespace->len] = '/';
        memcpy(ret->full_name + namespace->len + 1, name->text, name->len);
        ret->full_name[namespace->len + 1 + name->len] = '\0';
        memcpy(ret->uid, uid->text, uid->len);
        ret->uid[uid->len] = '\0';
        return true;
}

static_assert((int)DECISION_READINGS_MAX * (int)METRIC_NAME_MAX <= (int)DECISION_TEXT_BYTES,
              "keep_metric()");

/* Return: false: there is no room */
static bool keep_text(struct decision_texts *texts, const char *text, size_t len,
                      struct decision_text *ret) {
        if (len > sizeof(texts->bytes) - texts->used)
                return false;
        memcpy(texts->bytes + texts->used, text, len);
        *ret = (struct decision_text){.at = texts->used, .len = (uint16_t)len};
        texts->used = (uint16_t)(texts->used + len);
        return true;
}

/* Metrics are kept first, so they always fit. */
static void keep_metric(struct decision_texts *texts, const struct policy_metric *metric,
                        struct decision_text *ret) {
        (void)keep_text(texts, metric->name, strlen(metric->name), ret);
}

/* A name that is too long for a node is cut; it is only displayed. */
static bool keep_stranger(struct decision_texts *texts, const struct request_node *node,
                          struct decision_text *ret) {
        const struct skim_string name = {node->name, node->name_bytes, true};
        char decoded[NODE_NAME_MAX + 1];

        (void)skim_decode(&name, decoded, sizeof(decoded));
        return keep_text(texts, decoded, strlen(decoded), ret);
}

static bool keep_candidate(struct decision_texts *texts, const struct answer *answer, size_t index,
                           struct decision_text *ret) {
        if (!judge_knows(&answer->judge, index))
                return keep_stranger(texts, &answer->request->nodes[index], ret);
        const struct node_name *name = node_names_at(answer->snapshot->names,
                                                     answer->judge.question.rows[index]);
        return keep_text(texts, name->name, name->name_bytes, ret);
}

static struct decision_call take_call(const struct answer *answer) {
        const struct judge_question *question = &answer->judge.question;

        return (struct decision_call){
                .at_unix_ms = question->now_unix_ms,
                .policy_generation = answer->snapshot->table_policy->generation,
                .candidates = (uint32_t)question->count,
                .duplicates = (uint32_t)question->duplicate_count,
                .unknown = (uint32_t)question->unknown_count,
        };
}

/* ---- Filter. */

/* @ret_place: [predicate of the policy]: its index in the decision, or DECISION_READINGS_MAX */
static void take_predicates(const struct judge_filtered *filtered, const struct policy *policy,
                            struct decision_filter *filter, uint8_t ret_place[POLICY_MAX_ENTRIES]) {
        for (size_t i = 0; i < policy->predicate_total; i++) {
                const struct policy_predicate *of = &policy->predicates[i];
                struct decision_predicate *to = &filter->predicates[filter->predicate_count];
                ret_place[i] = DECISION_READINGS_MAX;
                if (filtered->over_count[i] == 0 ||
                    filter->predicate_count == DECISION_READINGS_MAX)
                        continue;
                keep_metric(&filter->texts, &policy->metrics[of->metric], &to->metric);
                to->limit_ratio = (float)of->limit_ratio;
                to->over_count = filtered->over_count[i];
                ret_place[i] = filter->predicate_count++;
        }
}

static void take_rejections(const struct answer *answer, const uint8_t place[POLICY_MAX_ENTRIES],
                            struct decision_filter *filter) {
        const struct judge_question *question = &answer->judge.question;
        const struct judge_filtered *filtered = &answer->judge.filtered;
        const struct judge_nodes *nodes = question->nodes;
        size_t left = filtered->rejected_count;

        for (size_t i = 0; left > 0 && filter->rejection_count < DECISION_NODES_MAX; i++) {
                struct decision_rejection *to = &filter->rejections[filter->rejection_count];
                int by = filtered->rejected_by[i];
                if (by < 0)
                        continue;
                left--;
                if (place[by] == DECISION_READINGS_MAX ||
                    !keep_candidate(&filter->texts, answer, i, &to->node))
                        continue;
                size_t metric = nodes->policy->predicates[by].metric;
                to->predicate = place[by];
                to->value_ratio =
                        (float)nodes->columns.readings.usage_ratio[metric][question->rows[i]];
                filter->rejection_count++;
        }
}

void decision_take_filter(const struct answer *answer, struct decision *decision) {
        struct decision_filter *ret = &decision->filter;
        const struct judge_question *question = &answer->judge.question;
        const struct judge_filtered *filtered = &answer->judge.filtered;
        const struct policy *policy = question->nodes->policy;
        uint8_t place[POLICY_MAX_ENTRIES];

        memset(ret, 0, offsetof(struct decision_filter, texts.bytes));
        ret->call = take_call(answer);
        ret->rejected = (uint32_t)filtered->rejected_count;
        ret->left_out = (uint32_t)filtered->left_out_count;
        ret->list = answer->list;
        ret->is_daemonset = question->pod->is_daemonset;
        ret->is_held_back = answer->request->is_held_back;
        ret->is_all_over = filtered->is_all_over;
        if (question->rule)
                ret->rule = (uint8_t)(question->rule - policy->rules + 1);
        take_predicates(filtered, policy, ret, place);
        take_rejections(answer, place, ret);
        decision->filter_count++;
        decision->is_ranked = false;
}

/* ---- Prioritize. */

struct ranked {
        double headroom;
        int points;
        uint32_t index; /* of the candidate */
};

static bool is_ranked_better(const struct ranked *a, const struct ranked *b) {
        return a->points > b->points || (a->points == b->points && a->headroom > b->headroom);
}

static size_t put_ranked(struct ranked best[DECISION_NODES_MAX], size_t count, struct ranked of) {
        count += count < DECISION_NODES_MAX;
        size_t at = count - 1;
        for (; at > 0 && is_ranked_better(&of, &best[at - 1]); at--)
                best[at] = best[at - 1];
        best[at] = of;
        return count;
}

/* Find the best candidates by points, then by headroom, then in the order of the request;
 * candidates that are not in the table come last. The loop is fast for candidates that are worse
 * than the best 16, which most are. Return: the number in @best */
static size_t find_best(const struct judge *judge, struct ranked best[DECISION_NODES_MAX]) {
        const struct judge_nodes *nodes = judge->question.nodes;
        const double *headrooms = nodes->columns.has_estimate ? judge->scored.headrooms : NULL;
        size_t count = 0, candidates = judge->question.count, row_count = nodes->count;
        struct ranked worst = {.headroom = -DBL_MAX, .points = -1};
        const int *points = judge->scored.points;
        const uint32_t *rows = judge->question.rows;

        for (size_t i = 0; i < candidates; i++) {
                if (points[i] <= worst.points && !(headrooms && headrooms[i] > worst.headroom))
                        continue;
                struct ranked of = {-DBL_MAX, points[i], (uint32_t)i};
                if (rows[i] < row_count)
                        of.headroom = headrooms ? headrooms[i] : 0;
                if (rows[i] == JUDGE_DUPLICATE || !is_ranked_better(&of, &worst))
                        continue;
                count = put_ranked(best, count, of);
                if (count == DECISION_NODES_MAX)
                        worst = best[DECISION_NODES_MAX - 1];
        }
        return count;
}

/* For scorings other than estimate: the priorities of the spec, then those of the pools. */
static void take_priorities(const struct judge *judge, const struct policy *policy,
                            struct decision_ranking *ranking) {
        for (size_t i = 0; i < policy->priority_total && i < DECISION_READINGS_MAX; i++) {
                const struct policy_priority *of = &policy->priorities[i];
                struct decision_priority *to = &ranking->priorities[i];
                keep_metric(&ranking->texts, &policy->metrics[of->metric], &to->metric);
                to->terms = score_terms_priority(judge, i, 0);
                ranking->priority_count++;
        }
}

static void take_readings(const struct judge *judge, uint32_t row, size_t priority_count,
                          struct decision_readings *ret) {
        const struct node_columns *columns = &judge->question.nodes->columns;
        struct policy_range of = policy_pool_priorities(judge->question.nodes->policy,
                                                        columns->readings.pool[row]);
        bool is_hot = judge->question.now_unix_ms < columns->readings.hot_expires_unix_ms[row];

        ret->end = (uint8_t)(of.end < priority_count ? of.end : priority_count);
        ret->begin = (uint8_t)(of.begin < ret->end ? of.begin : ret->end);
        for (size_t i = ret->begin; i < ret->end; i++)
                ret->of[i] = score_terms_points(judge, row, i);
        ret->hot = is_hot ? columns->readings.hot[row] : 0;
        ret->score100 = (uint8_t)judge_score100(judge, row);
}

static void take_nodes(const struct answer *answer, struct decision_ranking *ranking) {
        const struct judge *judge = &answer->judge;
        struct ranked best[DECISION_NODES_MAX];
        size_t count = find_best(judge, best);

        for (size_t i = 0; i < count; i++) {
                struct decision_node *to = &ranking->nodes[ranking->node_count];
                uint32_t row = judge->question.rows[best[i].index];
                if (!keep_candidate(&ranking->texts, answer, best[i].index, &to->name))
                        return;
                to->score = (int8_t)best[i].points;
                to->is_in_table = row < judge->question.nodes->count;
                to->is_last = judge_is_last(judge, best[i].index);
                ranking->node_count++;
                if (to->is_in_table && ranking->scoring == POLICY_SCORING_ESTIMATE)
                        score_terms_estimate(judge, row, best[i].headroom, &to->estimate);
                else if (to->is_in_table)
                        take_readings(judge, row, ranking->priority_count, &to->readings);
        }
}

void decision_take_ranking(const struct answer *answer, struct decision *decision) {
        struct decision_ranking *ret = &decision->ranking;
        const struct judge *judge = &answer->judge;
        const struct pod_facts *pod = judge->question.pod;
        const struct policy *policy = judge->question.nodes->policy;

        memset(ret, 0, offsetof(struct decision_ranking, texts.bytes));
        ret->call = take_call(answer);
        ret->scoring = policy->scoring;
        if (policy->scoring == POLICY_SCORING_ESTIMATE) {
                ret->expectation = answer->expectation;
                (void)keep_text(&ret->texts, pod->workload, pod->workload_len, &ret->workload);
        } else {
                take_priorities(judge, policy, ret);
        }
        take_nodes(answer, ret);
        decision->ranking_count++;
        decision->is_ranked = true;
}
