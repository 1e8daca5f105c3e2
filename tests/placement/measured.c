#include "measured.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "chance.h"
#include "controller/pods/pod_set.h"

enum {
        READ_S = 60, /* between two pages of a kubelet */
        SAMPLE_FROM_S = 10,
        SAMPLE_TO_S = 15,
};

/* A kubelet that lies says so many times what its pods use. */
static const double LIE = 20;

/* What a kubelet knows of a pod. */
struct sampled_pod {
        size_t at; /* in `live` */
        double cpu_s;
        int64_t next_s; /* its next sample; 0: there was none */
        int64_t sampled_s;
        double sampled_cpu_s, sampled_bytes;
};

struct kubelet {
        int64_t phase_s;
        bool is_silent, is_lying;
        bool is_read;     /* this second */
        double got_ratio; /* of what its pods want */
};

struct measured {
        const struct world *world;
        struct pod_set *set;
        struct kubelet *kubelets; /* [node] */
        struct sampled_pod *pods; /* [pod] */
        size_t pod_cap;
        uint32_t *live; /* pods that are bound */
        size_t live_count, live_cap;
        const struct metered_workload **workloads; /* [workload] */
};

struct measured *measured_new(const struct world *world, const struct policy *policy) {
        struct measured *measured = xcalloc(1, sizeof(*measured));

        measured->world = world;
        measured->set = pod_set_new();
        pod_set_follow(measured->set, policy, NULL, NULL, NULL);
        measured->workloads = xcalloc(world->workload_count, sizeof(struct metered_workload *));
        measured->kubelets = xcalloc(world->node_count, sizeof(*measured->kubelets));
        for (size_t n = 0; n < world->node_count; n++) {
                double kind = chance_uniform(world->seed, 7000000 + n);
                measured->kubelets[n] = (struct kubelet){
                        .phase_s = (int64_t)(chance_uniform(world->seed, 8000000 + n) * READ_S),
                        .is_silent = kind < world->scenario->silent_kubelets,
                        .is_lying = kind >= 1 - world->scenario->lying_kubelets,
                };
        }
        return measured;
}

void measured_free(struct measured *measured) {
        pod_set_free(measured->set);
        free(measured->kubelets);
        free(measured->pods);
        free(measured->live);
        free(measured->workloads);
        free(measured);
}

/* A pod that has started was bound before. */
static bool add(struct measured *measured, uint32_t i) {
        if (i >= measured->pod_cap) {
                size_t cap = measured->world->pod_count + 2 * measured->world->renewed;
                measured->pods = xreallocarray(measured->pods, cap, sizeof(*measured->pods));
                memset(measured->pods + measured->pod_cap, 0,
                       (cap - measured->pod_cap) * sizeof(*measured->pods));
                measured->pod_cap = cap;
        }
        if (measured->pods[i].at < measured->live_count &&
            measured->live[measured->pods[i].at] == i)
                return false;
        mem_grow(&measured->live, measured->live_count, &measured->live_cap);
        measured->pods[i] = (struct sampled_pod){.at = measured->live_count};
        measured->live[measured->live_count++] = i;
        return true;
}

void measured_bound(struct measured *measured, const struct pod *pod,
                    const struct pod_facts *facts) {
        const char *node = measured->world->nodes[pod->node].name;
        uint32_t i = (uint32_t)(pod - measured->world->pods);
        struct pod_facts named = *facts;
        char name[16], uid[16];

        if (!add(measured, i))
                return;
        (void)snprintf(name, sizeof(name), "p%u", i);
        (void)snprintf(uid, sizeof(uid), "%08x", measured_uid(pod));
        named.namespace = (struct skim_string){.text = "default", .len = strlen("default")};
        named.name = (struct skim_string){.text = name, .len = strlen(name)};
        named.uid = (struct skim_string){.text = uid, .len = strlen(uid)};
        named.node = (struct skim_string){.text = node, .len = strlen(node)};
        pod_set_events.pod(measured->set, &named, true);
        measured->workloads[pod->workload] = strmap_get(&measured->set->meter.workloads,
                                                        named.workload, named.workload_len);
}

void measured_ended(struct measured *measured, const struct pod *pod) {
        uint32_t i = (uint32_t)(pod - measured->world->pods);
        size_t at = measured->pods[i].at;

        measured->live[at] = measured->live[--measured->live_count];
        measured->pods[measured->live[at]].at = at;
        pod_set_events.gone(measured->set, &(struct pod_facts){.id = pod->seed});
}

/* Kubelets */

/* A throttled pod uses as much less as all of its node do. */
static double got_ratio(const struct world *world, size_t n) {
        const struct node *node = &world->nodes[n];
        double wanted = world_base_ratio(world, n) + node->demand_cores / node->cores;

        return wanted > 0 ? fmin(1, world_demand_ratio(world, n)) / wanted : 1;
}

