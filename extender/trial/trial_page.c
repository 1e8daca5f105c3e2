#include "extender/trial/trial_page.h"

#include <math.h>

#include "base/json_write.h"

enum { DIGITS = 6 };

static void put_pair(struct buf *out, const char *key, double real, double virtual) {
        json_write_object(out, key);
        json_write_number(out, "real", real, DIGITS);
        json_write_number(out, "virtual", virtual, DIGITS);
        json_write_object_end(out);
}

static void put_minutes(struct buf *out, const char *key, const double seconds[TRIAL_WORLDS]) {
        put_pair(out, key, seconds[TRIAL_REAL] / 60, seconds[TRIAL_VIRTUAL] / 60);
}

/* null: not known yet */
static void put_ratio(struct buf *out, const struct trial_blocks *blocks) {
        struct trial_ratio ratio = {NAN, NAN, NAN};

        (void)trial_blocks_ratio(blocks, &ratio);
        json_write_object(out, "ratio");
        json_write_number(out, "middle", ratio.ratio, DIGITS);
        json_write_number(out, "low", ratio.low, DIGITS);
        json_write_number(out, "high", ratio.high, DIGITS);
        json_write_object_end(out);
}

static void put_pods(struct buf *out, const struct trial_stats *stats, size_t running) {
        json_write_object(out, "pods");
        json_write_int(out, "running", (int64_t)running);
        json_write_int(out, "judged", (int64_t)stats->judged);
        json_write_int(out, "displaced", (int64_t)stats->displaced);
        json_write_int(out, "restricted", (int64_t)stats->not_judged[TRIAL_RESTRICTED]);
        json_write_int(out, "onClosedNodes", (int64_t)stats->not_judged[TRIAL_CLOSED]);
        json_write_int(out, "notEstimated", (int64_t)stats->not_judged[TRIAL_UNKNOWN]);
        put_pair(out, "overLimit", (double)stats->over_limit[TRIAL_REAL],
                 (double)stats->over_limit[TRIAL_VIRTUAL]);
        json_write_object_end(out);
}

void trial_page_write(const struct trial_stats *stats, enum policy_scoring scoring, size_t running,
                      int64_t now_unix_ms, struct buf *out) {
        const struct trial_sum sum = trial_blocks_sum(&stats->blocks);

        json_write_object(out, NULL);
        json_write_int(out, "version", TRIAL_PAGE_VERSION);
        json_write_time(out, "at", now_unix_ms);
        json_write_text(out, "scoring", policy_scoring_names[scoring]);
        json_write_time(out, "since", stats->since_unix_ms);
        json_write_seconds(out, "countedSeconds", trial_blocks_ms(&stats->blocks));
        json_write_time(out, "askedAt", stats->asked_unix_ms);
        put_pods(out, stats, running);
        put_pair(out, "hotNodes", (double)stats->hot[TRIAL_REAL],
                 (double)stats->hot[TRIAL_VIRTUAL]);
        put_minutes(out, "hotNodeMinutes", sum.hot_s);
        put_minutes(out, "veryHotNodeMinutes", sum.very_hot_s);
        put_ratio(out, &stats->blocks);
        json_write_object_end(out);
        buf_putc(out, '\n');
}
