#include "controller/source/prometheus/prometheus_settings.h"

#include <errno.h>

#include "base/error.h"

enum { UNIT_PERCENT, UNIT_RATIO };

const char *const prometheus_units[] = {
        [UNIT_PERCENT] = "percent", [UNIT_RATIO] = "ratio", [UNIT_RATIO + 1] = NULL};

int prometheus_settings_read(const struct prometheus_settings *settings, bool is_named,
                             struct prometheus_options *ret, struct error *err) {
        if (is_named && !settings->address)
                return error_set(err, EINVAL,
                                 "--metrics-source=prometheus needs --prometheus-address");
        if (!is_named && settings->address)
                return error_set(err, EINVAL,
                                 "--prometheus-address needs prometheus in --metrics-source");
        int r = settings->address ? prometheus_address_check(settings->address, err) : 0;
        if (r < 0)
                return error_wrap(err, r, "--prometheus-address");
        r = credentials_options_check(&settings->credentials, "--prometheus-",
                                      settings->opens_files, err);
        if (r < 0)
                return r;

        struct prometheus_options options = {
                .api = {.address = settings->address,
                        .timeout_ms = settings->timeout_ms,
                        .max_reply_bytes = (size_t)settings->max_reply_bytes,
                        .credentials = settings->credentials},
                .interval_ms = settings->interval_ms,
                .is_percent = settings->unit == UNIT_PERCENT,
        };
        /* So that a query that hangs has ended before the next round, and is known to have hung. */
        int64_t longest_ms = options.interval_ms * 9 / 10;
        if (options.api.timeout_ms > longest_ms)
                options.api.timeout_ms = longest_ms;
        *ret = options;
        return 0;
}
