#include "world.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static const double POD_SIGMA = 0.3, TIME_SIGMA = 0.2;
static const double BYTES_PER_CORE = 4.0 * (1u << 30); /* of nodes; pods request half of it */
static const double DAY_S = 86400;

enum { REDRAW_S = 120 };

static uint64_t mix(uint64_t x) {
        x ^= x >> 30;
        x *= UINT64_C(0xbf58476d1ce4e5b9);
        x ^= x >> 27;
        x *= UINT64_C(0x94d049bb133111eb);
        return x ^ x >> 31;
}

double world_random(uint64_t seed, uint64_t place) {
        return (double)(mix(seed + UINT64_C(0x9e3779b97f4a7c15) * (place + 1)) >> 11) * 0x1p-53;
}

static double normal(uint64_t seed, uint64_t place) {
        double u = world_random(seed, 2 * place), v = world_random(seed, 2 * place + 1);

        return sqrt(-2 * log(1 - u)) * cos(2 * M_PI * v);
}

static double lognormal(uint64_t seed, uint64_t place, double sigma) {
        return exp(sigma * normal(seed, place) - sigma * sigma / 2);
}

static double exponential(uint64_t seed, uint64_t place, double mean) {
        return -mean * log(1 - world_random(seed, place));
}

/* A calendar of pods: a binary heap by time. */

struct agenda {
        struct entry {
                int64_t at_s;
                struct pod *pod;
        } * entries;
        size_t len, cap;
};

static void agenda_add(struct agenda *agenda, int64_t at_s, struct pod *pod) {
        mem_grow(&agenda->entries, agenda->len, &agenda->cap);
        size_t i = agenda->len++;
        while (i > 0 && agenda->entries[(i - 1) / 2].at_s > at_s) {
                agenda->entries[i] = agenda->entries[(i - 1) / 2];
                i = (i - 1) / 2;
        }
        agenda->entries[i] = (struct entry){at_s, pod};
}

static struct pod *agenda_take(struct agenda *agenda, int64_t now_s) {
        if (agenda->len == 0 || agenda->entries[0].at_s > now_s)
                return NULL;
        struct pod *pod = agenda->entries[0].pod;
        struct entry last = agenda->entries[--agenda->len];
        size_t i = 0;
        for (;;) {
                size_t child = 2 * i + 1;
                if (child + 1 < agenda->len &&
                    agenda->entries[child + 1].at_s < agenda->entries[child].at_s)
                        child++;
                if (child >= agenda->len || agenda->entries[child].at_s >= last.at_s)
                        break;
                agenda->entries[i] = agenda->entries[child];
                i = child;
        }
        if (agenda->len > 0)
                agenda->entries[i] = last;
        return pod;
}

/* Arrivals */

struct arrivals {
        struct world *world;
        size_t cap;
        uint64_t seed;
        uint64_t draws;
};

static double draw(struct arrivals *arrivals) {
        return world_random(arrivals->seed, arrivals->draws++);
}

static double life_of(const struct stream *stream, uint64_t seed) {
        if (stream->life_to_s > 0)
                return stream->life_from_s +
                       world_random(seed, 1) * (stream->life_to_s - stream->life_from_s);
        return exponential(seed, 1, stream->life_mean_s);
}

/* A workload's request and load are its own, whoever draws them. */
static double request_of(const struct world *world, const struct stream *stream,
                         uint32_t workload) {
        size_t i = (size_t)(world_random(world->seed, 1000000 + workload) *
                            (double)stream->request_count);

        return stream->requests_cores[i];
}

static double raw_share(const struct stream *stream, uint64_t number) {
        return stream->hot_every && number % stream->hot_every == 0 ? stream->hot_ratio
                                                                    : stream->ratio;
}

/* Whatever workloads were drawn, together they use what the stream says. */
static double share_of(const struct world *world, const struct stream *stream, uint32_t first,
                       uint64_t number) {
        double used = 0, requested = 0, wanted = 0;

        for (uint32_t w = 0; w < stream->workloads; w++) {
                double request = request_of(world, stream, first + w);
                requested += request;
                used += request * raw_share(stream, first + w);
                wanted += raw_share(stream, first + w) / (double)stream->workloads;
        }
        return raw_share(stream, number) * wanted * requested / used;
}

static double raw_cores(const struct world *world, const struct stream *stream, uint32_t workload) {
        return stream->uses_from_cores * pow(stream->uses_to_cores / stream->uses_from_cores,
                                             world_random(world->seed, 2000000 + workload));
}

