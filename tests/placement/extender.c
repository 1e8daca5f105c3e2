#include "extender.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "codec/json.h"
#include "extender/answer/answer.h"
#include "extender/table/node_table.h"
#include "policy/estimate/score.h"
#include "tests/put_node.h"

struct extender {
        struct situation situation;
        struct node_table *table;
        bool *has_node;                        /* [node] */
        char (*pod_usage)[POD_USAGE_TEXT_MAX]; /* [node] the annotation */
        double *estimated_ratio;               /* [node] of the last filter call's candidates */
        struct node_snapshot *snapshot;        /* of the last filter call; NULL before the first */
        struct request request;
        struct answer answer;
};

static int64_t now_unix_ms(const struct extender *extender) {
        return extender->situation.world->now_s * MS_PER_S;
}

static struct policy *copy_of(const struct policy *policy) {
        struct policy *copy = NULL;

        int r = policy_parse(policy->text, strlen(policy->text), true, &copy, NULL);
        assert(r == 0);
        (void)r;
        return copy;
}

struct extender *extender_new(const struct situation *situation) {
        struct extender *extender = xcalloc(1, sizeof(*extender));
        size_t nodes = situation->world->node_count;

        extender->situation = *situation;
        extender->table = node_table_new(&(struct node_table_options){.annotation_prefix = ""},
                                         copy_of(situation->policy), 0);
        extender->has_node = xcalloc(nodes, sizeof(*extender->has_node));
        extender->pod_usage = xcalloc(nodes, sizeof(*extender->pod_usage));
        extender->request.nodes = xcalloc(nodes, sizeof(*extender->request.nodes));
        extender->estimated_ratio = xcalloc(nodes, sizeof(*extender->estimated_ratio));
        extender_follow_nodes(extender);
        return extender;
}

void extender_free(struct extender *extender) {
        if (extender->snapshot)
                node_snapshot_unref(extender->snapshot);
        answer_done(&extender->answer);
        request_done(&extender->request);
        node_table_free(extender->table);
        free(extender->has_node);
        free(extender->pod_usage);
        free(extender->estimated_ratio);
        free(extender);
}

static void put_node(struct extender *extender, size_t n) {
        const struct node *node = &extender->situation.world->nodes[n];
        char cores[32], bytes[32], zone[32];

        (void)snprintf(cores, sizeof(cores), "%.3f", node->cores);
        (void)snprintf(bytes, sizeof(bytes), "%.0f", node->bytes);
        (void)snprintf(zone, sizeof(zone), "zone-%zu", node->zone);
        json_auto_t *capacity = json_pack("{s:s, s:s}", "cpu", cores, "memory", bytes);
        json_auto_t *labels = extender->situation.world->scenario->has_zones
                                      ? json_pack("{s:s}", "topology.kubernetes.io/zone", zone)
                                      : NULL;

        json_auto_t *annotations = json_copy(
                json_iterable(published_annotations(extender->situation.published, n)));
        if (extender->pod_usage[n][0] != '\0')
                (void)json_object_set_new(annotations, ANNOTATION_POD_USAGE,
                                          json_string(extender->pod_usage[n]));
        put_node_parts(extender->table, node->name, annotations, labels, capacity,
                       now_unix_ms(extender));
}

void extender_follow_nodes(struct extender *extender) {
        const struct world *world = extender->situation.world;

        for (size_t n = 0; n < world->node_count; n++) {
                if (world_has_node(world, n) == extender->has_node[n])
                        continue;
                extender->has_node[n] = !extender->has_node[n];
                if (extender->has_node[n])
                        put_node(extender, n);
                else
                        node_table_remove(extender->table, world->nodes[n].name);
        }
}

void extender_read(struct extender *extender, size_t node, const struct pod_usage_list *pod_usage) {
        static const struct pod_usage_list none;

        pod_usage_list_format(pod_usage ? pod_usage : &none, extender->pod_usage[node]);
        if (extender->has_node[node])
                put_node(extender, node);
}

struct estimator *extender_estimator(const struct extender *extender) {
        return node_table_estimator(extender->table);
}

/* A reading counts until it has expired as of the publication. */
static void take_snapshot(struct extender *extender) {
        if (extender->snapshot)
                node_snapshot_unref(extender->snapshot);
        node_table_publish(extender->table, now_unix_ms(extender));
        extender->snapshot = node_table_acquire(extender->table);
}

const struct node_snapshot *extender_snapshot(struct extender *extender) {
        take_snapshot(extender);
        return extender->snapshot;
}

const struct judge_nodes *extender_nodes(struct extender *extender) {
        take_snapshot(extender);
        return &extender->snapshot->nodes;
}

