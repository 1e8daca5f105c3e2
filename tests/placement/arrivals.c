#include "arrivals.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "chance.h"
#include "replay.h"

static const double POD_SIGMA = 0.3;

struct drawing {
        const struct scenario *scenario;
        uint64_t seed; /* of the world: workloads are drawn from it */
        uint64_t order_seed, draws;
        double cluster_cores;
        double smallest_cores; /* of a node */
        size_t first_set;      /* of the stream's workloads */
        double scale;          /* of what the stream's pods use */
        struct arrivals *arrivals;
        size_t cap;
};

static double draw(struct drawing *drawing) {
        return chance_uniform(drawing->order_seed, drawing->draws++);
}

static double life_of(const struct stream *stream, uint64_t seed) {
        if (stream->life_to_s > 0)
                return stream->life_from_s +
                       chance_uniform(seed, 1) * (stream->life_to_s - stream->life_from_s);
        return chance_exponential(seed, 1, stream->life_mean_s);
}

static int64_t start_of(const struct stream *stream, uint64_t seed) {
        double range_s = (double)(stream->start_to_s - stream->start_from_s + 1);

        return stream->start_from_s + (int64_t)(chance_uniform(seed, 3) * range_s);
}

/* A workload's request and load are its own, no matter who draws them. */
static double request_of(const struct drawing *drawing, const struct stream *stream,
                         uint32_t workload) {
        size_t i = (size_t)(chance_uniform(drawing->seed, 1000000 + workload) *
                            (double)stream->request_count);

        return stream->requests_cores[i];
}

static double raw_share(const struct stream *stream, uint64_t number) {
        return stream->hot_every && number % stream->hot_every == 0 ? stream->hot_ratio
                                                                    : stream->ratio;
}

static double raw_cores(const struct stream *stream, double chance) {
        return stream->uses_from_cores *
               pow(stream->uses_to_cores / stream->uses_from_cores, chance);
}

/* Of one workload: a request may be 0 that says nothing about it. */
static double workload_chance(const struct drawing *drawing, uint32_t workload) {
        return chance_uniform(drawing->seed, 2000000 + workload);
}

static double mean_request(const struct drawing *drawing, const struct stream *stream,
                           uint32_t first) {
        double sum = 0;

        if (stream->trace)
                return replay_mean_request(stream);
        for (uint32_t i = 0; i < stream->workloads; i++)
                sum += request_of(drawing, stream, first + i);
        return sum / (double)stream->workloads;
}

static double pods_at_any_time(const struct drawing *drawing, const struct stream *stream,
                               uint32_t first) {
        if (stream->requested_ratio <= 0)
                return (double)stream->count;
        return stream->requested_ratio * drawing->cluster_cores /
               mean_request(drawing, stream, first);
}

/* Whatever workloads were drawn, together they use what the stream says. */
static double share_scale(const struct drawing *drawing, const struct stream *stream,
                          uint32_t first) {
        double used = 0, requested = 0, wanted = 0;

        for (uint32_t w = 0; w < stream->workloads; w++) {
                double request = request_of(drawing, stream, first + w);
                requested += request;
                used += request * raw_share(stream, first + w);
                wanted += raw_share(stream, first + w) / (double)stream->workloads;
        }
        return used > 0 ? wanted * requested / used : 1;
}

static double cores_scale(const struct drawing *drawing, const struct stream *stream,
                          uint32_t first) {
        double used = 0, pods = pods_at_any_time(drawing, stream, first);

        if (stream->uses_mean_ratio <= 0)
                return 1;
        for (uint32_t w = 0; w < stream->workloads; w++)
                used += raw_cores(stream, workload_chance(drawing, first + w));
        return stream->uses_mean_ratio * drawing->cluster_cores * (double)stream->workloads /
               (pods * used);
}

static double scale_of(const struct drawing *drawing, const struct stream *stream, uint32_t first) {
        if (stream->trace)
                return 1;
        if (stream->uses_to_cores > 0)
                return cores_scale(drawing, stream, first);
        /* Pods that draw their share by themselves have the mean one, whatever they request. */
        return stream->is_per_pod ? 1 : share_scale(drawing, stream, first);
}

