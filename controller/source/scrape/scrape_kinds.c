#include "controller/source/scrape/scrape_kinds.h"

#include "controller/exposition/kubelet_reading.h"
#include "controller/source/scrape/scrape_reader.h"
#include "controller/source/scrape/scraper.h"
#include "kube/kube_path.h"

enum { INTERVAL_MS = 15000 };

static const struct source_hint exporter_hints[] = {
        {"no_address", "--node-address-types"},
        {"timeout", "the source's interval"},
        {"tls", "the source's url and tls_config"},
        {"credentials", "the source's authorization and basic_auth"},
        {"unauthorized", "the source's authorization and basic_auth"},
        {"windows_exporter", "--metrics-source"},
        {NULL, "--node-address-types, and the source's url (--target-url-template)"},
};

const struct source_kind node_exporter_kind = {
        .name = "node-exporter",
        .takes_targets = true,
        .fields = SOURCE_HAS_URL | SOURCE_HAS_HTTP,
        .url = "http://{address}:" KUBE_PORT_TEXT(KUBE_PORT_NODE_EXPORTER) "/metrics",
        .traits = {.interval_ms = INTERVAL_MS},
        .own = &scrape_node_exporter,
        .hints = exporter_hints,
        SCRAPER_FUNCTIONS,
};

const struct source_kind node_metrics_kind = {
        .name = "node-metrics",
        .takes_targets = true,
        .fields = SOURCE_HAS_URL | SOURCE_HAS_HTTP,
        .url = "http://{address}:19101/metrics",
        .traits = {.interval_ms = INTERVAL_MS, .is_ready_made = true},
        .own = &scrape_exporter,
        .hints = exporter_hints,
        SCRAPER_FUNCTIONS,
};

const struct source_kind exporter_kind = {
        .name = "exporter",
        .takes_targets = true,
        .fields = SOURCE_HAS_NAME | SOURCE_HAS_URL | SOURCE_HAS_HTTP,
        .traits = {.interval_ms = INTERVAL_MS},
        .own = &scrape_exporter,
        .hints = exporter_hints,
        SCRAPER_FUNCTIONS,
};

static const struct source_hint kubelet_hints[] = {
        {"no_address", "--node-address-types"},
        {"timeout", "the source's interval"},
        {"tls", "the source's tls_config, or --kubelet-insecure-skip-verify"},
        {"credentials", "the source's tls_config and authorization"},
        {"unauthorized",
         "the rule for nodes/metrics (get) in the ClusterRole (403), or the token (401)"},
        {NULL, "--node-address-types, and the rule for nodes/metrics (get) in the ClusterRole"},
};

const struct source_kind kubelet_kind = {
        .name = "kubelet",
        .fields = SOURCE_HAS_HTTP,
        .measure = "CPU without waiting for I/O, memory as the working set: usually lower than "
                   "node_exporter's",
        .uses_account = true,
        .traits = {.interval_ms = INTERVAL_MS,
                   .is_costly = true,
                   .scope = {.resources = KUBELET_RESOURCES}},
        .own = &scrape_kubelet,
        .hints = kubelet_hints,
        SCRAPER_FUNCTIONS,
};

const struct source_kind pods_kind = {
        .name = "pods",
        .uses_account = true,
        .traits = {.interval_ms = 60000, .is_costly = true},
        .own = &scrape_pods,
        .hints = kubelet_hints,
        .new = scraper_new,
        .in_flight = scraper_in_flight,
        .add_node = scraper_add_node,
        .remove_node = scraper_remove_node,
        .free = scraper_free,
};
