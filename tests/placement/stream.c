#include "stream.h"

#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "fields.h"

enum { DAY_S = 86400, NOISE_SIGMA_MAX = 2 };

static const struct stream defaults = {
        .memory_ratio = 0.8,
        .noise_sigma = 0.2,
        .noise_every_s = 120,
        .start_from_s = 2,
        .start_to_s = 8,
        .hours_factor = 1,
        .hours_every = 1,
        .release_every = 1,
        .scale = 1,
        .overcommit = 1,
};

static int read_requests(const struct tree_node *pods, struct stream *stream, struct error *err) {
        const struct tree_node *list = tree_get(pods, "requests");

        if (!list || list->kind != TREE_LIST || list->count == 0 ||
            list->count > WORLD_MAX_REQUESTS)
                return fields_refuse(list ? list : pods, "requests", "1 to 8 numbers of cores",
                                     err);
        stream->request_count = list->count;
        for (size_t i = 0; i < list->count; i++) {
                const struct tree_node *item = &list->items[i];
                if (item->kind != TREE_SCALAR ||
                    !number_parse(item->text, item->text_len, &stream->requests_cores[i]) ||
                    stream->requests_cores[i] < 0)
                        return fields_refuse(item, "requests", "cores >= 0", err);
        }
        return 0;
}

/* Return: its index; count when it is none of them */
static size_t choice_of(const char *text, const char *const *names, size_t count) {
        size_t i = 0;

        while (i < count && strcmp(text, names[i]) != 0)
                i++;
        return i;
}

static int read_kind(const struct tree_node *pods, struct stream *ret, struct error *err) {
        static const char *const kinds[] = {
                [STREAM_STEADY] = "steady", [STREAM_BURST] = "burst",
                [STREAM_JOBS] = "jobs",     [STREAM_ROLLOUT] = "rollout",
                [STREAM_SCALED] = "scaled", [STREAM_REPLAY] = "replay",
        };
        size_t kind = choice_of(fields_text(pods, "kind"), kinds, ARRAY_LEN(kinds));

        if (kind == ARRAY_LEN(kinds))
                return fields_refuse(pods, "kind", "steady, burst, jobs, rollout, scaled or replay",
                                     err);
        ret->kind = (unsigned)kind;
        return 0;
}

static int read_owner(const struct tree_node *pods, struct stream *ret, struct error *err) {
        static const char *const owners[] = {[STREAM_OF_REPLICA_SETS] = "replicaSet",
                                             [STREAM_OF_JOBS] = "job",
                                             [STREAM_OF_NOBODY] = "none"};
        size_t owner = ret->kind == STREAM_JOBS ? STREAM_OF_JOBS : STREAM_OF_REPLICA_SETS;

        if (tree_get(pods, "owner"))
                owner = choice_of(fields_text(pods, "owner"), owners, ARRAY_LEN(owners));
        if (owner == ARRAY_LEN(owners))
                return fields_refuse(tree_get(pods, "owner"), "owner", "replicaSet, job or none",
                                     err);
        ret->owner = (unsigned)owner;
        return 0;
}

/* What every kind has. */
static int check_times(const struct tree_node *pods, const struct stream *stream,
                       struct error *err) {
        const struct field_rule rules[] = {
                {stream->life_to_s > 0 &&
                         (stream->life_from_s > stream->life_to_s || stream->life_mean_s > 0),
                 "life", "from <= to, and no mean"},
                {stream->start_from_s > stream->start_to_s, "start", "from <= to"},
        };

        return fields_check(pods, rules, ARRAY_LEN(rules), err);
}

/* What it uses was recorded: nothing else may be said about that. */
static int read_replay(const struct tree_node *pods, struct stream *ret, struct error *err) {
        struct field life[] = {
                {"mean", FIELD_SECONDS, &ret->life_mean_s, 0},
                {"from", FIELD_SECONDS, &ret->life_from_s, 0},
                {"to", FIELD_SECONDS, &ret->life_to_s, 0},
        };
        struct field start[] = {
                {"from", FIELD_WHOLE_SECONDS, &ret->start_from_s, 0},
                {"to", FIELD_WHOLE_SECONDS, &ret->start_to_s, 0},
        };
        const struct field fields[] = {
                {"kind", FIELD_OTHER, NULL, 0},
                {"owner", FIELD_OTHER, NULL, 0},
                {"trace", FIELD_OTHER, NULL, 0},
                {"scale", FIELD_NUMBER, &ret->scale, 0},
                {"overcommit", FIELD_NUMBER, &ret->overcommit, 0},
                {"requested", FIELD_NUMBER, &ret->requested_ratio, 0},
                {"life", FIELD_MAP, life, ARRAY_LEN(life)},
                {"start", FIELD_MAP, start, ARRAY_LEN(start)},
        };
        const char *name = fields_text(pods, "trace");

        int r = fields_read(pods, "pods", fields, ARRAY_LEN(fields), err);
        if (r < 0)
                return r;
        if (*name == '\0' || strlen(name) >= sizeof(ret->trace_name) || strchr(name, '/'))
                return fields_refuse(pods, "trace", "the name of a trace", err);
        if (ret->scale <= 0 || ret->overcommit <= 0)
                return fields_refuse(pods, "pods", "scale > 0 and overcommit > 0", err);
        ret->is_as_recorded = ret->life_mean_s <= 0 && ret->life_to_s <= 0;
        if (ret->is_as_recorded != (ret->requested_ratio <= 0))
                return fields_refuse(pods, "pods", "life and requested, or none of them", err);
        (void)snprintf(ret->trace_name, sizeof(ret->trace_name), "%s", name);
        return check_times(pods, ret, err);
}

