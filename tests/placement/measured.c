#include "measured.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum {
        SAMPLE_S = 15,
        MEASURE_S = 60, /* between two pages of a kubelet */
        OWN_MEASURES = 3,
};

static const double OWN_S = 150, WORKLOAD_S = 600; /* time constants */
/* A pod that is further from its workload than this share of its node is in the node's list. */
static const double DIFFERENCE_RATIO = 0.002;

struct pod_meter {
        struct pod_load sum; /* of the samples since the last measure */
        size_t samples, measures;
        struct pod_load own;
};

struct workload_sum {
        const struct pod *example;
        double weight;
        struct pod_load sum, squares;
        struct pod_load requests;
        size_t pods; /* of the last measure */
};

struct measured {
        const struct world *world;
        struct pod_meter *pods; /* [pod] */
        size_t pod_cap;
        struct workload_sum *workloads;
        struct pod_usage_list *lists; /* [node] */
};

struct measured *measured_new(const struct world *world) {
        struct measured *measured = xcalloc(1, sizeof(*measured));

        measured->world = world;
        measured->workloads = xcalloc(world->workload_count, sizeof(*measured->workloads));
        measured->lists = xcalloc(world->node_count, sizeof(*measured->lists));
        return measured;
}

void measured_free(struct measured *measured) {
        free(measured->pods);
        free(measured->workloads);
        free(measured->lists);
        free(measured);
}

static size_t pod_end(const struct world *world) {
        return world->pod_count + world->renewed;
}

static bool runs(const struct world *world, size_t i) {
        const struct pod *pod = &world->pods[i];
        bool has_arrived = i < world->arrived || i >= world->pod_count;

        return has_arrived && world_is_running(world, pod) && pod->starts_s <= world->now_s;
}

static void make_room(struct measured *measured) {
        size_t count = pod_end(measured->world);

        if (count <= measured->pod_cap)
                return;
        measured->pods = xreallocarray(measured->pods, 2 * count, sizeof(*measured->pods));
        memset(measured->pods + measured->pod_cap, 0,
               (2 * count - measured->pod_cap) * sizeof(*measured->pods));
        measured->pod_cap = 2 * count;
}

/* A throttled pod uses as much less as all of its node do. */
static struct pod_load usage_of(const struct world *world, const struct pod *pod) {
        size_t n = (size_t)pod->node;
        const struct node *node = &world->nodes[n];
        double wanted = world_base_ratio(world, n) + node->demand_cores / node->cores;
        double got = wanted > 0 ? fmin(1, world_demand_ratio(world, n)) / wanted : 1;

        return (struct pod_load){{pod->now_cores * got, pod->now_bytes}};
}

static void sample(struct measured *measured) {
        const struct world *world = measured->world;

        make_room(measured);
        for (size_t i = 0; i < pod_end(world); i++) {
                if (!runs(world, i))
                        continue;
                const struct pod_load usage = usage_of(world, &world->pods[i]);
                struct pod_meter *meter = &measured->pods[i];
                meter->samples++;
                for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                        meter->sum.of[r] += usage.of[r];
        }
}

static void measure_pod(struct measured *measured, size_t i) {
        const struct pod *pod = &measured->world->pods[i];
        const struct pod_load request = pod_load_counted(
                &(struct pod_load){{pod->request_cores, pod->request_bytes}});
        struct pod_meter *meter = &measured->pods[i];
        struct workload_sum *workload = &measured->workloads[pod->workload];
        double share = meter->measures == 0 ? 1 : 1 - exp(-MEASURE_S / OWN_S);

        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                double used = meter->sum.of[r] / (double)meter->samples;
                meter->own.of[r] += share * (used - meter->own.of[r]);
                workload->sum.of[r] += used;
                workload->squares.of[r] += used * used;
                workload->requests.of[r] += request.of[r];
        }
        meter->measures++;
        workload->example = pod;
        workload->weight++;
        workload->pods++;
        meter->sum = (struct pod_load){0};
        meter->samples = 0;
}

static void fade(struct workload_sum *workload) {
        double kept = exp(-MEASURE_S / WORKLOAD_S);

        workload->pods = 0;
        workload->weight *= kept;
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                workload->sum.of[r] *= kept;
                workload->squares.of[r] *= kept;
                workload->requests.of[r] *= kept;
        }
}

/* A pod without a workload differs by all that it uses. */
static double difference(const struct measured *measured, const struct pod *pod,
                         const struct pod_load *own) {
        const struct node *node = &measured->world->nodes[pod->node];
        const struct pod_load mean = measured_workload(measured, pod->workload).measure.mean;
        double of_cpu = fabs(own->of[ESTIMATE_CPU] - (pod->is_bare ? 0 : mean.of[ESTIMATE_CPU])),
               of_mem = fabs(own->of[ESTIMATE_MEM] - (pod->is_bare ? 0 : mean.of[ESTIMATE_MEM]));

        return fmax(of_cpu / node->cores, of_mem / node->bytes);
}

/* @differences: [node][entry] */
static void list_pod(struct measured *measured, size_t i, double (*differences)[POD_USAGE_MAX]) {
        const struct pod *pod = &measured->world->pods[i];
        const struct pod_meter *meter = &measured->pods[i];
        struct pod_usage_list *list = &measured->lists[pod->node];
        double by = difference(measured, pod, &meter->own);
        size_t at = 0;

        if (meter->measures < OWN_MEASURES || by < DIFFERENCE_RATIO)
                return;
        if (list->count < POD_USAGE_MAX)
                at = list->count++;
        else
                for (size_t k = 1; k < POD_USAGE_MAX; k++)
                        at = differences[pod->node][k] < differences[pod->node][at] ? k : at;
        if (at + 1 < list->count && differences[pod->node][at] >= by)
                return;
        differences[pod->node][at] = by;
        list->pods[at] = (struct pod_usage){measured_uid(pod), meter->own};
}

static void measure(struct measured *measured) {
        const struct world *world = measured->world;
        double(*differences)[POD_USAGE_MAX] = xcalloc(world->node_count, sizeof(*differences));

        for (size_t w = 0; w < world->workload_count; w++)
                fade(&measured->workloads[w]);
        for (size_t i = 0; i < pod_end(world); i++)
                if (runs(world, i) && measured->pods[i].samples > 0)
                        measure_pod(measured, i);
        memset(measured->lists, 0, world->node_count * sizeof(*measured->lists));
        for (size_t i = 0; i < pod_end(world); i++)
                if (runs(world, i))
                        list_pod(measured, i, differences);
        free(differences);
}

bool measured_step(struct measured *measured) {
        int64_t now_s = measured->world->now_s;

        if (now_s % SAMPLE_S == 0)
                sample(measured);
        if (now_s % MEASURE_S != 0)
                return false;
        measure(measured);
        return true;
}

struct measured_workload measured_workload(const struct measured *measured, size_t workload) {
        const struct workload_sum *of = &measured->workloads[workload];
        struct measured_workload found = {.example = of->example, .measure = {.pods = of->pods}};

        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT && of->weight > 0; r++) {
                double mean = of->sum.of[r] / of->weight;
                found.measure.mean.of[r] = mean;
                found.measure.spread.of[r] = sqrt(
                        fmax(0, of->squares.of[r] / of->weight - mean * mean));
                found.measure.request.of[r] = of->requests.of[r] / of->weight;
        }
        return found;
}

const struct pod_usage_list *measured_list(const struct measured *measured, size_t node) {
        return &measured->lists[node];
}

uint32_t measured_uid(const struct pod *pod) {
        return (uint32_t)(pod->seed ^ pod->seed >> 32);
}
