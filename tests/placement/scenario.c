#include "scenario.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/duration.h"
#include "base/mem.h"
#include "base/number.h"
#include "codec/tree.h"

static const double MEMORY_RATIO = 0.8; /* of what a pod requests */
static const double WATCH_LAG_S = 0.2;

/* Fields of a map, by what they are. Whoever reads a map names all of its fields. */
struct field {
        const char *name;
        enum { FIELD_NUMBER, FIELD_SECONDS, FIELD_COUNT, FIELD_BOOL, FIELD_MAP, FIELD_OTHER } type;
        void *value; /* double, double, size_t, bool; of a map its own fields */
        size_t field_count;
};

static int refuse(const struct tree_node *node, const char *name, const char *expected,
                  struct error *err) {
        return error_set(err, EINVAL, "line %u: %s: expected %s", node->line, name, expected);
}

static int read_fields(const struct tree_node *map, const char *name, const struct field *fields,
                       size_t count, struct error *err);

static int read_field(const struct tree_node *node, const struct field *field, struct error *err) {
        double number = 0;
        int64_t ms = 0;

        if (field->type == FIELD_OTHER)
                return 0;
        if (field->type == FIELD_MAP)
                return read_fields(node, field->name, field->value, field->field_count, err);
        if (node->kind != TREE_SCALAR)
                return refuse(node, field->name, "one value", err);
        switch (field->type) {
        case FIELD_SECONDS:
                if (duration_parse(node->text, node->text_len, &ms) < 0 || ms < 0)
                        return refuse(node, field->name, "a duration such as 40m", err);
                *(double *)field->value = (double)ms / (double)MS_PER_S;
                return 0;
        case FIELD_BOOL:
                *(bool *)field->value = strcmp(node->text, "true") == 0;
                return *(bool *)field->value || strcmp(node->text, "false") == 0
                               ? 0
                               : refuse(node, field->name, "true or false", err);
        case FIELD_NUMBER:
        case FIELD_COUNT:
                if (!number_parse(node->text, node->text_len, &number) || number < 0 ||
                    number > 1e9)
                        return refuse(node, field->name, "a number from 0 to 1e9", err);
                if (field->type == FIELD_NUMBER)
                        *(double *)field->value = number;
                else
                        *(size_t *)field->value = (size_t)number;
                return 0;
        case FIELD_MAP:
        case FIELD_OTHER:
                break;
        }
        return 0;
}

