#include <errno.h>

#include "base/error.h"
#include "controller/source/prometheus/prometheus.h"
#include "controller/source/prometheus/promql.h"
#include "controller/source/source_set.h"
#include "program/options.h"

static struct prometheus_options options; /* where the rows put their values */
static int unit;

enum { UNIT_PERCENT, UNIT_RATIO };

static const char *const units[] = {
        [UNIT_PERCENT] = "percent", [UNIT_RATIO] = "ratio", [UNIT_RATIO + 1] = NULL};

/* clang-format off */
static const struct option_row rows[] = {
        {.help = "Prometheus source"},
        {.name = "prometheus-address", .type = OPTION_STRING,
         .value = &options.api.address, .metavar = "URL",
         .help = "Address of the Prometheus for --metrics-source=prometheus, or of a compatible "
                 "API: http://prometheus.monitoring:9090, https://thanos/prefix."},
        {.name = "prometheus-interval", .type = OPTION_DURATION_MS,
         .value = &options.interval_ms, .fallback = "30s",
         .metavar = "DURATION", .min = 1000, .max = 300000,
         .help = "Between two rounds of queries; a round is one query per metric for all nodes."},
        {.name = "prometheus-timeout", .type = OPTION_DURATION_MS,
         .value = &options.api.timeout_ms, .fallback = "10s",
         .metavar = "DURATION", .min = 100, .max = 300000,
         .help = "Per query; at most nine tenths of the interval. Prometheus gives up after nine tenths "
                 "of this."},
        {.name = "prometheus-unit", .type = OPTION_ENUM,
         .value = &unit, .fallback = "percent",
         .choices = units,
         .help = "Unit of recorded values: percent, as in crane's recording rules, or ratio."},
        {.name = "prometheus-selector", .type = OPTION_STRING,
         .value = &options.selector, .metavar = "MATCHERS",
         .help = "Query only series with these labels, as in cluster=\"prod-eu\": for a Prometheus "
                 "that has several clusters. Recorded series must have them, too."},
        {.name = "prometheus-header", .type = OPTION_STRING,
         .value = &options.api.header, .metavar = "HEADER",
         .help = "Send this HTTP header, as in X-Scope-OrgID: tenant."},
        {.name = "prometheus-max-reply-bytes", .type = OPTION_INT,
         .value = &options.api.max_reply_bytes, .fallback = "16777216",
         .metavar = "BYTES", .min = 4096, .max = 268435456,
         .help = "A longer response counts as a failure. 5,000 nodes take 1 to 3 MB."},
        CREDENTIALS_ROWS("prometheus-", options.api.credentials, "Prometheus"),
};
/* clang-format on */

static int configure_prometheus(struct source_set_options *set, const struct source_setup *setup,
                                struct error *err) {
        struct source_item *item = source_set_item(set, &prometheus_kind);
        const char *address = options.api.address;

        if (item && !address)
                return error_set(err, EINVAL,
                                 "--metrics-source=prometheus needs --prometheus-address");
        if (!item && address)
                return error_set(err, EINVAL,
                                 "--prometheus-address needs prometheus in --metrics-source");
        int r = address ? prometheus_address_check(address, err) : 0;
        if (r < 0)
                return error_wrap(err, r, "--prometheus-address");
        r = options.selector ? promql_selector_check(options.selector, err) : 0;
        if (r < 0)
                return error_wrap(err, r, "--prometheus-selector");
        r = options.api.header ? prometheus_header_check(options.api.header, err) : 0;
        if (r < 0)
                return error_wrap(err, r, "--prometheus-header");
        r = credentials_options_check(&options.api.credentials, "--prometheus-", setup->opens_files,
                                      err);
        if (r < 0 || !item)
                return r;

        /* So that a query that hangs has ended before the next round, and is known to have hung. */
        int64_t longest_ms = options.interval_ms * 9 / 10;
        if (options.api.timeout_ms > longest_ms)
                options.api.timeout_ms = longest_ms;
        options.network = *setup->network;
        options.is_percent = unit == UNIT_PERCENT;
        options.is_once = setup->is_once;
        item->options = &options;
        item->traits = (struct source_traits){.interval_ms = options.interval_ms,
                                              .scope.has_every_exporter = true};
        return 0;
}

const struct source_kind prometheus_kind = {
        .name = "prometheus",
        .hint = "--prometheus-address, --node-address-types",
        .ops = &prometheus_ops,
        .rows = rows,
        .row_count = ARRAY_LEN(rows),
        .configure = configure_prometheus,
};
