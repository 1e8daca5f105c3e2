#include "controller/track/node_track.h"

#include <assert.h>

#include "base/mem.h"
#include "controller/track/node_track_parts.h"
#include "controller/window/window_history.h"

/* A metric that has less of its window than this gives way to another feed's that has more. */
static const double FULL_ENOUGH = 0.5, ALMOST_FULL = 0.9;

/* The windows of a source on demand that stands behind another begin with its first reading: most
 * nodes never need them. */
static void open_feeds(struct node_track *track) {
        const struct compiled_policy *compiled = track->compiled;

        for (size_t i = 0; i < compiled->options.source_count; i++)
                if (!compiled->options.sources[i].is_on_demand || i <= compiled->first_asked)
                        feed_open(&track->feeds[i], compiled->sources[i].window_plan);
}

void node_track_init(struct node_track *track, const struct compiled_policy *compiled,
                     int64_t now_mono_ms) {
        *track = (struct node_track){
                .compiled = compiled,
                .begun_mono_ms = now_mono_ms,
                .feeds = xcalloc(compiled->options.source_count, sizeof(*track->feeds)),
                .record = plan_record_new(&compiled->plan),
                .unseen = UINT64_MAX,
        };
        open_feeds(track);
        node_track_settle_serving(track);
}

void node_track_done(struct node_track *track) {
        for (size_t i = 0; i < track->compiled->options.source_count; i++)
                feed_done(&track->feeds[i]);
        free(track->feeds);
        free(track->record);
        kept_annotations_done(&track->annotations);
        *track = (struct node_track){0};
}

/* The channel numbers under the old policy of the new policy's own resources. */
static struct window_renumbering renumber(const struct policy *old, const struct policy *policy) {
        struct window_renumbering renumbering;

        for (int i = 0; i < WINDOW_MAX_CHANNELS; i++)
                renumbering.was[i] = i < METRIC_RESOURCE_COUNT ? (int8_t)i : -1;
        for (size_t i = 0; i < policy->resource_count; i++)
                for (size_t o = 0; o < old->resource_count; o++)
                        if (policy_resource_equal(&policy->resources[i], &old->resources[o]))
                                renumbering.was[METRIC_RESOURCE_COUNT + i] =
                                        (int8_t)(METRIC_RESOURCE_COUNT + o);
        return renumbering;
}

void node_track_failed(struct node_track *track, size_t source, const char *reason) {
        feed_failed(&track->feeds[source], reason);
}

void node_track_reading(struct node_track *track, size_t source,
                        const struct source_reading *reading, int64_t now_mono_ms) {
        struct feed *feed = &track->feeds[source];

        if (!feed->windows) {
                feed_open(feed, track->compiled->sources[source].window_plan);
                node_track_learn(track, true, now_mono_ms, now_mono_ms + track->unix_ahead_ms);
        }
        feed_reading(feed, reading, track->compiled->policy->metric_count,
                     track->compiled->sources[source].fresh_ms, now_mono_ms);
}

void node_track_annotations(struct node_track *track, const json_t *annotations,
                            int64_t now_mono_ms, int64_t now_unix_ms) {
        (void)kept_annotations_set(&track->annotations, annotations,
                                   track->compiled->options.style.prefix);
        track->unix_ahead_ms = now_unix_ms - now_mono_ms;
        node_track_learn(track, false, now_mono_ms, now_unix_ms);
}

/* The feeds of sources that go are lost. A new source is given time, as that of a new node is. */
static void reorder_feeds(struct node_track *track, const struct compiled_policy *compiled,
                          const int *was, int64_t now_mono_ms) {
        size_t old_count = track->compiled->options.source_count, serving = 0;
        struct feed *old = track->feeds;

        track->feeds = xcalloc(compiled->options.source_count, sizeof(*old));
        for (size_t i = 0; i < compiled->options.source_count; i++) {
                if (was[i] < 0)
                        continue;
                track->feeds[i] = old[was[i]];
                old[was[i]] = (struct feed){0};
                if ((size_t)was[i] == track->serving)
                        serving = i;
        }
        track->serving = serving;
        track->begun_mono_ms = now_mono_ms;
        for (size_t i = 0; i < old_count; i++)
                feed_done(&old[i]);
        free(old);
}

void node_track_replan(struct node_track *track, const struct compiled_policy *compiled,
                       const int *was, int64_t now_mono_ms, int64_t now_unix_ms) {
        const struct compiled_policy *old = track->compiled;
        const struct window_renumbering renumbering = renumber(old->policy, compiled->policy);

        if (was)
                reorder_feeds(track, compiled, was, now_mono_ms);
        assert(was || old->options.source_count == compiled->options.source_count);
        for (size_t i = 0; i < compiled->options.source_count; i++)
                feed_replan(&track->feeds[i], compiled->sources[i].window_plan, &renumbering);
        track->compiled = compiled;
        open_feeds(track);
        track->record = plan_record_replan(track->record, old->policy, &compiled->plan);
        node_track_settle_serving(track);
        for (size_t i = 0; i < compiled->policy->metric_count; i++)
                if (policy_metric_index(old->policy, compiled->policy->metrics[i].name) < 0)
                        track->unseen |= UINT64_C(1) << i;
        node_track_learn(track, true, now_mono_ms, now_unix_ms);
}

