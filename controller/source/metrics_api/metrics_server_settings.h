/*
 * The kind of source that lists what metrics-server knows.
 */
#pragma once

#include "controller/source/source.h"

extern const struct source_kind metrics_server_kind;
