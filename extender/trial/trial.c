#include "extender/trial/trial.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "extender/trial/hold_back.h"
#include "extender/trial/trial_scheduler.h"
#include "policy/judge/judge_rows.h"
#include "policy/rebalance/rebalance_line.h"

enum {
        ASKED_MS = 900000,     /* bindings follow a call within this time */
        KEPT_MS = 1200000,     /* an ended pod is in no reading after this time */
        READ_MAX_MS = 1800000, /* between two readings of a node; what is beyond was not seen */
};

static const double VERY_HOT_RATIO = 0.8;

/* A pod of the virtual cluster that is elsewhere in the real one, or that no snapshot shows yet. */
struct trial_pod {
        uint64_t id, set;     /* as in struct pod_facts */
        uint64_t publication; /* of the last snapshot without it */
        uint32_t row[TRIAL_WORLDS];
        int64_t gone_unix_ms; /* NODE_POD_NEVER: it lives */
        struct node_pod_load load;
        struct pod_load request;
};

/* What a node has more in the virtual cluster. */
struct trial_shift {
        struct node_pod_load load;
        struct pod_load request;
        int32_t pods;
        int32_t replicas; /* of the set that is asked about */
        bool is_set;
};

/* A node, as it is counted. */
struct trial_row {
        struct mean_reading read;           /* the last that was counted; window_ms 0: none */
        const struct mean_reading *reading; /* to count now; NULL: none */
        double moved_cores; /* what the virtual cluster had more there, in that reading */
        /* Of what its pods are expected to use: no reading has more. 0: not known yet. */
        double share[ESTIMATE_RESOURCE_COUNT];
        bool is_hot[TRIAL_WORLDS];
};

/* How much readings differ from one to the next. */
struct trial_noise {
        double squares, count;
};

struct trial {
        double held_back_ratio;
        struct trial_stats stats;
        _Atomic int64_t asked_unix_ms;
        int64_t stepped_unix_ms; /* 0: never */
        uint64_t generation;     /* of the policy by which it counts; 0: none yet */
        struct trial_noise noise;
        struct trial_pod *pods;
        size_t pod_count, pod_cap;
        struct judge judge;
        struct node_names *names; /* of the rows; NULL: no snapshot was seen yet */
        size_t row_count;
        /* [row] */
        struct trial_row *rows;
        struct trial_shift *shifts;
};

static void free_rows(struct trial *trial) {
        free(trial->rows);
        free(trial->shifts);
}

struct trial *trial_new(double held_back_ratio) {
        struct trial *trial = xcalloc(1, sizeof(*trial));

        trial->held_back_ratio = held_back_ratio;
        return trial;
}

void trial_free(struct trial *trial) {
        if (!trial)
                return;
        if (trial->names)
                node_names_unref(trial->names);
        judge_done(&trial->judge);
        free_rows(trial);
        free(trial->pods);
        free(trial);
}

static void drop(struct trial *trial, size_t i) {
        trial->pods[i] = trial->pods[--trial->pod_count];
}

static bool is_living(const struct trial_pod *pod) {
        return pod->gone_unix_ms == NODE_POD_NEVER;
}

/* ---- Rows of another snapshot. */

static uint32_t row_in(const struct node_names *from, size_t row, const struct node_names *to) {
        const struct node_name *name = node_names_at(from, (uint32_t)row);

        return node_names_find(to, name->name, name->name_bytes);
}

/* A pod whose node has left one of the clusters is where it really is. */
static void move_pods(struct trial *trial, const struct node_names *to) {
        for (size_t i = trial->pod_count; i-- > 0;) {
                struct trial_pod *pod = &trial->pods[i];
                for (int w = 0; w < TRIAL_WORLDS; w++)
                        pod->row[w] = row_in(trial->names, pod->row[w], to);
                if (pod->row[TRIAL_REAL] == NODE_ROW_NONE ||
                    pod->row[TRIAL_VIRTUAL] == NODE_ROW_NONE)
                        drop(trial, i);
        }
}

