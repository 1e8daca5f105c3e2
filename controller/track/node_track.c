#include "controller/track/node_track.h"

#include <assert.h>

#include "base/mem.h"
#include "controller/track/node_track_parts.h"
#include "controller/window/window_history.h"

static const double ALMOST_FULL = 0.9; /* of a window */

/* Existing stores keep their history; without any, @renumbering may be NULL. */
static void plan_stores(struct node_track *track, const struct compiled_policy *compiled,
                        const struct window_renumbering *renumbering) {
        for (size_t i = 0; i < compiled->options.source_count; i++) {
                struct measurements *store = &track->stores[i];
                if (store->windows)
                        measurements_replan(store, compiled->window_plans[i], renumbering);
                else if (compiled->window_plans[i])
                        measurements_init(store, compiled->window_plans[i]);
        }
}

static void free_stores(struct measurements *stores, size_t count) {
        for (size_t i = 0; i < count; i++)
                measurements_done(&stores[i]);
        free(stores);
}

void node_track_init(struct node_track *track, const struct compiled_policy *compiled,
                     int64_t now_mono_ms) {
        *track = (struct node_track){
                .compiled = compiled,
                .begun_mono_ms = now_mono_ms,
                .feeds = xcalloc(compiled->options.source_count, sizeof(*track->feeds)),
                .stores = xcalloc(compiled->options.source_count, sizeof(*track->stores)),
                .record = plan_record_new(&compiled->plan),
                .unseen = UINT64_MAX,
        };
        plan_stores(track, compiled, NULL);
        node_track_settle_serving(track);
}

void node_track_done(struct node_track *track) {
        free_stores(track->stores, track->compiled->options.source_count);
        free(track->feeds);
        free(track->record);
        kept_texts_done(&track->annotations);
        *track = (struct node_track){0};
}

/* The old channel numbers of the resources that the new policy declares. */
static struct window_renumbering renumber(const struct policy *old, const struct policy *policy) {
        struct window_renumbering renumbering;

        for (int i = 0; i < WINDOW_MAX_CHANNELS; i++)
                renumbering.was[i] = i < METRIC_RESOURCE_COUNT ? i : -1;
        for (size_t i = 0; i < policy->resource_count; i++)
                for (size_t o = 0; o < old->resource_count; o++)
                        if (policy_resource_equal(&policy->resources[i], &old->resources[o]))
                                renumbering.was[METRIC_RESOURCE_COUNT + i] =
                                        (int)(METRIC_RESOURCE_COUNT + o);
        return renumbering;
}

void node_track_failed(struct node_track *track, size_t source, const char *reason) {
        feed_failed(&track->feeds[source], reason);
}

void node_track_reading(struct node_track *track, size_t source,
                        const struct source_reading *reading, int64_t now_mono_ms) {
        const struct compiled_policy *compiled = track->compiled;
        bool is_exporter = source >= compiled->ordered_count;

        feed_reading(&track->feeds[source], reading, compiled->sources[source].fresh_ms,
                     now_mono_ms);
        if (source_reading_is_news(reading) &&
            (is_exporter || node_track_choose(track, now_mono_ms) == source))
                measurements_take(&track->stores[compiled_policy_store(compiled, source)], source,
                                  reading, compiled->policy, now_mono_ms);
}

void node_track_annotations(struct node_track *track, const json_t *annotations,
                            int64_t now_mono_ms, int64_t now_unix_ms) {
        (void)kept_texts_set_annotations(&track->annotations, annotations,
                                         track->compiled->options.style.prefix);
        node_track_learn(track, false, now_mono_ms, now_unix_ms);
}

void node_track_replan(struct node_track *track, const struct compiled_policy *compiled,
                       int64_t now_mono_ms, int64_t now_unix_ms) {
        const struct compiled_policy *old = track->compiled;
        const struct window_renumbering renumbering = renumber(old->policy, compiled->policy);

        plan_stores(track, compiled, &renumbering);
        for (size_t i = 0; i < compiled->options.source_count; i++)
                track->feeds[i].outcomes = 0;
        track->compiled = compiled;
        track->record = plan_record_replan(track->record, old->policy, &compiled->plan);
        node_track_settle_serving(track);
        for (size_t i = 0; i < compiled->policy->metric_count; i++)
                if (policy_metric_index(old->policy, compiled->policy->metrics[i].name) < 0)
                        track->unseen |= UINT64_C(1) << i;
        node_track_learn(track, true, now_mono_ms, now_unix_ms);
}

