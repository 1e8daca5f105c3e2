#include "controller/source/metrics_api/metrics_api_sample.h"

bool metrics_api_sample_is_stale(const struct metrics_api_sample *sample,
                                 const struct metrics_api_sample_time *time) {
        int64_t limit_ms = 2 * sample->metrics.window_ms + time->interval_ms;
        int64_t seen_ms = time->now_mono_ms - sample->seen_mono_ms;
        int64_t age_ms = time->now_unix_ms - sample->metrics.at_unix_ms;

        if (limit_ms < NODE_SAMPLE_STALE_MS)
                limit_ms = NODE_SAMPLE_STALE_MS;
        return !sample->is_there || seen_ms > limit_ms || age_ms > limit_ms + NODE_SAMPLE_SKEW_MS;
}

bool metrics_api_sample_offer(struct metrics_api_sample *sample,
                              const struct metrics_api_item *metrics,
                              const struct metrics_api_sample_time *time) {
        if (sample->is_there && metrics->at_unix_ms == sample->metrics.at_unix_ms)
                return false;
        if (sample->is_there && metrics->at_unix_ms < sample->metrics.at_unix_ms &&
            !metrics_api_sample_is_stale(sample, time))
                return false;
        *sample = (struct metrics_api_sample){*metrics, time->now_mono_ms, true};
        return true;
}
