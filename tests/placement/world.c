#include "world.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "chance.h"
#include "policy/estimate/pod_load.h"
#include "usage.h"

enum { MAX_PODS_OF_NODE = 110, MOST_EVICTED = 20, MOST_ADDED = 40 };

static const double DAY_S = 86400, BYTES_PER_GIB = 1u << 30;

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

static void gather_gangs(struct world *world) {
        for (size_t i = 0; i < world->pod_count; i++) {
                struct pod *pod = &world->pods[i];
                if (pod->gang == 0)
                        continue;
                pod->next_of_gang = world->gangs[pod->gang].first;
                world->gangs[pod->gang].first = pod;
                world->gangs[pod->gang].missing++;
        }
}

/* Each time that nodes leave, a pod or the one that took its place may be evicted; an evictor may
 * evict MOST_EVICTED times as many, and autoscalers may add MOST_ADDED times as many. */
static size_t most_renewed(const struct world *world) {
        size_t times = MOST_EVICTED;

        for (size_t i = 0; i < world->scenario->stream_count; i++)
                if (world->scenario->streams[i].kind == STREAM_SCALED)
                        times = MOST_EVICTED + MOST_ADDED;
        for (size_t i = 0; i < world->scenario->shape_count; i++)
                times += world->scenario->shapes[i].leaves_s > 0;
        return times * world->pod_count;
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
                                .shared_ratio = scenario->shapes[i].shared_ratio,
                                .bytes = scenario->shapes[i].cores * BYTES_PER_NODE_CORE,
                                .allocatable = rounded(&(struct pod_load){
                                        {scenario->shapes[i].cores,
                                         scenario->shapes[i].cores * BYTES_PER_NODE_CORE}}),
                                .base_ratio = scenario->base_from +
                                              draw_ratio *
                                                      (scenario->base_to - scenario->base_from),
                                .phase = (double)(at % 4) / 4,
                                .zone = scenario->shapes[i].zone,
                                .exporter_s = (int64_t)(scenario->shapes[i].joins_s +
                                                        scenario->shapes[i].exporter_s),
                                .busy_until_s = (int64_t)(scenario->shapes[i].joins_s +
                                                          scenario->shapes[i].busy_s),
                                .busy_ratio = scenario->shapes[i].busy_ratio,
                                .used_bytes = scenario->base_gib * BYTES_PER_GIB,
                                .mean_bytes = scenario->base_gib * BYTES_PER_GIB,
                        };
                        (void)snprintf(world->nodes[at].name, sizeof(world->nodes[at].name),
                                       "node-%zu", at);
                }
        struct arrivals arrivals = arrivals_draw(scenario, seed);
        world->pod_count = arrivals.count;
        world->workload_count = arrivals.workload_count;
        world->set_count = arrivals.set_count;
        world->gangs = xcalloc(arrivals.gang_count + 1, sizeof(*world->gangs));
        /* Room for the renewed ones; from here on there are pointers to pods. */
        world->pods = xreallocarray(arrivals.pods, world->pod_count + most_renewed(world) + 1,
                                    sizeof(*world->pods));
        gather_gangs(world);
        return world;
}

void world_free(struct world *world) {
        if (!world)
                return;
        agenda_done(&world->agenda);
        free(world->gangs);
        free(world->nodes);
        free(world->pods);
        free(world);
}

