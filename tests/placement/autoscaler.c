/*
 * kubernetes.io/docs/concepts/workloads/autoscaling/horizontal-pod-autoscale/#algorithm-details,
 * with the default behavior, and of the code what the page leaves open (GetResourceReplicas() in
 * pkg/controller/podautoscaler/replica_calculator.go). A minimum of 1 replica, no maximum.
 */
#include "autoscaler.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"

/* READY_S: until metrics-server, which reads every 15 s, has a whole interval of a new pod. */
enum { SYNC_S = 15, STABILIZATION_S = 300, READY_S = 30, ADDED_AT_ONCE = 4 };
enum { RECOMMENDATIONS = STABILIZATION_S / SYNC_S };

static const double TOLERANCE_RATIO = 0.1;

struct service {
        struct pod **replicas; /* those that have arrived and not ended */
        size_t count, cap;
        const struct pod *first; /* the others are like it; NULL: the workload is not scaled */
        double demand_cores;     /* of all replicas, on average */
        double target_cores;     /* of each */
        size_t scale;            /* spec.replicas */
        size_t recommended[RECOMMENDATIONS];
};

struct autoscaler {
        struct world *world;
        struct service *services; /* [workload] */
};

struct autoscaler *autoscaler_new(struct world *world) {
        struct autoscaler *autoscaler = xcalloc(1, sizeof(*autoscaler));

        autoscaler->world = world;
        autoscaler->services = xcalloc(world->workload_count, sizeof(*autoscaler->services));
        for (size_t i = 0; i < world->pod_count; i++) {
                const struct pod *pod = &world->pods[i];
                struct service *service = &autoscaler->services[pod->workload];
                if (pod->stream->kind != STREAM_SCALED)
                        continue;
                service->first = pod;
                service->demand_cores += pod->cores;
                service->scale++;
                service->target_cores = service->demand_cores / (double)service->scale;
        }
        for (size_t w = 0; w < world->workload_count; w++)
                for (size_t i = 0; i < RECOMMENDATIONS; i++)
                        autoscaler->services[w].recommended[i] = autoscaler->services[w].scale;
        return autoscaler;
}

void autoscaler_free(struct autoscaler *autoscaler) {
        if (!autoscaler)
                return;
        for (size_t w = 0; w < autoscaler->world->workload_count; w++)
                free(autoscaler->services[w].replicas);
        free(autoscaler->services);
        free(autoscaler);
}

static bool has_started(const struct world *world, const struct pod *pod) {
        return world_is_running(world, pod) && world->now_s >= pod->starts_s;
}

static void share(struct world *world, const struct service *service) {
        double cores = 0;

        for (size_t i = 0; i < service->count; i++)
                if (has_started(world, service->replicas[i]))
                        cores += service->replicas[i]->cores;
        for (size_t i = 0; i < service->count; i++)
                if (has_started(world, service->replicas[i]))
                        world_scale_load(world, service->replicas[i],
                                         service->demand_cores / cores);
}

void autoscaler_arrived(struct autoscaler *autoscaler, struct pod *pod) {
        struct service *service = &autoscaler->services[pod->workload];

        if (!service->first)
                return;
        mem_grow(&service->replicas, service->count, &service->cap);
        service->replicas[service->count++] = pod;
}

void autoscaler_started(struct autoscaler *autoscaler, const struct pod *pod) {
        share(autoscaler->world, &autoscaler->services[pod->workload]);
}

static void forget(struct service *service, const struct pod *pod) {
        size_t kept = 0;

        for (size_t i = 0; i < service->count; i++)
                if (service->replicas[i] != pod)
                        service->replicas[kept++] = service->replicas[i];
        service->count = kept;
}

void autoscaler_ended(struct autoscaler *autoscaler, const struct pod *pod) {
        struct service *service = &autoscaler->services[pod->workload];

        forget(service, pod);
        share(autoscaler->world, service);
}

/* Pods that are not ready are set aside. Where the others use too much, they count as using
 * nothing. */
static size_t recommend(const struct world *world, const struct service *service) {
        double used_cores = 0;
        size_t ready = 0;

        for (size_t i = 0; i < service->count; i++) {
                const struct pod *pod = service->replicas[i];
                if (!has_started(world, pod) || world->now_s - pod->starts_s < READY_S)
                        continue;
                used_cores += pod->now_cores / world_slowdown(world, (size_t)pod->node);
                ready++;
        }
        if (ready == 0)
                return service->scale;
        double ratio = used_cores / service->target_cores / (double)ready;
        if (ratio > 1) {
                ratio *= (double)ready / (double)service->count;
                ready = service->count;
                if (ratio < 1)
                        return service->scale;
        }
        if (fabs(ratio - 1) <= TOLERANCE_RATIO)
                return service->scale;
        return (size_t)fmax(1, ceil(ratio * (double)ready));
}

static size_t larger(size_t a, size_t b) {
        return a > b ? a : b;
}

/* Upwards at once, within what may be added in 15 s. Downwards to the highest recommendation of the
 * last 5 minutes. */
static void set_scale(const struct world *world, struct service *service) {
        size_t recommended = recommend(world, service), highest = 0;
        size_t limit = larger(2 * service->scale, service->scale + ADDED_AT_ONCE);

        service->recommended[world->now_s / SYNC_S % RECOMMENDATIONS] = recommended;
        for (size_t i = 0; i < RECOMMENDATIONS; i++)
                highest = larger(highest, service->recommended[i]);
        if (recommended > service->scale)
                service->scale = recommended < limit ? recommended : limit;
        else if (highest < service->scale)
                service->scale = highest;
}

static size_t on_its_node(const struct service *service, const struct pod *pod) {
        size_t count = 0;

        for (size_t i = 0; i < service->count; i++)
                count += service->replicas[i]->node == pod->node;
        return count;
}

/* kubernetes.io/docs/concepts/workloads/controllers/replicaset/#scaling-a-replicaset */
static bool is_removed_before(const struct world *world, const struct service *service,
                              const struct pod *pod, const struct pod *other) {
        bool runs = has_started(world, pod), other_runs = has_started(world, other);
        size_t count = on_its_node(service, pod), other_count = on_its_node(service, other);

        if (runs != other_runs)
                return !runs;
        return count != other_count ? count > other_count : pod->arrives_s > other->arrives_s;
}

static void remove_one(struct world *world, struct service *service) {
        struct pod *pod = service->replicas[0];

        for (size_t i = 1; i < service->count; i++)
                if (is_removed_before(world, service, service->replicas[i], pod))
                        pod = service->replicas[i];
        forget(service, pod);
        world_remove(world, pod);
}

void autoscaler_step(struct autoscaler *autoscaler) {
        struct world *world = autoscaler->world;

        for (size_t w = 0; w < world->workload_count; w++) {
                struct service *service = &autoscaler->services[w];
                if (!service->first)
                        continue;
                if (((size_t)world->now_s + w) % SYNC_S == 0)
                        set_scale(world, service);
                for (size_t i = service->count; i < service->scale; i++)
                        world_add(world, service->first);
                while (service->count > service->scale)
                        remove_one(world, service);
        }
}