static void run_pod(struct measured *measured, uint32_t i) {
        const struct world *world = measured->world;
        const struct pod *pod = &world->pods[i];
        struct sampled_pod *sampled = &measured->pods[i];
        double step_s = SAMPLE_FROM_S, wait = SAMPLE_TO_S - SAMPLE_FROM_S + 1;

        if (pod->starts_s > world->now_s)
                return;
        sampled->cpu_s += pod->now_cores * measured->kubelets[pod->node].got_ratio;
        if (world->now_s < sampled->next_s)
                return;
        if (sampled->next_s == 0) {
                step_s = 1;
                wait = SAMPLE_TO_S;
        } else {
                sampled->sampled_s = world->now_s;
                sampled->sampled_cpu_s = sampled->cpu_s;
                sampled->sampled_bytes = pod->now_bytes;
        }
        uint64_t place = 1000000000 + (uint64_t)world->now_s;
        sampled->next_s = world->now_s +
                          (int64_t)(step_s + chance_uniform(pod->seed, place) * wait);
}

/* As the node's page shows the pod: what it last sampled. */
static void show_pod(struct measured *measured, uint32_t i) {
        const struct world *world = measured->world;
        const struct sampled_pod *sampled = &measured->pods[i];
        const struct kubelet *kubelet = &measured->kubelets[world->pods[i].node];
        struct measured_pod *pod = pod_set_find(measured->set, world->pods[i].seed);
        double factor = kubelet->is_lying ? LIE : 1;

        if (sampled->sampled_s == 0 || !pod)
                return;
        kubelet_pods_take(&pod->page,
                          &(struct kubelet_sample){.value = factor * sampled->sampled_cpu_s,
                                                   .at_unix_ms = sampled->sampled_s * MS_PER_S,
                                                   .seen_mono_ms = world->now_s * MS_PER_S});
        pod->page.memory_bytes = (float)(factor * sampled->sampled_bytes);
}

static bool is_read(const struct measured *measured, size_t n) {
        const struct world *world = measured->world;
        const struct kubelet *kubelet = &measured->kubelets[n];
        uint64_t place = (uint64_t)world->now_s * world->node_count + n;

        return world->now_s % READ_S == kubelet->phase_s && !kubelet->is_silent &&
               chance_uniform(chance_mix(world->seed), place) >= world->scenario->missed_pages &&
               !scenario_is_away(world->scenario, &world->scenario->controller_away, world->now_s);
}

static struct kubelet_capacity capacity_of(const struct world *world, size_t n) {
        return (struct kubelet_capacity){.cpu_cores = world->nodes[n].cores,
                                         .memory_bytes = world->nodes[n].bytes};
}

static void meter_node(struct measured *measured, size_t n) {
        const struct world *world = measured->world;
        const struct kubelet_clocks clocks = {world->now_s * MS_PER_S, world->now_s * MS_PER_S};
        const struct kubelet_capacity capacity = capacity_of(world, n);
        struct pod_node *node = pod_set_node(measured->set, world->nodes[n].name);

        if (node)
                pod_set_meter(measured->set, node, &clocks, &capacity);
}

bool measured_step(struct measured *measured) {
        const struct world *world = measured->world;

        for (size_t n = 0; n < world->node_count; n++) {
                measured->kubelets[n].got_ratio = got_ratio(world, n);
                measured->kubelets[n].is_read = is_read(measured, n);
        }
        for (size_t k = 0; k < measured->live_count; k++) {
                uint32_t i = measured->live[k];
                run_pod(measured, i);
                if (measured->kubelets[world->pods[i].node].is_read)
                        show_pod(measured, i);
        }
        for (size_t n = 0; n < world->node_count; n++)
                if (measured->kubelets[n].is_read)
                        meter_node(measured, n);
        if (world->now_s % READ_S != 0 ||
            scenario_is_away(world->scenario, &world->scenario->controller_away, world->now_s))
                return false;
        pod_set_tick(measured->set, world->now_s * MS_PER_S);
        return true;
}

const struct metered_workload *measured_workload(const struct measured *measured, size_t workload) {
        return measured->workloads[workload];
}

bool measured_list(const struct measured *measured, size_t node, struct pod_usage_list *ret) {
        const struct world *world = measured->world;
        const struct pod_node *pods = pod_set_node(measured->set, world->nodes[node].name);
        const struct kubelet_capacity capacity = capacity_of(world, node);

        *ret = (struct pod_usage_list){0};
        return !pods || pod_view_list(pods, &capacity, world->now_s * MS_PER_S, ret);
}

uint32_t measured_uid(const struct pod *pod) {
        return (uint32_t)(pod->seed ^ pod->seed >> 32);
}
