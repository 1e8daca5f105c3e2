#include "policy/metric_resource.h"

#define ROW(id, ...) [METRIC_##id] = {__VA_ARGS__},

const struct metric_resource_row metric_resource_rows[METRIC_RESOURCE_COUNT] = {
        METRIC_RESOURCE_ROWS(ROW)};
