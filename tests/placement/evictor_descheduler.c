/*
 * The descheduler of kubernetes-sigs with LowNodeUtilization by actual usage, as its code has it
 * (pkg/framework/plugins/nodeutilization at 020c9e77 and 0a53baf6):
 *
 *     when   some node is at or below the low threshold but not all are, and some node is above the
 *            high one. If a node has no value, nothing happens
 *     nodes  most used first, while the nodes below the low threshold have room up to the high one
 *     pods   those that request nothing first, then in no order (pkg/descheduler/pod/pods.go: by
 *            priority and QoS)
 *     stop   when the node is below the high threshold, if the source is metrics-server, which
 *            knows what each pod uses; after one pod, if it is a Prometheus query
 *
 * `descheduler` has the thresholds 50% and 80% of the controller's 5-minute means in whole
 * percents, every 6 minutes, for CPU and then for memory, at most one pod of a node. A pod stays if
 * it is the only one of its workload, bound for less than 15 minutes, or fits on no other node. The
 * variants change the high threshold and the source; with metrics-server, a cycle takes 5 minutes,
 * as in its Helm chart.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "chance.h"
#include "evictor.h"
#include "meters.h"
#include "present.h"

enum { LEAST_AGE_S = 900, FRESH_S = 180, POD_WINDOW_S = 15 };

static const double LOW_RATIO = 0.5;

struct descheduler_options {
        enum meters_kind meters;
        double high_ratio;
        bool knows_pods;
};

/* A node above the high threshold. */
struct source {
        size_t node;
        double used, high; /* cores or bytes; without knows_pods whole percents */
        double order;      /* the largest first */
};

struct descheduler {
        const struct descheduler_options *options;
        const struct world *world;
        struct meters *meters;
        struct source *sources;
        bool *has_evicted; /* [node]: in this cycle */
        /* of the cycle */
        struct present present;
        int resource;
        double room; /* of the nodes below the low threshold */
};

static void *new (const struct evictor *evictor, const struct world *world) {
        struct descheduler *descheduler = xcalloc(1, sizeof(*descheduler));

        descheduler->options = evictor->options;
        descheduler->world = world;
        descheduler->meters = meters_new(world, descheduler->options->meters);
        descheduler->sources = xcalloc(world->node_count, sizeof(*descheduler->sources));
        descheduler->has_evicted = xcalloc(world->node_count, sizeof(*descheduler->has_evicted));
        return descheduler;
}

static void free_descheduler(void *self) {
        struct descheduler *descheduler = self;

        meters_free(descheduler->meters);
        free(descheduler->sources);
        free(descheduler->has_evicted);
        free(descheduler);
}

static void on_second(void *self) {
        const struct descheduler *descheduler = self;

        meters_step(descheduler->meters);
}

static bool fits_elsewhere(const struct world *world, const struct pod *pod) {
        const struct pod_request request = pod_request(pod);

        for (size_t n = 0; n < world->node_count; n++)
                if (n != (size_t)pod->node && world_has_room(world, n, &request))
                        return true;
        return false;
}

static double pod_order(const struct world *world, const struct pod *pod) {
        bool has_requests = pod->request_cores > 0 || pod->request_bytes > 0;

        return has_requests + chance_uniform(pod->seed, (uint64_t)world->now_s);
}

/* The next pod of a node that may go, after one with that order; NULL: there is none. */
static struct pod *next_pod(const struct descheduler *descheduler, size_t node, double after) {
        const struct present *present = &descheduler->present;
        const struct world *world = descheduler->world;
        struct pod *next = NULL;

        for (size_t i = 0; i < present->count; i++) {
                struct pod *pod = present->pods[i];
                if ((size_t)pod->node != node || pod_order(world, pod) <= after ||
                    (next && pod_order(world, pod) >= pod_order(world, next)))
                        continue;
                if (world->now_s - pod->bound_s >= LEAST_AGE_S && present_may_go(present, pod) &&
                    fits_elsewhere(world, pod))
                        next = pod;
        }
        return next;
}

static double used_by(const struct descheduler *descheduler, const struct pod *pod) {
        return descheduler->resource == METER_MEM
                       ? pod->now_bytes
                       : present_used_cores(&descheduler->present, pod, POD_WINDOW_S);
}

