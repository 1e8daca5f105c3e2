#include "controller/track/node_track.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "controller/window/window_history.h"
#include "policy/annotation.h"

/* A metric that has less of its window than this gives way to another feed's that has more. */
static const double FULL_ENOUGH = 0.5, ALMOST_FULL = 0.9;
/* How far a maximum may be from its peak: each has five decimals, and a peak that moved by less
 * than the last of them is not written anew. */
static const double PEAK_ERROR = 3e-5;

enum { SETTLE_INTERVALS = 4 }; /* of each source in order; kubelets may repeat a sample */

/* A source of which no metric is wanted never serves, nor does an exporter instead of a source. */
static void settle_serving(struct node_track *track) {
        const struct compiled_policy *compiled = track->compiled;
        bool is_exporter = track->serving >= compiled->ordered_count;

        if (compiled->first_asked < compiled->options.source_count &&
            (is_exporter || !compiled->sources[track->serving].is_asked))
                track->serving = compiled->first_asked;
}

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
        settle_serving(track);
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

static bool is_feed_fresh(const struct node_track *track, size_t source, int64_t now_mono_ms) {
        return feed_is_fresh(&track->feeds[source], track->compiled->sources[source].fresh_ms,
                             now_mono_ms);
}

/* Of many nodes whose exporters do not answer at all, each is long in coming to its second failure:
 * one that was never heard is silent after a while, as one that was is. */
static bool may_serve(const struct node_track *track, size_t source, int64_t now_mono_ms) {
        const struct compiled_policy *compiled = track->compiled;
        const struct feed *feed = &track->feeds[source];
        int64_t fresh_ms = compiled->sources[source].fresh_ms;
        bool is_silent = !feed->is_heard && !compiled->options.sources[source].is_on_demand &&
                         now_mono_ms - track->begun_mono_ms > fresh_ms;

        return compiled->sources[source].is_asked && !is_silent &&
               feed_serves(feed, fresh_ms, now_mono_ms);
}

bool node_track_wants(const struct node_track *track, size_t source, int64_t now_mono_ms) {
        if (!track->compiled->sources[source].is_asked)
                return false;
        for (size_t i = 0; track->compiled->options.sources[source].is_on_demand && i < source; i++)
                if (may_serve(track, i, now_mono_ms))
                        return false;
        return true;
}

/* The number of sources in order: none serves, or none that has had a reading. */
static size_t first_that_serves(const struct node_track *track, bool has_to_be_heard,
                                int64_t now_mono_ms) {
        size_t i = 0;

        while (i < track->compiled->ordered_count &&
               !(may_serve(track, i, now_mono_ms) &&
                 (track->feeds[i].is_heard || !has_to_be_heard)))
                i++;
        return i;
}

bool node_track_switch(struct node_track *track, int64_t now_mono_ms, size_t *ret_from) {
        size_t count = track->compiled->ordered_count;
        size_t to = first_that_serves(track, false, now_mono_ms);

        if (to == count) {
                for (to = 0; to < count && !(track->compiled->sources[to].is_asked &&
                                             is_feed_fresh(track, to, now_mono_ms));)
                        to++;
        } else if (to != track->serving && !track->feeds[to].is_heard) {
                size_t heard = first_that_serves(track, true, now_mono_ms);
                bool is_fresh = is_feed_fresh(track, track->serving, now_mono_ms);
                to = heard < count ? heard : is_fresh ? track->serving : to;
        }
        if (to == count || to == track->serving)
                return false;
        *ret_from = track->serving;
        track->serving = to;
        return true;
}

static bool read_own_annotation(const struct node_track *track, const char *key,
                                struct annotation *ret) {
        const char *text = key ? kept_annotations_get(&track->annotations, key) : NULL;

        return text && annotation_parse(text, strlen(text), track->compiled->options.style.zone,
                                        ret, NULL) == 0;
}