static void hear(world_pod_fn *fn, const struct world *world, struct pod *pod) {
        if (fn)
                fn(world->listener.userdata, pod);
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

static void bind(struct world *world, struct pod *pod) {
        pod->bound_s = world->now_s;
        pod->starts_s = pod->bound_s + pod->start_s;
        pod->ends_s = pod->starts_s + pod->life_s;
        agenda_add(&world->agenda, pod->starts_s, pod);
        hear(world->listener.on_bound, world, pod);
}

void world_place(struct world *world, struct pod *pod, size_t at) {
        struct node *node = &world->nodes[at];
        struct gang *gang = &world->gangs[pod->gang];

        assert(pod->node < 0);
        pod->node = (int32_t)at;
        count_requests(node, pod, 1);
        node->mean_bytes += pod->bytes;
        node->mean_cores += pod->cores / node->speed;
        node->pod_count++;
        if (pod->gang == 0)
                bind(world, pod);
        else if (--gang->missing == 0)
                for (struct pod *each = gang->first; each; each = each->next_of_gang)
                        bind(world, each);
}

static void end_pod(struct world *world, struct pod *pod) {
        struct node *node = &world->nodes[pod->node];

        set_load(world, pod, 0, 0);
        count_requests(node, pod, -1);
        node->mean_bytes -= pod->bytes;
        node->mean_cores -= pod->cores / node->speed;
        node->pod_count--;
        pod->has_ended = true;
        hear(world->listener.on_ended, world, pod);
}

static struct pod *copy(struct world *world, const struct pod *like) {
        assert(world->renewed < most_renewed(world));
        struct pod *pod = &world->pods[world->pod_count + world->renewed];
        *pod = *like;
        pod->index = (uint32_t)(world->pod_count + world->renewed++);
        pod->arrives_s = world->now_s;
        pod->node = -1;
        pod->bound_s = -1;
        pod->has_ended = false;
        pod->now_cores = pod->now_bytes = 0;
        return pod;
}

/* Another pod of the workload lives for what was left. */
static struct pod *renew(struct world *world, const struct pod *evicted) {
        struct pod *pod = copy(world, evicted);

        pod->seed = chance_mix(evicted->seed + 1);
        pod->life_s = evicted->ends_s - world->now_s;
        pod->follows_eviction = false;
        return pod;
}

void world_add(struct world *world, const struct pod *like) {
        struct pod *pod = copy(world, like);

        pod_draw(pod, chance_mix(like->seed + pod->index + 1));
}

void world_remove(struct world *world, struct pod *pod) {
        assert(pod->gang == 0);
        if (pod->node < 0)
                pod->has_ended = true;
        else
                end_pod(world, pod);
}

bool world_evict(struct world *world, struct pod *pod) {
        assert(pod->gang == 0);
        if (world->evicted == MOST_EVICTED * world->pod_count)
                return false;
        world->evicted++;
        end_pod(world, pod);
        renew(world, pod)->follows_eviction = true;
        return true;
}

static void evict_leaving(struct world *world) {
        size_t count = world->pod_count + world->renewed;

        for (size_t i = 0; i < count; i++) {
                struct pod *pod = &world->pods[i];
                if (!world_is_running(world, pod) ||
                    world->nodes[pod->node].leaves_s != world->now_s)
                        continue;
                end_pod(world, pod);
                renew(world, pod);
        }
}

static bool is_any_leaving(const struct world *world) {
        for (size_t i = 0; i < world->scenario->shape_count; i++)
                if ((int64_t)world->scenario->shapes[i].leaves_s == world->now_s)
                        return true;
        return false;
}

/* It ends when it has had the CPU time. */
static void prolong(const struct world *world, struct pod *pod) {
        double lost_s = world->nodes[pod->node].lost_s;

        if (world->now_s == pod->starts_s)
                pod->lost_before_s = lost_s;
        if (pod->stream->is_life_of_cpu)
                pod->ends_s = pod->starts_s + pod->life_s + (int64_t)(lost_s - pod->lost_before_s);
}

/* It starts, uses something else from now on, or ends. */
static void change(struct world *world, struct pod *pod) {
        prolong(world, pod);
        if (!world_is_running(world, pod)) {
                end_pod(world, pod);
                return;
        }
        set_load(world, pod, usage_cores_at(pod, world->now_s), usage_bytes_at(pod, world->now_s));
        int64_t next_s = usage_next_change_s(pod, world->now_s);
        agenda_add(&world->agenda, next_s < pod->ends_s ? next_s : pod->ends_s, pod);
        if (world->now_s == pod->starts_s)
                hear(world->listener.on_started, world, pod);
}

void world_scale_load(struct world *world, struct pod *pod, double factor) {
        pod->scaled_factor = factor;
        set_load(world, pod, usage_cores_at(pod, world->now_s), usage_bytes_at(pod, world->now_s));
}

static void throttle(const struct world *world) {
        for (size_t n = 0; n < world->node_count; n++) {
                double demand = world_demand_ratio(world, n);
                world->nodes[n].lost_s += demand > 1 ? 1 - 1 / demand : 0;
        }
}

void world_step(struct world *world) {
        struct pod *pod;

        throttle(world);
        world->now_s++;
        while ((pod = agenda_take(&world->agenda, world->now_s)) != NULL)
                if (!pod->has_ended)
                        change(world, pod);
        if (is_any_leaving(world))
                evict_leaving(world);
        while (world->arrived < world->pod_count &&
               world->pods[world->arrived].arrives_s <= world->now_s)
                world->arrived++;
}

bool world_is_running(const struct world *world, const struct pod *pod) {
        return pod->bound_s >= 0 && !pod->has_ended && world->now_s < pod->ends_s;
}

bool world_has_exporter(const struct world *world, size_t at) {
        return world_has_node(world, at) && world->now_s >= world->nodes[at].exporter_s &&
               !world->nodes[at].is_exporter_dead;
}

bool world_has_node(const struct world *world, size_t at) {
        const struct node *node = &world->nodes[at];

        return world->now_s >= node->joins_s &&
               (node->leaves_s == 0 || world->now_s < node->leaves_s);
}

bool world_has_room(const struct world *world, size_t at, const struct pod_request *request) {
        const struct node *node = &world->nodes[at];

        return world_has_node(world, at) && node->pod_count < MAX_PODS_OF_NODE &&
               (request->milli_cores == 0 || node->requested.milli_cores + request->milli_cores <=
                                                     node->allocatable.milli_cores) &&
               (request->bytes == 0 ||
                node->requested.bytes + request->bytes <= node->allocatable.bytes);
}

bool world_loses_exporter(const struct world *world, size_t at) {
        return chance_uniform(world->seed, 6000000 + at) < world->scenario->dead_exporters;
}

double world_base_ratio(const struct world *world, size_t at) {
        const struct node *node = &world->nodes[at];
        double wave = world->scenario->base_wave;
        double busy = world->now_s < node->busy_until_s ? node->busy_ratio : 0;

        if (wave > 0)
                wave *= sin(2 * M_PI * ((double)world->now_s / DAY_S + node->phase));
        return busy + node->base_ratio * (1 + wave);
}

/* What pods want, if each had its CPUs to itself. */
static double wanted_ratio(const struct world *world, size_t at, double cores) {
        return world_base_ratio(world, at) + cores / world->nodes[at].cores;
}

/* CPUs that are busy by the ratio u do (1 - shared u) of the work of as many that are alone. */
static double busy_ratio(const struct node *node, double wanted) {
        double shared = node->shared_ratio;

        if (shared <= 0)
                return wanted;
        if (wanted >= 1 - shared)
                return wanted / (1 - shared);
        return (1 - sqrt(1 - 4 * shared * wanted)) / (2 * shared);
}

double world_demand_ratio(const struct world *world, size_t at) {
        const struct node *node = &world->nodes[at];

        return busy_ratio(node, wanted_ratio(world, at, node->demand_cores));
}

double world_slowdown(const struct world *world, size_t at) {
        const struct node *node = &world->nodes[at];
        double demand = world_demand_ratio(world, at);

        return fmax(demand, 1) * (1 - node->shared_ratio * fmin(demand, 1));
}

double world_mean_ratio(const struct world *world, size_t at) {
        const struct node *node = &world->nodes[at];

        return busy_ratio(node, wanted_ratio(world, at, node->mean_cores));
}

double world_usage_ratio(const struct world *world, size_t at) {
        double ratio = world_demand_ratio(world, at);

        return ratio < 1 ? ratio : 1;
}

double world_memory_ratio(const struct world *world, size_t at) {
        return fmin(1, world->nodes[at].used_bytes / world->nodes[at].bytes);
}