static bool may_request_nothing(const struct stream *stream) {
        for (size_t i = 0; i < stream->request_count; i++)
                if (stream->requests_cores[i] <= 0)
                        return true;
        return false;
}

static int check_kind(const struct tree_node *pods, const struct stream *stream,
                      struct error *err) {
        bool is_burst = stream->kind == STREAM_BURST, are_jobs = stream->kind == STREAM_JOBS;
        bool is_scaled = stream->kind == STREAM_SCALED;
        bool is_filled = !is_burst && !are_jobs, has_zero = may_request_nothing(stream);
        const struct field_rule rules[] = {
                {!is_burst && tree_get(pods, "burst"), "burst", "another kind"},
                {is_filled && (stream->requested_ratio > 0) == (stream->count > 0), "requested",
                 "a share of the cluster, or a count in its place"},
                {is_filled && has_zero && stream->count == 0, "requested",
                 "a count in its place, where requests may be 0"},
                {!is_filled && tree_get(pods, "count"), "count", "steady, rollout or scaled"},
                {!is_filled && stream->requested_ratio > 0, "requested",
                 "steady, rollout or scaled"},
                {!is_filled && stream->uses_mean_ratio > 0, "usage",
                 "a mean of steady, rollout or scaled"},
                {is_scaled && has_zero, "requests", "above 0, which an autoscaler needs"},
                {is_scaled && (stream->is_per_pod || stream->pareto > 0), "usage",
                 "a workload's own, since its replicas share it"},
                {is_scaled && tree_get(pods, "release"), "release", "another kind"},
                {is_burst && stream->count == 0, "burst", "pods"},
                {are_jobs && (stream->every_s <= 0 || stream->job_to_cores <= 0 || has_zero),
                 "jobs", "every, toCores, and requests above 0"},
                {are_jobs && (stream->pods_per_s > 0) == stream->is_gang, "jobs",
                 "podsPerSecond or gang"},
                {!are_jobs && tree_get(pods, "jobs"), "jobs", "another kind"},
                {has_zero && stream->uses_to_cores <= 0, "usage",
                 "fromCores and toCores, where requests may be 0"},
        };

        return fields_check(pods, rules, ARRAY_LEN(rules), err);
}

static int check_usage(const struct tree_node *pods, const struct stream *stream,
                       struct error *err) {
        const struct field_rule rules[] = {
                {stream->workloads == 0, "workloads", "at least 1"},
                {stream->life_mean_s <= 0 && stream->life_to_s <= 0, "life",
                 "a mean, or from and to"},
                {stream->noise_every_s < 1 || stream->noise_sigma > NOISE_SIGMA_MAX, "noise",
                 "sigma from 0 to 2, and every >= 1s"},
                {stream->uses_from_cores > stream->uses_to_cores ||
                         (stream->uses_to_cores > 0 && stream->uses_from_cores <= 0),
                 "usage", "0 < fromCores <= toCores"},
                {stream->pareto > 0 && stream->pareto <= 1, "usage", "pareto > 1"},
                {stream->wave > 1, "usage", "wave from 0 to 1"},
                {tree_get(pods, "hours") &&
                         (stream->hours_from_s >= stream->hours_to_s ||
                          stream->hours_to_s > DAY_S || stream->hours_every == 0),
                 "hours", "from < to <= 24h, and every >= 1"},
                {tree_get(pods, "release") &&
                         (stream->release_factor <= 0 || stream->release_every == 0),
                 "release", "factor > 0, and every >= 1"},
                {tree_get(pods, "growth") &&
                         (stream->growth_factor <= 0 || stream->growth_ratio > 1 ||
                          stream->growth_after_s <= 0),
                 "growth", "factor > 0, after > 0, and a share"},
        };

        return fields_check(pods, rules, ARRAY_LEN(rules), err);
}