/* What a workload uses whose request says nothing about it. */
static double own_cores(const struct world *world, const struct stream *stream, uint32_t first,
                        uint32_t workload) {
        double used = 0, requested = 0;

        if (stream->uses_mean_ratio <= 0)
                return raw_cores(world, stream, workload);
        for (uint32_t w = 0; w < stream->workloads; w++) {
                used += raw_cores(world, stream, first + w);
                requested += request_of(world, stream, first + w);
        }
        return raw_cores(world, stream, workload) * stream->uses_mean_ratio * requested /
               (stream->requested_ratio * used);
}

/* Over its life. */
static double mean_bytes(const struct pod *pod) {
        double life_s = (double)pod->life_s;
        double grown = life_s < pod->grows_s ? life_s / pod->grows_s / 2
                                             : 1 - pod->grows_s / life_s / 2;

        return pod->first_bytes + grown * (pod->grown_bytes - pod->first_bytes);
}

static struct pod *add_pod(struct arrivals *arrivals, const struct stream *stream, uint32_t first,
                           uint32_t workload, int64_t at_s) {
        struct world *world = arrivals->world;

        mem_grow(&world->pods, world->pod_count, &arrivals->cap);
        struct pod *pod = &world->pods[world->pod_count];
        uint64_t seed = mix(arrivals->seed ^ mix(arrivals->draws++ + 77));
        *pod = (struct pod){
                .workload = workload,
                .seed = seed,
                .node = -1,
                .arrives_s = at_s,
                .life_s = (int64_t)life_of(stream, seed) + 10,
                .spike_factor = stream->spike_factor > 0 ? stream->spike_factor : 1,
                .spike_s = stream->spike_s,
                .wave = stream->wave,
                .wave_phase = world_random(world->seed, 7000000 + workload),
                .request_cores = request_of(world, stream, workload),
        };
        uint64_t who = stream->is_per_pod ? seed >> 8 : workload;
        double mean = share_of(world, stream, first, who) * pod->request_cores;
        if (stream->uses_to_cores > 0)
                mean = own_cores(world, stream, first, workload);
        pod->cores = mean * lognormal(seed, 2, POD_SIGMA);
        pod->request_bytes = pod->request_cores * BYTES_PER_CORE / 2;
        pod->first_bytes = pod->request_bytes * stream->memory_ratio;
        pod->grown_bytes = stream->grown_every && workload % stream->grown_every == 0
                                   ? pod->request_bytes * stream->grown_ratio
                                   : pod->first_bytes;
        pod->grows_s = stream->grows_s;
        pod->bytes = mean_bytes(pod);
        world->pod_count++;
        return pod;
}

static double cluster_cores(const struct world *world) {
        double sum = 0;

        for (size_t i = 0; i < world->node_count; i++)
                sum += world->nodes[i].joins_s == 0 ? world->nodes[i].cores : 0;
        return sum;
}

static double mean_request(const struct world *world, const struct stream *stream, uint32_t first) {
        double sum = 0;

        for (uint32_t i = 0; i < stream->workloads; i++)
                sum += request_of(world, stream, first + i);
        return sum / (double)stream->workloads;
}

static uint32_t any_workload(struct arrivals *arrivals, const struct stream *stream,
                             uint32_t first) {
        return first + (uint32_t)(draw(arrivals) * (double)stream->workloads);
}

static void add_steady(struct arrivals *arrivals, const struct stream *stream, uint32_t first,
                       int64_t end_s) {
        struct world *world = arrivals->world;
        double pods = stream->requested_ratio * cluster_cores(world) /
                      mean_request(world, stream, first);
        double life = stream->life_to_s > 0 ? (stream->life_from_s + stream->life_to_s) / 2
                                            : stream->life_mean_s;

        for (size_t i = 0; i < (size_t)ceil(pods); i++)
                (void)add_pod(arrivals, stream, first, any_workload(arrivals, stream, first),
                              (int64_t)((double)i / pods * 300));
        double at = 0;
        while (at < (double)end_s) {
                (void)add_pod(arrivals, stream, first, any_workload(arrivals, stream, first),
                              (int64_t)at);
                at += -log(1 - draw(arrivals)) * life / pods;
        }
}