static void follow_nodes(struct trial *trial, const struct node_snapshot *snapshot) {
        size_t count = snapshot->nodes.count;

        if (trial->names == snapshot->names)
                return;
        struct trial_row *rows = xcalloc(count + 1, sizeof(*rows));
        for (size_t row = 0; row < trial->row_count; row++) {
                uint32_t to = row_in(trial->names, row, snapshot->names);
                if (to != NODE_ROW_NONE)
                        rows[to] = trial->rows[row];
        }
        move_pods(trial, snapshot->names);
        free_rows(trial);
        trial->rows = rows;
        trial->row_count = count;
        trial->shifts = xcalloc(count + 1, sizeof(*trial->shifts));
        if (trial->names)
                node_names_unref(trial->names);
        trial->names = node_names_ref(snapshot->names);
}

/* ---- The virtual cluster. */

static void shift(struct trial_shift *to, const struct trial_pod *pod, int sign) {
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                to->load.used.of[r] += sign * pod->load.used.of[r];
                to->load.variance.of[r] += sign * pod->load.variance.of[r];
                to->request.of[r] += sign * pod->request.of[r];
        }
        to->pods += sign;
        to->is_set = true;
}

/* @set: of the pod that is judged */
static void sum_shifts(struct trial *trial, const struct node_snapshot *snapshot, uint64_t set) {
        memset(trial->shifts, 0, trial->row_count * sizeof(*trial->shifts));
        for (size_t i = trial->pod_count; i-- > 0;) {
                const struct trial_pod *pod = &trial->pods[i];
                bool is_shown = snapshot->publication > pod->publication;
                bool is_replica = set != 0 && pod->set == set;
                if (!is_living(pod))
                        continue;
                trial->shifts[pod->row[TRIAL_VIRTUAL]].replicas += is_replica;
                trial->shifts[pod->row[TRIAL_REAL]].replicas -= is_replica;
                shift(&trial->shifts[pod->row[TRIAL_VIRTUAL]], pod, 1);
                if (is_shown)
                        shift(&trial->shifts[pod->row[TRIAL_REAL]], pod, -1);
                if (is_shown && pod->row[TRIAL_REAL] == pod->row[TRIAL_VIRTUAL])
                        drop(trial, i);
        }
}

static double per_capacity(const struct node_facts *facts, int r) {
        return facts->capacity.of[r] > 0 ? 1 / facts->capacity.of[r] : 0;
}

static bool is_of(const struct policy_metric *metric, int r) {
        return metric->is_query &&
               metric->query.resource == (r == ESTIMATE_CPU ? METRIC_CPU : METRIC_MEM);
}

static void shift_resource(const struct trial_shift *by, const struct judge_nodes *nodes,
                           size_t row, int r) {
        const struct node_columns *columns = &nodes->columns;
        struct node_facts *facts = &columns->facts[row];
        double per = per_capacity(facts, r), more = by->load.used.of[r] * per;
        double *used = &columns->used[r][row], *margin = &columns->margin_ratio[r][row];
        double wider = sqrt(fmax(0, *margin * *margin + by->load.variance.of[r] * per * per));

        *used += nodes->weights[columns->pool[row]].weight[r] * (more + wider - *margin);
        *used = fmax(0, *used);
        *margin = wider;
        facts->requested.of[r] += by->request.of[r];
        for (size_t m = 0; m < columns->metric_count; m++)
                if (is_of(&nodes->policy->metrics[m], r))
                        columns->usage_ratio[m][row] = fmax(0, columns->usage_ratio[m][row] + more);
}

/* As the node table would have published it. @ret: must not be moved; node_columns_done() */
static void make_virtual(const struct trial *trial, const struct node_snapshot *snapshot,
                         int64_t now_unix_ms, struct judge_nodes *ret) {
        *ret = snapshot->nodes;
        ret->columns = node_columns_new(&snapshot->nodes.columns, ret->count, ret->count);
        ret->readings = node_columns_view(&ret->columns);
        for (size_t row = 0; row < ret->count; row++) {
                if (!trial->shifts[row].is_set)
                        continue;
                for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                        shift_resource(&trial->shifts[row], ret, row, r);
                if (ret->columns.facts[row].pods >= 0)
                        ret->columns.facts[row].pods += trial->shifts[row].pods;
                ret->columns.limits[row] = judge_nodes_verdict_slow(ret, row, now_unix_ms).limits;
        }
}

