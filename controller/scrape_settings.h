/*
 * The options of the sources that scrape pages (node-exporter, node-metrics, and any --exporter):
 * rows for the controller's option table, and their evaluation.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"
#include "controller/exposition/exposition.h"
#include "controller/source_set.h"
#include "program/options.h"

/* Where the rows put their values. */
struct scrape_settings {
        int64_t scrape_interval_ms, scrape_timeout_ms, max_page_bytes;
        int scheme;
        int64_t port;
        const char *path, *url_template;
        struct credentials_options credentials;
        const char *node_metrics_template;
        struct option_list exporters, exporter_options;
        const char *network_devices, *network_speed;
        bool opens_files; /* see credentials_options_check() */
};

extern const char *const scrape_schemes[];

/* clang-format off */
#define SCRAPE_ROWS(s)                                                                               \
        {.name = "scrape-interval", .type = OPTION_DURATION_MS,                                    \
         .value = &(s).scrape_interval_ms, .fallback = "15s", .metavar = "DURATION",               \
         .min = 1000, .max = 300000,                                                               \
         .help = "Time between two scrapes of a node; the scrapes of different nodes are "         \
                 "spread over it."},                                                               \
        {.name = "scrape-timeout", .type = OPTION_DURATION_MS, .value = &(s).scrape_timeout_ms,    \
         .fallback = "10s", .metavar = "DURATION", .min = 100, .max = 300000,                      \
         .help = "Timeout of a scrape; at most the interval."},                                    \
        {.name = "max-page-bytes", .type = OPTION_INT, .value = &(s).max_page_bytes,               \
         .fallback = "16777216", .metavar = "BYTES", .min = 4096, .max = EXPOSITION_MAX_BYTES,      \
         .help = "A larger page counts as a failure."},                                            \
        {.name = "node-exporter-scheme", .type = OPTION_ENUM, .value = &(s).scheme,                \
         .fallback = "http", .choices = scrape_schemes,                                              \
         .help = "http or https."},                                                                \
        {.name = "node-exporter-port", .type = OPTION_INT, .value = &(s).port,                     \
         .fallback = KUBE_PORT_TEXT(KUBE_PORT_NODE_EXPORTER), .metavar = "PORT", .min = 1, .max = 65535,                            \
         .help = "The exporter's port on every node."},                                            \
        {.name = "node-exporter-path", .type = OPTION_STRING, .value = &(s).path,                  \
         .hides_query = true,                                                                      \
         .fallback = "/metrics", .metavar = "PATH",                                                \
         .help = "Path of the exporter's page."},                                                  \
        {.name = "target-url-template", .type = OPTION_STRING, .value = &(s).url_template,         \
         .metavar = "URL", .hides_query = true,                                                    \
         .help = "For exporters behind a proxy: a URL with {node}, {address} and {port}, "         \
                 "which replaces scheme, address, port and path."},                                \
        {.name = "node-exporter-ca-file", .type = OPTION_STRING, .value = &(s).credentials.ca_file,\
         .metavar = "FILE",                                                                        \
         .help = "Certificate authorities of the exporters. Default: the system's."},              \
        {.name = "node-exporter-insecure-skip-verify", .type = OPTION_BOOL,                        \
         .value = &(s).credentials.is_insecure,                                                    \
         .help = "Do not verify the exporters' certificates."},                                    \
        {.name = "node-exporter-server-name", .type = OPTION_STRING, .value = &(s).credentials.server_name,\
         .metavar = "NAME",                                                                        \
         .help = "Name that the exporters' certificates must have. Default: their address."},      \
        {.name = "node-exporter-cert-file", .type = OPTION_STRING, .value = &(s).credentials.cert_file,\
         .metavar = "FILE",                                                                        \
         .help = "Client certificate, with --node-exporter-key-file."},                            \
        {.name = "node-exporter-key-file", .type = OPTION_STRING, .value = &(s).credentials.key_file,\
         .metavar = "FILE",                                                                        \
         .help = "Key of the client certificate."},                                                \
        {.name = "node-exporter-username", .type = OPTION_STRING,                                  \
         .value = &(s).credentials.username, .metavar = "NAME",                                    \
         .help = "User for basic authentication, with --node-exporter-password-file."},            \
        {.name = "node-exporter-password-file", .type = OPTION_STRING,                             \
         .value = &(s).credentials.password_file, .metavar = "FILE",                               \
         .help = "File with the password; read again every minute."},                              \
        {.name = "node-exporter-bearer-token-file", .type = OPTION_STRING,                         \
         .value = &(s).credentials.bearer_token_file, .metavar = "FILE",                           \
         .help = "File with a token for Authorization: Bearer; read again every minute."},         \
        {.name = "node-metrics-url-template", .type = OPTION_STRING,                               \
         .value = &(s).node_metrics_template, .metavar = "URL", .hides_query = true,               \
         .fallback = "http://{address}:19101/metrics",                                             \
         .help = "URL of the agent of crane-scheduler-plus, for the node-metrics source."},        \
        {.name = "exporter", .type = OPTION_LIST, .value = &(s).exporters,                         \
         .metavar = "NAME=URL", .hides_query = true,                                               \
         .help = "A further exporter on every node, for the metrics that the policy "              \
                 "declares with this name: dcgm=http://{address}:9400/metrics."},                  \
        {.name = "exporter-option", .type = OPTION_LIST, .value = &(s).exporter_options,           \
         .metavar = "NAME.KEY=VALUE",                                                              \
         .help = "TLS and credentials of the --exporter NAME, or of node-metrics. KEY is "         \
                 "the name of a --node-exporter- flag without that prefix: ca-file, "              \
                 "insecure-skip-verify, server-name, cert-file, key-file, username, "              \
                 "password-file or bearer-token-file, as in dcgm.ca-file=/etc/dcgm/ca.crt."},      \
        {.name = "network-device-pattern", .type = OPTION_STRING, .value = &(s).network_devices,   \
         .metavar = "GLOB[,GLOB...]",                                                              \
         .help = "Network devices that net metrics measure, such as eth*,ens192. Default: "        \
                 "physical ones (not lo, veth*, docker*, br*, bond*, ...)."},                      \
        {.name = "network-speed", .type = OPTION_STRING, .value = &(s).network_speed,              \
         .metavar = "BITS",                                                                        \
         .help = "Bits per second, such as 10G, of network devices that report no speed, as "      \
                 "in virtual machines. Without it, such nodes have no net metrics."}
/* clang-format on */

/**
 * scrape_settings_read() - the options of all three in @ret; strings are borrowed from the rows'
 * values
 * @is_at_once: see struct scrape_options
 * Return: 0; -EINVAL, @err names the flag
 */
_must_check_ int scrape_settings_read(const struct scrape_settings *settings, bool is_at_once,
                                      struct source_set_options *ret, struct error *err);
