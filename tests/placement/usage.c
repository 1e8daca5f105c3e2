#include "usage.h"

#include <math.h>

#include "chance.h"
#include "replay.h"

enum { DAY_S = 86400, NOISE_PLACE = 1000, GROWTH_PLACE = 900 };

static bool has_hours(const struct pod *pod) {
        const struct stream *stream = pod->stream;

        return stream->hours_to_s > 0 && pod->workload % stream->hours_every == 0;
}

static double hours_factor(const struct pod *pod, int64_t now_s) {
        int64_t hour_s = now_s % DAY_S;

        return has_hours(pod) && hour_s >= pod->stream->hours_from_s &&
                               hour_s < pod->stream->hours_to_s
                       ? pod->stream->hours_factor
                       : 1;
}

static double growth_factor(const struct pod *pod, int64_t since_s) {
        const struct stream *stream = pod->stream;

        return since_s >= stream->growth_after_s &&
                               chance_uniform(pod->seed, GROWTH_PLACE) < stream->growth_ratio
                       ? stream->growth_factor
                       : 1;
}

double usage_cores_at(const struct pod *pod, int64_t now_s) {
        int64_t since_s = now_s - pod->starts_s;

        if (since_s < 0)
                return 0;
        if (pod->series)
                return replay_cores_at(pod, now_s);
        double factor = (double)since_s < pod->spike_s ? pod->spike_factor : 1;
        if (pod->wave > 0)
                factor *= 1 + pod->wave * sin(2 * M_PI * ((double)now_s / DAY_S + pod->wave_phase));
        uint64_t noise = NOISE_PLACE + (uint64_t)(since_s / pod->stream->noise_every_s);
        return pod->cores * pod->scaled_factor * factor * hours_factor(pod, now_s) *
               growth_factor(pod, since_s) *
               chance_lognormal(pod->seed, noise, pod->stream->noise_sigma);
}

double usage_bytes_at(const struct pod *pod, int64_t now_s) {
        double since_s = fmax(0, (double)(now_s - pod->starts_s));
        double grown = since_s < pod->grows_s ? since_s / pod->grows_s : 1;

        if (now_s < pod->starts_s)
                return 0;
        if (pod->series)
                return replay_bytes_at(pod, now_s);
        return pod->first_bytes + grown * (pod->grown_bytes - pod->first_bytes);
}

static int64_t sooner(int64_t a, int64_t b) {
        return a < b ? a : b;
}

/* The next time that it is this late in a day. */
static int64_t next_hour_s(int64_t now_s, int64_t hour_s) {
        return now_s + 1 + ((hour_s - now_s - 1) % DAY_S + DAY_S) % DAY_S;
}

int64_t usage_next_change_s(const struct pod *pod, int64_t now_s) {
        const struct stream *stream = pod->stream;
        int64_t since_s = now_s - pod->starts_s, spike_s = (int64_t)pod->spike_s;

        if (since_s < 0)
                return pod->starts_s;
        if (pod->series)
                return replay_next_change_s(pod, now_s);
        int64_t next_s = pod->starts_s +
                         (since_s / stream->noise_every_s + 1) * stream->noise_every_s;
        if (since_s < stream->growth_after_s)
                next_s = sooner(next_s, pod->starts_s + stream->growth_after_s);
        if (since_s < spike_s)
                next_s = sooner(next_s, pod->starts_s + spike_s);
        if (has_hours(pod)) {
                next_s = sooner(next_s, next_hour_s(now_s, stream->hours_from_s));
                next_s = sooner(next_s, next_hour_s(now_s, stream->hours_to_s));
        }
        return next_s;
}
