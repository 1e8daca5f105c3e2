/*
 * The annotations that the controller writes and the extender reads:
 *
 *     <metric>: <ratio>,<timestamp>
 *     node_hot_value: <integer>,<timestamp>
 *     node_covered_seconds: <seconds>,<timestamp>    until the windows are full: the time that the
 *                                                    means in the same patch cover
 *     <metric>_peak: <ratio>,<timestamp>             for a maximum: the largest 5-minute mean in
 *                                                    the window; only controllers read it
 *
 * Timestamps say when the value was measured: for a metric, the time of its newest sample, where
 * the window of a mean ends; for a peak, the time of the 5-minute mean; for the hot value, the time
 * of counting, which is the time of the write. A metric's timestamp is at most a minute older than
 * the write, or a metric with rare samples would expire between two of them. Crane's timestamps are
 * the time of the write.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"
#include "base/zone.h"

#define ANNOTATION_HOT_VALUE "node_hot_value"
#define ANNOTATION_COVERED "node_covered_seconds"
#define ANNOTATION_PEAK "_peak" /* follows the metric's name */

enum {
        ANNOTATION_TEXT_MAX = 64,     /* for annotation_format_*(), with the NUL */
        ANNOTATION_MAX_BYTES = 256,   /* a longer value is malformed */
        ANNOTATION_GRACE_MS = 300000, /* a value is usable for its period and this long */
        ANNOTATION_LAG_MS = 60000,    /* a timestamp is at most this much older than the write */
        ANNOTATION_SKEW_MS = 60000,   /* a timestamp further ahead of the clock causes a warning */
        /* Larger values are written and read as this one. It is above every limit, and everything
         * computed from it (percent, products with weights and capacities, sums over nodes) stays
         * finite, which 1e308 would not. */
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
/** annotation_format_hot() - "2,2026-07-23T11:25:54Z"; for any whole number */
void annotation_format_hot(int64_t hot, int64_t at_unix_ms, const struct zone *zone,
                           char text[static ANNOTATION_TEXT_MAX]);

/** annotation_stamp_unix_ms() - the timestamp for a metric that is written now
 * @age_ms: the age of its newest sample, >= 0 */
int64_t annotation_stamp_unix_ms(int64_t now_unix_ms, int64_t age_ms);

/**
 * annotation_expires_unix_ms() - the first instant at which a value is no longer usable
 * @period_ms: the metric's period; 0 for node_hot_value
 * Return: at + period + 5 min; a value is usable while now < this
 */
int64_t annotation_expires_unix_ms(int64_t at_unix_ms, int64_t period_ms);
/** annotation_at_unix_ms() - the inverse: the timestamp of a value that expires at this time */
int64_t annotation_at_unix_ms(int64_t expires_unix_ms, int64_t period_ms);
