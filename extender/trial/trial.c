#include "extender/trial/trial.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "extender/trial/trial_scheduler.h"
#include "policy/judge/judge_rows.h"
#include "policy/judge/judge_score.h"
#include "policy/rebalance/rebalance_line.h"
#include "policy/usage/pod_usage_list.h"

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

/* A node, as it is counted. */
struct trial_row {
        struct mean_reading read;              /* the last one; window_ms 0: none */
        double share[ESTIMATE_RESOURCE_COUNT]; /* estimator_window_share() of it; 0: none */
        double hot[TRIAL_WORLDS];              /* the share of the time in which it is hot */
};

struct trial {
        double held_back_ratio;
        struct trial_stats stats;
        _Atomic int64_t asked_unix_ms;
        int64_t stepped_unix_ms; /* 0: never */
        uint64_t generation;     /* of the policy by which it counts; 0: none yet */
        /* How much readings of a node differ from one to the next. */
        double noise_squares, noise_count;
        struct trial_pod *pods;
        size_t pod_count, pod_cap;
        struct judge judge;
        struct node_names *names; /* of the rows; NULL: no snapshot was seen yet */
        size_t row_count;
        struct trial_row *rows;
};

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
        free(trial->rows);
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
static void follow_nodes(struct trial *trial, const struct node_snapshot *snapshot) {
        struct node_names *from = trial->names, *to = snapshot->names;

        if (from == to)
                return;
        struct trial_row *rows = xcalloc(snapshot->nodes.count + 1, sizeof(*rows));
        for (size_t row = 0; row < trial->row_count; row++) {
                uint32_t found = row_in(from, row, to);
                if (found != NODE_ROW_NONE)
                        rows[found] = trial->rows[row];
        }
        for (size_t i = trial->pod_count; i-- > 0;) {
                uint32_t *row = trial->pods[i].row;
                for (int w = 0; w < TRIAL_WORLDS; w++)
                        row[w] = row_in(from, row[w], to);
                if (row[TRIAL_REAL] == NODE_ROW_NONE || row[TRIAL_VIRTUAL] == NODE_ROW_NONE)
                        drop(trial, i);
        }
        if (from)
                node_names_unref(from);
        free(trial->rows);
        trial->rows = rows;
        trial->row_count = snapshot->nodes.count;
        trial->names = node_names_ref(to);
}

/* ---- The virtual cluster. */

static const struct estimator_node *node_of(const struct node_snapshot *snapshot, size_t row) {
        return estimator_node_at(snapshot->estimator, snapshot->nodes.columns.estimate_number[row]);
}

static const struct node_estimate *estimate_of(const struct node_snapshot *snapshot, size_t row) {
        static const struct node_estimate none;
        const struct estimator_node *node = node_of(snapshot, row);

        return node ? estimator_node_estimate(node) : &none;
}

static const struct mean_reading *reading_of(const struct node_snapshot *snapshot, size_t row) {
        return &estimate_of(snapshot, row)->readings[ESTIMATE_CPU];
}

/* A pod that no list has any more has ended. */
static void find_ended(struct trial *trial, const struct node_snapshot *snapshot,
                       int64_t now_unix_ms) {
        for (size_t i = 0; i < trial->pod_count; i++) {
                struct trial_pod *pod = &trial->pods[i];
                if (is_living(pod) &&
                    !node_estimate_find(estimate_of(snapshot, pod->row[TRIAL_REAL]), pod->id))
                        pod->gone_unix_ms = now_unix_ms;
        }
}

static double per_capacity(const struct node_facts *facts, int r) {
        return facts->capacity.of[r] > 0 ? 1 / facts->capacity.of[r] : 0;
}

static bool is_of(const struct policy_metric *metric, int r) {
        return metric->is_query &&
               metric->query.resource == (r == ESTIMATE_CPU ? METRIC_CPU : METRIC_MEM);
}

static void add_load(struct judge_nodes *nodes, size_t row, int r, const struct trial_pod *pod,
                     int sign) {
        const struct node_columns *columns = &nodes->columns;
        struct node_facts *facts = &columns->facts[row];
        double per = per_capacity(facts, r), more = sign * pod->load.used.of[r] * per;
        double variance = sign * pod->load.variance.of[r] * per * per;
        double *used = &columns->used[r][row], *margin = &columns->margin_ratio[r][row];
        double wider = sqrt(fmax(0, *margin * *margin + variance));

        *used += nodes->weights[columns->readings.pool[row]].weight[r] * (more + wider - *margin);
        *used = fmax(0, *used);
        *margin = wider;
        facts->requested.of[r] += sign * pod->request.of[r];
        for (size_t m = 0; m < columns->metric_count; m++)
                if (is_of(&nodes->policy->metrics[m], r))
                        columns->readings.usage_ratio[m][row] = fmax(
                                0, columns->readings.usage_ratio[m][row] + more);
}