/* Over its life. */
static double mean_bytes(const struct pod *pod) {
        double life_s = (double)pod->life_s;
        double grown = life_s < pod->grows_s ? life_s / pod->grows_s / 2
                                             : 1 - pod->grows_s / life_s / 2;

        return pod->first_bytes + grown * (pod->grown_bytes - pod->first_bytes);
}

/* Whatever revision. */
static uint32_t set_of(const struct drawing *drawing, const struct stream *stream,
                       uint32_t workload) {
        if (stream->owner != STREAM_OF_REPLICA_SETS)
                return POD_HAS_NO_SET;
        return (uint32_t)(drawing->first_set + workload - drawing->arrivals->workload_count);
}

/* Pods differ from their workload by that. */
static double own_factor(uint64_t seed) {
        return chance_lognormal(seed, 2, POD_SIGMA);
}

void pod_draw(struct pod *pod, uint64_t seed) {
        pod->cores *= own_factor(seed) / own_factor(pod->seed);
        pod->seed = seed;
        pod->start_s = start_of(pod->stream, seed);
        pod->life_s = (int64_t)life_of(pod->stream, seed) + 1;
}

/* What it requests and uses is yet to be said. */
static struct pod *new_pod(struct drawing *drawing, const struct stream *stream, uint32_t workload,
                           int64_t at_s) {
        mem_grow(&drawing->arrivals->pods, drawing->arrivals->count, &drawing->cap);
        struct pod *pod = &drawing->arrivals->pods[drawing->arrivals->count++];
        uint64_t seed = chance_mix(chance_mix(drawing->order_seed) ^
                                   chance_mix(drawing->draws++ + 77));
        assert(seed != 0); /* it is the pod's id, and 0 is none */
        *pod = (struct pod){
                .workload = workload,
                .set = set_of(drawing, stream, workload),
                .is_bare = stream->owner == STREAM_OF_NOBODY,
                .seed = seed,
                .node = -1,
                .arrives_s = at_s,
                .start_s = start_of(stream, seed),
                .life_s = (int64_t)life_of(stream, seed) + 1,
                .bound_s = -1,
                .stream = stream,
                .spike_factor = stream->spike_factor > 0 ? stream->spike_factor : 1,
                .spike_s = stream->spike_s,
                .scaled_factor = 1,
                .wave = stream->wave,
                .wave_phase = chance_uniform(drawing->seed, 7000000 + workload),
        };
        return pod;
}

/* Without what is its own, and not its workload's. */
static double mean_cores(const struct drawing *drawing, const struct pod *pod) {
        const struct stream *stream = pod->stream;
        uint64_t who = stream->is_per_pod ? pod->seed >> 8 : pod->workload;
        double chance = stream->is_per_pod ? chance_uniform(pod->seed, 6)
                                           : workload_chance(drawing, pod->workload);

        if (stream->uses_to_cores > 0)
                return drawing->scale * raw_cores(stream, chance);
        return drawing->scale * raw_share(stream, who) * pod->request_cores;
}

/* Few use many times the mean, but none more than half of the smallest node. */
static double giant_factor(const struct drawing *drawing, const struct pod *pod, double cores) {
        double index = pod->stream->pareto;

        if (index <= 0)
                return 1;
        double factor = (index - 1) / index * pow(1 - chance_uniform(pod->seed, 7), -1 / index);
        return fmin(factor, drawing->smallest_cores / 2 / cores);
}

static bool is_released(const struct drawing *drawing, const struct pod *pod) {
        const struct stream *stream = pod->stream;

        return stream->release_factor > 0 && pod->workload % stream->release_every == 0 &&
               pod->arrives_s >= drawing->scenario->warm_up_s + stream->release_s;
}

/* Of the request; where nothing is requested, as if it requested what it uses. */
static void give_memory(struct pod *pod, double cores) {
        const struct stream *stream = pod->stream;
        bool is_grown = stream->grown_every && pod->workload % stream->grown_every == 0;
        double whole_bytes = pod->request_bytes > 0 ? pod->request_bytes
                                                    : cores * BYTES_PER_NODE_CORE / 2;

        pod->first_bytes = whole_bytes * stream->memory_ratio;
        pod->grown_bytes = is_grown ? whole_bytes * stream->grown_ratio : pod->first_bytes;
        pod->grows_s = stream->grows_s;
        pod->bytes = mean_bytes(pod);
}

