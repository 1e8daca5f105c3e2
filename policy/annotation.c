#include "policy/annotation.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/timestamp.h"

int annotation_parse(const char *text, size_t len, const struct zone *zone, struct annotation *ret,
                     struct error *err) {
        double value = 0;
        int64_t local_ms = 0;

        if (len > ANNOTATION_MAX_BYTES)
                return error_set(err, EINVAL, "expected at most %d bytes, got %zu",
                                 ANNOTATION_MAX_BYTES, len);
        const char *comma = len > 0 ? memchr(text, ',', len) : NULL;
        if (!comma)
                return error_set(err, EINVAL, "expected <number>,<timestamp>, got '%.*s'", (int)len,
                                 text);
        size_t number_len = (size_t)(comma - text);
        const char *stamp = comma + 1;
        size_t stamp_len = len - number_len - 1;

        if (!number_parse(text, number_len, &value))
                return error_set(err, EINVAL,
                                 "expected a decimal number before the comma, got '%.*s'",
                                 (int)number_len, text);
        /* A third part ends up here as well: a timestamp holds no comma. */
        if (!timestamp_parse(stamp, stamp_len, &local_ms))
                return error_set(err, EINVAL,
                                 "expected a timestamp like 2026-07-23T11:25:54Z after the comma, "
                                 "got '%.*s'",
                                 (int)stamp_len, stamp);
        if (value < 0)
                return error_set(err, ERANGE, "expected a number >= 0, got '%.*s'", (int)number_len,
                                 text);
        *ret = (struct annotation){
                .value = value < ANNOTATION_RATIO_MAX ? value : ANNOTATION_RATIO_MAX,
                .at_unix_ms = zone_utc_from_local(zone, local_ms),
        };
        return 0;
}

static void append_stamp(int64_t at_unix_ms, const struct zone *zone, char *text, int len) {
        assert(len > 0 && len < ANNOTATION_TEXT_MAX);
        timestamp_format_s(zone_local_from_utc(zone, at_unix_ms), text + len,
                           (size_t)(ANNOTATION_TEXT_MAX - len));
}

void annotation_format_ratio(double ratio, int64_t at_unix_ms, const struct zone *zone,
                             char text[static ANNOTATION_TEXT_MAX]) {
        assert(number_is_finite(ratio) && ratio >= 0);

        double written = ratio < ANNOTATION_RATIO_MAX ? ratio : ANNOTATION_RATIO_MAX;
        append_stamp(at_unix_ms, zone, text, snprintf(text, ANNOTATION_TEXT_MAX, "%.5f,", written));
}

void annotation_format_hot(int64_t hot, int64_t at_unix_ms, const struct zone *zone,
                           char text[static ANNOTATION_TEXT_MAX]) {
        append_stamp(at_unix_ms, zone, text,
                     snprintf(text, ANNOTATION_TEXT_MAX, "%lld,", (long long)hot));
}

int64_t annotation_stamp_unix_ms(int64_t now_unix_ms, int64_t age_ms) {
        return now_unix_ms - (age_ms < ANNOTATION_LAG_MS ? age_ms : ANNOTATION_LAG_MS);
}

int64_t annotation_expires_unix_ms(int64_t at_unix_ms, int64_t period_ms) {
        int64_t expires_ms = 0;

        if (__builtin_add_overflow(at_unix_ms, period_ms, &expires_ms) ||
            __builtin_add_overflow(expires_ms, ANNOTATION_GRACE_MS, &expires_ms))
                return INT64_MAX;
        return expires_ms;
}

int64_t annotation_at_unix_ms(int64_t expires_unix_ms, int64_t period_ms) {
        return expires_unix_ms - ANNOTATION_GRACE_MS - period_ms;
}