static void add_pod(struct judge_nodes *nodes, size_t row, const struct trial_pod *pod, int sign) {
        struct node_facts *facts = &nodes->columns.facts[row];

        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                add_load(nodes, row, r, pod, sign);
        facts->pods += sign;
}

/* As the node table would have published it. @ret: node_columns_done() */
static void make_virtual(const struct trial *trial, const struct node_snapshot *snapshot,
                         struct judge_nodes *ret) {
        const struct trial_pod *pods = trial->pods;

        *ret = snapshot->nodes;
        ret->columns = node_columns_new(&snapshot->nodes.columns, ret->count, ret->count);
        ret->built_unix_ms = INT64_MAX; /* all verdicts are still to be computed */
        for (size_t i = 0; i < trial->pod_count; i++)
                if (is_living(&pods[i]))
                        add_pod(ret, pods[i].row[TRIAL_VIRTUAL], &pods[i], 1);
        for (size_t i = 0; i < trial->pod_count; i++)
                if (is_living(&pods[i]) && pods[i].publication < snapshot->publication)
                        add_pod(ret, pods[i].row[TRIAL_REAL], &pods[i], -1);
}

/* ---- Pods that are held back. */

static bool is_held(const struct trial *trial, uint32_t uid) {
        return uid < trial->held_back_ratio * UINT32_MAX;
}

bool trial_holds_back(const struct trial *trial, const struct pod_facts *pod) {
        uint32_t uid;

        return pod_facts_is_placed(pod) && pod_usage_uid(pod->uid.text, pod->uid.len, &uid) &&
               is_held(trial, uid);
}

/* ---- A pod is bound. */

static bool has_room(const struct node_facts *facts, const struct pod_load *request) {
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                double all = node_facts_allocatable(facts, r);
                if (all > 0 && facts->requested.of[r] + request->of[r] > all)
                        return false;
        }
        return facts->pods_max == 0 || facts->pods < (int64_t)facts->pods_max;
}

/* Other pods of the same ReplicaSet, in the virtual cluster. Return: [row] */
static int *count_replicas(const struct trial *trial, const struct node_snapshot *snapshot,
                           const struct pod_facts *pod) {
        int *replicas = xcalloc(trial->row_count, sizeof(*replicas));

        if (pod->set_id == 0)
                return replicas;
        for (size_t row = 0; row < trial->row_count; row++) {
                const struct node_estimate *estimate = estimate_of(snapshot, row);
                for (size_t i = 0; i < estimate->pod_count; i++)
                        replicas[row] += estimate->pods[i].set == pod->set_id &&
                                         estimate->pods[i].id != pod->id &&
                                         estimate->pods[i].gone_unix_ms == NODE_POD_NEVER;
        }
        for (size_t i = 0; i < trial->pod_count; i++)
                if (trial->pods[i].set == pod->set_id && is_living(&trial->pods[i])) {
                        replicas[trial->pods[i].row[TRIAL_VIRTUAL]]++;
                        replicas[trial->pods[i].row[TRIAL_REAL]]--;
                }
        return replicas;
}

/* Return: the row; @real if no other node has room */
static uint32_t choose(struct trial *trial, const struct node_snapshot *snapshot,
                       const struct judge_nodes *nodes, const struct pod_facts *pod,
                       const struct pod_load *load, uint32_t real, int64_t now_unix_ms) {
        _cleanup_(freep) const char **closed_by = xcalloc(nodes->count, sizeof(*closed_by));
        _cleanup_(freep) int *rejected_by = xcalloc(nodes->count, sizeof(*rejected_by));
        _cleanup_(freep) size_t *candidates = xcalloc(nodes->count, sizeof(*candidates));
        _cleanup_(freep) int *replicas = count_replicas(trial, snapshot, pod);

        for (size_t row = 0; row < nodes->count; row++) {
                closed_by[row] = node_names_at(snapshot->names, (uint32_t)row)->closed_by;
                if (!closed_by[row] && !has_room(&nodes->columns.facts[row], &pod->request))
                        closed_by[row] = "no room";
        }
        judge_rows(&trial->judge, nodes, pod, closed_by, now_unix_ms, rejected_by, candidates);
        trial->judge.question.load = *load;
        judge_score(&trial->judge);
        uint32_t chosen = trial_scheduler_choose(&trial->judge, replicas);
        return chosen != NODE_ROW_NONE ? chosen : real;
}