/* The windows may still have data of a metric that only the previous source measured. */
static bool has_source(const struct node_track *track, size_t metric) {
        const struct compiled_policy *compiled = track->compiled;

        return source_scope_has(&compiled->options.sources[node_track_source(track, metric)].scope,
                                compiled->policy, &compiled->policy->metrics[metric]);
}

static struct window_reading value_of(const struct node_track *track, size_t metric,
                                      int64_t now_mono_ms) {
        return measurements_value(&track->stores[track->compiled->stores[metric]],
                                  &track->compiled->policy->metrics[metric], metric, now_mono_ms);
}

static bool is_usable(const struct node_track *track, size_t metric, int64_t now_mono_ms,
                      struct window_reading *ret) {
        if (!has_source(track, metric) ||
            !node_track_is_source_fresh(track, node_track_source(track, metric), now_mono_ms))
                return false;
        *ret = value_of(track, metric, now_mono_ms);
        return ret->status == WINDOW_KNOWN;
}

/* How far back a mean goes whose window is not full. */
static void note_covered(const struct policy_metric *metric, const struct window_reading *reading,
                         struct plan_values *ret) {
        int64_t covered_ms = (int64_t)(reading->fullness * (double)metric->query.window_ms);

        if (metric->is_query && metric->query.statistic == METRIC_AVG &&
            reading->fullness < ALMOST_FULL && covered_ms > ret->covered_ms)
                ret->covered_ms = covered_ms;
}

void node_track_values(const struct node_track *track, int64_t now_mono_ms,
                       struct plan_values *ret) {
        ret->usable = ret->provisional = ret->peaks = 0;
        ret->pool = 0;
        ret->has_hot = false;
        ret->hot = ret->covered_ms = 0;
        for (size_t i = 0; i < track->compiled->policy->metric_count; i++) {
                struct window_reading reading;
                if (!is_usable(track, i, now_mono_ms, &reading))
                        continue;
                ret->ratio[i] = reading.ratio;
                ret->age_ms[i] = reading.age_ms;
                ret->usable |= UINT64_C(1) << i;
                if (reading.is_provisional)
                        ret->provisional |= UINT64_C(1) << i;
                note_covered(&track->compiled->policy->metrics[i], &reading, ret);
                if (!reading.has_peak || !track->compiled->peak_keys[i])
                        continue;
                ret->peaks |= UINT64_C(1) << i;
                ret->peak_ratio[i] = reading.peak_ratio;
                ret->peak_age_ms[i] = reading.peak_age_ms;
        }
}

bool node_track_history(const struct node_track *track, unsigned resource, int64_t step_ms,
                        size_t count, int64_t now_mono_ms, float *ret_ratio) {
        bool is_known = false;

        for (size_t i = 0; i < track->compiled->options.source_count && !is_known; i++)
                is_known = track->stores[i].windows &&
                           window_history(track->stores[i].windows, resource, step_ms, count,
                                          now_mono_ms, ret_ratio);
        return is_known;
}

const char *node_track_why(const struct node_track *track, size_t metric, int64_t now_mono_ms) {
        const struct policy_metric *wanted = &track->compiled->policy->metrics[metric];
        const struct measurements *store = &track->stores[track->compiled->stores[metric]];
        struct window_reading value;

        if (!has_source(track, metric))
                return *policy_metric_exporter(track->compiled->policy, wanted)
                               ? "there is no exporter of that name"
                               : "the node's source does not measure it";
        if (is_usable(track, metric, now_mono_ms, &value))
                return "";
        if ((store->ready >> metric & 1) == 0) {
                if (!wanted->is_query)
                        return "the exporter has no such gauge";
                value = value_of(track, metric, now_mono_ms);
                const char *why = store->why ? store->why[wanted->query.resource] : NULL;
                if (value.status != WINDOW_KNOWN)
                        return why ? why : window_status_text(value.status);
        }
        return "the last scrape is too old";
}
