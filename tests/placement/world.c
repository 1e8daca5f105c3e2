#include "world.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "chance.h"
#include "policy/estimate/pod_load.h"
#include "replay.h"

static const double TIME_SIGMA = 0.2;
static const double DAY_S = 86400;

enum { REDRAW_S = 120 };

static struct pod_request rounded(const struct pod_load *load) {
        return (struct pod_request){llround(load->of[ESTIMATE_CPU] * 1000),
                                    llround(load->of[ESTIMATE_MEM])};
}

struct pod_request pod_request(const struct pod *pod) {
        return rounded(&(struct pod_load){{pod->request_cores, pod->request_bytes}});
}

struct pod_request pod_request_counted(const struct pod *pod) {
        const struct pod_load counted = pod_load_counted(
                &(struct pod_load){{pod->request_cores, pod->request_bytes}});

        return rounded(&counted);
}

struct world *world_new(const struct scenario *scenario, uint64_t seed) {
        struct world *world = xcalloc(1, sizeof(*world));
        size_t at = 0;

        world->scenario = scenario;
        world->seed = seed;
        for (size_t i = 0; i < scenario->shape_count; i++)
                world->node_count += scenario->shapes[i].count;
        world->nodes = xcalloc(world->node_count, sizeof(*world->nodes));
        for (size_t i = 0; i < scenario->shape_count; i++)
                for (size_t n = 0; n < scenario->shapes[i].count; n++, at++) {
                        double draw_ratio = chance_uniform(seed, 3000000 + at);
                        world->nodes[at] = (struct node){
                                .cores = scenario->shapes[i].cores,
                                .speed = scenario->shapes[i].speed > 0 ? scenario->shapes[i].speed
                                                                       : 1,
                                .joins_s = (int64_t)scenario->shapes[i].joins_s,
                                .leaves_s = (int64_t)scenario->shapes[i].leaves_s,
                                .bytes = scenario->shapes[i].cores * BYTES_PER_NODE_CORE,
                                .allocatable = rounded(&(struct pod_load){
                                        {scenario->shapes[i].cores,
                                         scenario->shapes[i].cores * BYTES_PER_NODE_CORE}}),
                                .base_ratio = scenario->base_from +
                                              draw_ratio *
                                                      (scenario->base_to - scenario->base_from),
                                .phase = (double)(at % 4) / 4,
                                .zone = scenario->shapes[i].zone,
                        };
                        (void)snprintf(world->nodes[at].name, sizeof(world->nodes[at].name),
                                       "node-%zu", at);
                }
        struct arrivals arrivals = arrivals_draw(scenario, seed);
        world->pod_count = arrivals.count;
        world->workload_count = arrivals.workload_count;
        world->set_count = arrivals.set_count;
        /* Room for the renewed ones; from here on there are pointers to pods. */
        world->pods = xreallocarray(arrivals.pods, 2 * world->pod_count + 1, sizeof(*world->pods));
        return world;
}

void world_free(struct world *world) {
        if (!world)
                return;
        agenda_done(&world->agenda);
        free(world->nodes);
        free(world->pods);
        free(world);
}

static double load_at(const struct pod *pod, int64_t now_s) {
        int64_t since_s = now_s - pod->starts_s;

        if (since_s < 0)
                return 0;
        if (pod->series)
                return replay_cores_at(pod, now_s);
        double factor = (double)since_s < pod->spike_s ? pod->spike_factor : 1;
        if (pod->wave > 0)
                factor *= 1 + pod->wave * sin(2 * M_PI * ((double)now_s / DAY_S + pod->wave_phase));
        return pod->cores * factor *
               chance_lognormal(pod->seed, 1000 + (uint64_t)(since_s / REDRAW_S), TIME_SIGMA);
}

static int64_t next_change_s(const struct pod *pod, int64_t now_s) {
        int64_t end_s = pod->bound_s + pod->life_s;
        int64_t since_s = now_s - pod->starts_s;
        int64_t next_s = since_s < 0 ? pod->starts_s
                                     : pod->starts_s + (since_s / REDRAW_S + 1) * REDRAW_S;

        if (since_s >= 0 && (double)since_s < pod->spike_s &&
            pod->starts_s + (int64_t)pod->spike_s < next_s)
                next_s = pod->starts_s + (int64_t)pod->spike_s;
        if (since_s >= 0 && pod->series)
                next_s = replay_next_change_s(pod, now_s);
        return next_s < end_s ? next_s : end_s;
}

static double bytes_at(const struct pod *pod, int64_t now_s) {
        double since_s = fmax(0, (double)(now_s - pod->starts_s));
        double grown = since_s < pod->grows_s ? since_s / pod->grows_s : 1;

        if (pod->series && now_s >= pod->starts_s)
                return replay_bytes_at(pod, now_s);
        return pod->first_bytes + grown * (pod->grown_bytes - pod->first_bytes);
}

static void set_load(struct world *world, struct pod *pod, double cores, double bytes) {
        struct node *node = &world->nodes[pod->node];

        node->demand_cores += cores / node->speed - pod->now_cores;
        pod->now_cores = cores / node->speed;
        node->used_bytes += bytes - pod->now_bytes;
        pod->now_bytes = bytes;
}