/* Annotations have whole seconds, the record has milliseconds: only a later second is news. */
static void note_written(struct plan_written *written, bool is_there,
                         const struct annotation *annotation) {
        if (is_there && written->stamp_unix_ms != PLAN_NEVER &&
            annotation->at_unix_ms <= written->stamp_unix_ms)
                return;
        written->value = is_there ? annotation->value : 0;
        written->stamp_unix_ms = is_there ? annotation->at_unix_ms : PLAN_NEVER;
        written->at_unix_ms = written->stamp_unix_ms;
        written->is_provisional = false;
}

/* Whether it is another than was there. */
static bool note_peak(struct plan_written *written, bool is_there,
                      const struct annotation *annotation) {
        bool is_news = is_there && (written->peak_unix_ms != annotation->at_unix_ms ||
                                    fabs(written->peak_ratio - annotation->value) > 0);

        written->peak_ratio = is_there ? annotation->value : 0;
        written->peak_unix_ms = is_there ? annotation->at_unix_ms : PLAN_NEVER;
        return is_news;
}

static void learn_peak(struct node_track *track, const struct metric_query *query,
                       const struct annotation *peak, int64_t now_mono_ms, int64_t now_unix_ms) {
        for (size_t i = 0; i < track->compiled->options.source_count; i++)
                if (track->feeds[i].windows)
                        (void)window_store_seed(track->feeds[i].windows, query, peak->value,
                                                now_unix_ms - peak->at_unix_ms, now_mono_ms);
}

/* A value above 1 is another program's percentage, and a timestamp far in the future says nothing
 * about the time of the peak. */
static bool can_be_learned(const struct annotation *annotation, int64_t now_unix_ms) {
        return annotation->value <= 1 && annotation->at_unix_ms <= now_unix_ms + ANNOTATION_SKEW_MS;
}

/* A maximum whose time is not known, only that of its annotation; or a mean. */
static void learn_written(struct node_track *track, size_t metric_index,
                          const struct annotation *annotation, int64_t now_mono_ms,
                          int64_t now_unix_ms) {
        const struct policy_metric *metric = &track->compiled->policy->metrics[metric_index];

        if (!metric->is_query || !can_be_learned(annotation, now_unix_ms))
                return;
        for (size_t i = 0; i < track->compiled->options.source_count; i++)
                if (track->feeds[i].windows &&
                    ((track->unseen >> metric_index & 1) || !is_feed_fresh(track, i, now_mono_ms)))
                        (void)window_store_seed(track->feeds[i].windows, &metric->query,
                                                annotation->value,
                                                now_unix_ms - annotation->at_unix_ms, now_mono_ms);
}

/* Does this peak belong to this maximum, or has a program that writes no peaks (crane, an older
 * version) overwritten the maximum? It has when the peak had left its window by then, or is
 * smaller. Ours is above its peak only while nothing is remembered (window.h), when the peak is 0
 * and new. */
static bool is_peak_of(const struct annotation *peak, const struct policy_metric *metric,
                       const struct annotation *written) {
        int64_t slack_ms = 2 * window_resolution_ms(metric->query.window_ms);
        int64_t age_ms = written->at_unix_ms - peak->at_unix_ms;

        if (written->value < peak->value + PEAK_ERROR)
                return age_ms < metric->query.window_ms + slack_ms;
        return peak->value == 0 && age_ms < slack_ms;
}

/* Takes in the node's annotations. Maxima come first: where their peaks are known, the 5-minute
 * mean of the same resource adds nothing, and may cover only a few seconds. A peak that has been
 * there before says nothing new, and would have another age after a step of the wall clock.
 * @has_new_feed: which has to learn them all */
