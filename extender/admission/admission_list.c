#include "extender/admission/admission_list.h"

#include <math.h>
#include <stdlib.h>

#include "base/json_write.h"
#include "base/mem.h"
#include "policy/judge/judge_rows.h"
#include "policy/judge/judge_score.h"

/* The largest request of each class, in cores; the last class has all larger pods. */
static const double CLASS_CORES[ADMISSION_CLASSES] = {0.1, 0.25, 0.5, 1, 2, 4, 8, INFINITY};
static const double LARGEST_CORES = 16, BYTES_PER_CORE = 0x1p31; /* of nominal pods */
static const double WEIGHT_MAX = 100, WEIGHT_PER_PERCENT = 0.7;
static const double UNKNOWN_LOADS = 4;  /* of a nominal pod, beyond what a known one counts */
static const double FIT_RATIO = 0.5;    /* of a nominal pod: most classes begin there */
static const double ENOUGH_RATIO = 0.5; /* of the cores of a group */
static const double SMALL_RATIO = 0.5;  /* of the mean node that is listed */

/* The nodes of one pool in one zone. */
struct group {
        double cores; /* of all of them */
        /* Of one class. */
        size_t places, listed;
        double listed_cores;
};

/* A node that a nominal pod may get. */
struct place {
        uint32_t row;
        struct group *group;
        double headroom;
};

struct admission_lister {
        struct judge judge;
        /* [row] */
        const char **closed_by;
        int *rejected_by;
        size_t *candidates;
        struct pod_load *free; /* capacity that no pod has requested */
        struct place *places;
        size_t cap;
        struct group groups[POLICY_MAX_POOLS + 1][SHORTLIST_ZONES_MAX]; /* [pool][zone] */
};

struct admission_lister *admission_lister_new(void) {
        return xcalloc(1, sizeof(struct admission_lister));
}

void admission_lister_free(struct admission_lister *lister) {
        if (!lister)
                return;
        judge_done(&lister->judge);
        free(lister->closed_by);
        free(lister->rejected_by);
        free(lister->candidates);
        free(lister->free);
        free(lister->places);
        free(lister);
}

static void make_room(struct admission_lister *lister, size_t count) {
        if (count <= lister->cap)
                return;
        lister->cap = count + count / 2;
        lister->closed_by = xreallocarray(lister->closed_by, lister->cap,
                                          sizeof(*lister->closed_by));
        lister->rejected_by = xreallocarray(lister->rejected_by, lister->cap,
                                            sizeof(*lister->rejected_by));
        lister->candidates = xreallocarray(lister->candidates, lister->cap,
                                           sizeof(*lister->candidates));
        lister->free = xreallocarray(lister->free, lister->cap, sizeof(*lister->free));
        lister->places = xreallocarray(lister->places, lister->cap, sizeof(*lister->places));
}

static struct group *group_of(struct admission_lister *lister, const struct node_columns *columns,
                              size_t row) {
        return &lister->groups[columns->readings.pool[row]][columns->zone[row]];
}

static void measure_groups(struct admission_lister *lister, const struct judge_nodes *nodes) {
        memset(lister->groups, 0, sizeof(lister->groups));
        for (size_t row = 0; row < nodes->count; row++)
                group_of(lister, &nodes->columns, row)->cores +=
                        nodes->columns.facts[row].capacity.of[ESTIMATE_CPU];
}

/* INFINITY: there is no estimate, or no capacity in it. */
static struct pod_load free_of(const struct node_snapshot *snapshot, size_t row) {
        const struct node_facts *facts = &snapshot->nodes.columns.facts[row];
        struct pod_load left = {{INFINITY, INFINITY}};

        for (int r = 0; facts->pods >= 0 && r < ESTIMATE_RESOURCE_COUNT; r++)
                if (facts->capacity.of[r] > 0)
                        left.of[r] = facts->capacity.of[r] - facts->requested.of[r];
        return left;
}

/* Do the smaller pods of a class fit? */
static bool fits(const struct pod_load *nominal, const struct pod_load *left) {
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                if (FIT_RATIO * nominal->of[r] > left->of[r])
                        return false;
        return true;
}

static int compare_places(const void *a, const void *b) {
        double left = ((const struct place *)a)->headroom,
               right = ((const struct place *)b)->headroom;

        return (left < right) - (left > right);
}

/* What the CPU of a pod that is not known takes off the headroom, in percent of the node. */
static double unknown_percent(const struct node_facts *facts, const struct pod_load *load) {
        double cores = facts->capacity.of[ESTIMATE_CPU];

        return cores > 0 ? 100 * UNKNOWN_LOADS * load->of[ESTIMATE_CPU] / cores : 0;
}

