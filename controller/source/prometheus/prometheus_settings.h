/*
 * The options of the Prometheus source: rows for the controller's table, and what they come to.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"
#include "controller/source/prometheus/prometheus.h"
#include "program/options.h"

/* Where the rows put their values. */
struct prometheus_settings {
        const char *address;
        int64_t interval_ms, timeout_ms, max_reply_bytes;
        int unit;
        struct credentials_options credentials;
        bool opens_files; /* see credentials_options_check() */
};

extern const char *const prometheus_units[];

/* clang-format off */
#define PROMETHEUS_ROWS(s)                                                                         \
        {.name = "prometheus-address", .type = OPTION_STRING,                                      \
         .value = &(s).address, .metavar = "URL",                                                  \
         .help = "Address of the Prometheus for --metrics-source=prometheus, or of a compatible "    \
                 "API: http://prometheus.monitoring:9090, https://thanos/prefix."},            \
        {.name = "prometheus-interval", .type = OPTION_DURATION_MS,                                \
         .value = &(s).interval_ms, .fallback = "30s",                                             \
         .metavar = "DURATION", .min = 1000, .max = 300000,                                        \
         .help = "Between two rounds of queries; a round is one query per metric for all nodes."},            \
        {.name = "prometheus-timeout", .type = OPTION_DURATION_MS,                                 \
         .value = &(s).timeout_ms, .fallback = "10s",                                              \
         .metavar = "DURATION", .min = 100, .max = 300000,                                         \
         .help = "Per query; at most nine tenths of the interval."},                             \
        {.name = "prometheus-unit", .type = OPTION_ENUM,                                           \
         .value = &(s).unit, .fallback = "percent",                                                \
         .choices = prometheus_units,                                                              \
         .help = "Unit of recorded values: percent, as in crane's recording rules, or ratio."},    \
        {.name = "prometheus-max-reply-bytes", .type = OPTION_INT,                                 \
         .value = &(s).max_reply_bytes, .fallback = "16777216",                                    \
         .metavar = "BYTES", .min = 4096, .max = 268435456,                                        \
         .help = "A longer response counts as a failure. 5,000 nodes take 1 to 3 MB."},              \
        {.name = "prometheus-ca-file", .type = OPTION_STRING,                                      \
         .value = &(s).credentials.ca_file, .metavar = "FILE",                                             \
         .help = "CA certificates to verify Prometheus with. Default: the system's."},                 \
        {.name = "prometheus-insecure-skip-verify", .type = OPTION_BOOL,                           \
         .value = &(s).credentials.is_insecure,                                                            \
         .help = "Do not verify the server certificate."},                                                      \
        {.name = "prometheus-server-name", .type = OPTION_STRING,                                  \
         .value = &(s).credentials.server_name, .metavar = "NAME",                                         \
         .help = "Name expected in the server certificate. Default: the address's host."},                 \
        {.name = "prometheus-cert-file", .type = OPTION_STRING,                                    \
         .value = &(s).credentials.cert_file, .metavar = "FILE",                                           \
         .help = "Client certificate, with --prometheus-key-file."},                                  \
        {.name = "prometheus-key-file", .type = OPTION_STRING,                                     \
         .value = &(s).credentials.key_file, .metavar = "FILE",                                            \
         .help = "Key of the client certificate."},                                                                      \
        {.name = "prometheus-username", .type = OPTION_STRING,                                     \
         .value = &(s).credentials.username, .metavar = "NAME",                                    \
         .help = "Basic authentication, with --prometheus-password-file."},                        \
        {.name = "prometheus-password-file", .type = OPTION_STRING,                                \
         .value = &(s).credentials.password_file, .metavar = "FILE",                               \
         .help = "Read again every minute."},                                                      \
        {.name = "prometheus-bearer-token-file", .type = OPTION_STRING,                            \
         .value = &(s).credentials.bearer_token_file, .metavar = "FILE",                           \
         .help = "Sent as Authorization: Bearer; read again every minute."}
/* clang-format on */

/**
 * prometheus_settings_read() - options from the rows' values; strings are borrowed from them
 * @is_named: --metrics-source names this source, so it has to be possible
 * Return: 0; -EINVAL, @err names the flag
 */
_must_check_ int prometheus_settings_read(const struct prometheus_settings *settings, bool is_named,
                                          struct prometheus_options *ret, struct error *err);
