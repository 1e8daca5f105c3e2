#include "controller/source/metrics_api/metrics_server_settings.h"

#include "controller/source/metrics_api/metrics_server.h"
#include "controller/source/source_set.h"
#include "program/options.h"

static struct metrics_server_options options; /* where the rows put their values */

/* clang-format off */
static const struct option_row rows[] = {
        {.help = "metrics-server source"},
        {.name = "metrics-server-interval", .type = OPTION_DURATION_MS,
         .value = &options.interval_ms, .fallback = "15s", .metavar = "DURATION",
         .min = 1000, .max = 300000,
         .help = "Between two lists of all nodes. Shorter than metrics-server's own "
                 "resolution brings no new samples."}
};
/* clang-format on */

static int configure_metrics_server(struct source_set_options *set,
                                    const struct source_setup *setup, struct error *err) {
        struct source_item *item = source_set_item(set, &metrics_server_kind);

        (void)setup;
        (void)err;
        if (item) {
                item->options = &options;
                item->traits = (struct source_traits){.interval_ms = options.interval_ms,
                                                      .scope.resources = METRICS_SERVER_RESOURCES};
        }
        return 0;
}

const struct source_kind metrics_server_kind = {
        .name = "metrics-server",
        .hint = METRICS_SERVER_HINT,
        .ops = &metrics_server_ops,
        .rows = rows,
        .row_count = ARRAY_LEN(rows),
        .configure = configure_metrics_server,
};