/* ---- A pod is bound. */

static bool has_room(const struct node_facts *facts, const struct pod_load *request) {
        if (facts->pods < 0)
                return true;
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                double all = node_facts_allocatable(facts, r);
                if (all > 0 && facts->requested.of[r] + request->of[r] > all)
                        return false;
        }
        return facts->pods_max == 0 || (uint32_t)facts->pods < facts->pods_max;
}

/* Pods of the same ReplicaSet that are there in the virtual cluster. */
static size_t replicas_on(const struct trial *trial, const struct node_snapshot *snapshot,
                          size_t row, uint64_t set) {
        const struct estimator_node *node = estimator_node_at(
                snapshot->estimator, snapshot->nodes.columns.estimate_number[row]);
        const struct node_estimate *estimate = node ? estimator_node_estimate(node) : NULL;
        int count = 0;

        for (size_t i = 0; set != 0 && estimate && i < estimate->pod_count; i++)
                count += estimate->pods[i].set == set &&
                         estimate->pods[i].gone_unix_ms == NODE_POD_NEVER;
        count += trial->shifts[row].replicas;
        return count > 0 ? (size_t)count : 0;
}

/* @ret_candidates: as of judge_rows() */
static void judge_pod(struct judge *judge, const struct node_snapshot *snapshot,
                      const struct judge_nodes *nodes, const struct pod_facts *pod,
                      const struct pod_load *load, int64_t now_unix_ms, size_t *ret_candidates) {
        _cleanup_(freep) const char **closed_by = xcalloc(nodes->count, sizeof(*closed_by));
        _cleanup_(freep) int *rejected_by = xcalloc(nodes->count, sizeof(*rejected_by));

        for (size_t row = 0; row < nodes->count; row++) {
                closed_by[row] = node_names_at(snapshot->names, (uint32_t)row)->closed_by;
                if (!closed_by[row] && !has_room(&nodes->columns.facts[row], &pod->request))
                        closed_by[row] = "no room";
        }
        judge_rows(judge,
                   &(const struct judge_rows_question){.nodes = nodes,
                                                       .pod = pod,
                                                       .closed_by = closed_by,
                                                       .now_unix_ms = now_unix_ms,
                                                       .load = *load},
                   rejected_by, ret_candidates);
}

/* Return: the row; @real if no other node has room */
static uint32_t choose(struct trial *trial, const struct node_snapshot *snapshot,
                       const struct judge_nodes *nodes, const struct pod_facts *pod,
                       const struct pod_load *load, uint32_t real, int64_t now_unix_ms) {
        _cleanup_(freep) size_t *candidates = xcalloc(nodes->count, sizeof(*candidates));
        _cleanup_(freep) struct trial_candidate *listed = xcalloc(nodes->count, sizeof(*listed));
        const struct pod_load request = pod_load_counted(&pod->request);
        size_t count = 0;

        judge_pod(&trial->judge, snapshot, nodes, pod, load, now_unix_ms, candidates);
        const int *points = trial->judge.scored.points;
        for (size_t row = 0; row < nodes->count; row++)
                if (candidates[row] != SIZE_MAX && points[candidates[row]] > 0)
                        listed[count++] = (struct trial_candidate){
                                .row = (uint32_t)row,
                                .points = points[candidates[row]],
                                .replicas = replicas_on(trial, snapshot, row, pod->set_id),
                        };
        if (count == 0)
                return real;
        size_t chosen = trial_scheduler_choose(nodes->columns.facts, listed, count, &request,
                                               pod->set_id != 0);
        return listed[chosen].row;
}

static bool is_judging(const struct trial *trial, int64_t now_unix_ms) {
        int64_t asked_unix_ms = atomic_load(&trial->asked_unix_ms);
        bool is_asked = asked_unix_ms > 0 && now_unix_ms - asked_unix_ms < ASKED_MS;

        return !is_asked && trial->held_back_ratio == 0;
}

