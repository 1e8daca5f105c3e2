/* Which source serves a node, and which ones are asked. */
#include "controller/track/node_track.h"
#include "controller/track/node_track_parts.h"

enum { SETTLE_INTERVALS = 4 }; /* of each source; kubelets may repeat a sample */

void node_track_settle_serving(struct node_track *track) {
        const struct compiled_policy *compiled = track->compiled;
        bool is_exporter = track->serving >= compiled->ordered_count;

        if (compiled->first_used < compiled->options.source_count &&
            (is_exporter || !compiled->sources[track->serving].is_used))
                track->serving = compiled->first_used;
}

bool node_track_is_source_fresh(const struct node_track *track, size_t source,
                                int64_t now_mono_ms) {
        return feed_is_fresh(&track->feeds[source], track->compiled->sources[source].fresh_ms,
                             now_mono_ms);
}

/* A source that has never answered is awaited until it has failed twice, but no longer than a
 * reading is fresh: when thousands of exporters do not answer, the second failure of each takes
 * minutes. */
static bool is_awaited(const struct node_track *track, size_t source, int64_t now_mono_ms) {
        return !track->feeds[source].is_heard &&
               now_mono_ms - track->begun_mono_ms <= track->compiled->sources[source].fresh_ms;
}

static bool may_serve(const struct node_track *track, size_t source, int64_t now_mono_ms) {
        return track->compiled->sources[source].is_used && !track->feeds[source].is_down &&
               (is_awaited(track, source, now_mono_ms) ||
                node_track_is_source_fresh(track, source, now_mono_ms));
}

bool node_track_needs(const struct node_track *track, size_t source, int64_t now_mono_ms) {
        if (source < track->compiled->ordered_count)
                for (size_t i = 0; i < source; i++)
                        if (may_serve(track, i, now_mono_ms))
                                return false;
        return track->compiled->sources[source].is_used;
}

size_t node_track_source(const struct node_track *track, size_t metric) {
        size_t exporter = track->compiled->stores[metric];

        return exporter > 0 ? exporter : track->serving;
}

size_t node_track_choose(const struct node_track *track, int64_t now_mono_ms) {
        size_t count = track->compiled->ordered_count;

        for (size_t i = 0; i < count; i++)
                if (track->feeds[i].is_heard && may_serve(track, i, now_mono_ms))
                        return i;
        for (size_t i = 0; i < count; i++)
                if (track->compiled->sources[i].is_used &&
                    node_track_is_source_fresh(track, i, now_mono_ms))
                        return i;
        return track->serving;
}

bool node_track_switch(struct node_track *track, int64_t now_mono_ms, size_t *ret_from) {
        size_t to = node_track_choose(track, now_mono_ms);

        if (to == track->serving)
                return false;
        *ret_from = track->serving;
        track->serving = to;
        return true;
}

int64_t node_track_settle_ms(const struct node_track *track) {
        const struct compiled_policy *compiled = track->compiled;
        int64_t interval_ms = compiled->options.sources[track->serving].interval_ms;

        for (size_t i = track->serving + 1; i < compiled->ordered_count; i++)
                if (compiled->sources[i].is_used)
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
                if (node_track_needs(track, i, now_mono_ms) && track->feeds[i].outcomes < least)
                        least = track->feeds[i].outcomes;
        return least;
}
