/*
 * The kind of source that queries a Prometheus.
 */
#pragma once

#include "controller/source/source.h"

extern const struct source_kind prometheus_kind;
