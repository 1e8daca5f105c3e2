/* Numbers, durations and timestamps: what is read can be written, and reads back as the same. */
#include <errno.h>
#include <string.h>

#include "base/duration.h"
#include "base/number.h"
#include "base/timestamp.h"
#include "fuzz.h"

static void check_number(const char *text, size_t len) {
        char written[NUMBER_TEXT_MAX];
        double value = 42, again = 42;

        if (!number_parse(text, len, &value)) {
                require(value == 42);
                return;
        }
        require(number_is_finite(value));
        number_format(value, written);
        require(number_parse(written, strlen(written), &again));
        require(memcmp(&value, &again, sizeof(value)) == 0); /* -0 included */
}

static void check_integers(const char *text, size_t len) {
        uint64_t u = 42;
        int64_t i = 42;
        double value = 0;

        if (number_parse_u64(text, len, &u)) {
                require(number_parse(text, len, &value) && value == (double)u);
                require(number_parse_i64(text, len, &i) == (u <= INT64_MAX));
                require(u > INT64_MAX || (uint64_t)i == u);
        } else if (number_parse_i64(text, len, &i)) {
                require(i <= 0 && len > 1 && text[0] == '-');
                require(number_parse(text, len, &value) && value == (double)i);
        }
}

static void check_duration(const char *text, size_t len) {
        char written[DURATION_TEXT_MAX];
        int64_t ms = 42, again = 42;
        int r = duration_parse(text, len, &ms);

        require(r == 0 || ((r == -EINVAL || r == -ERANGE) && ms == 42));
        if (r < 0)
                return;
        duration_format(ms, written);
        require(duration_parse(written, strlen(written), &again) == 0 && again == ms);
}

/* The same from the other side: any duration that Go holds. */
static void check_duration_from_ms(const char *bytes, size_t len) {
        char written[DURATION_TEXT_MAX];
        int64_t ms = 0, again = 42;

        memcpy(&ms, bytes, len < sizeof(ms) ? len : sizeof(ms));
        ms %= INT64_MAX / 1000000;
        duration_format(ms, written);
        require(strlen(written) < DURATION_TEXT_MAX - 1);
        require(duration_parse(written, strlen(written), &again) == 0 && again == ms);
}

static void check_timestamp(const char *text, size_t len) {
        char written[TIMESTAMP_MAX];
        int64_t at_unix_ms = 42, again = 42;

        if (!timestamp_parse(text, len, &at_unix_ms)) {
                require(at_unix_ms == 42);
                return;
        }
        timestamp_format_ms(at_unix_ms, written, sizeof(written));
        require(timestamp_parse(written, strlen(written), &again) && again == at_unix_ms);
        /* The text to the second is the same text. */
        require(memcmp(written, text, sizeof("2026-07-23T11:25:54") - 1) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        const char *text = (const char *)data;

        check_number(text, size);
        check_integers(text, size);
        check_duration(text, size);
        check_duration_from_ms(text, size);
        check_timestamp(text, size);
        return 0;
}