/* Pods that have constraints, that tolerate what closes their node, or of which there is no
 * estimate stay where they are. */
static bool can_judge(const struct trial *trial, const struct node_snapshot *snapshot,
                      const struct pod_facts *pod, uint32_t real) {
        static const char stateful[] = "/StatefulSet/"; /* it has volumes */

        return !pod->is_restricted && !pod->has_claims &&
               !memmem(pod->workload, pod->workload_len, stateful, strlen(stateful)) &&
               real != NODE_ROW_NONE && snapshot->nodes.columns.has_estimate &&
               trial->pod_count < TRIAL_MAX_PODS &&
               !node_names_at(snapshot->names, real)->closed_by;
}

void trial_bound(struct trial *trial, const struct node_snapshot *snapshot,
                 const struct pod_facts *pod, int64_t now_unix_ms) {
        uint32_t real = node_names_find(snapshot->names, pod->node.text, pod->node.len);
        struct judge_nodes nodes;

        if (!pod_facts_is_placed(pod) || !is_judging(trial, now_unix_ms))
                return;
        if (!can_judge(trial, snapshot, pod, real)) {
                trial->stats.not_judged++;
                return;
        }
        follow_nodes(trial, snapshot);
        sum_shifts(trial, snapshot, pod->set_id);
        make_virtual(trial, snapshot, now_unix_ms, &nodes);
        const struct pod_load load = estimator_expect(snapshot->estimator, pod->workload,
                                                      pod->workload_len, &pod->request)
                                             .load;
        uint32_t virtual = choose(trial, snapshot, &nodes, pod, &load, real, now_unix_ms);
        trial->stats.judged++;
        trial->stats.over_limit[TRIAL_REAL] += verdict_over(snapshot->nodes.columns.limits[real]) >=
                                               0;
        trial->stats.over_limit[TRIAL_VIRTUAL] += verdict_over(nodes.columns.limits[virtual]) >= 0;
        node_columns_done(&nodes.columns);
        mem_grow(&trial->pods, trial->pod_count, &trial->pod_cap);
        trial->pods[trial->pod_count++] = (struct trial_pod){
                .id = pod->id,
                .set = pod->set_id,
                .publication = snapshot->publication,
                .row = {real, virtual},
                .gone_unix_ms = NODE_POD_NEVER,
                .load = {.used = load, .runs_unix_ms = NODE_POD_NEVER},
                .request = pod_load_counted(&pod->request),
        };
}

void trial_gone(struct trial *trial, uint64_t pod_id, int64_t now_unix_ms) {
        for (size_t i = 0; i < trial->pod_count; i++)
                if (trial->pods[i].id == pod_id && is_living(&trial->pods[i]))
                        trial->pods[i].gone_unix_ms = now_unix_ms;
}

/* ---- Counting. */

static const struct estimator_node *node_of(const struct node_snapshot *snapshot, size_t row) {
        return estimator_node_at(snapshot->estimator, snapshot->nodes.columns.estimate_number[row]);
}

/* What a pod uses may be known better by now. A kubelet that says too much does not count.
 * Return: false: no list has the pod any more */
static bool measure_pod(const struct trial *trial, const struct node_snapshot *snapshot,
                        struct trial_pod *pod) {
        const struct estimator_node *node = node_of(snapshot, pod->row[TRIAL_REAL]);
        const double *share = trial->rows[pod->row[TRIAL_REAL]].share;

        if (!node || !estimator_pod_load(snapshot->estimator, node, pod->id, &pod->load))
                return false;
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                pod->load.used.of[r] *= share[r] > 0 ? share[r] : 1;
        return true;
}

static void measure_pods(struct trial *trial, const struct node_snapshot *snapshot,
                         int64_t now_unix_ms) {
        for (size_t i = trial->pod_count; i-- > 0;) {
                struct trial_pod *pod = &trial->pods[i];
                if (pod->gone_unix_ms < now_unix_ms - KEPT_MS)
                        drop(trial, i);
                else if (is_living(pod) && !measure_pod(trial, snapshot, pod))
                        pod->gone_unix_ms = now_unix_ms;
        }
}