static int read_drawn(const struct tree_node *pods, struct stream *ret, struct error *err) {
        struct field usage[] = {
                {"share", FIELD_NUMBER, &ret->ratio, 0},
                {"hotShare", FIELD_NUMBER, &ret->hot_ratio, 0},
                {"hotEvery", FIELD_COUNT, &ret->hot_every, 0},
                {"perPod", FIELD_BOOL, &ret->is_per_pod, 0},
                {"fromCores", FIELD_NUMBER, &ret->uses_from_cores, 0},
                {"toCores", FIELD_NUMBER, &ret->uses_to_cores, 0},
                {"mean", FIELD_NUMBER, &ret->uses_mean_ratio, 0},
                {"wave", FIELD_NUMBER, &ret->wave, 0},
                {"pareto", FIELD_NUMBER, &ret->pareto, 0},
        };
        struct field noise[] = {
                {"sigma", FIELD_NUMBER, &ret->noise_sigma, 0},
                {"every", FIELD_WHOLE_SECONDS, &ret->noise_every_s, 0},
        };
        struct field hours[] = {
                {"from", FIELD_WHOLE_SECONDS, &ret->hours_from_s, 0},
                {"to", FIELD_WHOLE_SECONDS, &ret->hours_to_s, 0},
                {"factor", FIELD_NUMBER, &ret->hours_factor, 0},
                {"every", FIELD_COUNT, &ret->hours_every, 0},
        };
        struct field release[] = {
                {"at", FIELD_WHOLE_SECONDS, &ret->release_s, 0},
                {"factor", FIELD_NUMBER, &ret->release_factor, 0},
                {"every", FIELD_COUNT, &ret->release_every, 0},
        };
        struct field growth[] = {
                {"share", FIELD_NUMBER, &ret->growth_ratio, 0},
                {"after", FIELD_WHOLE_SECONDS, &ret->growth_after_s, 0},
                {"factor", FIELD_NUMBER, &ret->growth_factor, 0},
        };
        struct field start[] = {
                {"from", FIELD_WHOLE_SECONDS, &ret->start_from_s, 0},
                {"to", FIELD_WHOLE_SECONDS, &ret->start_to_s, 0},
        };
        struct field life[] = {
                {"mean", FIELD_SECONDS, &ret->life_mean_s, 0},
                {"from", FIELD_SECONDS, &ret->life_from_s, 0},
                {"to", FIELD_SECONDS, &ret->life_to_s, 0},
                {"ofCpu", FIELD_BOOL, &ret->is_life_of_cpu, 0},
        };
        struct field memory[] = {
                {"share", FIELD_NUMBER, &ret->memory_ratio, 0},
                {"grownShare", FIELD_NUMBER, &ret->grown_ratio, 0},
                {"grownEvery", FIELD_COUNT, &ret->grown_every, 0},
                {"grows", FIELD_SECONDS, &ret->grows_s, 0},
        };
        struct field spike[] = {
                {"factor", FIELD_NUMBER, &ret->spike_factor, 0},
                {"for", FIELD_SECONDS, &ret->spike_s, 0},
        };
        struct field jobs[] = {
                {"every", FIELD_SECONDS, &ret->every_s, 0},
                {"podsPerSecond", FIELD_NUMBER, &ret->pods_per_s, 0},
                {"fromCores", FIELD_NUMBER, &ret->job_from_cores, 0},
                {"toCores", FIELD_NUMBER, &ret->job_to_cores, 0},
                {"gang", FIELD_BOOL, &ret->is_gang, 0},
        };
        struct field burst[] = {
                {"at", FIELD_SECONDS, &ret->at_s, 0},
                {"over", FIELD_SECONDS, &ret->over_s, 0},
                {"every", FIELD_SECONDS, &ret->repeat_s, 0},
                {"pods", FIELD_COUNT, &ret->count, 0},
        };
        const struct field fields[] = {
                {"kind", FIELD_OTHER, NULL, 0},
                {"owner", FIELD_OTHER, NULL, 0},
                {"requests", FIELD_OTHER, NULL, 0},
                {"workloads", FIELD_COUNT, &ret->workloads, 0},
                {"requested", FIELD_NUMBER, &ret->requested_ratio, 0},
                {"count", FIELD_COUNT, &ret->count, 0},
                {"usage", FIELD_MAP, usage, ARRAY_LEN(usage)},
                {"noise", FIELD_MAP, noise, ARRAY_LEN(noise)},
                {"hours", FIELD_MAP, hours, ARRAY_LEN(hours)},
                {"release", FIELD_MAP, release, ARRAY_LEN(release)},
                {"growth", FIELD_MAP, growth, ARRAY_LEN(growth)},
                {"start", FIELD_MAP, start, ARRAY_LEN(start)},
                {"memory", FIELD_MAP, memory, ARRAY_LEN(memory)},
                {"life", FIELD_MAP, life, ARRAY_LEN(life)},
                {"spike", FIELD_MAP, spike, ARRAY_LEN(spike)},
                {"jobs", FIELD_MAP, jobs, ARRAY_LEN(jobs)},
                {"burst", FIELD_MAP, burst, ARRAY_LEN(burst)},
        };

        int r = fields_read(pods, "pods", fields, ARRAY_LEN(fields), err);
        if (r == 0)
                r = read_requests(pods, ret, err);
        if (r == 0)
                r = check_times(pods, ret, err);
        if (r == 0)
                r = check_usage(pods, ret, err);
        return r < 0 ? r : check_kind(pods, ret, err);
}

int stream_read(const struct tree_node *pods, struct stream *ret, struct error *err) {
        *ret = defaults;
        int r = read_kind(pods, ret, err);
        if (r == 0)
                r = read_owner(pods, ret, err);
        if (r < 0)
                return r;
        return ret->kind == STREAM_REPLAY ? read_replay(pods, ret, err)
                                          : read_drawn(pods, ret, err);
}