void extender_list(struct extender *extender, struct admission_lister *lister,
                   struct admission_list *ret) {
        take_snapshot(extender);
        admission_lister_make(lister, extender->snapshot, now_unix_ms(extender), ret);
}

const struct node_name *extender_name(const struct extender *extender, uint32_t row) {
        return node_names_at(extender->snapshot->names, row);
}

uint32_t extender_row(const struct extender *extender, size_t node) {
        const char *name = extender->situation.world->nodes[node].name;

        return node_names_find(extender->snapshot->names, name, strlen(name));
}

/* As the product's parser would: of a node the judge needs no more than its name. */
static void add_candidate(struct extender *extender, uint32_t n) {
        const char *name = extender->situation.world->nodes[n].name;
        struct request *request = &extender->request;

        request->nodes[request->count++] = (struct request_node){
                .name = name,
                .name_bytes = (uint32_t)strlen(name),
        };
}

static void begin_request(struct request *request, const struct pod_facts *pod) {
        request->has_names = true;
        request->pod = *pod;
        request->count = 0;
}

/* The judge's columns, and what the pods whose bindings are not seen yet will use. */
static void note_estimates(struct extender *extender, const uint32_t *candidates, size_t count) {
        const struct judge *judge = &extender->answer.judge;
        const struct node_columns *columns = &judge->question.nodes->columns;
        struct reservation of[RESERVATIONS_MAX];
        const struct reservation_pod pod = {.id = judge->question.pod->id,
                                            .group = judge->question.pod->group_id};
        size_t reserved = estimator_reservations(extender_estimator(extender), &pod,
                                                 extender->snapshot->publication,
                                                 judge->question.now_unix_ms, of);

        for (size_t i = 0; i < count; i++) {
                double *ratio = &extender->estimated_ratio[candidates[i]];
                double cores = extender->situation.world->nodes[candidates[i]].cores;
                uint32_t row = judge->question.rows[i];
                *ratio = NAN;
                if (!judge_knows(judge, i) || columns->missing[row] & 1u << ESTIMATE_CPU)
                        continue;
                *ratio = columns->used[ESTIMATE_CPU][row] -
                         columns->margin_ratio[ESTIMATE_CPU][row];
                for (size_t r = 0; r < reserved; r++)
                        if (of[r].node_number == columns->estimate_number[row])
                                *ratio += of[r].load.of[ESTIMATE_CPU] / cores;
        }
}

double extender_estimated_ratio(const struct extender *extender, uint32_t node) {
        return extender->estimated_ratio[node];
}

void extender_filter(struct extender *extender, const struct pod_facts *pod,
                     const uint32_t *candidates, size_t count, int *ret_scores) {
        int64_t now_ms = now_unix_ms(extender);

        take_snapshot(extender);
        begin_request(&extender->request, pod);
        for (size_t i = 0; i < count; i++)
                add_candidate(extender, candidates[i]);
        answer_filter(&extender->answer, extender->snapshot, &extender->request, now_ms);
        answer_shortlist(&extender->answer, now_ms);
        for (size_t i = 0; i < count; i++)
                ret_scores[i] = extender->answer.judge.filtered.is_listed[i] ? 0 : SCORE_REJECTED;
        if (extender->snapshot->nodes.policy->scoring == POLICY_SCORING_ESTIMATE)
                note_estimates(extender, candidates, count);
}

int extender_score100(const struct extender *extender, size_t index) {
        const struct judge *judge = &extender->answer.judge;

        return judge_nodes_verdict(judge->question.nodes, judge->question.rows[index],
                                   judge->question.is_settled, judge->question.now_unix_ms)
                .score100;
}

size_t extender_prioritize(struct extender *extender, const struct pod_facts *pod,
                           const uint32_t *candidates, size_t count, int *scores) {
        const struct judge *judge = &extender->answer.judge;
        size_t asked = 0, best = count;
        double most = 0;

        begin_request(&extender->request, pod);
        for (size_t i = 0; i < count; i++)
                if (scores[i] != SCORE_REJECTED)
                        add_candidate(extender, candidates[i]);
        if (extender->request.count < 2)
                return count;
        answer_score(&extender->answer, extender->snapshot, &extender->request,
                     now_unix_ms(extender), now_unix_ms(extender));
        for (size_t i = 0; i < count; i++) {
                if (scores[i] == SCORE_REJECTED)
                        continue;
                if (best == count || judge->scored.headrooms[asked] > most) {
                        best = i;
                        most = judge->scored.headrooms[asked];
                }
                scores[i] = judge->scored.points[asked++] * SCORE_BEST / SCORE_BEST_POINTS;
        }
        return best;
}