static struct pod *add_pod(struct drawing *drawing, const struct stream *stream, uint32_t workload,
                           int64_t at_s) {
        struct pod *pod = new_pod(drawing, stream, workload, at_s);

        pod->request_cores = request_of(drawing, stream, workload);
        pod->request_bytes = pod->request_cores * BYTES_PER_NODE_CORE / 2;
        double cores = mean_cores(drawing, pod);
        give_memory(pod, cores);
        cores *= own_factor(pod->seed);
        if (is_released(drawing, pod))
                cores *= stream->release_factor;
        pod->cores = cores * giant_factor(drawing, pod, cores);
        return pod;
}

static uint32_t any_workload(struct drawing *drawing, const struct stream *stream, uint32_t first) {
        return first + (uint32_t)(draw(drawing) * (double)stream->workloads);
}

/* A random one of the stream's. */
static void add_any(struct drawing *drawing, const struct stream *stream, uint32_t first,
                    int64_t at_s) {
        const struct trace *trace = stream->trace;

        if (!trace) {
                (void)add_pod(drawing, stream, any_workload(drawing, stream, first), at_s);
                return;
        }
        const struct trace_series *series =
                &trace->series[(size_t)(draw(drawing) * (double)trace->count)];
        struct pod *pod = new_pod(drawing, stream, first + series->workload, at_s);
        replay_give(pod, stream, series, replay_moment_s(series, drawing->seed, pod->seed), false);
}

static void add_steady(struct drawing *drawing, const struct stream *stream, uint32_t first,
                       int64_t end_s) {
        double pods = pods_at_any_time(drawing, stream, first);
        double life = stream->life_to_s > 0 ? (stream->life_from_s + stream->life_to_s) / 2
                                            : stream->life_mean_s;
        double start = (double)(stream->start_from_s + stream->start_to_s) / 2;

        for (size_t i = 0; i < (size_t)ceil(pods); i++)
                add_any(drawing, stream, first, (int64_t)((double)i / pods * 300));
        double at = 0;
        while (at < (double)end_s) {
                add_any(drawing, stream, first, (int64_t)at);
                at += -log(1 - draw(drawing)) * (life + start) / pods;
        }
}

static void add_rollouts(struct drawing *drawing, const struct stream *stream, uint32_t first,
                         int64_t end_s) {
        double each = pods_at_any_time(drawing, stream, first) / (double)stream->workloads;

        for (uint32_t w = 0; w < stream->workloads; w++) {
                double at = draw(drawing) * 300;
                while (at < (double)end_s) {
                        double next = at + 2400 - 4800 * log(1 - draw(drawing));
                        uint32_t set = (uint32_t)drawing->arrivals->set_count++;
                        for (size_t i = 0; i < (size_t)ceil(each); i++) {
                                struct pod *pod = add_pod(drawing, stream, first + w,
                                                          (int64_t)(at + 60 * draw(drawing)));
                                if (pod->set != POD_HAS_NO_SET)
                                        pod->set = set;
                                pod->life_s = (int64_t)(next + 60 * draw(drawing)) - pod->arrives_s;
                        }
                        at = next;
                }
        }
}

/* The first replicas, at once: few of them would have to bear the load of all. */
static void add_replicas(struct drawing *drawing, const struct stream *stream, uint32_t first,
                         int64_t end_s) {
        double each = pods_at_any_time(drawing, stream, first) / (double)stream->workloads;

        (void)end_s;
        for (uint32_t w = 0; w < stream->workloads; w++)
                for (size_t i = 0; i < (size_t)ceil(each); i++)
                        (void)add_pod(drawing, stream, first + w, 0);
}

static void add_bursts(struct drawing *drawing, const struct stream *stream, uint32_t first,
                       int64_t end_s) {
        double at = (double)drawing->scenario->warm_up_s + stream->at_s;

        do {
                for (size_t i = 0; i < stream->count; i++)
                        (void)add_pod(
                                drawing, stream, any_workload(drawing, stream, first),
                                (int64_t)(at + stream->over_s * (double)i / (double)stream->count));
                at += stream->repeat_s;
        } while (stream->repeat_s > 0 && at < (double)end_s);
}

