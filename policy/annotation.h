/*
 * The annotations that the controller writes and the extender reads: `<metric>:
 * <ratio>,<timestamp>` and `node_hot_value: <integer>,<timestamp>`. While the windows of means are
 * young, `node_covered_seconds: <seconds>,<timestamp>` says how much they hold, up to where the
 * means of the same patch end. For each maximum there is one more, which only controllers read:
 * `<metric>_peak: <ratio>,<timestamp>`, the largest 5-minute mean of the window.
 *
 * The timestamp says when what the value is made of ended: for a metric, at its newest sample,
 * which is where the window of a mean ends; for the hot value, when it was counted, which is when
 * it was written; for a peak, when the 5-minute mean was measured. It is never later than the
 * writing, and no earlier than a minute before it: a metric of which nodes are sampled less often
 * would otherwise expire between two samples. (crane's timestamps are the time of writing.)
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"
#include "base/zone.h"

#define ANNOTATION_HOT_VALUE "node_hot_value"
#define ANNOTATION_COVERED "node_covered_seconds"
#define ANNOTATION_PEAK "_peak" /* behind the metric's name */

enum {
        ANNOTATION_TEXT_MAX = 64,     /* of annotation_format_*(), with the NUL */
        ANNOTATION_MAX_BYTES = 256,   /* a longer value is malformed */
        ANNOTATION_GRACE_MS = 300000, /* how long past its period a value stays usable: 5 min */
        ANNOTATION_LAG_MS = 60000,    /* a timestamp is at most this long before the writing */
        ANNOTATION_SKEW_MS = 60000,   /* a timestamp further ahead of the clock is a warning */
        /* A larger value is written, and read, as this one. It is beyond every limit and makes a
         * node as full as any, and what is computed of it (percent, products with weights and
         * capacities, sums over nodes) is finite and in order; of 1e308 it is not. */
        ANNOTATION_RATIO_MAX = 1000000000,
};

struct annotation {
        double value;       /* 0 to ANNOTATION_RATIO_MAX: a ratio, or a hot value */
        int64_t at_unix_ms; /* UTC */
};

/**
 * annotation_parse() - decode `<number>,<timestamp>`
 * @text: @len bytes: exactly two comma-separated parts, a decimal number >= 0 and a timestamp
 *        `YYYY-MM-DDTHH:MM:SS[.fraction]Z`
 * @zone: the time zone that the Z stands for; NULL: UTC
 * Return: 0; -EINVAL malformed; -ERANGE negative. @err may be NULL
 */
_must_check_ int annotation_parse(const char *text, size_t len, const struct zone *zone,
                                  struct annotation *ret, struct error *err);

/**
 * annotation_format_ratio() - "0.34210,2026-07-23T11:25:54Z": five decimals, whole seconds
 * @ratio: finite, >= 0
 */
void annotation_format_ratio(double ratio, int64_t at_unix_ms, const struct zone *zone,
                             char text[static ANNOTATION_TEXT_MAX]);
/** annotation_format_hot() - "2,2026-07-23T11:25:54Z"; of any whole number */
void annotation_format_hot(int64_t hot, int64_t at_unix_ms, const struct zone *zone,
                           char text[static ANNOTATION_TEXT_MAX]);

/** annotation_stamp_unix_ms() - the timestamp of a metric that is written now, from its newest
 * sample's age >= 0; see the top of this file */
int64_t annotation_stamp_unix_ms(int64_t now_unix_ms, int64_t age_ms);

/**
 * annotation_expires_unix_ms() - first instant at which a value is no longer usable
 * @period_ms: the metric's period; 0 for node_hot_value
 * Return: at + period + 5 min; a value is usable while now < this
 */
int64_t annotation_expires_unix_ms(int64_t at_unix_ms, int64_t period_ms);
/** annotation_at_unix_ms() - the inverse: the timestamp of a value that expires then */
int64_t annotation_at_unix_ms(int64_t expires_unix_ms, int64_t period_ms);