static void add_rollouts(struct arrivals *arrivals, const struct stream *stream, uint32_t first,
                         int64_t end_s) {
        struct world *world = arrivals->world;
        double each = stream->requested_ratio * cluster_cores(world) /
                      mean_request(world, stream, first) / (double)stream->workloads;

        for (uint32_t w = 0; w < stream->workloads; w++) {
                double at = draw(arrivals) * 300;
                while (at < (double)end_s) {
                        double next = at + 2400 - 4800 * log(1 - draw(arrivals));
                        for (size_t i = 0; i < (size_t)ceil(each); i++) {
                                struct pod *pod = add_pod(arrivals, stream, first, first + w,
                                                          (int64_t)(at + 60 * draw(arrivals)));
                                pod->life_s = (int64_t)(next + 60 * draw(arrivals)) -
                                              pod->arrives_s;
                        }
                        at = next;
                }
        }
}

static void add_bursts(struct arrivals *arrivals, const struct stream *stream, uint32_t first,
                       int64_t end_s) {
        double at = (double)arrivals->world->scenario->warm_up_s + stream->at_s;

        do {
                for (size_t i = 0; i < stream->count; i++)
                        (void)add_pod(
                                arrivals, stream, first, any_workload(arrivals, stream, first),
                                (int64_t)(at + stream->over_s * (double)i / (double)stream->count));
                at += stream->repeat_s;
        } while (stream->repeat_s > 0 && at < (double)end_s);
}

static void add_jobs(struct arrivals *arrivals, const struct stream *stream, uint32_t first,
                     int64_t end_s) {
        double at = 0;

        while (at < (double)end_s) {
                uint32_t workload = any_workload(arrivals, stream, first);
                double cores = stream->job_from_cores +
                               draw(arrivals) * (stream->job_to_cores - stream->job_from_cores);
                double when = at;
                while (cores > 0) {
                        cores -= add_pod(arrivals, stream, first, workload, (int64_t)when)
                                         ->request_cores;
                        when += 1 / stream->pods_per_s;
                }
                at += -log(1 - draw(arrivals)) * stream->every_s;
        }
}

static int compare_arrivals(const void *a, const void *b) {
        const struct pod *left = a, *right = b;

        if (left->arrives_s != right->arrives_s)
                return left->arrives_s < right->arrives_s ? -1 : 1;
        return left->seed < right->seed ? -1 : left->seed > right->seed;
}

static void draw_arrivals(struct world *world) {
        static void (*const add[])(struct arrivals *, const struct stream *, uint32_t, int64_t) = {
                [STREAM_STEADY] = add_steady,
                [STREAM_BURST] = add_bursts,
                [STREAM_JOBS] = add_jobs,
                [STREAM_ROLLOUT] = add_rollouts,
        };
        const struct scenario *scenario = world->scenario;
        struct arrivals arrivals = {.world = world, .seed = mix(world->seed + 5)};

        for (size_t i = 0; i < scenario->stream_count; i++) {
                const struct stream *stream = &scenario->streams[i];
                add[stream->kind](&arrivals, stream, (uint32_t)world->workload_count,
                                  scenario->warm_up_s + scenario->measured_s);
                world->workload_count += stream->workloads;
        }
        qsort(world->pods, world->pod_count, sizeof(*world->pods), compare_arrivals);
        for (size_t i = 0; i < world->pod_count; i++)
                world->pods[i].index = (uint32_t)i;
}

/* The world */

struct world *world_new(const struct scenario *scenario, uint64_t seed) {
        struct world *world = xcalloc(1, sizeof(*world));
        size_t at = 0;

        world->scenario = scenario;
        world->seed = seed;
        world->agenda = xcalloc(1, sizeof(*world->agenda));
        for (size_t i = 0; i < scenario->shape_count; i++)
                world->node_count += scenario->shapes[i].count;
        world->nodes = xcalloc(world->node_count, sizeof(*world->nodes));
        for (size_t i = 0; i < scenario->shape_count; i++)
                for (size_t n = 0; n < scenario->shapes[i].count; n++, at++) {
                        double draw_ratio = world_random(seed, 3000000 + at);
                        world->nodes[at] = (struct node){
                                .cores = scenario->shapes[i].cores,
                                .speed = scenario->shapes[i].speed > 0 ? scenario->shapes[i].speed
                                                                       : 1,
                                .joins_s = (int64_t)scenario->shapes[i].joins_s,
                                .leaves_s = (int64_t)scenario->shapes[i].leaves_s,
                                .bytes = scenario->shapes[i].cores * BYTES_PER_CORE,
                                .base_ratio = scenario->base_from +
                                              draw_ratio *
                                                      (scenario->base_to - scenario->base_from),
                                .phase = (double)(at % 4) / 4,
                                .zone = scenario->shapes[i].zone,
                        };
                        (void)snprintf(world->nodes[at].name, sizeof(world->nodes[at].name),
                                       "node-%zu", at);
                }
        draw_arrivals(world);
        /* Room for the renewed ones; from here on there are pointers to pods. */
        world->pods = xreallocarray(world->pods, 2 * world->pod_count + 1, sizeof(*world->pods));
        return world;
}