static void find_readings(struct trial *trial, const struct node_snapshot *snapshot) {
        for (size_t row = 0; row < trial->row_count; row++) {
                struct trial_row *of = &trial->rows[row];
                const struct estimator_node *node = node_of(snapshot, row);
                const struct mean_reading *reading =
                        node ? &estimator_node_estimate(node)->readings[ESTIMATE_CPU] : NULL;
                bool is_new = reading && reading->window_ms > 0 &&
                              reading->ends_unix_ms > of->read.ends_unix_ms;
                for (int r = 0; is_new && r < ESTIMATE_RESOURCE_COUNT; r++)
                        of->share[r] = estimator_window_share(snapshot->estimator, node, r);
                of->reading = is_new ? reading : NULL;
                of->moved_cores = 0;
        }
}

static void move_cores(const struct trial *trial) {
        for (size_t i = 0; i < trial->pod_count; i++) {
                const struct trial_pod *pod = &trial->pods[i];
                const struct node_pod times = {.runs_unix_ms = pod->load.runs_unix_ms,
                                               .gone_unix_ms = pod->gone_unix_ms};
                for (int w = 0; w < TRIAL_WORLDS; w++) {
                        struct trial_row *row = &trial->rows[pod->row[w]];
                        if (!row->reading)
                                continue;
                        double cores = pod->load.used.of[ESTIMATE_CPU] *
                                       node_pod_overlap(&times, row->reading->begins_unix_ms,
                                                        row->reading->ends_unix_ms);
                        row->moved_cores += w == TRIAL_VIRTUAL ? cores : -cores;
                }
        }
}

static double line_of(const struct judge_nodes *nodes, size_t pool) {
        double limit_ratio = 1;

        for (size_t m = 0; m < nodes->policy->metric_count; m++) {
                double limit = policy_limit_ratio(nodes->policy, pool, m);
                if (limit > 0 && is_of(&nodes->policy->metrics[m], ESTIMATE_CPU))
                        limit_ratio = fmin(limit_ratio, limit);
        }
        return rebalance_line(limit_ratio, nodes->weights[pool].target_ratio[ESTIMATE_CPU])
                .hot_ratio;
}

/* The share of the time in which the node is above the line. */
static double share_above(const struct trial_noise *noise, double ratio, double line) {
        double deviation = noise->count > 0 ? sqrt(noise->squares / noise->count / 2) : 0;

        return deviation > 0 ? erfc((line - ratio) / (deviation * sqrt(2))) / 2 : ratio > line;
}

/* The pods on a node, of those that were placed since the trial began. */
static void count_groups(const struct trial *trial, const struct node_estimate *estimate,
                         double ret_pods[TRIAL_WORLDS]) {
        for (size_t i = 0; i < estimate->pod_count; i++) {
                const struct node_pod *pod = &estimate->pods[i];
                bool is_new = trial->stats.since_unix_ms > 0 &&
                              pod->runs_unix_ms >= trial->stats.since_unix_ms;
                bool is_held = hold_back_has(trial->held_back_ratio, pod->uid);
                if (pod->is_placed && is_new && pod->runs_unix_ms != NODE_POD_NEVER &&
                    pod->gone_unix_ms == NODE_POD_NEVER)
                        ret_pods[is_held ? TRIAL_REAL : TRIAL_VIRTUAL]++;
        }
}

