/* Which source serves a node, and which ones are asked. */
#include "controller/track/node_track.h"
#include "controller/track/node_track_parts.h"

enum { SETTLE_INTERVALS = 4 }; /* of each source in order; kubelets may repeat a sample */

void node_track_settle_serving(struct node_track *track) {
        const struct compiled_policy *compiled = track->compiled;
        bool is_exporter = track->serving >= compiled->ordered_count;

        if (compiled->first_asked < compiled->options.source_count &&
            (is_exporter || !compiled->sources[track->serving].is_asked))
                track->serving = compiled->first_asked;
}

bool node_track_is_source_fresh(const struct node_track *track, size_t source,
                                int64_t now_mono_ms) {
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
                                             node_track_is_source_fresh(track, to, now_mono_ms));)
                        to++;
        } else if (to != track->serving && !track->feeds[to].is_heard) {
                size_t heard = first_that_serves(track, true, now_mono_ms);
                bool is_fresh = node_track_is_source_fresh(track, track->serving, now_mono_ms);
                to = heard < count ? heard : is_fresh ? track->serving : to;
        }
        if (to == count || to == track->serving)
                return false;
        *ret_from = track->serving;
        track->serving = to;
        return true;
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
        return node_track_is_source_fresh(track, track->serving, now_mono_ms);
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