static bool is_asked(const struct trial *trial, int64_t now_unix_ms) {
        int64_t asked_unix_ms = atomic_load(&trial->asked_unix_ms);

        return asked_unix_ms > 0 && now_unix_ms - asked_unix_ms < ASKED_MS;
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

        if (!pod_facts_is_placed(pod) || trial->held_back_ratio > 0 || is_asked(trial, now_unix_ms))
                return;
        if (!can_judge(trial, snapshot, pod, real)) {
                trial->stats.not_judged++;
                return;
        }
        follow_nodes(trial, snapshot);
        find_ended(trial, snapshot, now_unix_ms);
        make_virtual(trial, snapshot, &nodes);
        const struct pod_load load = estimator_expect(snapshot->estimator, pod->workload,
                                                      pod->workload_len, &pod->request)
                                             .load;
        uint32_t virtual = choose(trial, snapshot, &nodes, pod, &load, real, now_unix_ms);
        trial->stats.judged++;
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

/* ---- Counting. */

/* What a pod uses may be known better by now. A kubelet that says too much does not count. */
static void measure_pods(struct trial *trial, const struct node_snapshot *snapshot) {
        for (size_t i = 0; i < trial->pod_count; i++) {
                struct trial_pod *pod = &trial->pods[i];
                const double *share = trial->rows[pod->row[TRIAL_REAL]].share;
                if (!is_living(pod) || !estimator_pod_load(snapshot->estimator,
                                                           node_of(snapshot, pod->row[TRIAL_REAL]),
                                                           pod->id, &pod->load))
                        continue;
                for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                        pod->load.used.of[r] *= share[r] > 0 ? share[r] : 1;
        }
}

/* Pods that make no difference, in the clusters or in a reading. */
static void drop_pods(struct trial *trial, const struct node_snapshot *snapshot,
                      int64_t now_unix_ms) {
        for (size_t i = trial->pod_count; i-- > 0;) {
                const struct trial_pod *pod = &trial->pods[i];
                bool is_in_place = pod->row[TRIAL_REAL] == pod->row[TRIAL_VIRTUAL] &&
                                   pod->publication < snapshot->publication;
                if (is_in_place || pod->gone_unix_ms < now_unix_ms - KEPT_MS)
                        drop(trial, i);
        }
}

/* What the virtual cluster had more of each node's last reading. Return: [row] */
static double *sum_moved_cores(const struct trial *trial, const struct node_snapshot *snapshot) {
        double *cores = xcalloc(trial->row_count, sizeof(*cores));

        for (size_t i = 0; i < trial->pod_count; i++) {
                const struct trial_pod *pod = &trial->pods[i];
                const struct node_pod times = {.runs_unix_ms = pod->load.runs_unix_ms,
                                               .gone_unix_ms = pod->gone_unix_ms};
                for (int w = 0; w < TRIAL_WORLDS; w++) {
                        const struct mean_reading *reading = reading_of(snapshot, pod->row[w]);
                        double used = pod->load.used.of[ESTIMATE_CPU] *
                                      node_pod_overlap(&times, reading->begins_unix_ms,
                                                       reading->ends_unix_ms);
                        cores[pod->row[w]] += w == TRIAL_VIRTUAL ? used : -used;
                }
        }
        return cores;
}

/* The share of the time in which a node is above the line. */
static double share_above(const struct trial *trial, double ratio, double line) {
        double deviation = sqrt(trial->noise_squares / fmax(1, trial->noise_count) / 2);

        return deviation > 0 ? erfc((line - ratio) / (deviation * sqrt(2))) / 2 : ratio > line;
}

/* The pods on a node, of those that were placed since the trial began. */
static void count_groups(const struct trial *trial, const struct node_estimate *estimate,
                         double ret_pods[TRIAL_WORLDS]) {
        ret_pods[TRIAL_REAL] = ret_pods[TRIAL_VIRTUAL] = 0;
        for (size_t i = 0; i < estimate->pod_count; i++) {
                const struct node_pod *pod = &estimate->pods[i];
                bool is_new = trial->stats.since_unix_ms > 0 &&
                              pod->runs_unix_ms >= trial->stats.since_unix_ms;
                if (pod->is_placed && is_new && pod->runs_unix_ms != NODE_POD_NEVER &&
                    pod->gone_unix_ms == NODE_POD_NEVER)
                        ret_pods[is_held(trial, pod->uid) ? TRIAL_REAL : TRIAL_VIRTUAL]++;
        }
}

/* From one reading to the next.
 * @weight: what counts: the node itself in both clusters, or its pods on both sides */
static void count_row(struct trial *trial, struct trial_row *row, const double ratio[TRIAL_WORLDS],
                      double line, double span_s, const double weight[TRIAL_WORLDS],
                      struct trial_sum *sum) {
        double differs = ratio[TRIAL_REAL] - row->read.ratio;

        trial->noise_squares += differs * differs;
        trial->noise_count++;
        for (int w = 0; w < TRIAL_WORLDS; w++) {
                double counted_s = weight[w] * span_s;
                row->hot[w] = share_above(trial, ratio[w], line);
                sum->counted_s[w] += counted_s;
                sum->hot_s[w] += counted_s * row->hot[w];
                sum->very_hot_s[w] += counted_s * share_above(trial, ratio[w], VERY_HOT_RATIO);
        }
}

static struct trial_sum count_rows(struct trial *trial, const struct node_snapshot *snapshot) {
        const struct node_columns *columns = &snapshot->nodes.columns;
        _cleanup_(freep) double *moved_cores = sum_moved_cores(trial, snapshot);
        double lines[POLICY_MAX_POOLS + 1];
        struct trial_sum sum = {0};

        for (size_t pool = 0; pool <= snapshot->nodes.policy->pool_count; pool++)
                lines[pool] = rebalance_line_hot(snapshot->nodes.policy, pool,
                                                 &snapshot->nodes.weights[pool]);
        for (size_t row = 0; row < trial->row_count; row++) {
                struct trial_row *of = &trial->rows[row];
                const struct mean_reading *reading = reading_of(snapshot, row);
                int64_t span_ms = reading->ends_unix_ms - of->read.ends_unix_ms;
                double more = moved_cores[row] * per_capacity(&columns->facts[row], ESTIMATE_CPU);
                const double ratio[] = {reading->ratio, fmax(0, reading->ratio + more)};
                double weight[TRIAL_WORLDS] = {1, 1};
                if (span_ms <= 0)
                        continue;
                if (trial->held_back_ratio > 0)
                        count_groups(trial, estimate_of(snapshot, row), weight);
                if (span_ms <= READ_MAX_MS)
                        count_row(trial, of, ratio, lines[columns->readings.pool[row]],
                                  (double)span_ms / (double)MS_PER_S, weight, &sum);
                of->read = *reading;
        }
        return sum;
}

/* Of readings that are new, before they are counted. */
static void find_shares(struct trial *trial, const struct node_snapshot *snapshot) {
        for (size_t row = 0; row < trial->row_count; row++)
                if (reading_of(snapshot, row)->ends_unix_ms > trial->rows[row].read.ends_unix_ms)
                        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                                trial->rows[row].share[r] = estimator_window_share(
                                        snapshot->estimator, node_of(snapshot, row), r);
}

void trial_step(struct trial *trial, const struct node_snapshot *snapshot, int64_t now_unix_ms) {
        struct trial_stats *stats = &trial->stats;
        bool is_off = trial->held_back_ratio == 0 && is_asked(trial, now_unix_ms);
        int64_t span_ms = now_unix_ms - trial->stepped_unix_ms;

        trial->stepped_unix_ms = now_unix_ms;
        if (is_off)
                trial->pod_count = 0;
        if (is_off || !snapshot->nodes.columns.has_estimate)
                return;
        if (trial->generation != 0 && snapshot->table_policy->generation != trial->generation)
                trial_restart(trial); /* what is hot is another matter now */
        trial->generation = snapshot->table_policy->generation;
        follow_nodes(trial, snapshot);
        find_shares(trial, snapshot);
        find_ended(trial, snapshot, now_unix_ms);
        drop_pods(trial, snapshot, now_unix_ms);
        measure_pods(trial, snapshot);
        const struct trial_sum sum = count_rows(trial, snapshot);
        if (stats->since_unix_ms == 0)
                stats->since_unix_ms = now_unix_ms;
        else if (span_ms > 0 && span_ms <= TRIAL_BLOCK_MS)
                trial_blocks_add(&stats->blocks, &sum, span_ms);
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
        for (size_t i = 0; i < trial->pod_count; i++)
                ret->displaced += is_living(&trial->pods[i]) &&
                                  trial->pods[i].row[TRIAL_REAL] !=
                                          trial->pods[i].row[TRIAL_VIRTUAL];
        for (size_t row = 0; row < trial->row_count; row++)
                for (int w = 0; w < TRIAL_WORLDS; w++)
                        ret->hot[w] += trial->rows[row].hot[w];
}
