/* What a track learns from annotations: what was written, and the peaks. */
#include <math.h>
#include <string.h>

#include "controller/track/node_track.h"
#include "controller/track/node_track_parts.h"
#include "policy/annotation.h"

/* How far a maximum may be from its peak: both have five decimals, and a peak that moves by less is
 * not written again. */
static const double PEAK_ERROR = 3e-5;

static bool read_own_annotation(const struct node_track *track, const char *key,
                                struct annotation *ret) {
        const char *text = key ? kept_texts_get(&track->annotations, key) : NULL;

        return text && annotation_parse(text, strlen(text), track->compiled->options.style.zone,
                                        ret, NULL) == 0;
}

/* Annotations have whole seconds, the record has milliseconds: only a later second is new. */
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

/* Returns whether the peak has changed. */
static bool note_peak(struct plan_written *written, bool is_there,
                      const struct annotation *annotation) {
        bool is_news = is_there && (written->peak_unix_ms != annotation->at_unix_ms ||
                                    fabs(written->peak_ratio - annotation->value) > 0);

        written->peak_ratio = is_there ? annotation->value : 0;
        written->peak_unix_ms = is_there ? annotation->at_unix_ms : PLAN_NEVER;
        return is_news;
}

static void learn_peak(struct node_track *track, size_t metric, const struct annotation *peak,
                       int64_t now_mono_ms, int64_t now_unix_ms) {
        (void)window_store_seed(track->stores[track->compiled->stores[metric]].windows,
                                &track->compiled->policy->metrics[metric].query, peak->value,
                                now_unix_ms - peak->at_unix_ms, now_mono_ms);
}

/* A value above 1 is a percentage of another program; a timestamp far in the future does not tell
 * when the peak was. */
static bool can_be_learned(const struct annotation *annotation, int64_t now_unix_ms) {
        return annotation->value <= 1 && annotation->at_unix_ms <= now_unix_ms + ANNOTATION_SKEW_MS;
}

/* A mean, or a maximum of which only the time of the annotation is known. */
static void learn_written(struct node_track *track, size_t metric,
                          const struct annotation *annotation, int64_t now_mono_ms,
                          int64_t now_unix_ms) {
        bool is_read = node_track_is_source_fresh(track, node_track_source(track, metric),
                                                  now_mono_ms);

        if (track->compiled->policy->metrics[metric].is_query &&
            can_be_learned(annotation, now_unix_ms) && (!is_read || track->unseen >> metric & 1))
                learn_peak(track, metric, annotation, now_mono_ms, now_unix_ms);
}

/* Does this peak belong to this maximum? Not if a program that writes no peaks (crane, an older
 * version) has overwritten the maximum: then the peak had left its window, or is smaller. Our own
 * maximum is above its peak only while no mean is remembered (window.h); the peak is 0 and new. */
static bool is_peak_of(const struct annotation *peak, const struct policy_metric *metric,
                       const struct annotation *written) {
        int64_t slack_ms = 2 * window_resolution_ms(metric->query.window_ms);
        int64_t age_ms = written->at_unix_ms - peak->at_unix_ms;

        if (written->value < peak->value + PEAK_ERROR)
                return age_ms < metric->query.window_ms + slack_ms;
        return peak->value == 0 && age_ms < slack_ms;
}

void node_track_learn(struct node_track *track, bool has_new_windows, int64_t now_mono_ms,
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
                                if (is_news || has_new_windows)
                                        learn_peak(track, i, &peak, now_mono_ms, now_unix_ms);
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
