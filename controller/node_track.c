#include "controller/node_track.h"

#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "policy/annotation.h"

/* Scrapes that may be missed before a node counts as not measured; at least a minute. */
enum { FRESH_INTERVALS = 4 };

struct rules *rules_new(struct policy *policy, const struct rules_options *options) {
        struct rules *rules = xcalloc(1, sizeof(*rules));
        struct metric_query queries[POLICY_MAX_METRICS];
        size_t query_count = 0;

        rules->policy = policy;
        rules->options = *options;
        rules->fresh_ms = FRESH_INTERVALS * options->scrape_interval_ms;
        if (rules->fresh_ms < MS_PER_MIN)
                rules->fresh_ms = MS_PER_MIN;
        for (size_t i = 0; i < policy->metric_count; i++) {
                rules->keys[i] = xasprintf("%s%s", options->style.prefix, policy->metrics[i].name);
                if (policy->metrics[i].is_query)
                        queries[query_count++] = policy->metrics[i].query;
        }
        rules->hot_key = xasprintf("%s" ANNOTATION_HOT_VALUE, options->style.prefix);
        rules->window_plan = window_plan_new(queries, query_count, options->scrape_interval_ms);
        plan_init(&rules->plan, policy, options->dead_band_ratio);
        return rules;
}

void rules_free(struct rules *rules) {
        if (!rules)
                return;
        for (size_t i = 0; i < rules->policy->metric_count; i++)
                free(rules->keys[i]);
        free(rules->hot_key);
        window_plan_free(rules->window_plan);
        policy_free(rules->policy);
        free(rules);
}

void node_track_init(struct node_track *track, const struct rules *rules) {
        *track = (struct node_track){
                .windows = window_store_new(rules->window_plan),
                .record = plan_record_new(&rules->plan),
        };
}

void node_track_done(struct node_track *track) {
        window_store_free(track->windows);
        plan_record_free(track->record);
        free(track->ready_ratio);
        *track = (struct node_track){0};
}

void node_track_replan(struct node_track *track, const struct rules *old,
                       const struct rules *rules) {
        track->windows = window_store_replan(track->windows, rules->window_plan);
        track->record = plan_record_replan(track->record, old->policy, &rules->plan);
        /* Indices have moved; the next scrape is seconds away. */
        free(TAKE_PTR(track->ready_ratio));
        track->ready = 0;
}

void node_track_reading(struct node_track *track, const struct rules *rules,
                        const struct source_reading *reading, int64_t now_mono_ms) {
        if (reading->step)
                (void)window_store_add(track->windows, reading->step);
        if (reading->ready != 0) {
                size_t count = rules->policy->metric_count;
                if (!track->ready_ratio)
                        track->ready_ratio = xcalloc(count, sizeof(*track->ready_ratio));
                for (size_t i = 0; i < count; i++)
                        if (reading->ready & (UINT64_C(1) << i))
                                track->ready_ratio[i] = reading->values_ratio[i];
        }
        track->ready = reading->ready;
        track->ready_mono_ms = now_mono_ms;
}

static bool read_annotation(const json_t *annotations, const char *key, const struct zone *zone,
                            struct annotation *ret) {
        const json_t *value = json_object_get(annotations, key);

        return json_is_string(value) &&
               annotation_parse(json_string_value(value), json_string_length(value), zone, ret,
                                NULL) == 0;
}

/* An annotation has whole seconds, we remember milliseconds: only a later second is news. */
static void note_written(struct plan_written *written, bool is_there,
                         const struct annotation *annotation) {
        if (!is_there)
                *written = (struct plan_written){.at_unix_ms = PLAN_NEVER};
        else if (written->at_unix_ms == PLAN_NEVER || annotation->at_unix_ms > written->at_unix_ms)
                *written = (struct plan_written){annotation->value, annotation->at_unix_ms};
}

static void seed(struct node_track *track, const struct policy_metric *metric,
                 const struct annotation *annotation, int64_t now_mono_ms, int64_t now_unix_ms) {
        int64_t age_ms = now_unix_ms - annotation->at_unix_ms;

        /* Above 1 stands the percentage of another program, and a clock that is far ahead says
         * nothing about when the peak was. */
        if (!metric->is_query || annotation->value > 1 || age_ms < -ANNOTATION_SKEW_MS)
                return;
        (void)window_store_seed(track->windows, &metric->query, annotation->value, age_ms,
                                now_mono_ms);
}

void node_track_annotations(struct node_track *track, const struct rules *rules,
                            const json_t *annotations, int64_t now_mono_ms, int64_t now_unix_ms) {
        const struct zone *zone = rules->options.style.zone;
        struct annotation annotation;

        for (size_t i = 0; i < rules->policy->metric_count; i++) {
                bool is_there = read_annotation(annotations, rules->keys[i], zone, &annotation);
                note_written(&track->record->metrics[i], is_there, &annotation);
                if (is_there && !track->is_seeded)
                        seed(track, &rules->policy->metrics[i], &annotation, now_mono_ms,
                             now_unix_ms);
        }
        bool is_there = read_annotation(annotations, rules->hot_key, zone, &annotation);
        note_written(&track->record->hot, is_there, &annotation);
        track->is_seeded = true;
}

bool node_track_age_ms(const struct node_track *track, int64_t now_mono_ms, int64_t *ret_ms) {
        int64_t last_mono_ms;

        if (!window_store_last_ms(track->windows, &last_mono_ms))
                return false;
        *ret_ms = now_mono_ms - last_mono_ms;
        return true;
}

void node_track_values(const struct node_track *track, const struct rules *rules,
                       int64_t now_mono_ms, struct plan_values *ret) {
        int64_t age_ms;
        bool is_fresh = node_track_age_ms(track, now_mono_ms, &age_ms) && age_ms <= rules->fresh_ms;
        bool ready_is_fresh = now_mono_ms - track->ready_mono_ms <= rules->fresh_ms;

        ret->usable = 0;
        ret->has_hot = false;
        ret->hot = 0;
        for (size_t i = 0; i < rules->policy->metric_count; i++) {
                const struct policy_metric *metric = &rules->policy->metrics[i];
                uint64_t bit = UINT64_C(1) << i;
                if (ready_is_fresh && (track->ready & bit) != 0) {
                        ret->ratio[i] = track->ready_ratio[i];
                        ret->usable |= bit;
                } else if (is_fresh && metric->is_query &&
                           window_value(track->windows, &metric->query, now_mono_ms,
                                        &ret->ratio[i])) {
                        ret->usable |= bit;
                }
        }
}

const char *node_track_why(const struct node_track *track, const struct rules *rules, size_t metric,
                           int64_t now_mono_ms) {
        const struct policy_metric *wanted = &rules->policy->metrics[metric];
        int64_t age_ms;

        if ((track->ready & (UINT64_C(1) << metric)) != 0)
                return now_mono_ms - track->ready_mono_ms <= rules->fresh_ms
                               ? ""
                               : "the last scrape is too old";
        if (!wanted->is_query)
                return "the exporter has no such gauge";
        struct window_reading reading = window_read(track->windows, &wanted->query, now_mono_ms);
        if (reading.status != WINDOW_KNOWN)
                return window_status_text(reading.status);
        if (!node_track_age_ms(track, now_mono_ms, &age_ms) || age_ms > rules->fresh_ms)
                return "the last scrape is too old";
        return "";
}
