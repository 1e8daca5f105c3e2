#include "controller/source_kinds.h"

#include <assert.h>
#include <stddef.h>

#include "controller/source/metrics_api/metrics_server.h"
#include "controller/source/prometheus/prometheus.h"
#include "controller/source/scrape/scrape_settings.h"

/* In the order of their flags in --help. */
const struct source_kind *const source_kinds[] = {
        &node_exporter_kind, &node_metrics_kind,   &kubelet_kind,
        &prometheus_kind,    &metrics_server_kind, NULL,
};

static_assert(ARRAY_LEN(source_kinds) - 1 <= SOURCE_MAX_KINDS,
              "each kind has room in a source set");
