/*
 * Koordinator's LoadAwareScheduling, by its documentation:
 * https://koordinator.sh/docs/designs/load-aware-scheduling
 * A node is scored by what was measured and an estimate of the pod (85% of the CPU and 70% of the
 * memory that it requests, 250m and 200 MiB without a request). Of each pod that was bound less
 * than a reporting interval before the report, or has no usage in it, the estimate is added as
 * well. The score is the mean of what that leaves of CPU and memory. A node where it is above 65%
 * of the CPU or 95% of the memory is filtered out: thresholds of the code and of the Helm chart;
 * others ship with 0, which is none. It can use a percentile of the usage in place of the mean.
 *
 * What commit a7a1b76b did in a cluster with the arguments of its Helm chart, where the
 * documentation says less: a pod whose usage is in the report adds max(0, estimate - usage), since
 * the node's usage has the other part; a pod counts from the moment in which it is chosen a node,
 * and no longer when it has ended; a report is too old for a score after 300 s, and filters still.
 * The chart's other plugin with a score, NodeNUMAResource, is left out: it made it worse.
 */
#include "algorithm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "meters.h"

enum { REPORT_S = 60, EXPIRATION_S = 300 };

static const double FACTORS[METER_RESOURCES] = {0.85, 0.7};
static const double WITHOUT_REQUEST[METER_RESOURCES] = {0.25, 200.0 * (1u << 20)};
static const double FILTER_PERCENT[METER_RESOURCES] = {65, 95};

struct koordinator_options {
        enum meters_kind meters;
        bool is_unfiltered;
};

struct koordinator_load {
        double of[METER_RESOURCES]; /* cores, bytes */
};

/* A pod that may add to what its node was measured to use. */
struct koordinator_recent {
        const struct pod *pod;
        struct koordinator_load used; /* sum over its seconds until now */
        double seconds;
        struct koordinator_load reported; /* its usage in the latest report */
        bool is_reported;
};

struct koordinator {
        struct situation situation;
        const struct koordinator_options *options;
        struct meters *meters;
        struct koordinator_recent *recent;
        size_t count, cap;
        struct koordinator_load *missing; /* [node] */
};

static void *new (const struct situation *situation) {
        struct koordinator *koordinator = xcalloc(1, sizeof(*koordinator));

        koordinator->situation = *situation;
        koordinator->options = situation->algorithm->options;
        koordinator->meters = meters_new(situation->world, koordinator->options->meters);
        koordinator->missing = xcalloc(situation->world->node_count, sizeof(*koordinator->missing));
        return koordinator;
}

static void free_koordinator(void *self) {
        struct koordinator *koordinator = self;

        meters_free(koordinator->meters);
        free(koordinator->recent);
        free(koordinator->missing);
        free(koordinator);
}

static struct koordinator_load estimate_of(const struct pod *pod) {
        const double request[METER_RESOURCES] = {pod->request_cores, pod->request_bytes};
        struct koordinator_load load;

        for (int r = 0; r < METER_RESOURCES; r++)
                load.of[r] = request[r] > 0 ? FACTORS[r] * request[r] : WITHOUT_REQUEST[r];
        return load;
}

/* @sign: 1 to count it, -1 to count it no longer */
static void count_recent(const struct koordinator *koordinator,
                         const struct koordinator_recent *recent, double sign) {
        const struct koordinator_load estimate = estimate_of(recent->pod);

        for (int r = 0; r < METER_RESOURCES; r++) {
                double used = recent->is_reported ? recent->reported.of[r] : 0;
                koordinator->missing[recent->pod->node].of[r] += sign *
                                                                 fmax(0, estimate.of[r] - used);
        }
}

static void on_chosen(void *self, const struct pod *pod) {
        struct koordinator *koordinator = self;
        const struct koordinator_recent recent = {.pod = pod};

        mem_grow(&koordinator->recent, koordinator->count, &koordinator->cap);
        koordinator->recent[koordinator->count++] = recent;
        count_recent(koordinator, &recent, 1);
}

static void on_ended(void *self, const struct pod *pod) {
        struct koordinator *koordinator = self;

        for (size_t i = 0; i < koordinator->count; i++) {
                if (koordinator->recent[i].pod != pod)
                        continue;
                count_recent(koordinator, &koordinator->recent[i], -1);
                koordinator->recent[i] = koordinator->recent[--koordinator->count];
                return;
        }
}

