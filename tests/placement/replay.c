#include "replay.h"

#include <math.h>

#include "chance.h"

enum { MOMENT_PLACE = 8000000, DAY_S = 86400 };

static double request_cores(const struct stream *stream, const struct trace_series *series) {
        return series->request_cores * stream->scale / stream->overcommit;
}

double replay_mean_request(const struct stream *stream) {
        double sum = 0;

        for (size_t i = 0; i < stream->trace->count; i++)
                sum += request_cores(stream, &stream->trace->series[i]);
        return sum / (double)stream->trace->count;
}

int64_t replay_first_s(const struct stream *stream, uint64_t seed, int64_t run_s) {
        int64_t last_s = stream->trace->last_arrival_s;

        if (run_s >= last_s)
                return 0;
        return (int64_t)(chance_uniform(seed, MOMENT_PLACE) * (double)(last_s - run_s));
}

int64_t replay_moment_s(const struct trace_series *series, uint64_t seed, uint64_t pod_seed) {
        size_t days = series->count * (size_t)series->step_s / DAY_S;
        double day = floor(chance_uniform(pod_seed, MOMENT_PLACE) * (double)days);

        return (int64_t)((day + chance_uniform(seed, MOMENT_PLACE)) * DAY_S);
}

static void give_memory(struct pod *pod, const struct stream *stream, int64_t from_s) {
        const struct trace_series *series = pod->series;
        double recorded = trace_mean_bytes(stream->trace, series, from_s, pod->life_s);

        pod->request_bytes = series->request_bytes * stream->scale / stream->overcommit;
        if (series->request_bytes <= 0)
                pod->request_bytes = pod->request_cores * BYTES_PER_NODE_CORE / 2;
        pod->bytes = series->first_used == SIZE_MAX ? pod->request_bytes * stream->memory_ratio
                                                    : recorded * stream->scale;
        pod->first_bytes = pod->bytes; /* while it starts */
        pod->grown_bytes = pod->bytes;
}

void replay_give(struct pod *pod, const struct stream *stream, const struct trace_series *series,
                 int64_t moment_s, bool is_from_start) {
        int64_t from_s = is_from_start ? moment_s : moment_s + pod->arrives_s;

        pod->series = series;
        pod->moment_s = moment_s;
        pod->is_from_start = is_from_start;
        pod->request_cores = request_cores(stream, series);
        pod->cores = stream->scale * trace_mean_cores(stream->trace, series, from_s, pod->life_s);
        give_memory(pod, stream, from_s);
}

static int64_t series_time_s(const struct pod *pod, int64_t now_s) {
        return pod->moment_s + now_s - (pod->is_from_start ? pod->starts_s : 0);
}

double replay_cores_at(const struct pod *pod, int64_t now_s) {
        return pod->stream->scale *
               trace_cores_at(pod->stream->trace, pod->series, series_time_s(pod, now_s));
}

double replay_bytes_at(const struct pod *pod, int64_t now_s) {
        if (pod->series->first_used == SIZE_MAX)
                return pod->bytes;
        return pod->stream->scale *
               trace_bytes_at(pod->stream->trace, pod->series, series_time_s(pod, now_s));
}

int64_t replay_next_change_s(const struct pod *pod, int64_t now_s) {
        int64_t step_s = pod->series->step_s;

        return now_s + step_s - series_time_s(pod, now_s) % step_s;
}
