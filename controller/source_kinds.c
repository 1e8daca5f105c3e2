#include "controller/source_kinds.h"

#include <stddef.h>

#include "controller/source/metrics_api/metrics_server.h"
#include "controller/source/prometheus/prometheus.h"
#include "controller/source/scrape/scrape_kinds.h"

const struct source_kind *const source_kinds[] = {
        &node_exporter_kind,
        &kubelet_kind,
        &prometheus_kind,
        &metrics_server_kind,
        &node_metrics_kind,
        &exporter_kind,
        NULL,
};
