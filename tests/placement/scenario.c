#include "scenario.h"

#include <errno.h>
#include <stdio.h>

#include "base/mem.h"
#include "codec/tree.h"
#include "fields.h"

static const double WATCH_LAG_S = 0.2;

static int read_list(const struct tree_node *root, const char *name, size_t most,
                     const struct tree_node **ret, struct error *err) {
        *ret = tree_get(root, name);
        if (!*ret || (*ret)->kind != TREE_LIST || (*ret)->count == 0 || (*ret)->count > most)
                return fields_refuse(*ret ? *ret : root, name, "a list of 1 to 8", err);
        return 0;
}

static int check_scenario(const struct tree_node *root, const struct scenario *scenario,
                          struct error *err) {
        const struct field_rule rules[] = {
                {scenario->measured_s <= 0, "measured", "a duration"},
                {scenario->base_from > scenario->base_to || scenario->base_to >= 1, "base",
                 "from <= to < 1"},
                {scenario->base_wave > 1, "base", "wave from 0 to 1"},
                {scenario->scored_ratio > 1, "scored", "a share"},
                {scenario->dead_exporters > 1, "deadExporters", "a share"},
                {scenario->silent_kubelets + scenario->lying_kubelets > 1 ||
                         scenario->missed_pages > 1,
                 "kubelets", "shares"},
                {scenario->replicas > SCENARIO_MAX_REPLICAS, "extender", "1 or 2 replicas"},
                {scenario->watch_away.at_s > 0 && scenario->watch_away.for_s <= 0, "extender",
                 "watchAway for some time"},
                {scenario->controller_away.at_s > 0 && scenario->controller_away.for_s <= 0,
                 "controller", "away for some time"},
        };

        return fields_check(root, rules, ARRAY_LEN(rules), err);
}

/* Which of its pods would be evicted before it is complete is not modelled. */
static bool has_gang_and_leaving(const struct scenario *scenario) {
        bool has_gang = false, is_leaving = false;

        for (size_t i = 0; i < scenario->stream_count; i++)
                has_gang |= scenario->streams[i].is_gang;
        for (size_t i = 0; i < scenario->shape_count; i++)
                is_leaving |= scenario->shapes[i].leaves_s > 0;
        return has_gang && is_leaving;
}

/* Shares are of the nodes that are there at first, and a mean of none is no number. */
static bool has_node_that_stays(const struct scenario *scenario) {
        bool stays = false;

        for (size_t i = 0; i < scenario->shape_count; i++)
                stays |= scenario->shapes[i].joins_s <= 0 && scenario->shapes[i].leaves_s <= 0;
        return stays;
}