/* The feed at place @turn: the one in use, then the rest in order. */
static size_t feed_at_turn(const struct node_track *track, size_t turn) {
        if (turn == 0)
                return track->serving;
        return turn <= track->serving ? turn - 1 : turn;
}

/* A metric's value according to one feed. */
static struct window_reading feed_value(const struct feed *feed, const struct policy_metric *metric,
                                        size_t index, int64_t now_mono_ms) {
        if (feed->ready & (UINT64_C(1) << index))
                return (struct window_reading){.status = WINDOW_KNOWN,
                                               .ratio = feed->ready_ratio[index],
                                               .fullness = 1,
                                               .age_ms = now_mono_ms - feed->ready_mono_ms};
        if (!metric->is_query)
                return (struct window_reading){.status = WINDOW_NOT_PLANNED};
        if (!feed->windows)
                return (struct window_reading){.status = WINDOW_NO_SCRAPE};
        return window_read(feed->windows, &metric->query, now_mono_ms);
}

static bool metric_value_now(const struct node_track *track, size_t index, int64_t now_mono_ms,
                             struct window_reading *ret) {
        const struct policy_metric *metric = &track->compiled->policy->metrics[index];
        /* With spec.idle a kubelet leaves out of the CPU what others count: the two are not
         * compared. */
        bool is_of_one = metric->is_query && metric->query.resource == METRIC_CPU &&
                         track->compiled->policy->idle_line_ratio > 0;
        struct window_reading peak = {0};
        size_t end = track->compiled->options.source_count;
        bool is_known = false, is_full = false;

        for (size_t turn = 0; turn < end && !is_full; turn++) {
                size_t source = feed_at_turn(track, turn);
                if (!node_track_is_source_fresh(track, source, now_mono_ms))
                        continue;
                struct window_reading reading = feed_value(&track->feeds[source], metric, index,
                                                           now_mono_ms);
                /* Its value is on the way: those behind it are not asked. */
                if (is_of_one && turn == 0 && reading.status != WINDOW_NOT_PLANNED)
                        end = track->serving + 1;
                if (reading.status != WINDOW_KNOWN)
                        continue;
                is_full = is_of_one || reading.fullness >= FULL_ENOUGH;
                /* A maximum is the largest that any feed has seen. */
                bool is_better = is_known && compiled_policy_is_maximum(metric)
                                         ? reading.ratio > ret->ratio
                                         : is_full;
                if (!is_known || is_better)
                        *ret = reading;
                if (reading.has_peak && (!peak.has_peak || reading.peak_ratio > peak.peak_ratio))
                        peak = reading;
                is_known = true;
        }
        ret->has_peak = peak.has_peak;
        ret->peak_ratio = peak.peak_ratio;
        ret->peak_age_ms = peak.peak_age_ms;
        return is_known;
}

/* How far back a mean reaches whose window is not full. */
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
                if (!metric_value_now(track, i, now_mono_ms, &reading))
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

        for (size_t turn = 0; turn < track->compiled->options.source_count && !is_known; turn++) {
                const struct feed *feed = &track->feeds[feed_at_turn(track, turn)];
                is_known = feed->windows && window_history(feed->windows, resource, step_ms, count,
                                                           now_mono_ms, ret_ratio);
        }
        return is_known;
}

/* The reason that the first fresh feed gives, if any does; or NULL. */
static const char *why_not_read(const struct node_track *track, unsigned resource,
                                int64_t now_mono_ms) {
        const char *why = NULL;

        for (size_t turn = 0; turn < track->compiled->options.source_count && !why; turn++) {
                size_t source = feed_at_turn(track, turn);
                if (track->feeds[source].why &&
                    node_track_is_source_fresh(track, source, now_mono_ms))
                        why = track->feeds[source].why[resource];
        }
        return why;
}

/* The first feed that can provide the metric; NULL when none can. */
static const struct feed *feed_of(const struct node_track *track,
                                  const struct policy_metric *metric) {
        for (size_t turn = 0; turn < track->compiled->options.source_count; turn++) {
                size_t source = feed_at_turn(track, turn);
                if (source_scope_has(&track->compiled->options.sources[source].scope,
                                     track->compiled->policy, metric))
                        return &track->feeds[source];
        }
        return NULL;
}

const char *node_track_why(const struct node_track *track, size_t metric, int64_t now_mono_ms) {
        const struct policy_metric *wanted = &track->compiled->policy->metrics[metric];
        const struct feed *feed = feed_of(track, wanted);
        struct window_reading value;

        if (!feed)
                return *policy_metric_exporter(track->compiled->policy, wanted)
                               ? "there is no exporter of that name"
                               : "no source of --metrics-source provides it";
        if (metric_value_now(track, metric, now_mono_ms, &value))
                return "";
        if ((feed->ready & (UINT64_C(1) << metric)) == 0) {
                if (!wanted->is_query)
                        return "the exporter has no such gauge";
                struct window_reading reading = feed_value(feed, wanted, metric, now_mono_ms);
                const char *why = why_not_read(track, wanted->query.resource, now_mono_ms);
                if (reading.status != WINDOW_KNOWN)
                        return why ? why : window_status_text(reading.status);
        }
        return "the last scrape is too old";
}