/* @weight: what counts: the node itself in both clusters, or its pods on both sides */
static void count_row(struct trial *trial, struct trial_row *row, double per_core, double line,
                      const double weight[TRIAL_WORLDS], struct trial_sum *sum) {
        double real = row->reading->ratio;
        const double ratio[TRIAL_WORLDS] = {real, fmax(0, real + row->moved_cores * per_core)};
        int64_t span_ms = row->reading->ends_unix_ms - row->read.ends_unix_ms;

        if (span_ms <= READ_MAX_MS) {
                trial->noise.squares += (real - row->read.ratio) * (real - row->read.ratio);
                trial->noise.count++;
        } else {
                span_ms = row->reading->ends_unix_ms - row->reading->begins_unix_ms;
        }
        double span_s = (double)span_ms / (double)MS_PER_S;
        for (int w = 0; w < TRIAL_WORLDS; w++) {
                row->is_hot[w] = ratio[w] > line;
                double counted_s = weight[w] * span_s;
                sum->counted_s[w] += counted_s;
                sum->hot_s[w] += counted_s * share_above(&trial->noise, ratio[w], line);
                sum->very_hot_s[w] += counted_s *
                                      share_above(&trial->noise, ratio[w], VERY_HOT_RATIO);
        }
        row->read = *row->reading;
}

static struct trial_sum count_rows(struct trial *trial, const struct node_snapshot *snapshot) {
        const struct node_columns *columns = &snapshot->nodes.columns;
        double lines[POLICY_MAX_POOLS + 1];
        struct trial_sum sum = {0};

        for (size_t pool = 0; pool <= snapshot->nodes.policy->pool_count; pool++)
                lines[pool] = line_of(&snapshot->nodes, pool);
        memset(trial->stats.hot, 0, sizeof(trial->stats.hot));
        for (size_t row = 0; row < trial->row_count; row++) {
                struct trial_row *of = &trial->rows[row];
                double weight[TRIAL_WORLDS] = {1, 1};
                if (of->reading && trial->held_back_ratio > 0) {
                        weight[TRIAL_REAL] = weight[TRIAL_VIRTUAL] = 0;
                        count_groups(trial, estimator_node_estimate(node_of(snapshot, row)),
                                     weight);
                }
                if (of->reading)
                        count_row(trial, of, per_capacity(&columns->facts[row], ESTIMATE_CPU),
                                  lines[columns->pool[row]], weight, &sum);
                for (int w = 0; w < TRIAL_WORLDS; w++)
                        trial->stats.hot[w] += of->is_hot[w];
        }
        return sum;
}

void trial_step(struct trial *trial, const struct node_snapshot *snapshot, int64_t now_unix_ms) {
        int64_t span_ms = now_unix_ms - trial->stepped_unix_ms;

        trial->stepped_unix_ms = now_unix_ms;
        if (!is_judging(trial, now_unix_ms))
                trial->pod_count = 0;
        if (!is_judging(trial, now_unix_ms) && trial->held_back_ratio == 0)
                return;
        if (!snapshot->nodes.columns.has_estimate)
                return;
        if (trial->generation != 0 && snapshot->table_policy->generation != trial->generation)
                trial_restart(trial); /* what is hot is another matter now */
        trial->generation = snapshot->table_policy->generation;
        follow_nodes(trial, snapshot);
        find_readings(trial, snapshot);
        measure_pods(trial, snapshot, now_unix_ms);
        move_cores(trial);
        const struct trial_sum sum = count_rows(trial, snapshot);
        if (trial->stats.since_unix_ms == 0)
                trial->stats.since_unix_ms = now_unix_ms;
        else if (span_ms > 0 && span_ms <= TRIAL_BLOCK_MS)
                trial_blocks_add(&trial->stats.blocks, &sum, span_ms);
}

void trial_restart(struct trial *trial) {
        trial->stats = (struct trial_stats){0};
}

void trial_asked(struct trial *trial, int64_t now_unix_ms) {
        atomic_store(&trial->asked_unix_ms, now_unix_ms);
}

void trial_stats(const struct trial *trial, struct trial_stats *ret) {
        *ret = trial->stats;
        ret->held_back_ratio = trial->held_back_ratio;
        ret->asked_unix_ms = atomic_load(&trial->asked_unix_ms);
        ret->displaced = 0;
        for (size_t i = 0; i < trial->pod_count; i++)
                ret->displaced += is_living(&trial->pods[i]) &&
                                  trial->pods[i].row[TRIAL_REAL] !=
                                          trial->pods[i].row[TRIAL_VIRTUAL];
}