/* Return: how many pods of the node are in @ret */
static size_t relieve(struct descheduler *descheduler, struct source *source, struct pod **ret,
                      size_t most) {
        bool *has_evicted = &descheduler->has_evicted[source->node];
        struct pod *pod = NULL;
        size_t count = 0;

        if (*has_evicted && !descheduler->options->knows_pods)
                return 0;
        while (count < most && source->used > source->high && descheduler->room > 0) {
                pod = next_pod(descheduler, source->node,
                               pod ? pod_order(descheduler->world, pod) : -1);
                if (!pod)
                        break;
                ret[count++] = pod;
                *has_evicted = true;
                if (!descheduler->options->knows_pods)
                        break;
                source->used -= used_by(descheduler, pod);
                descheduler->room -= used_by(descheduler, pod);
        }
        return count;
}

static int compare_sources(const void *a, const void *b) {
        const struct source *left = a, *right = b;

        return (left->order < right->order) - (left->order > right->order);
}

/* metrics-server's values are added up to sort the nodes, millicores and bytes. */
static struct source weigh(const struct descheduler *descheduler, size_t n,
                           const struct meter *meter) {
        const struct node *node = &descheduler->world->nodes[n];
        double ratio = meter->ratio[descheduler->resource], percent = floor(100 * ratio);
        double high_ratio = descheduler->options->high_ratio;
        double capacity = descheduler->resource == METER_CPU ? node->cores : node->bytes;
        double sum = 1000 * meter->ratio[METER_CPU] * node->cores +
                     meter->ratio[METER_MEM] * node->bytes;

        return descheduler->options->knows_pods
                       ? (struct source){n, ratio * capacity, high_ratio * capacity, sum}
                       : (struct source){n, percent, 100 * high_ratio, percent};
}

static bool has_value(const struct descheduler *descheduler, const struct meter *meter) {
        return meter->is_known && (descheduler->options->knows_pods ||
                                   descheduler->world->now_s - meter->at_s < FRESH_S);
}

/* Return: how many nodes are above the high threshold; 0: there is nothing to do */
static size_t find_sources(struct descheduler *descheduler) {
        const struct world *world = descheduler->world;
        size_t present = 0, low = 0, high = 0;

        descheduler->room = 0;
        for (size_t n = 0; n < world->node_count; n++) {
                if (!world_has_node(world, n))
                        continue;
                const struct meter meter = meters_get(descheduler->meters, n);
                if (!has_value(descheduler, &meter))
                        return 0;
                present++;
                const struct source weighed = weigh(descheduler, n, &meter);
                if (weighed.used > weighed.high) {
                        descheduler->sources[high++] = weighed;
                } else if (weighed.used <=
                           weighed.high / descheduler->options->high_ratio * LOW_RATIO) {
                        low++;
                        descheduler->room += weighed.high - weighed.used;
                }
        }
        return low == 0 || low == present ? 0 : high;
}

static size_t choose(const struct situation *situation, void *self,
                     struct pod *ret[static EVICTOR_MAX]) {
        struct descheduler *descheduler = self;
        const struct world *world = situation->world;
        size_t count = 0;

        memset(descheduler->has_evicted, 0, world->node_count * sizeof(*descheduler->has_evicted));
        descheduler->present = present_list(world);
        for (int r = 0; r < METER_RESOURCES; r++) {
                descheduler->resource = r;
                size_t sources = find_sources(descheduler);
                if (sources > 0)
                        qsort(descheduler->sources, sources, sizeof(*descheduler->sources),
                              compare_sources);
                for (size_t i = 0; i < sources; i++)
                        count += relieve(descheduler, &descheduler->sources[i], &ret[count],
                                         EVICTOR_MAX - count);
        }
        present_done(&descheduler->present);
        return count;
}

#define DESCHEDULER(name_, about_, every_s_, ...)                                                  \
        {                                                                                          \
                .name = (name_), .about = (about_), .every_s = (every_s_),                         \
                .options = &(const struct descheduler_options){__VA_ARGS__}, .new = new,           \
                .free = free_descheduler, .on_second = on_second, .choose = choose,                \
        }

const struct evictor evictor_descheduler = DESCHEDULER(
        "descheduler", "LowNodeUtilization with Prometheus: from 80% to below 50%", 360,
        METERS_KOORDLET, 0.8, false);
const struct evictor evictor_descheduler_65 = DESCHEDULER(
        "descheduler-65", "the same, from 65% to below 50%", 360, METERS_KOORDLET, 0.65, false);
const struct evictor evictor_descheduler_ms = DESCHEDULER(
        "descheduler-ms", "LowNodeUtilization with metrics-server, from 65% to below 50%", 300,
        METERS_DESCHEDULER, 0.65, true);