/* The nodes that the pod may get, the best first. Return: their number */
static size_t find_places(struct admission_lister *lister, const struct node_snapshot *snapshot,
                          const struct pod_load *request, int64_t now_unix_ms) {
        const struct judge_nodes *nodes = &snapshot->nodes;
        bool is_estimate = nodes->policy->scoring == POLICY_SCORING_ESTIMATE;
        const struct pod_facts pod = {.request = *request};
        struct pod_load load = {0};
        size_t count = 0;

        if (is_estimate)
                load = estimator_expect(snapshot->estimator, "", 0, request).load;
        for (size_t row = 0; row < nodes->count; row++) {
                const char *closed_by = node_names_at(snapshot->names, (uint32_t)row)->closed_by;
                lister->closed_by[row] = closed_by || fits(request, &lister->free[row]) ? closed_by
                                                                                        : "no room";
        }
        judge_rows(&lister->judge, nodes, &pod, lister->closed_by, now_unix_ms, lister->rejected_by,
                   lister->candidates);
        lister->judge.question.load = load;
        judge_score(&lister->judge);
        for (size_t row = 0; row < nodes->count; row++) {
                size_t candidate = lister->candidates[row];
                if (candidate == SIZE_MAX || judge_is_last(&lister->judge, candidate))
                        continue;
                lister->places[count++] = (struct place){
                        .row = (uint32_t)row,
                        .group = group_of(lister, &nodes->columns, row),
                        .headroom = is_estimate ? lister->judge.scored.headrooms[candidate] -
                                                          unknown_percent(
                                                                  &nodes->columns.facts[row], &load)
                                                : judge_score100(&lister->judge, (uint32_t)row),
                };
        }
        if (count > 0)
                qsort(lister->places, count, sizeof(*lister->places), compare_places);
        return count;
}

/* Whether a node with so many cores is listed after the better ones of its group. */
static bool is_large_enough(const struct group *group, double cores) {
        return group->listed_cores <= ENOUGH_RATIO * group->cores ||
               cores * (double)group->listed >= SMALL_RATIO * group->listed_cores;
}

static void choose(const struct admission_lister *lister, const struct node_columns *columns,
                   size_t count, struct admission_class *class) {
        const struct place *places = lister->places;
        size_t groups = 0;

        for (size_t i = 0; i < count; i++)
                groups += places[i].group->places++ == 0;
        for (size_t i = 0; i < count && class->count < ADMISSION_NODES_MAX; i++) {
                struct group *group = places[i].group;
                double cores = columns->facts[places[i].row].capacity.of[ESTIMATE_CPU];
                if (group->listed * groups >= ADMISSION_NODES_MAX || !is_large_enough(group, cores))
                        continue;
                double behind = places[0].headroom - places[i].headroom;
                class->nodes[class->count++] = (struct admission_node){
                        .row = places[i].row,
                        .weight = (int)lround(fmax(1, WEIGHT_MAX - WEIGHT_PER_PERCENT * behind)),
                };
                group->listed++;
                group->listed_cores += cores;
        }
        for (size_t i = 0; i < count; i++)
                *places[i].group = (struct group){.cores = places[i].group->cores};
}

void admission_lister_make(struct admission_lister *lister, const struct node_snapshot *snapshot,
                           int64_t now_unix_ms, struct admission_list *ret) {
        make_room(lister, snapshot->nodes.count);
        measure_groups(lister, &snapshot->nodes);
        for (size_t row = 0; row < snapshot->nodes.count; row++)
                lister->free[row] = free_of(snapshot, row);
        for (size_t i = 0; i < ADMISSION_CLASSES; i++) {
                double cores = fmin(CLASS_CORES[i], LARGEST_CORES);
                const struct pod_load request = {{cores, cores * BYTES_PER_CORE}};
                ret->classes[i] = (struct admission_class){.max_cores = CLASS_CORES[i]};
                size_t count = find_places(lister, snapshot, &request, now_unix_ms);
                choose(lister, &snapshot->nodes.columns, count, &ret->classes[i]);
        }
}

static void write_node(const struct admission_node *node, const struct node_snapshot *snapshot,
                       struct buf *out) {
        const struct node_name *name = node_names_at(snapshot->names, node->row);

        json_write_object(out, NULL);
        json_write_text_len(out, "name", name->name, name->name_bytes);
        json_write_int(out, "weight", node->weight);
        json_write_object_end(out);
}

void admission_list_write(const struct admission_list *list, const struct node_snapshot *snapshot,
                          struct buf *out) {
        json_write_array(out, "classes");
        for (size_t i = 0; i < ADMISSION_CLASSES; i++) {
                const struct admission_class *class = &list->classes[i];
                json_write_object(out, NULL);
                if (isfinite(class->max_cores))
                        json_write_number(out, "maxCores", class->max_cores, 3);
                json_write_array(out, "nodes");
                for (size_t n = 0; n < class->count; n++)
                        write_node(&class->nodes[n], snapshot, out);
                json_write_array_end(out);
                json_write_object_end(out);
        }
        json_write_array_end(out);
}