/* koordlet measures pods, too: the mean since they run. */
static void measure(const struct world *world, struct koordinator_recent *recent) {
        const struct pod *pod = recent->pod;

        if (world->now_s <= pod->starts_s || !world_is_running(world, pod))
                return;
        recent->used.of[METER_CPU] += pod->now_cores / world_slowdown(world, (size_t)pod->node);
        recent->used.of[METER_MEM] += pod->now_bytes;
        recent->seconds++;
}

/* The node's report has come: it is about all pods that were seen to run. */
static void report(struct koordinator_recent *recent) {
        recent->is_reported = recent->seconds > 0;
        for (int r = 0; r < METER_RESOURCES && recent->is_reported; r++)
                recent->reported.of[r] = recent->used.of[r] / recent->seconds;
}

static void on_second(void *self) {
        struct koordinator *koordinator = self;
        const struct world *world = koordinator->situation.world;
        size_t kept = 0;

        meters_step(koordinator->meters);
        memset(koordinator->missing, 0, world->node_count * sizeof(*koordinator->missing));
        for (size_t i = 0; i < koordinator->count; i++) {
                struct koordinator_recent *recent = &koordinator->recent[i];
                int64_t at_s = meters_get(koordinator->meters, (size_t)recent->pod->node).at_s;
                measure(world, recent);
                if (at_s == world->now_s)
                        report(recent);
                if (recent->is_reported && recent->pod->bound_s + REPORT_S <= at_s)
                        continue;
                count_recent(koordinator, recent, 1);
                koordinator->recent[kept++] = *recent;
        }
        koordinator->count = kept;
}

static int score_of(const struct koordinator *koordinator, const struct pod *pod, size_t n) {
        const struct world *world = koordinator->situation.world;
        const struct meter meter = meters_get(koordinator->meters, n);
        const struct koordinator_load estimate = estimate_of(pod);
        const double capacity[METER_RESOURCES] = {world->nodes[n].cores, world->nodes[n].bytes};
        int score = 0;

        if (!meter.is_known)
                return 0;
        for (int r = 0; r < METER_RESOURCES; r++) {
                double used = estimate.of[r] + koordinator->missing[n].of[r];
                double percent = 100 * (meter.ratio[r] + used / capacity[r]);
                if (!koordinator->options->is_unfiltered && round(percent) > FILTER_PERCENT[r])
                        return SCORE_REJECTED;
                score += (int)fmax(0, 100 - percent);
        }
        return world->now_s - meter.at_s < EXPIRATION_S ? score / METER_RESOURCES : 0;
}

static void decide(void *self, const struct pod *pod, const uint32_t *candidates, size_t count,
                   int *ret_scores) {
        for (size_t i = 0; i < count; i++)
                ret_scores[i] = score_of(self, pod, candidates[i]);
}

#define KOORDINATOR(name_, about_, weight_, ...)                                                   \
        {                                                                                          \
                .name = (name_), .about = (about_), .weight = (weight_), .is_filter = true,        \
                .options = &(const struct koordinator_options){__VA_ARGS__}, .new = new,           \
                .free = free_koordinator, .on_chosen = on_chosen, .on_ended = on_ended,            \
                .on_second = on_second, .decide = decide,                                          \
        }

const struct algorithm algorithm_koordinator = KOORDINATOR(
        "koordinator", "Koordinator's LoadAwareScheduling: rejects above 65% CPU or 95% memory", 1,
        METERS_KOORDLET, false);
const struct algorithm algorithm_koordinator_0 = KOORDINATOR(
        "koordinator-0", "the same with thresholds of 0: rejects no node", 1, METERS_KOORDLET,
        true);
const struct algorithm algorithm_koordinator_p95 = KOORDINATOR(
        "koordinator-p95", "LoadAwareScheduling by the 95th percentile of 5 minutes", 1,
        METERS_KOORDLET_P95, false);
const struct algorithm algorithm_koordinator_3 = KOORDINATOR(
        "koordinator-3", "LoadAwareScheduling with a weight of 3", 3, METERS_KOORDLET, false);
const struct algorithm algorithm_koordinator_p95_3 = KOORDINATOR(
        "koordinator-p95-3", "the same by the 95th percentile of 5 minutes", 3, METERS_KOORDLET_P95,
        false);