static void add_jobs(struct drawing *drawing, const struct stream *stream, uint32_t first,
                     int64_t end_s) {
        double at = 0;

        while (at < (double)end_s) {
                uint32_t workload = any_workload(drawing, stream, first);
                double cores = stream->job_from_cores +
                               draw(drawing) * (stream->job_to_cores - stream->job_from_cores);
                double when = at;
                uint32_t gang = stream->is_gang ? (uint32_t)++drawing->arrivals->gang_count : 0;
                while (cores > 0) {
                        struct pod *pod = add_pod(drawing, stream, workload, (int64_t)when);
                        pod->gang = gang;
                        cores -= pod->request_cores;
                        when += gang == 0 ? 1 / stream->pods_per_s : 0;
                }
                at += -log(1 - draw(drawing)) * stream->every_s;
        }
}

/* Those that run when it begins are there soon, for what is left of them. */
static void add_recorded(struct drawing *drawing, const struct stream *stream, uint32_t first,
                         int64_t end_s) {
        int64_t begins_s = replay_first_s(stream, drawing->seed, end_s);

        for (size_t i = 0; i < stream->trace->count; i++) {
                const struct trace_series *series = &stream->trace->series[i];
                int64_t at_s = series->arrives_s - begins_s;
                int64_t before_s = at_s < 0 ? -at_s : 0;
                if (at_s >= end_s || before_s >= series->lasts_s)
                        continue;
                struct pod *pod = new_pod(drawing, stream, first + series->workload,
                                          before_s > 0 ? 0 : at_s);
                pod->life_s = series->lasts_s - before_s + 1;
                replay_give(pod, stream, series, before_s, true);
        }
}

static void add_replayed(struct drawing *drawing, const struct stream *stream, uint32_t first,
                         int64_t end_s) {
        if (stream->is_as_recorded)
                add_recorded(drawing, stream, first, end_s);
        else
                add_steady(drawing, stream, first, end_s);
}

static int compare_arrivals(const void *a, const void *b) {
        const struct pod *left = a, *right = b;

        if (left->arrives_s != right->arrives_s)
                return left->arrives_s < right->arrives_s ? -1 : 1;
        return left->seed < right->seed ? -1 : left->seed > right->seed;
}

static double cores_at_first(const struct scenario *scenario) {
        double sum = 0;

        for (size_t i = 0; i < scenario->shape_count; i++)
                if (scenario->shapes[i].joins_s <= 0)
                        sum += (double)scenario->shapes[i].count * scenario->shapes[i].cores;
        return sum;
}

static double smallest_cores(const struct scenario *scenario) {
        double least = INFINITY;

        for (size_t i = 0; i < scenario->shape_count; i++)
                least = fmin(least, scenario->shapes[i].cores);
        return least;
}

struct arrivals arrivals_draw(const struct scenario *scenario, uint64_t seed) {
        static void (*const add[])(struct drawing *, const struct stream *, uint32_t, int64_t) = {
                [STREAM_STEADY] = add_steady,   [STREAM_BURST] = add_bursts,
                [STREAM_JOBS] = add_jobs,       [STREAM_ROLLOUT] = add_rollouts,
                [STREAM_SCALED] = add_replicas, [STREAM_REPLAY] = add_replayed,
        };
        struct arrivals arrivals = {0};
        struct drawing drawing = {
                .scenario = scenario,
                .seed = seed,
                .order_seed = chance_mix(seed + 5),
                .cluster_cores = cores_at_first(scenario),
                .smallest_cores = smallest_cores(scenario),
                .arrivals = &arrivals,
        };

        for (size_t i = 0; i < scenario->stream_count; i++) {
                const struct stream *stream = &scenario->streams[i];
                drawing.first_set = arrivals.set_count;
                drawing.scale = scale_of(&drawing, stream, (uint32_t)arrivals.workload_count);
                arrivals.set_count += stream->workloads;
                add[stream->kind](&drawing, stream, (uint32_t)arrivals.workload_count,
                                  scenario->warm_up_s + scenario->measured_s);
                arrivals.workload_count += stream->workloads;
        }
        if (arrivals.count > 0)
                qsort(arrivals.pods, arrivals.count, sizeof(*arrivals.pods), compare_arrivals);
        for (size_t i = 0; i < arrivals.count; i++)
                arrivals.pods[i].index = (uint32_t)i;
        return arrivals;
}
