/*
 * The options of the metrics-server source: rows of the controller's table, and their values.
 */
#pragma once

#include <stdint.h>

#include "controller/source/metrics_api/metrics_server.h"
#include "program/options.h"

/* Where the rows put their values. */
struct metrics_server_settings {
        int64_t interval_ms;
};

/* clang-format off */
#define METRICS_SERVER_ROWS(s)                                                                     \
        {.name = "metrics-server-interval", .type = OPTION_DURATION_MS,                            \
         .value = &(s).interval_ms, .fallback = "15s", .metavar = "DURATION",                      \
         .min = 1000, .max = 300000,                                                               \
         .help = "Between two lists of all nodes. Shorter than metrics-server's own "               \
                 "resolution brings no new samples."}
/* clang-format on */

static inline struct metrics_server_options metrics_server_settings_read(
        const struct metrics_server_settings *settings) {
        return (struct metrics_server_options){.interval_ms = settings->interval_ms};
}