static void learn_annotations(struct node_track *track, bool has_new_feed, int64_t now_mono_ms,
                              int64_t now_unix_ms) {
        const struct policy *policy = track->compiled->policy;
        uint32_t known = 0; /* resources with a peak */

        for (int pass = 0; pass < 2; pass++) {
                for (size_t i = 0; i < policy->metric_count; i++) {
                        const struct policy_metric *metric = &policy->metrics[i];
                        struct annotation written, peak;
                        if (compiled_policy_is_maximum(metric) != (pass == 0))
                                continue;
                        bool is_there = read_own_annotation(track, metric->name, &written);
                        bool has_peak = read_own_annotation(track, track->compiled->peak_keys[i],
                                                            &peak) &&
                                        can_be_learned(&peak, now_unix_ms) &&
                                        (!is_there || !can_be_learned(&written, now_unix_ms) ||
                                         is_peak_of(&peak, metric, &written));
                        note_written(&track->record->metrics[i], is_there, &written);
                        bool is_news = note_peak(&track->record->metrics[i], has_peak, &peak);
                        if (has_peak) {
                                known |= UINT32_C(1) << metric->query.resource;
                                if (is_news || has_new_feed)
                                        learn_peak(track, &metric->query, &peak, now_mono_ms,
                                                   now_unix_ms);
                        } else if (is_there && (pass == 0 || !metric->is_query ||
                                                !(known >> metric->query.resource & 1))) {
                                learn_written(track, i, &written, now_mono_ms, now_unix_ms);
                        }
                }
        }
        struct annotation hot;
        bool is_there = read_own_annotation(track, ANNOTATION_HOT_VALUE, &hot);
        note_written(&track->record->hot, is_there, &hot);
        track->unseen = 0;
}

void node_track_reading(struct node_track *track, size_t source,
                        const struct source_reading *reading, int64_t now_mono_ms) {
        struct feed *feed = &track->feeds[source];

        if (!feed->windows) {
                feed_open(feed, track->compiled->sources[source].window_plan);
                learn_annotations(track, true, now_mono_ms, now_mono_ms + track->unix_ahead_ms);
        }
        feed_reading(feed, reading, track->compiled->policy->metric_count,
                     track->compiled->sources[source].fresh_ms, now_mono_ms);
}

void node_track_annotations(struct node_track *track, const json_t *annotations,
                            int64_t now_mono_ms, int64_t now_unix_ms) {
        (void)kept_annotations_set(&track->annotations, annotations,
                                   track->compiled->options.style.prefix);
        track->unix_ahead_ms = now_unix_ms - now_mono_ms;
        learn_annotations(track, false, now_mono_ms, now_unix_ms);
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
        settle_serving(track);
        for (size_t i = 0; i < compiled->policy->metric_count; i++)
                if (policy_metric_index(old->policy, compiled->policy->metrics[i].name) < 0)
                        track->unseen |= UINT64_C(1) << i;
        learn_annotations(track, true, now_mono_ms, now_unix_ms);
}

int64_t node_track_settle_ms(const struct node_track *track) {
        const struct compiled_policy *compiled = track->compiled;
        int64_t interval_ms = compiled->options.sources[track->serving].interval_ms;

        for (size_t i = track->serving + 1; i < compiled->ordered_count; i++)
                if (compiled->sources[i].is_asked)
                        interval_ms += compiled->options.sources[i].interval_ms;
        return SETTLE_INTERVALS * interval_ms;
}

bool node_track_age_ms(const struct node_track *track, int64_t now_mono_ms, int64_t *ret_ms) {
        const struct feed *feed = &track->feeds[track->serving];

        if (!feed->is_heard)
                return false;
        *ret_ms = now_mono_ms - feed->heard_mono_ms;
        return true;
}

bool node_track_is_fresh(const struct node_track *track, int64_t now_mono_ms) {
        return is_feed_fresh(track, track->serving, now_mono_ms);
}

const char *node_track_failure(const struct node_track *track) {
        return track->feeds[track->serving].failure;
}

const char *node_track_trouble(const struct node_track *track, size_t source) {
        const char *failure = track->feeds[source].failure;

        return failure ? failure : "silent";
}

uint32_t node_track_outcomes(const struct node_track *track, int64_t now_mono_ms) {
        uint32_t least = UINT32_MAX;

        for (size_t i = 0; i < track->compiled->options.source_count; i++)
                if (node_track_wants(track, i, now_mono_ms) && track->feeds[i].outcomes < least)
                        least = track->feeds[i].outcomes;
        return least;
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
                if (!is_feed_fresh(track, source, now_mono_ms))
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
                if (track->feeds[source].why && is_feed_fresh(track, source, now_mono_ms))
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