static int read_fields(const struct tree_node *map, const char *name, const struct field *fields,
                       size_t count, struct error *err) {
        if (map->kind != TREE_MAP)
                return refuse(map, name, "a map", err);
        for (size_t i = 0; i < map->count; i++) {
                size_t k = 0;
                while (k < count && strcmp(fields[k].name, map->keys[i]) != 0)
                        k++;
                if (k == count)
                        return error_set(err, EINVAL, "line %u: %s.%s: unknown field",
                                         map->key_lines[i], name, map->keys[i]);
                int r = read_field(&map->items[i], &fields[k], err);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* The text of a scalar; "" when it is not there. */
static const char *text_of(const struct tree_node *map, const char *key) {
        const struct tree_node *node = tree_get(map, key);

        return node && node->kind == TREE_SCALAR ? node->text : "";
}

static int read_requests(const struct tree_node *pods, struct stream *stream, struct error *err) {
        const struct tree_node *list = tree_get(pods, "requests");

        if (!list || list->kind != TREE_LIST || list->count == 0 ||
            list->count > WORLD_MAX_REQUESTS)
                return refuse(pods, "requests", "1 to 8 numbers of cores", err);
        stream->request_count = list->count;
        for (size_t i = 0; i < list->count; i++) {
                const struct tree_node *item = &list->items[i];
                if (item->kind != TREE_SCALAR ||
                    !number_parse(item->text, item->text_len, &stream->requests_cores[i]) ||
                    stream->requests_cores[i] <= 0)
                        return refuse(item, "requests", "cores > 0", err);
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

/* Left as it is where nothing is said. */
static int read_owner(const struct tree_node *pods, struct stream *ret, struct error *err) {
        static const char *const owners[] = {[STREAM_OF_REPLICA_SETS] = "replicaSet",
                                             [STREAM_OF_JOBS] = "job",
                                             [STREAM_OF_NOBODY] = "none"};
        size_t owner = choice_of(text_of(pods, "owner"), owners, ARRAY_LEN(owners));

        if (!tree_get(pods, "owner"))
                return 0;
        if (owner == ARRAY_LEN(owners))
                return refuse(tree_get(pods, "owner"), "owner", "replicaSet, job or none", err);
        ret->owner = (unsigned)owner;
        return 0;
}

/* What it uses was recorded: nothing else may be said about that. */
static int read_replay(const struct tree_node *pods, struct stream *ret, struct error *err) {
        struct field life[] = {
                {"mean", FIELD_SECONDS, &ret->life_mean_s, 0},
                {"from", FIELD_SECONDS, &ret->life_from_s, 0},
                {"to", FIELD_SECONDS, &ret->life_to_s, 0},
        };
        const struct field fields[] = {
                {"kind", FIELD_OTHER, NULL, 0},
                {"owner", FIELD_OTHER, NULL, 0},
                {"trace", FIELD_OTHER, NULL, 0},
                {"scale", FIELD_NUMBER, &ret->scale, 0},
                {"overcommit", FIELD_NUMBER, &ret->overcommit, 0},
                {"requested", FIELD_NUMBER, &ret->requested_ratio, 0},
                {"life", FIELD_MAP, life, ARRAY_LEN(life)},
        };
        const char *name = text_of(pods, "trace");

        ret->kind = STREAM_REPLAY;
        ret->scale = 1;
        ret->overcommit = 1;
        ret->memory_ratio = MEMORY_RATIO;
        int r = read_fields(pods, "pods", fields, ARRAY_LEN(fields), err);
        if (r < 0)
                return r;
        if (*name == '\0' || strlen(name) >= sizeof(ret->trace_name) || strchr(name, '/'))
                return refuse(pods, "trace", "the name of a trace", err);
        if (ret->scale <= 0 || ret->overcommit <= 0)
                return refuse(pods, "pods", "scale > 0 and overcommit > 0", err);
        ret->is_as_recorded = ret->life_mean_s <= 0 && ret->life_to_s <= 0;
        if (ret->is_as_recorded != (ret->requested_ratio <= 0))
                return refuse(pods, "pods", "life and requested, or none of them", err);
        (void)snprintf(ret->trace_name, sizeof(ret->trace_name), "%s", name);
        return read_owner(pods, ret, err);
}

static int read_stream(const struct tree_node *pods, struct stream *ret, struct error *err) {
        static const char *const kinds[] = {[STREAM_STEADY] = "steady",
                                            [STREAM_BURST] = "burst",
                                            [STREAM_JOBS] = "jobs",
                                            [STREAM_ROLLOUT] = "rollout"};
        double hot_every = 0, grown_every = 0;
        struct field usage[] = {
                {"share", FIELD_NUMBER, &ret->ratio, 0},
                {"hotShare", FIELD_NUMBER, &ret->hot_ratio, 0},
                {"hotEvery", FIELD_NUMBER, &hot_every, 0},
                {"perPod", FIELD_BOOL, &ret->is_per_pod, 0},
                {"fromCores", FIELD_NUMBER, &ret->uses_from_cores, 0},
                {"toCores", FIELD_NUMBER, &ret->uses_to_cores, 0},
                {"mean", FIELD_NUMBER, &ret->uses_mean_ratio, 0},
                {"wave", FIELD_NUMBER, &ret->wave, 0},
        };
        struct field life[] = {
                {"mean", FIELD_SECONDS, &ret->life_mean_s, 0},
                {"from", FIELD_SECONDS, &ret->life_from_s, 0},
                {"to", FIELD_SECONDS, &ret->life_to_s, 0},
        };
        struct field memory[] = {
                {"share", FIELD_NUMBER, &ret->memory_ratio, 0},
                {"grownShare", FIELD_NUMBER, &ret->grown_ratio, 0},
                {"grownEvery", FIELD_NUMBER, &grown_every, 0},
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
                {"usage", FIELD_MAP, usage, ARRAY_LEN(usage)},
                {"memory", FIELD_MAP, memory, ARRAY_LEN(memory)},
                {"life", FIELD_MAP, life, ARRAY_LEN(life)},
                {"spike", FIELD_MAP, spike, ARRAY_LEN(spike)},
                {"jobs", FIELD_MAP, jobs, ARRAY_LEN(jobs)},
                {"burst", FIELD_MAP, burst, ARRAY_LEN(burst)},
        };

        if (strcmp(text_of(pods, "kind"), "replay") == 0)
                return read_replay(pods, ret, err);
        ret->memory_ratio = MEMORY_RATIO;
        int r = read_fields(pods, "pods", fields, ARRAY_LEN(fields), err);
        if (r < 0)
                return r;
        ret->hot_every = (unsigned)hot_every;
        ret->grown_every = (unsigned)grown_every;
        size_t k = choice_of(text_of(pods, "kind"), kinds, ARRAY_LEN(kinds));
        if (k == ARRAY_LEN(kinds))
                return refuse(pods, "kind", "steady, burst, jobs, rollout or replay", err);
        ret->kind = (unsigned)k;
        if (k == STREAM_JOBS)
                ret->owner = STREAM_OF_JOBS;
        r = read_owner(pods, ret, err);
        if (r < 0)
                return r;
        if (ret->workloads == 0)
                return refuse(pods, "workloads", "at least 1", err);
        bool is_possible = (k != STREAM_JOBS || (ret->every_s > 0 && ret->pods_per_s > 0)) &&
                           (k != STREAM_BURST || ret->count > 0) &&
                           ((k != STREAM_STEADY && k != STREAM_ROLLOUT) ||
                            ret->requested_ratio > 0);
        if (!is_possible || (ret->life_mean_s <= 0 && ret->life_to_s <= 0))
                return refuse(pods, "pods", "life, and what its kind needs", err);
        return read_requests(pods, ret, err);
}

static int read_list(const struct tree_node *root, const char *name, size_t most,
                     const struct tree_node **ret, struct error *err) {
        *ret = tree_get(root, name);
        if (!*ret || (*ret)->kind != TREE_LIST || (*ret)->count == 0 || (*ret)->count > most)
                return refuse(*ret ? *ret : root, name, "a list of 1 to 4", err);
        return 0;
}

static int read_scenario(const struct tree_node *root, struct scenario *ret, struct error *err) {
        double warm_up_s = 0, measured_s = 0;
        struct field base[] = {
                {"from", FIELD_NUMBER, &ret->base_from, 0},
                {"to", FIELD_NUMBER, &ret->base_to, 0},
                {"wave", FIELD_NUMBER, &ret->base_wave, 0},
        };
        struct field extender[] = {
                {"replicas", FIELD_COUNT, &ret->replicas, 0},
                {"restarts", FIELD_SECONDS, &ret->restarts_s, 0},
        };
        const struct field fields[] = {
                {"name", FIELD_OTHER, NULL, 0},
                {"nodes", FIELD_OTHER, NULL, 0},
                {"pods", FIELD_OTHER, NULL, 0},
                {"base", FIELD_MAP, base, ARRAY_LEN(base)},
                {"extender", FIELD_MAP, extender, ARRAY_LEN(extender)},
                {"warmUp", FIELD_SECONDS, &warm_up_s, 0},
                {"measured", FIELD_SECONDS, &measured_s, 0},
                {"watchLag", FIELD_SECONDS, &ret->watch_lag_s, 0},
                {"zoneSkew", FIELD_COUNT, &ret->zone_skew, 0},
                {"scored", FIELD_NUMBER, &ret->scored_ratio, 0},
                {"deadExporters", FIELD_NUMBER, &ret->dead_exporters, 0},
        };
        const struct tree_node *nodes = NULL, *pods = NULL;

        int r = read_fields(root, "scenario", fields, ARRAY_LEN(fields), err);
        if (r == 0)
                r = read_list(root, "nodes", WORLD_MAX_SHAPES, &nodes, err);
        if (r == 0)
                r = read_list(root, "pods", WORLD_MAX_STREAMS, &pods, err);
        if (r < 0 || !nodes || !pods)
                return r;
        (void)snprintf(ret->name, sizeof(ret->name), "%s", text_of(root, "name"));
        ret->warm_up_s = (int64_t)warm_up_s;
        ret->measured_s = (int64_t)measured_s;
        if (ret->measured_s <= 0)
                return refuse(root, "measured", "a duration", err);
        if (ret->replicas > SCENARIO_MAX_REPLICAS)
                return refuse(tree_get(root, "extender"), "replicas", "1 or 2", err);
        ret->shape_count = nodes->count;
        for (size_t i = 0; i < nodes->count; i++) {
                const struct field shape[] = {
                        {"speed", FIELD_NUMBER, &ret->shapes[i].speed, 0},
                        {"joins", FIELD_SECONDS, &ret->shapes[i].joins_s, 0},
                        {"leaves", FIELD_SECONDS, &ret->shapes[i].leaves_s, 0},
                        {"zone", FIELD_COUNT, &ret->shapes[i].zone, 0},
                        {"count", FIELD_COUNT, &ret->shapes[i].count, 0},
                        {"cores", FIELD_NUMBER, &ret->shapes[i].cores, 0},
                };
                r = read_fields(&nodes->items[i], "nodes", shape, ARRAY_LEN(shape), err);
                if (r == 0 && (ret->shapes[i].count == 0 || ret->shapes[i].cores <= 0))
                        r = refuse(&nodes->items[i], "nodes", "count and cores", err);
                if (r == 0 && ret->shapes[i].zone >= WORLD_MAX_ZONES)
                        r = refuse(&nodes->items[i], "zone", "0 to 3", err);
                ret->has_zones |= tree_get(&nodes->items[i], "zone") != NULL;
                if (r < 0)
                        return r;
        }
        ret->stream_count = pods->count;
        for (size_t i = 0; i < pods->count && r == 0; i++)
                r = read_stream(&pods->items[i], &ret->streams[i], err);
        return r;
}

int scenario_load(const char *path, struct scenario *ret, struct error *err) {
        _cleanup_(tree_freep) struct tree *tree = NULL;

        *ret = (struct scenario){.restarts_s = -1, .watch_lag_s = WATCH_LAG_S};
        int r = tree_load_file(path, &tree, err);
        if (r == 0)
                r = read_scenario(tree_root(tree), ret, err);
        return r < 0 ? error_wrap(err, r, "%s", path) : 0;
}

int scenario_load_traces(struct scenario *scenario, const char *folder, struct error *err) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < scenario->stream_count; i++) {
                struct stream *stream = &scenario->streams[i];
                if (stream->kind != STREAM_REPLAY)
                        continue;
                if (!folder)
                        return error_set(err, ENOENT,
                                         "%s replays %s: --traces is missing, see "
                                         "tests/placement/traces.md",
                                         scenario->name, stream->trace_name);
                _cleanup_(freep) char *path = xasprintf("%s/%s.trace", folder, stream->trace_name);
                r = trace_load(path, &stream->trace, err);
                if (r == 0)
                        stream->workloads = stream->trace->workload_count;
        }
        return r;
}

void scenario_done(struct scenario *scenario) {
        for (size_t i = 0; i < scenario->stream_count; i++)
                trace_free(scenario->streams[i].trace);
}