void world_free(struct world *world) {
        if (!world)
                return;
        free(world->agenda->entries);
        free(world->agenda);
        free(world->nodes);
        free(world->pods);
        free(world);
}

static double load_at(const struct pod *pod, int64_t now_s) {
        int64_t since_s = now_s - pod->starts_s;

        if (since_s < 0)
                return 0;
        double factor = (double)since_s < pod->spike_s ? pod->spike_factor : 1;
        if (pod->wave > 0)
                factor *= 1 + pod->wave * sin(2 * M_PI * ((double)now_s / DAY_S + pod->wave_phase));
        return pod->cores * factor *
               lognormal(pod->seed, 1000 + (uint64_t)(since_s / REDRAW_S), TIME_SIGMA);
}

static int64_t next_change_s(const struct pod *pod, int64_t now_s) {
        int64_t end_s = pod->bound_s + pod->life_s;
        int64_t since_s = now_s - pod->starts_s;
        int64_t next_s = since_s < 0 ? pod->starts_s
                                     : pod->starts_s + (since_s / REDRAW_S + 1) * REDRAW_S;

        if (since_s >= 0 && (double)since_s < pod->spike_s &&
            pod->starts_s + (int64_t)pod->spike_s < next_s)
                next_s = pod->starts_s + (int64_t)pod->spike_s;
        return next_s < end_s ? next_s : end_s;
}

static double bytes_at(const struct pod *pod, int64_t now_s) {
        double since_s = fmax(0, (double)(now_s - pod->starts_s));
        double grown = since_s < pod->grows_s ? since_s / pod->grows_s : 1;

        return pod->first_bytes + grown * (pod->grown_bytes - pod->first_bytes);
}

static void set_load(struct world *world, struct pod *pod, double cores, double bytes) {
        struct node *node = &world->nodes[pod->node];

        node->demand_cores += cores / node->speed - pod->now_cores;
        pod->now_cores = cores / node->speed;
        node->used_bytes += bytes - pod->now_bytes;
        pod->now_bytes = bytes;
}

void world_bind(struct world *world, struct pod *pod, size_t at) {
        struct node *node = &world->nodes[at];

        assert(pod->node < 0);
        pod->node = (int32_t)at;
        pod->bound_s = world->now_s;
        pod->starts_s = world->now_s + 2 + (int64_t)(world_random(pod->seed, 3) * 7);
        node->requested_cores += pod->request_cores;
        node->requested_bytes += pod->request_bytes;
        node->mean_bytes += pod->bytes;
        node->mean_cores += pod->cores / node->speed;
        node->pod_count++;
        set_load(world, pod, 0, pod->first_bytes);
        world->running++;
        agenda_add(world->agenda, pod->starts_s, pod);
}

static void end_pod(struct world *world, struct pod *pod, world_end_fn *on_end, void *userdata) {
        struct node *node = &world->nodes[pod->node];

        set_load(world, pod, 0, 0);
        node->requested_cores -= pod->request_cores;
        node->requested_bytes -= pod->request_bytes;
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
        pod->seed = mix(evicted->seed + 1);
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
        while ((pod = agenda_take(world->agenda, world->now_s)) != NULL) {
                if (pod->has_ended)
                        continue;
                if (world_is_running(world, pod)) {
                        set_load(world, pod, load_at(pod, world->now_s),
                                 bytes_at(pod, world->now_s));
                        agenda_add(world->agenda, next_change_s(pod, world->now_s), pod);
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
        return world_random(world->seed, 6000000 + at) < world->scenario->dead_exporters;
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

double world_usage_ratio(const struct world *world, size_t at) {
        double ratio = world_demand_ratio(world, at);

        return ratio < 1 ? ratio : 1;
}

double world_memory_ratio(const struct world *world, size_t at) {
        return fmin(1, world->nodes[at].used_bytes / world->nodes[at].bytes);
}