static int read_scenario(const struct tree_node *root, struct scenario *ret, struct error *err) {
        double warm_up_s = 0, measured_s = 0;
        struct field base[] = {
                {"from", FIELD_NUMBER, &ret->base_from, 0},
                {"to", FIELD_NUMBER, &ret->base_to, 0},
                {"wave", FIELD_NUMBER, &ret->base_wave, 0},
                {"memoryGib", FIELD_NUMBER, &ret->base_gib, 0},
        };
        struct field watch_away[] = {
                {"at", FIELD_SECONDS, &ret->watch_away.at_s, 0},
                {"for", FIELD_SECONDS, &ret->watch_away.for_s, 0},
        };
        struct field controller_away[] = {
                {"at", FIELD_SECONDS, &ret->controller_away.at_s, 0},
                {"for", FIELD_SECONDS, &ret->controller_away.for_s, 0},
        };
        struct field controller[] = {
                {"away", FIELD_MAP, controller_away, ARRAY_LEN(controller_away)},
        };
        struct field kubelets[] = {
                {"silent", FIELD_NUMBER, &ret->silent_kubelets, 0},
                {"lying", FIELD_NUMBER, &ret->lying_kubelets, 0},
                {"missed", FIELD_NUMBER, &ret->missed_pages, 0},
        };
        struct field extender[] = {
                {"watchAway", FIELD_MAP, watch_away, ARRAY_LEN(watch_away)},
                {"replicas", FIELD_COUNT, &ret->replicas, 0},
                {"restarts", FIELD_SECONDS, &ret->restarts_s, 0},
        };
        const struct field fields[] = {
                {"name", FIELD_OTHER, NULL, 0},
                {"family", FIELD_OTHER, NULL, 0},
                {"nodes", FIELD_OTHER, NULL, 0},
                {"pods", FIELD_OTHER, NULL, 0},
                {"base", FIELD_MAP, base, ARRAY_LEN(base)},
                {"controller", FIELD_MAP, controller, ARRAY_LEN(controller)},
                {"kubelets", FIELD_MAP, kubelets, ARRAY_LEN(kubelets)},
                {"extender", FIELD_MAP, extender, ARRAY_LEN(extender)},
                {"warmUp", FIELD_SECONDS, &warm_up_s, 0},
                {"measured", FIELD_SECONDS, &measured_s, 0},
                {"watchLag", FIELD_SECONDS, &ret->watch_lag_s, 0},
                {"zoneSkew", FIELD_COUNT, &ret->zone_skew, 0},
                {"scored", FIELD_NUMBER, &ret->scored_ratio, 0},
                {"deadExporters", FIELD_NUMBER, &ret->dead_exporters, 0},
        };
        const struct tree_node *nodes = NULL, *pods = NULL;

        int r = fields_read(root, "scenario", fields, ARRAY_LEN(fields), err);
        if (r == 0)
                r = read_list(root, "nodes", WORLD_MAX_SHAPES, &nodes, err);
        if (r == 0)
                r = read_list(root, "pods", WORLD_MAX_STREAMS, &pods, err);
        if (r < 0 || !nodes || !pods)
                return r;
        (void)snprintf(ret->name, sizeof(ret->name), "%s", fields_text(root, "name"));
        ret->warm_up_s = (int64_t)warm_up_s;
        ret->measured_s = (int64_t)measured_s;
        r = check_scenario(root, ret, err);
        if (r < 0)
                return r;
        ret->shape_count = nodes->count;
        for (size_t i = 0; i < nodes->count; i++) {
                struct field busy[] = {
                        {"ratio", FIELD_NUMBER, &ret->shapes[i].busy_ratio, 0},
                        {"for", FIELD_SECONDS, &ret->shapes[i].busy_s, 0},
                };
                const struct field shape[] = {
                        {"speed", FIELD_NUMBER, &ret->shapes[i].speed, 0},
                        {"shared", FIELD_NUMBER, &ret->shapes[i].shared_ratio, 0},
                        {"joins", FIELD_SECONDS, &ret->shapes[i].joins_s, 0},
                        {"leaves", FIELD_SECONDS, &ret->shapes[i].leaves_s, 0},
                        {"exporter", FIELD_SECONDS, &ret->shapes[i].exporter_s, 0},
                        {"busy", FIELD_MAP, busy, ARRAY_LEN(busy)},
                        {"zone", FIELD_COUNT, &ret->shapes[i].zone, 0},
                        {"count", FIELD_COUNT, &ret->shapes[i].count, 0},
                        {"cores", FIELD_NUMBER, &ret->shapes[i].cores, 0},
                };
                r = fields_read(&nodes->items[i], "nodes", shape, ARRAY_LEN(shape), err);
                if (r == 0 && (ret->shapes[i].count == 0 || ret->shapes[i].cores <= 0))
                        r = fields_refuse(&nodes->items[i], "nodes", "count and cores", err);
                if (r == 0 && ret->shapes[i].shared_ratio >= 0.5)
                        r = fields_refuse(&nodes->items[i], "shared", "below 0.5", err);
                if (r == 0 && ret->shapes[i].zone >= WORLD_MAX_ZONES)
                        r = fields_refuse(&nodes->items[i], "zone", "0 to 3", err);
                ret->has_zones |= tree_get(&nodes->items[i], "zone") != NULL;
                if (r < 0)
                        return r;
        }
        if (!has_node_that_stays(ret))
                return fields_refuse(nodes, "nodes", "one that is always there", err);
        ret->stream_count = pods->count;
        for (size_t i = 0; i < pods->count && r == 0; i++)
                r = stream_read(&pods->items[i], &ret->streams[i], err);
        if (r == 0 && has_gang_and_leaving(ret))
                r = fields_refuse(nodes, "nodes", "none that leaves, with a gang", err);
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