static void add_request(struct pod_request *sum, struct pod_request request, int sign) {
        sum->milli_cores += sign * request.milli_cores;
        sum->bytes += sign * request.bytes;
}

static void count_requests(struct node *node, const struct pod *pod, int sign) {
        add_request(&node->requested, pod_request(pod), sign);
        add_request(&node->counted, pod_request_counted(pod), sign);
}

void world_bind(struct world *world, struct pod *pod, size_t at) {
        struct node *node = &world->nodes[at];

        assert(pod->node < 0);
        pod->node = (int32_t)at;
        pod->bound_s = world->now_s;
        pod->starts_s = world->now_s + 2 + (int64_t)(chance_uniform(pod->seed, 3) * 7);
        count_requests(node, pod, 1);
        node->mean_bytes += pod->bytes;
        node->mean_cores += pod->cores / node->speed;
        node->pod_count++;
        set_load(world, pod, 0, pod->first_bytes);
        world->running++;
        agenda_add(&world->agenda, pod->starts_s, pod);
}

static void end_pod(struct world *world, struct pod *pod, world_end_fn *on_end, void *userdata) {
        struct node *node = &world->nodes[pod->node];

        set_load(world, pod, 0, 0);
        count_requests(node, pod, -1);
        node->mean_bytes -= pod->bytes;
        node->mean_cores -= pod->cores / node->speed;
        node->pod_count--;
        world->running--;
        pod->has_ended = true;
        on_end(userdata, pod);
}

/* Another pod of the workload lives for what was left. */
static void renew(struct world *world, const struct pod *evicted) {
        assert(world->renewed < world->pod_count);
        struct pod *pod = &world->pods[world->pod_count + world->renewed];
        *pod = *evicted;
        pod->index = (uint32_t)(world->pod_count + world->renewed++);
        pod->seed = chance_mix(evicted->seed + 1);
        pod->arrives_s = world->now_s;
        pod->life_s = evicted->bound_s + evicted->life_s - world->now_s + 10;
        pod->node = -1;
        pod->has_ended = false;
}

static void evict_all(struct world *world, world_end_fn *on_end, void *userdata) {
        size_t count = world->pod_count + world->renewed;

        for (size_t i = 0; i < count; i++) {
                struct pod *pod = &world->pods[i];
                if (!world_is_running(world, pod) ||
                    world->nodes[pod->node].leaves_s != world->now_s)
                        continue;
                end_pod(world, pod, on_end, userdata);
                renew(world, pod);
        }
}

static bool is_any_leaving(const struct world *world) {
        for (size_t i = 0; i < world->scenario->shape_count; i++)
                if ((int64_t)world->scenario->shapes[i].leaves_s == world->now_s)
                        return true;
        return false;
}

void world_step(struct world *world, world_end_fn *on_end, void *userdata) {
        struct pod *pod;

        world->now_s++;
        while ((pod = agenda_take(&world->agenda, world->now_s)) != NULL) {
                if (pod->has_ended)
                        continue;
                if (world_is_running(world, pod)) {
                        set_load(world, pod, load_at(pod, world->now_s),
                                 bytes_at(pod, world->now_s));
                        agenda_add(&world->agenda, next_change_s(pod, world->now_s), pod);
                        continue;
                }
                end_pod(world, pod, on_end, userdata);
        }
        if (is_any_leaving(world))
                evict_all(world, on_end, userdata);
        while (world->arrived < world->pod_count &&
               world->pods[world->arrived].arrives_s <= world->now_s)
                world->arrived++;
}

bool world_is_running(const struct world *world, const struct pod *pod) {
        return pod->node >= 0 && !pod->has_ended && world->now_s < pod->bound_s + pod->life_s;
}

bool world_has_node(const struct world *world, size_t at) {
        const struct node *node = &world->nodes[at];

        return world->now_s >= node->joins_s &&
               (node->leaves_s == 0 || world->now_s < node->leaves_s);
}

bool world_loses_exporter(const struct world *world, size_t at) {
        return chance_uniform(world->seed, 6000000 + at) < world->scenario->dead_exporters;
}

double world_base_ratio(const struct world *world, size_t at) {
        const struct node *node = &world->nodes[at];
        double wave = world->scenario->base_wave;

        if (wave <= 0)
                return node->base_ratio;
        return node->base_ratio *
               (1 + wave * sin(2 * M_PI * ((double)world->now_s / DAY_S + node->phase)));
}

double world_demand_ratio(const struct world *world, size_t at) {
        const struct node *node = &world->nodes[at];

        return world_base_ratio(world, at) + node->demand_cores / node->cores;
}

double world_mean_ratio(const struct world *world, size_t at) {
        return world_base_ratio(world, at) + world->nodes[at].mean_cores / world->nodes[at].cores;
}

double world_usage_ratio(const struct world *world, size_t at) {
        double ratio = world_demand_ratio(world, at);

        return ratio < 1 ? ratio : 1;
}

double world_memory_ratio(const struct world *world, size_t at) {
        return fmin(1, world->nodes[at].used_bytes / world->nodes[at].bytes);
}
